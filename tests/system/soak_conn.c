/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The soak's connections: objects of an end, QP transitions, and the comparison of each area with its shadow copy.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "soak.h"

#define QKEY 0x5eed
#define RIGHTS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
		IBV_ACCESS_REMOTE_ATOMIC)
#define RX_SLOT (SLOT + 64)

enum {
	RTR_UC = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
	RTR_RC = RTR_UC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	RTS_UC = IBV_QP_STATE | IBV_QP_SQ_PSN,
	RTS_RC = RTS_UC | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		 IBV_QP_MAX_QP_RD_ATOMIC,
};

/* Populated memory: if the process grows later, it leaks. */
static void *memory(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		die("mmap");
	return p;
}

void end_qp(struct proc *p, struct end *e)
{
	struct ibv_qp_init_attr init = { .send_cq = p->v.cq, .recv_cq = p->v.cq };

	init.qp_type = e->c->type;
	init.cap.max_send_wr = init.cap.max_recv_wr = DEPTH;
	init.cap.max_send_sge = init.cap.max_recv_sge = 4;
	init.cap.max_inline_data = 64;
	e->qp = ibv_create_qp(p->v.pd, &init);
	if (!e->qp)
		die("create_qp");
	e->mine->qpn = e->qp->qp_num;
}

void end_register(struct proc *p, struct end *e)
{
	if (e->area_mr && ibv_dereg_mr(e->area_mr))
		die("dereg_mr");
	e->area_mr = ibv_reg_mr(p->v.pd, e->area + GUARD, AREA, RIGHTS);
	if (!e->area_mr)
		die("reg_mr");
	e->mine->rkey = e->area_mr->rkey;
	e->mine->addr = (uintptr_t)(e->area + GUARD);
}

void end_open(struct proc *p, struct end *e, struct conn *c, int side)
{
	memset(e, 0, sizeof(*e));
	e->c = c;
	e->side = side;
	e->mine = &c->side[side];
	e->theirs = &c->side[!side];
	e->area = memory(AREA + 2 * GUARD);
	fill(e->area, AREA + 2 * GUARD, 1);
	memcpy(e->mine->shadow, e->area + GUARD, AREA);
	e->tx = memory((size_t)SLOT * DEPTH);
	e->rx = memory((size_t)RX_SLOT * DEPTH);
	e->tx_mr = ibv_reg_mr(p->v.pd, e->tx, (size_t)SLOT * DEPTH, IBV_ACCESS_LOCAL_WRITE);
	e->rx_mr = ibv_reg_mr(p->v.pd, e->rx, (size_t)RX_SLOT * DEPTH, IBV_ACCESS_LOCAL_WRITE);
	if (!e->tx_mr || !e->rx_mr)
		die("reg_mr");
	end_register(p, e);
	end_qp(p, e);
}

static void modify(struct end *e, struct ibv_qp_attr *attr, enum ibv_qp_state to, int mask)
{
	int err;

	attr->qp_state = to;
	err = ibv_modify_qp(e->qp, attr, mask);
	if (err)
		die("modify_qp to %d: %s", to, strerror(err));
}

/* Attributes of all transitions; the mask selects those of one. */
static struct ibv_qp_attr attributes(struct proc *p, const struct end *e)
{
	struct ibv_qp_attr a = { .port_num = 1, .qkey = QKEY, .qp_access_flags = RIGHTS };

	a.path_mtu = IBV_MTU_1024;
	a.dest_qp_num = e->theirs->qpn;
	a.rq_psn = a.sq_psn = 0xfffff0;	/* wraps soon */
	a.max_dest_rd_atomic = a.max_rd_atomic = 4;
	a.min_rnr_timer = 1;
	/*
	 * In "soak kill" the requester finds a dead peer quickly. Otherwise it waits long, as a
	 * busy machine may delay a live peer.
	 */
	a.timeout = world->kill ? 12 : 16;
	a.retry_cnt = world->kill ? 4 : 7;
	a.rnr_retry = 7;
	a.ah_attr.is_global = 1;
	a.ah_attr.port_num = 1;
	a.ah_attr.grh.sgid_index = GID_INDEX;
	a.ah_attr.grh.hop_limit = 64;
	if (ibv_query_gid(p->v.ctx, 1, GID_INDEX, &a.ah_attr.grh.dgid))
		die("query_gid");
	return a;
}

/* Takes the QP from RESET to RTS and posts receive WRs; the peer's values are in the shared memory. */
void end_connect(struct proc *p, struct end *e)
{
	struct ibv_qp_attr a = attributes(p, e);
	int init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	if (e->c->type == IBV_QPT_UD) {
		modify(e, &a, IBV_QPS_INIT, init | IBV_QP_QKEY);
		modify(e, &a, IBV_QPS_RTR, IBV_QP_STATE);
		if (!e->ah)
			e->ah = ibv_create_ah(p->v.pd, &a.ah_attr);
		if (!e->ah)
			die("create_ah");
	} else {
		modify(e, &a, IBV_QPS_INIT, init | IBV_QP_ACCESS_FLAGS);
		modify(e, &a, IBV_QPS_RTR, e->c->type == IBV_QPT_RC ? RTR_RC : RTR_UC);
	}
	e->next = e->oldest = 0;
	e->reads = e->received = 0;
	e->mine->sent = 0;
	__atomic_store_n(&e->mine->posted, 0, __ATOMIC_RELEASE);
	for (uint32_t i = 0; i < DEPTH; i++)
		post_recv(e, i);
	modify(e, &a, IBV_QPS_RTS, e->c->type == IBV_QPT_RC ? RTS_RC : RTS_UC);
}

void end_reset(struct end *e)
{
	struct ibv_qp_attr a = { 0 };

	modify(e, &a, IBV_QPS_RESET, IBV_QP_STATE);
}

void end_close(struct end *e)
{
	if (ibv_destroy_qp(e->qp) || (e->ah && ibv_destroy_ah(e->ah)) ||
	    ibv_dereg_mr(e->area_mr) || ibv_dereg_mr(e->tx_mr) || ibv_dereg_mr(e->rx_mr))
		die("an object cannot be destroyed");
	munmap(e->area, AREA + 2 * GUARD);
	munmap(e->tx, (size_t)SLOT * DEPTH);
	munmap(e->rx, (size_t)RX_SLOT * DEPTH);
}

void end_verify(const struct proc *p, const struct end *e)
{
	static uint8_t guards[AREA + 2 * GUARD];

	fill(guards, sizeof(guards), 1);
	if (memcmp(e->area, guards, GUARD) ||
	    memcmp(e->area + GUARD + AREA, guards + GUARD + AREA, GUARD))
		die("process %d: written outside of the area", p->id);
	/*
	 * Operations of a dead peer may be in the shadow copy but not in the area: do not compare them.
	 */
	if (peer_dead(e))
		return;
	for (uint32_t i = 0; i < AREA; i++)
		if (e->area[GUARD + i] != e->mine->shadow[i])
			die("wrong data: process %d: connection %ld (type %d) differs from its shadow at %u",
			    p->id, (long)(e->c - world->conn), e->c->type, i);
}
