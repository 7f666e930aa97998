/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Part of fault-verbs: work requests on a pair of QPs. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "fault_pair.h"

struct pair pair;

static const struct {
	const char *name;
	enum ibv_wr_opcode opcode;
} opcodes[] = {
	{ "SEND", IBV_WR_SEND }, { "SEND_WITH_IMM", IBV_WR_SEND_WITH_IMM }, { "WRITE", IBV_WR_RDMA_WRITE },
	{ "WRITE_WITH_IMM", IBV_WR_RDMA_WRITE_WITH_IMM }, { "READ", IBV_WR_RDMA_READ },
	{ "FETCH_AND_ADD", IBV_WR_ATOMIC_FETCH_AND_ADD }, { "CMP_AND_SWP", IBV_WR_ATOMIC_CMP_AND_SWP },
};

enum ibv_wr_opcode opcode_of(const char *name)
{
	for (size_t i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++)
		if (!strcmp(name, opcodes[i].name))
			return opcodes[i].opcode;
	die("opcode %s", name);
}

static struct ibv_qp *pair_qp(struct ibv_cq *scq, struct ibv_cq *rcq)
{
	struct ibv_qp_init_attr attr = { .send_cq = scq, .recv_cq = rcq, .qp_type = pair.type,
					 .cap = { 16, 16, 1, 1, 0 } };
	struct ibv_qp *qp = ibv_create_qp(v.pd, &attr);

	if (!qp)
		die("create_qp: %s", strerror(errno));
	return qp;
}

/* To RTS. Timeouts of 2^12 * 4 us, which end soon. */
static void pair_connect(struct ibv_qp *qp, struct ibv_qp *to)
{
	const int access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			   IBV_ACCESS_REMOTE_ATOMIC;
	struct ibv_qp_attr at = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 0x1111 };
	bool rc = pair.type == IBV_QPT_RC, un = pair.type == IBV_QPT_UD;
	int rtr = IBV_QP_STATE, rts = IBV_QP_STATE | IBV_QP_SQ_PSN;
	int init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	struct vdest dest;

	init |= un ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	if (!un)
		rtr |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (rc) {
		rtr |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
		rts |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		       IBV_QP_MAX_QP_RD_ATOMIC;
	}
	v_dest(&v, to, &dest);
	at.qp_access_flags = (unsigned int)access;
	if (ibv_modify_qp(qp, &at, init))
		die("INIT: %s", strerror(errno));
	at = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR };
	at.path_mtu = IBV_MTU_1024;
	at.dest_qp_num = to->qp_num;
	at.max_dest_rd_atomic = 1;
	at.min_rnr_timer = 1;
	at.ah_attr.is_global = 1;
	at.ah_attr.port_num = 1;
	at.ah_attr.grh.dgid = dest.gid;
	at.ah_attr.grh.sgid_index = GID_INDEX;
	at.ah_attr.grh.hop_limit = 64;
	if (ibv_modify_qp(qp, &at, rtr))
		die("RTR: %s", strerror(errno));
	if (un && !pair.ah)
		pair.ah = ibv_create_ah(v.pd, &at.ah_attr);
	at = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS };
	at.timeout = 12;
	at.retry_cnt = 7;
	at.rnr_retry = 1;
	at.max_rd_atomic = 1;
	if (ibv_modify_qp(qp, &at, rts))
		die("RTS: %s", strerror(errno));
}

static void pair_end(void)
{
	if (!pair.from)
		return;
	if (ibv_destroy_qp(pair.from) || ibv_destroy_qp(pair.to) || ibv_destroy_cq(pair.scq) ||
	    ibv_destroy_cq(pair.rcq) || ibv_destroy_comp_channel(pair.ch) ||
	    (pair.ah && ibv_destroy_ah(pair.ah)))
		die("the pair is not destroyed");
	pair = (struct pair){ .from = NULL };
}

void pair_new(const char *service)
{
	struct ibv_sge sge = sge_of(4096);

	pair_end();
	pair.type = !strcmp(service, "RC") ? IBV_QPT_RC :
		    !strcmp(service, "UC") ? IBV_QPT_UC : IBV_QPT_UD;
	pair.ch = ibv_create_comp_channel(v.ctx);
	pair.scq = ibv_create_cq(v.ctx, 32, NULL, pair.ch, 0);
	pair.rcq = ibv_create_cq(v.ctx, 32, NULL, NULL, 0);
	pair.from = pair_qp(pair.scq, pair.scq);
	pair.to = pair_qp(pair.rcq, pair.rcq);
	pair_connect(pair.to, pair.from);
	pair_connect(pair.from, pair.to);
	for (int i = 0; i < 2; i++) {
		struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

		if (ibv_post_recv(pair.to, &wr, &bad))
			die("post_recv");
	}
}

void pair_post(enum ibv_wr_opcode opcode)
{
	bool atomic = opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
	/* More than one packet, where a message may have it. */
	struct ibv_sge sge = sge_of(atomic ? 8 : pair.type == IBV_QPT_UD ? 64 :
									   2500);
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	wr.opcode = opcode;
	wr.send_flags = IBV_SEND_SIGNALED;
	if (pair.type == IBV_QPT_UD) {
		wr.wr.ud.ah = pair.ah;
		wr.wr.ud.remote_qpn = pair.to->qp_num;
		wr.wr.ud.remote_qkey = 0x1111;
	} else if (atomic) {
		wr.wr.atomic.remote_addr = (uintptr_t)data + 4096;
		wr.wr.atomic.rkey = mr->rkey;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)data + 4096;
		wr.wr.rdma.rkey = mr->rkey;
	}
	if (ibv_post_send(pair.from, &wr, &bad))
		die("post_send");
}

/* The next completion within so many ms. False: none. */
bool pair_poll(struct ibv_cq *cq, long ms, struct ibv_wc *wc)
{
	struct timespec now, end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += ms / 1000;
	end.tv_nsec += ms % 1000 * 1000000;
	for (;;) {
		if (ibv_poll_cq(cq, 1, wc) == 1)
			return true;
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec > end.tv_sec + 1 ||
		    (now.tv_sec - end.tv_sec) * 1000000000L + now.tv_nsec - end.tv_nsec > 0)
			return false;
	}
}

static long pair_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void pair_event(enum ibv_wr_opcode opcode)
{
	struct pollfd fd = { .fd = pair.ch->fd, .events = POLLIN };
	struct ibv_wc wc = { 0 };
	struct ibv_cq *cq;
	long begin = pair_ms();
	void *context;

	if (ibv_req_notify_cq(pair.scq, 0))
		die("req_notify_cq");
	pair_post(opcode);
	if (poll(&fd, 1, 20000) != 1 || ibv_get_cq_event(pair.ch, &cq, &context))
		die("no event");
	ibv_ack_cq_events(cq, 1);
	if (ibv_poll_cq(cq, 1, &wc) != 1)
		die("an event without a completion");
	printf("%d:%x after %ld ms\n", wc.status, wc.vendor_err, pair_ms() - begin);
}

/* Up to two completions and the state. */
static void pair_tell(struct ibv_cq *cq, struct ibv_qp *qp, long ms)
{
	static const char *const states[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };
	struct ibv_wc wc;
	bool told = false;
	int n = 0;

	while (n < 2 && pair_poll(cq, ms, &wc)) {
		printf("%d", wc.status);
		if (wc.status && !told)
			printf(":%x", wc.vendor_err);
		putchar(' ');
		told |= wc.status;
		n++;
	}
	printf("%s%s", n ? "" : "none ", states[state_of(qp)]);
}

void pair_two(const char *service, const char *opcode)
{
	pair_new(service);
	pair_post(opcode_of(opcode));
	pair_post(opcode_of(opcode));
	pair_tell(pair.scq, pair.from, 10000);
	printf(" peer ");
	pair_tell(pair.rcq, pair.to, 100);
	putchar('\n');
}
