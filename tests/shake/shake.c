/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* shake CASE wrong|right: runs a case. The exit status is 3 if what the program relies on was not so. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shake.h"

#define LIMIT 60	/* seconds */
#define RELIED 3

void failed(const char *what, unsigned int round)
{
	fprintf(stderr, "round %u: %s\n", round, what);
	_exit(RELIED);
}

void say(struct run *r)
{
	NEED(write(r->fd, "", 1) == 1);
}

/* The other process may have ended because it has failed: then this one ends, too. */
void hear(struct run *r)
{
	char c;

	if (read(r->fd, &c, 1) != 1)
		_exit(0);
}

void part(struct run *r)
{
	say(r);
	hear(r);
}

void post(struct run *r, int n, enum ibv_wr_opcode op, uint32_t off, uint32_t len, uint32_t remote,
	  unsigned int flags)
{
	struct ibv_sge sge = { (uintptr_t)r->me.buf + off, len, r->me.mr->lkey };
	struct ibv_send_wr wr = { .wr_id = (uint64_t)n, .sg_list = &sge, .num_sge = 1, .opcode = op,
				  .send_flags = flags };
	struct ibv_send_wr *bad;

	wr.wr.rdma.remote_addr = (uintptr_t)r->other.buf + remote;
	wr.wr.rdma.rkey = r->other.rkey;
	NEED(!ibv_post_send(r->me.qp[n], &wr, &bad));
}

void post_recv(struct run *r, int n, uint32_t off, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)r->me.buf + off, len, r->me.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = off, .sg_list = &sge, .num_sge = 1 }, *bad;

	NEED(!ibv_post_recv(r->me.qp[n], &wr, &bad));
}

void poll_one(struct ibv_cq *cq, struct ibv_wc *wc)
{
	int n;

	do
		n = ibv_poll_cq(cq, 1, wc);
	while (!n);
	NEED(n == 1 && wc->status == IBV_WC_SUCCESS);
}

static void end_open(struct end *e, const struct named *c)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_qp_init_attr init = { .qp_type = c->type };
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			   IBV_ACCESS_REMOTE_READ;
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	NEED(list && list[0]);
	NEED(e->ctx = ibv_open_device(list[0]));
	ibv_free_device_list(list);
	NEED(e->pd = ibv_alloc_pd(e->ctx));
	NEED(e->channel = ibv_create_comp_channel(e->ctx));
	NEED(e->send_cq = ibv_create_cq(e->ctx, 2 * DEPTH, NULL, NULL, 0));
	init.cap.max_send_wr = init.cap.max_recv_wr = DEPTH;
	init.cap.max_send_sge = init.cap.max_recv_sge = 1;
	init.send_cq = e->send_cq;
	for (int i = 0; i < QPS; i++) {
		e->recv_cq[i] = i && c->one_cq ? e->recv_cq[0] :
			ibv_create_cq(e->ctx, 2 * DEPTH, NULL, e->channel, 0);
		NEED(e->recv_cq[i]);
		init.recv_cq = e->recv_cq[i];
		NEED(e->qp[i] = ibv_create_qp(e->pd, &init));
	}
	NEED(e->buf = aligned_alloc(4096, SIZE));
	memset(e->buf, 0, SIZE);
	NEED(e->mr = ibv_reg_mr(e->pd, e->buf, SIZE, access));
	/* The first IPv4 address. */
	for (uint8_t i = 0; i < 16; i++) {
		e->gid_index = i;
		if (!ibv_query_gid(e->ctx, 1, i, &e->gid) &&
		    !memcmp(e->gid.raw, mapped, sizeof(mapped)))
			return;
	}
	e->gid_index = 0;
	NEED(!ibv_query_gid(e->ctx, 1, 0, &e->gid));
}

static void end_connect_ud(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 0x111 };

	NEED(!ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
	attr.qp_state = IBV_QPS_RTR;
	NEED(!ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTS;
	NEED(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
}

/* RC. The ACK timeout is 4 s, so answers may be late. */
static void end_connect(const struct end *e, const struct end *other, int n)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	int init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	int rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	int rts = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;

	attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	NEED(!ibv_modify_qp(e->qp[n], &attr, init));
	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = IBV_MTU_1024;
	attr.dest_qp_num = other->qpn[n];
	attr.max_dest_rd_atomic = 4;
	attr.min_rnr_timer = 12;
	attr.ah_attr.port_num = 1;
	attr.ah_attr.is_global = 1;
	attr.ah_attr.grh.sgid_index = e->gid_index;
	attr.ah_attr.grh.dgid = other->gid;
	attr.ah_attr.grh.hop_limit = 1;
	NEED(!ibv_modify_qp(e->qp[n], &attr, rtr));
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 20;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = 4;
	NEED(!ibv_modify_qp(e->qp[n], &attr, rts));
}

/* Tells the other process of this end, and learns of it. */
static void run_exchange(struct run *r)
{
	struct end *e = &r->me;

	e->rkey = e->mr->rkey;
	for (int i = 0; i < QPS; i++)
		e->qpn[i] = e->qp[i]->qp_num;
	NEED(write(r->fd, e, sizeof(*e)) == sizeof(*e));
	NEED(read(r->fd, &r->other, sizeof(r->other)) == sizeof(r->other));
}

static void run_end(struct run *r, const struct named *c, void (*fn)(struct run *r))
{
	alarm(LIMIT);
	end_open(&r->me, c);
	run_exchange(r);
	for (int i = 0; i < QPS; i++) {
		if (c->type == IBV_QPT_UD)
			end_connect_ud(r->me.qp[i]);
		else
			end_connect(&r->me, &r->other, i);
	}
	part(r);
	fn(r);
	part(r);
}

static const struct named *find(const char *name)
{
	const struct named *const tables[] = { memory, queues, datagrams, keys, manager };

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		for (const struct named *n = tables[i]; n->name; n++)
			if (!strcmp(n->name, name))
				return n;
	NEED(!"no such case");
	return NULL;
}

int main(int argc, char **argv)
{
	const struct named *c;
	struct run r = { 0 };
	int fd[2], status;
	pid_t pid;

	NEED(argc == 3);
	c = find(argv[1]);
	NEED(!socketpair(AF_UNIX, SOCK_STREAM, 0, fd));
	pid = fork();
	NEED(pid >= 0);
	/* The peer does not wait for a program that has failed. */
	NEED(pid || !prctl(PR_SET_PDEATHSIG, SIGKILL));
	r.fd = fd[!pid];
	close(fd[!!pid]);
	r.wrong = !strcmp(argv[2], "wrong");
	run_end(&r, c, pid ? c->fn : c->peer);
	if (!pid)
		return 0;
	NEED(waitpid(pid, &status, 0) == pid);
	return status != 0;
}
