/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fault-events KIND: makes an object, prints "ready QPN PID", and then a line for each asynchronous
 * event until its standard input ends:
 *
 *   event NAME of qp|cq|srq|port|device, QP STATE, completions STATUS...
 *
 * KIND: init, rtr, rts (RC QPs in this state), uc, ud (in RTS), srq, armed (RC QP in RTS with an SRQ, without a limit and with
 * one). Each QP has one posted receive.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "verbs.h"

static struct vctx v = { .sock = -1 };
static struct ibv_srq *srq;
static struct ibv_qp *qp;
static char buf[256];
static struct ibv_mr *mr;

static struct ibv_qp *qp_of(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr a = { .send_cq = v.cq, .recv_cq = v.cq, .srq = srq,
				      .cap = { 4, 4, 1, 1, 0 }, .qp_type = type };
	struct ibv_qp *q = ibv_create_qp(v.pd, &a);

	if (!q)
		die("ibv_create_qp");
	return q;
}

static void post_recv(void)
{
	struct ibv_sge sge = { (uintptr_t)buf, sizeof(buf), mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 7, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (srq ? ibv_post_srq_recv(srq, &wr, &bad) : ibv_post_recv(qp, &wr, &bad))
		die("post a receive");
}

/* UC QPs take fewer attributes than v_rtr() and v_rts() give. */
static void connect_uc(const struct vdest *to)
{
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTR, .dest_qp_num = to->qpn };

	a.path_mtu = v.cfg.mtu;
	a.ah_attr.is_global = 1;
	a.ah_attr.port_num = 1;
	a.ah_attr.grh.dgid = to->gid;
	a.ah_attr.grh.sgid_index = GID_INDEX;
	if (ibv_modify_qp(qp, &a, mask))
		die("RTR");
	a.qp_state = IBV_QPS_RTS;
	if (ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN))
		die("RTS");
}

static void set_up(const char *kind)
{
	bool uc = !strcmp(kind, "uc");
	struct vdest to;

	if (!strcmp(kind, "srq") || !strcmp(kind, "armed")) {
		struct ibv_srq_init_attr a = { .attr = { 4, 1, !strcmp(kind, "armed") ? 1 : 0 } };

		srq = ibv_create_srq(v.pd, &a);
		if (!srq)
			die("ibv_create_srq");
	}
	if (!strcmp(kind, "ud")) {
		qp = v_ud_qp(&v, 4, 1);
	} else {
		qp = qp_of(uc ? IBV_QPT_UC : IBV_QPT_RC);
		v_dest(&v, qp, &to);
		if (v_init(qp, IBV_ACCESS_REMOTE_WRITE))
			die("INIT");
		if (uc)
			connect_uc(&to);
		else if (strcmp(kind, "init") && v_rtr(qp, &v.cfg, &to))
			die("RTR");
		if (!uc && strcmp(kind, "init") && strcmp(kind, "rtr") && v_rts(qp, &v.cfg, to.psn))
			die("RTS");
	}
	post_recv();
}

static const char *of(enum ibv_event_type type)
{
	switch (type) {
	case IBV_EVENT_CQ_ERR:
		return "cq";
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return "srq";
	case IBV_EVENT_DEVICE_FATAL:
		return "device";
	case IBV_EVENT_GID_CHANGE:
	case IBV_EVENT_PORT_ERR:
	case IBV_EVENT_PORT_ACTIVE:
		return "port";
	default:
		return "qp";
	}
}

static void tell(void)
{
	static const char *const states[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };
	struct ibv_async_event e;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_wc wc;

	if (ibv_get_async_event(v.ctx, &e))
		die("ibv_get_async_event");
	if (!strcmp(of(e.event_type), "qp") && e.element.qp != qp)
		die("event of another QP");
	if (!strcmp(of(e.event_type), "cq") && e.element.cq != v.cq)
		die("event of another CQ");
	if (!strcmp(of(e.event_type), "srq") && e.element.srq != srq)
		die("event of another SRQ");
	printf("event %s of %s, QP ", ibv_event_type_str(e.event_type), of(e.event_type));
	if (ibv_query_qp(qp, &attr, IBV_QP_STATE, &init))
		printf("gone");
	else
		printf("%s", states[attr.qp_state]);
	printf(", completions");
	while (ibv_poll_cq(v.cq, 1, &wc) > 0)
		printf(" %s", ibv_wc_status_str(wc.status));
	printf("\n");
	ibv_ack_async_event(&e);
}

int main(int argc, char **argv)
{
	struct vcfg cfg = vcfg_default;

	if (argc != 2)
		die("usage: fault-events KIND");
	setvbuf(stdout, NULL, _IOLBF, 0);
	v_open(&v, &cfg);
	mr = ibv_reg_mr(v.pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);
	if (!mr)
		die("ibv_reg_mr");
	set_up(argv[1]);
	printf("ready %u %d\n", qp->qp_num, (int)getpid());
	for (;;) {
		struct pollfd p[2] = { { .fd = v.ctx->async_fd, .events = POLLIN },
				       { .fd = 0, .events = POLLIN } };

		if (poll(p, 2, 120000) <= 0)
			die("nothing happens");
		if (p[0].revents)
			tell();
		else if (p[1].revents)
			return 0;
	}
}
