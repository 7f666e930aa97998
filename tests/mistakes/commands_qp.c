/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Commands that fail: QPs, shared receive queues, address handles, multicast. */
#include <linux/capability.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "commands.h"

#define GROUP_QPS 57	/* one more than a multicast group may have */

/* Creates a QP with these limits. */
static int create(struct ibv_qp_cap cap)
{
	struct ibv_qp_init_attr a = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
				      .cap = cap };

	return null_error(ibv_create_qp(pd, &a));
}

static int qp_send_wr(void)
{
	return create((struct ibv_qp_cap){ .max_send_wr = 2000000 });
}

static int qp_recv_wr(void)
{
	return create((struct ibv_qp_cap){ .max_recv_wr = 2000000 });
}

static int qp_send_sge(void)
{
	return create((struct ibv_qp_cap){ .max_send_wr = 1, .max_send_sge = 200 });
}

static int qp_recv_sge(void)
{
	return create((struct ibv_qp_cap){ .max_recv_wr = 1, .max_recv_sge = 200 });
}

static int qp_inline(void)
{
	return create((struct ibv_qp_cap){ .max_send_wr = 1, .max_inline_data = 5000 });
}

static int create_type(int type)
{
	struct ibv_qp_init_attr a = { .send_cq = cq, .recv_cq = cq,
				      .qp_type = (enum ibv_qp_type)type };

	return null_error(ibv_create_qp(pd, &a));
}

static int qp_type_xrc(void)
{
	return create_type(IBV_QPT_XRC_SEND);
}

/* Calls fn without CAP_NET_RAW. */
static int without_net_raw(int (*fn)(void))
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct old[2], less[2];
	int err;

	must(syscall(SYS_capget, &h, old) ? NULL : old, "capget");
	memcpy(less, old, sizeof(less));
	less[0].effective &= ~(1u << CAP_NET_RAW);
	must(syscall(SYS_capset, &h, less) ? NULL : less, "capset");
	err = fn();
	must(syscall(SYS_capset, &h, old) ? NULL : old, "capset");
	return err;
}

static int raw_packet(void)
{
	return create_type(IBV_QPT_RAW_PACKET);
}

static int qp_raw(void)
{
	return without_net_raw(raw_packet);
}

/* A transition of a new QP with one change. */
static struct ibv_qp_attr attr;
static int mask;

static struct ibv_qp *qp_before(enum ibv_qp_type type, enum ibv_qp_state state)
{
	struct ibv_qp *qp = new_qp(type, cq);

	if (state > IBV_QPS_INIT)
		move_to(qp, state - 1);
	mask = attr_for(qp, state, &attr);
	return qp;
}

static int modify(struct ibv_qp *qp)
{
	int err = ibv_modify_qp(qp, &attr, mask);

	ibv_destroy_qp(qp);
	return err;
}

static int init_no_port(void)
{
	struct ibv_qp *qp = qp_before(IBV_QPT_RC, IBV_QPS_INIT);

	mask &= ~IBV_QP_PORT;
	return modify(qp);
}

static int rtr_no_rnr(void)
{
	struct ibv_qp *qp = qp_before(IBV_QPT_RC, IBV_QPS_RTR);

	mask &= ~(IBV_QP_MIN_RNR_TIMER | IBV_QP_RQ_PSN);
	return modify(qp);
}

static int init_dest(void)
{
	struct ibv_qp *qp = qp_before(IBV_QPT_RC, IBV_QPS_INIT);

	mask |= IBV_QP_DEST_QPN;
	return modify(qp);
}

static int reset_to_rts(void)
{
	struct ibv_qp *qp = qp_before(IBV_QPT_RC, IBV_QPS_INIT);

	mask = attr_for(qp, IBV_QPS_RTS, &attr);
	return modify(qp);
}

static int cur_state(void)
{
	struct ibv_qp *qp = qp_before(IBV_QPT_RC, IBV_QPS_RTS);

	attr.cur_qp_state = IBV_QPS_SQD;
	mask |= IBV_QP_CUR_STATE;
	return modify(qp);
}

static int rtr_mtu(void)
{
	struct ibv_qp *qp = qp_before(IBV_QPT_RC, IBV_QPS_RTR);

	attr.path_mtu = 9;
	return modify(qp);
}

static int init_port(void)
{
	struct ibv_qp *qp = qp_before(IBV_QPT_RC, IBV_QPS_INIT);

	attr.port_num = 2;
	return modify(qp);
}

static int rtr_av_port(void)
{
	struct ibv_qp *qp = qp_before(IBV_QPT_RC, IBV_QPS_RTR);

	attr.ah_attr.port_num = 0;
	return modify(qp);
}

/* The QP has no port yet. */
static int reset_av_port(void)
{
	struct ibv_qp *qp = new_qp(IBV_QPT_RC, cq);

	mask = attr_for(qp, IBV_QPS_RTR, &attr);
	return modify(qp);
}

static int rtr_no_grh(void)
{
	struct ibv_qp *qp = qp_before(IBV_QPT_RC, IBV_QPS_RTR);

	attr.ah_attr.is_global = 0;
	return modify(qp);
}

static int rtr_gid_empty(void)
{
	struct ibv_qp *qp = qp_before(IBV_QPT_RC, IBV_QPS_RTR);

	attr.ah_attr.grh.sgid_index = 250;
	return modify(qp);
}

static int rtr_dest_rd(void)
{
	struct ibv_qp *qp = qp_before(IBV_QPT_RC, IBV_QPS_RTR);

	attr.max_dest_rd_atomic = 200;
	return modify(qp);
}

static int rts_rd(void)
{
	struct ibv_qp *qp = qp_before(IBV_QPT_RC, IBV_QPS_RTS);

	attr.max_rd_atomic = 200;
	return modify(qp);
}

static int rts_timeout(void)
{
	struct ibv_qp *qp = qp_before(IBV_QPT_RC, IBV_QPS_RTS);

	attr.timeout = 100;
	return modify(qp);
}

static int init_pkey(void)
{
	struct ibv_qp *qp = qp_before(IBV_QPT_RC, IBV_QPS_INIT);

	attr.pkey_index = 200;
	return modify(qp);
}

static int state_unknown(void)
{
	struct ibv_qp *qp = qp_before(IBV_QPT_RC, IBV_QPS_INIT);

	attr.qp_state = (enum ibv_qp_state)9;
	return modify(qp);
}

static int rts_alt_path(void)
{
	struct ibv_qp *qp = qp_before(IBV_QPT_RC, IBV_QPS_RTS);

	attr.alt_ah_attr = (struct ibv_ah_attr){ .is_global = 1, .port_num = 1,
		.grh = { .dgid = gid, .sgid_index = gid_index } };
	attr.alt_port_num = 1;
	mask |= IBV_QP_ALT_PATH;
	return modify(qp);
}

static int qkey_high(void)
{
	struct ibv_qp *qp = qp_before(IBV_QPT_UD, IBV_QPS_INIT);

	attr.qkey = 0x80001234;
	return modify(qp);
}

static int init_qkey(void)
{
	return without_net_raw(qkey_high);
}

static int send_in_init(void)
{
	struct ibv_sge s = { (uintptr_t)buf, 16, mr->lkey };
	struct ibv_send_wr w = { .sg_list = &s, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;
	struct ibv_qp *qp = qp_before(IBV_QPT_RC, IBV_QPS_RTR);
	int err = ibv_post_send(qp, &w, &bad);

	ibv_destroy_qp(qp);
	return err;
}

/* A QP in RTS and a right SEND of 16 bytes. */
static struct ibv_sge sge[4];
static struct ibv_send_wr send;

static struct ibv_qp *send_before(void)
{
	struct ibv_qp *qp = new_qp(IBV_QPT_RC, cq);

	for (int i = 0; i < 4; i++)
		sge[i] = (struct ibv_sge){ (uintptr_t)buf, 16, mr->lkey };
	send = (struct ibv_send_wr){ .sg_list = sge, .num_sge = 1, .opcode = IBV_WR_SEND };
	move_to(qp, IBV_QPS_RTS);
	return qp;
}

static int post(struct ibv_qp *qp)
{
	struct ibv_send_wr *bad;
	int err = ibv_post_send(qp, &send, &bad);

	ibv_destroy_qp(qp);
	return err < 0 ? -err : err;
}

static int post_sges(void)
{
	struct ibv_qp *qp = send_before();

	send.num_sge = 4;
	return post(qp);
}

static int post_inline(void)
{
	struct ibv_qp *qp = send_before();

	sge[0].length = 4000;
	send.send_flags = IBV_SEND_INLINE;
	return post(qp);
}

static int post_atomic(void)
{
	struct ibv_qp *qp = send_before();

	sge[0].length = 8;
	send.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	send.wr.atomic.remote_addr = (uintptr_t)buf + 4;
	send.wr.atomic.rkey = mr->rkey;
	return post(qp);
}

/* Nothing sends to this QP, so its receives stay in the queue. */
static int recv_full(void)
{
	struct ibv_qp *qp = send_before();
	struct ibv_recv_wr w = { .sg_list = sge, .num_sge = 1 }, *bad;
	int err = 0;

	for (int i = 0; i < 100 && !err; i++)
		err = ibv_post_recv(qp, &w, &bad);
	ibv_destroy_qp(qp);
	return err < 0 ? -err : err;
}

/* Sends to the QP itself, which has posted no receive and waits without limit (rnr_retry 7). */
static int send_full(void)
{
	struct ibv_qp *qp = send_before();
	struct ibv_send_wr *bad;
	int err = 0;

	for (int i = 0; i < 100 && !err; i++)
		err = ibv_post_send(qp, &send, &bad);
	ibv_destroy_qp(qp);
	return err < 0 ? -err : err;
}

/* A QP of ibv_wr_start(), at RTS, whose last work request has as many entries as n says. */
static int wr_ex(int count, size_t n)
{
	struct ibv_qp_init_attr_ex a = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .pd = pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 2, .max_recv_sge = 2 },
	};
	struct ibv_qp *qp = must(ibv_create_qp_ex(ctx, &a), "ibv_create_qp_ex");
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp);
	int err;

	move_to(qp, IBV_QPS_RTS);
	for (int i = 0; i < 4; i++)
		sge[i] = (struct ibv_sge){ (uintptr_t)buf, 8, mr->lkey };
	ibv_wr_start(ex);
	for (int i = 0; i < count; i++) {
		ibv_wr_send(ex);
		ibv_wr_set_sge_list(ex, n, sge);
	}
	err = ibv_wr_complete(ex);
	ibv_destroy_qp(qp);
	return err;
}

static int wr_sges(void)
{
	return wr_ex(1, 4);
}

static int wr_full(void)
{
	return wr_ex(100, 1);
}

static int create_ah(struct ibv_ah_attr a)
{
	return null_error(ibv_create_ah(pd, &a));
}

static int ah_port(void)
{
	return create_ah((struct ibv_ah_attr){ .is_global = 1, .port_num = 7,
					       .grh = { .dgid = gid, .sgid_index = gid_index } });
}

static int ah_no_grh(void)
{
	return create_ah((struct ibv_ah_attr){ .dlid = 5, .port_num = 1 });
}

static int ah_gid_empty(void)
{
	return create_ah((struct ibv_ah_attr){ .is_global = 1, .port_num = 1,
					       .grh = { .dgid = gid, .sgid_index = 250 } });
}

static struct ibv_srq *create_srq(uint32_t wr, uint32_t sge)
{
	struct ibv_srq_init_attr a = { .attr = { .max_wr = wr, .max_sge = sge } };

	return ibv_create_srq(pd, &a);
}

static int srq_empty(void)
{
	return null_error(create_srq(0, 1));
}

static int srq_sges(void)
{
	return null_error(create_srq(4, 200));
}

static int srq_limit(void)
{
	struct ibv_srq *srq = must(create_srq(4, 1), "ibv_create_srq");
	struct ibv_srq_attr a = { .srq_limit = 1000 };
	int err = ibv_modify_srq(srq, &a, IBV_SRQ_LIMIT);

	ibv_destroy_srq(srq);
	return err;
}

static int srq_in_use(void)
{
	struct ibv_srq *srq = must(create_srq(4, 1), "ibv_create_srq");
	struct ibv_qp_init_attr a = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
				      .srq = srq };
	struct ibv_qp *qp = must(ibv_create_qp(pd, &a), "ibv_create_qp");
	int err = ibv_destroy_srq(srq);

	ibv_destroy_qp(qp);
	ibv_destroy_srq(srq);
	return err;
}

/* Posts receives of n entries to an SRQ until that fails. */
static int srq_recv(int n)
{
	struct ibv_srq *srq = must(create_srq(4, 1), "ibv_create_srq");
	struct ibv_qp_init_attr a = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
				      .srq = srq };
	struct ibv_qp *qp = must(ibv_create_qp(pd, &a), "ibv_create_qp");
	struct ibv_recv_wr w = { .sg_list = sge, .num_sge = n }, *bad;
	int err = 0;

	move_to(qp, IBV_QPS_INIT);
	for (int i = 0; i < 100 && !err; i++)
		err = ibv_post_srq_recv(srq, &w, &bad);
	ibv_destroy_qp(qp);
	ibv_destroy_srq(srq);
	return err < 0 ? -err : err;
}

static int srq_recv_sges(void)
{
	return srq_recv(4);
}

static int srq_recv_full(void)
{
	return srq_recv(1);
}

static union ibv_gid group(void)
{
	union ibv_gid g = { .raw = { 0xff, 0x0e, [15] = 1 } };

	return g;
}

static int mcast_rc(void)
{
	struct ibv_qp *qp = new_qp(IBV_QPT_RC, cq);
	union ibv_gid g = group();
	int err = ibv_attach_mcast(qp, &g, 0);

	ibv_destroy_qp(qp);
	return err;
}

static int mcast_unicast(void)
{
	struct ibv_qp *qp = new_qp(IBV_QPT_UD, cq);
	int err = ibv_attach_mcast(qp, &gid, 0);

	ibv_destroy_qp(qp);
	return err;
}

static int mcast_none(void)
{
	struct ibv_qp *qp = new_qp(IBV_QPT_UD, cq);
	union ibv_gid g = group();
	int err = ibv_detach_mcast(qp, &g, 3);

	ibv_destroy_qp(qp);
	return err;
}

static int mcast_attached(void)
{
	struct ibv_qp *qp = new_qp(IBV_QPT_UD, cq);
	union ibv_gid g = group();
	int err;

	errno = ibv_attach_mcast(qp, &g, 0);
	must(errno ? NULL : qp, "ibv_attach_mcast");
	err = ibv_destroy_qp(qp);
	ibv_detach_mcast(qp, &g, 0);
	ibv_destroy_qp(qp);
	return err;
}

static int mcast_full(void)
{
	struct ibv_qp *qp[GROUP_QPS];
	union ibv_gid g = group();
	int err = 0;

	for (int i = 0; i < GROUP_QPS; i++) {
		qp[i] = new_qp(IBV_QPT_UD, cq);
		err = ibv_attach_mcast(qp[i], &g, 0);
	}
	for (int i = 0; i < GROUP_QPS; i++) {
		if (i < GROUP_QPS - 1)
			ibv_detach_mcast(qp[i], &g, 0);
		ibv_destroy_qp(qp[i]);
	}
	return err;
}

const struct command qp_commands[] = {
	{ "qp-send-wr", qp_send_wr },
	{ "qp-recv-wr", qp_recv_wr },
	{ "qp-send-sge", qp_send_sge },
	{ "qp-recv-sge", qp_recv_sge },
	{ "qp-inline", qp_inline },
	{ "qp-type-xrc", qp_type_xrc },
	{ "qp-raw", qp_raw },
	{ "init-no-port", init_no_port },
	{ "rtr-no-rnr", rtr_no_rnr },
	{ "init-dest", init_dest },
	{ "reset-to-rts", reset_to_rts },
	{ "cur-state", cur_state },
	{ "rtr-mtu", rtr_mtu },
	{ "init-port", init_port },
	{ "rtr-av-port", rtr_av_port },
	{ "reset-av-port", reset_av_port },
	{ "rtr-no-grh", rtr_no_grh },
	{ "rtr-gid-empty", rtr_gid_empty },
	{ "rtr-dest-rd", rtr_dest_rd },
	{ "rts-rd", rts_rd },
	{ "rts-timeout", rts_timeout },
	{ "init-pkey", init_pkey },
	{ "state-unknown", state_unknown },
	{ "rts-alt-path", rts_alt_path },
	{ "init-qkey", init_qkey },
	{ "send-in-init", send_in_init },
	{ "post-sges", post_sges },
	{ "post-inline", post_inline },
	{ "post-atomic", post_atomic },
	{ "recv-full", recv_full },
	{ "send-full", send_full },
	{ "wr-sges", wr_sges },
	{ "wr-full", wr_full },
	{ "ah-no-grh", ah_no_grh },
	{ "ah-gid-empty", ah_gid_empty },
	{ "ah-port", ah_port },
	{ "srq-empty", srq_empty },
	{ "srq-sges", srq_sges },
	{ "srq-limit", srq_limit },
	{ "srq-in-use", srq_in_use },
	{ "srq-recv-sges", srq_recv_sges },
	{ "srq-recv-full", srq_recv_full },
	{ "mcast-rc", mcast_rc },
	{ "mcast-unicast", mcast_unicast },
	{ "mcast-none", mcast_none },
	{ "mcast-attached", mcast_attached },
	{ "mcast-full", mcast_full },
};
const unsigned int nqp_commands = sizeof(qp_commands) / sizeof(*qp_commands);
