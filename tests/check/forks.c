/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Processes that fork while requests are outstanding. */
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static void peer_none(struct run *r)
{
	(void)r;
}

static void fork_put(struct run *r)
{
	struct ibv_send_wr *bad;
	struct wr w;

	wr_make(&w, &r->me, IBV_WR_RDMA_WRITE, 0, 512);
	wr_remote(&w, &r->other, 0);
	NEED(!ibv_post_send(r->me.qp, &w.wr, &bad)); /* fork-parent fork-exec */
}

static void fork_reap(pid_t pid)
{
	int status;

	NEED(waitpid(pid, &status, 0) == pid && !status);
}

/* The parent goes on: a child waits, and lives until the parent is done. */
static void fork_parent(struct run *r)
{
	struct ibv_wc wc;
	int fd[2];
	pid_t pid;
	char c;

	NEED(!pipe(fd));
	fork_put(r);
	pid = fork();
	NEED(pid >= 0);
	if (!pid) {
		close(fd[1]);
		r->me.buf[100]++;	/* the child's own copy */
		_exit(read(fd[0], &c, 1) != 0);
	}
	close(fd[0]);
	if (r->wrong)
		r->me.buf[100]++;
	poll_one(&r->me, &wc);
	fork_put(r);
	poll_one(&r->me, &wc);
	if (!r->wrong)
		r->me.buf[100]++;
	close(fd[1]);
	fork_reap(pid);
}

/* A child that executes another program. */
static void fork_exec(struct run *r)
{
	struct ibv_wc wc;
	pid_t pid;

	fork_put(r);
	pid = fork();
	NEED(pid >= 0);
	if (!pid) {
		execlp("true", "true", NULL);
		_exit(127);
	}
	if (r->wrong)
		r->me.buf[100]++;
	poll_one(&r->me, &wc);
	fork_reap(pid);
}

/* A QP of a child's own device, connected to itself. */
static void anew_qp(struct end *e)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC };

	init.send_cq = init.recv_cq = e->cq;
	init.cap.max_send_wr = init.cap.max_recv_wr = 4;
	init.cap.max_send_sge = init.cap.max_recv_sge = 1;
	NEED(e->qp = ibv_create_qp(e->pd, &init));
	end_connect_self(e);
	e->rkey = e->mr->rkey;
}

/* A child that opens the device itself, and is wrong or right there, while requests of its parent are outstanding. */
static void fork_anew_child(struct run *r)
{
	struct ibv_context *ctx = ibv_open_device(r->me.ctx->device);
	struct end e = { .ctx = ctx, .buf = r->me.buf, .lid = r->me.lid };
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	struct wr w;

	NEED(ctx && (e.pd = ibv_alloc_pd(ctx)));
	NEED(e.cq = ibv_create_cq(ctx, 64, NULL, NULL, 0));
	NEED(e.mr = ibv_reg_mr(e.pd, e.buf, SIZE, access));
	anew_qp(&e);
	wr_make(&w, &e, IBV_WR_RDMA_READ, 0, 512);
	wr_remote(&w, &e, 2048);
	NEED(!ibv_post_send(e.qp, &w.wr, &bad)); /* fork-anew */
	if (r->wrong)
		e.buf[200]++;
	poll_one(&e, &wc);
	NEED(!ibv_destroy_qp(e.qp) && !ibv_destroy_cq(e.cq) && !ibv_dereg_mr(e.mr));
	NEED(!ibv_dealloc_pd(e.pd) && !ibv_close_device(ctx));
	_exit(0);
}

static void fork_anew(struct run *r)
{
	struct ibv_wc wc;
	pid_t pid;

	fork_put(r);
	pid = fork();
	NEED(pid >= 0);
	if (!pid)
		fork_anew_child(r);
	fork_reap(pid);
	poll_one(&r->me, &wc);
}

const struct named forks[] = {
	{ "fork-parent", fork_parent, peer_none },
	{ "fork-exec", fork_exec, peer_none },
	{ "fork-anew", fork_anew, peer_none },
	{ NULL, NULL, NULL },
};
