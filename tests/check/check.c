/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* check CASE wrong|right: runs a case. CHECK_PEER: the host of a fabric on which the peer is. */
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#define LIMIT 30	/* seconds */

void wr_make(struct wr *w, const struct end *e, enum ibv_wr_opcode op, uint32_t off, uint32_t len)
{
	memset(w, 0, sizeof(*w));
	w->sge = (struct ibv_sge){ (uintptr_t)e->buf + off, len, e->mr->lkey };
	w->wr.wr_id = 7;
	w->wr.sg_list = &w->sge;
	w->wr.num_sge = 1;
	w->wr.opcode = op;
	w->wr.send_flags = IBV_SEND_SIGNALED;
}

void wr_remote(struct wr *w, const struct end *other, uint32_t off)
{
	if (w->wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ||
	    w->wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		w->wr.wr.atomic.remote_addr = (uintptr_t)other->buf + off;
		w->wr.wr.atomic.rkey = other->rkey;
		w->wr.wr.atomic.compare_add = 1;
		return;
	}
	w->wr.wr.rdma.remote_addr = (uintptr_t)other->buf + off;
	w->wr.wr.rdma.rkey = other->rkey;
}

void post_recv(const struct end *e, uint32_t off, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)e->buf + off, len, e->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	NEED(!ibv_post_recv(e->qp, &wr, &bad));
}

void poll_one(const struct end *e, struct ibv_wc *wc)
{
	int n;

	do
		n = ibv_poll_cq(e->cq, 1, wc);
	while (!n);
	NEED(n == 1 && wc->status == IBV_WC_SUCCESS);
}

static void end_open(struct end *e, struct ibv_device *dev)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC };
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		     IBV_ACCESS_REMOTE_ATOMIC;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	int init_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	struct ibv_port_attr port;

	NEED((e->ctx = ibv_open_device(dev)) && !ibv_query_port(e->ctx, 1, &port));
	e->lid = port.link_layer == IBV_LINK_LAYER_INFINIBAND ? port.lid : 0;
	NEED(e->pd = ibv_alloc_pd(e->ctx));
	NEED(e->cq = ibv_create_cq(e->ctx, 8 * DEPTH, NULL, NULL, 0));
	init.send_cq = init.recv_cq = e->cq;
	init.cap.max_send_wr = init.cap.max_recv_wr = DEPTH;
	init.cap.max_send_sge = init.cap.max_recv_sge = MAX_SGE;
	init.cap.max_inline_data = 64;
	NEED(e->qp = ibv_create_qp(e->pd, &init));
	NEED(e->buf = malloc(SIZE));
	for (uint32_t i = 0; i < SIZE; i++)
		e->buf[i] = (uint8_t)(i * 7 + 1);
	NEED(e->mr = ibv_reg_mr(e->pd, e->buf, SIZE, access));
	attr.qp_access_flags = (unsigned int)access;
	NEED(!ibv_modify_qp(e->qp, &attr, init_mask));
}

void say(struct run *r)
{
	NEED(write(r->fd, "", 1) == 1);
}

void hear(struct run *r)
{
	char c;

	NEED(read(r->fd, &c, 1) == 1);
}

/* Tells the other process of this end, and learns of it. */
static void run_exchange(struct run *r)
{
	struct end *e = &r->me;

	e->rkey = e->mr->rkey;
	e->qpn = e->qp->qp_num;
	NEED(write(r->fd, e, sizeof(*e)) == sizeof(*e));
	NEED(read(r->fd, &r->other, sizeof(r->other)) == sizeof(r->other));
}

/* The first IPv4 address of the port: with RUSE_LINK=udp packets need a route. */
uint8_t end_gid(const struct end *e, union ibv_gid *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	for (int i = 0; i < 16; i++)
		if (!ibv_query_gid(e->ctx, 1, i, gid) && !memcmp(gid->raw, mapped, sizeof(mapped)))
			return (uint8_t)i;
	NEED(!ibv_query_gid(e->ctx, 1, 0, gid));
	return 0;
}

static void end_connect(struct end *e, const struct end *other)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024,
				    .dest_qp_num = other->qpn, .max_dest_rd_atomic = 4,
				    .min_rnr_timer = 12 };
	int rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	int rts = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;

	attr.ah_attr.port_num = 1;
	attr.ah_attr.dlid = other->lid;
	if (!other->lid) {
		attr.ah_attr.is_global = 1;
		attr.ah_attr.grh.sgid_index = end_gid(e, &attr.ah_attr.grh.dgid);
		attr.ah_attr.grh.hop_limit = 1;
	}
	NEED(!ibv_modify_qp(e->qp, &attr, rtr));
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 14;
	attr.retry_cnt = 7;
	attr.rnr_retry = 6;
	attr.max_rd_atomic = 4;
	NEED(!ibv_modify_qp(e->qp, &attr, rts));
}

void end_connect_self(struct end *e)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	struct end other = *e;

	attr.qp_access_flags = IBV_ACCESS_REMOTE_READ;
	NEED(!ibv_modify_qp(e->qp, &attr, mask));
	other.qpn = e->qp->qp_num;
	end_connect(e, &other);
}

void end_join(struct run *r, struct end *e)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	struct end other = r->other;

	attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	NEED(!ibv_modify_qp(e->qp, &attr, mask));
	e->qpn = e->qp->qp_num;
	NEED(write(r->fd, &e->qpn, sizeof(e->qpn)) == sizeof(e->qpn));
	NEED(read(r->fd, &other.qpn, sizeof(other.qpn)) == sizeof(other.qpn));
	end_connect(e, &other);
	say(r);
	hear(r);
}

void end_second(struct run *r, struct ibv_cq *cq, struct end *second)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq };

	*second = r->me;
	second->cq = cq;
	init.cap.max_send_wr = init.cap.max_recv_wr = DEPTH / 2;
	init.cap.max_send_sge = init.cap.max_recv_sge = 1;
	NEED(second->qp = ibv_create_qp(second->pd, &init));
	end_join(r, second);
}

void peer_second(struct run *r)
{
	struct end second;

	end_second(r, r->me.cq, &second);
	hear(r);
	NEED(!ibv_destroy_qp(second.qp));
}

static void end_close(struct end *e)
{
	NEED(!ibv_destroy_qp(e->qp));
	NEED(!ibv_destroy_cq(e->cq));
	NEED(!e->mr || !ibv_dereg_mr(e->mr));
	NEED(!ibv_dealloc_pd(e->pd));
	NEED(!ibv_close_device(e->ctx));
	free(e->buf);
}

static void run_end(struct run *r, void (*fn)(struct run *r))
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	alarm(LIMIT);
	NEED(list && list[0]);
	end_open(&r->me, list[0]);
	run_exchange(r);
	end_connect(&r->me, &r->other);
	say(r);
	hear(r);
	fn(r);
	say(r);
	hear(r);
	end_close(&r->me);
	ibv_free_device_list(list);
}

static const struct named *find(const char *name)
{
	const struct named *const tables[] = { sends, reads, receives, queues,	 stores,  hints,
					       acks,  freed, races,    overlaps, threads, forks,
					       lawful, shared };

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		for (const struct named *n = tables[i]; n->name; n++)
			if (!strcmp(n->name, name))
				return n;
	NEED(!"no such case");
	return NULL;
}

int main(int argc, char **argv)
{
	const struct named *n;
	struct run r = { 0 };
	int fd[2], status;
	pid_t pid;

	NEED(argc == 3);
	n = find(argv[1]);
	NEED(!socketpair(AF_UNIX, SOCK_STREAM, 0, fd));
	pid = fork();
	/* A program that fails does not leave a peer that polls. */
	NEED(pid || !prctl(PR_SET_PDEATHSIG, SIGKILL));
	r.fd = fd[!pid];
	close(fd[!!pid]);
	if (!pid && getenv("CHECK_PEER"))
		NEED(!setenv("RUSE_HOST", getenv("CHECK_PEER"), 1));
	r.wrong = pid && !strcmp(argv[2], "wrong");
	run_end(&r, pid ? n->fn : n->peer);
	NEED(!pid || (wait(&status) == pid && !status));
	return 0;
}
