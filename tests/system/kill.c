/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Kills one side of a connection with SIGKILL at a random time.
 *
 *   kill ROUNDS [SEED]
 *
 *   parent (lives)  == RC traffic both ways ==  child (killed after a random time)
 *
 * The parent's sends to the dead child must end in RETRY_EXC_ERR after timeout and retries, later
 * WRs must be flushed, data received before must be right, and the device must still work. In every
 * third round the child has forked a child of its own, which keeps all descriptors and lives on.
 * The parent must detect the death of its child nevertheless.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "verbs.h"

#define SIZE (1u << 20)
#define DEPTH 16

struct end {
	struct vctx v;
	struct vdest mine, theirs;
	uint8_t *buf;
	struct ibv_mr *mr;
	unsigned int sends, recvs;	/* numbers of work requests posted and not yet completed */
};

static void open_end(struct end *e, int sock)
{
	struct vcfg cfg = vcfg_default;

	cfg.timeout = 10;	/* 4 ms */
	cfg.retry = 3;
	memset(e, 0, sizeof(*e));
	e->v.sock = sock;
	v_open(&e->v, &cfg);
	e->buf = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	e->mr = ibv_reg_mr(e->v.pd, e->buf, SIZE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
			   IBV_ACCESS_REMOTE_WRITE);
	if (!e->mr)
		die("reg_mr");
	e->mine.addr = (uintptr_t)e->buf;
	e->mine.rkey = e->mr->rkey;
	v_connect(&e->v, &e->mine, &e->theirs);
}

static int send_one(struct end *e)
{
	static const enum ibv_wr_opcode op[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
						 IBV_WR_RDMA_WRITE_WITH_IMM };
	static const uint32_t len[] = { 2, 64, 3000, 20000, 200000 };
	struct ibv_sge sge = { (uintptr_t)e->buf, len[random() % 5], e->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = op[random() % 4],
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { e->theirs.addr, e->theirs.rkey } }, *bad;
	int ret = ibv_post_send(e->v.qp, &wr, &bad);

	e->sends += !ret;
	return ret;
}

static void recv_one(struct end *e)
{
	struct ibv_sge sge = { (uintptr_t)e->buf, SIZE, e->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 1ull << 32, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(e->v.qp, &wr, &bad))
		die("post_recv");
	e->recvs++;
}

static void child(int sock, bool grandchild)
{
	struct end e;
	struct ibv_wc wc;

	open_end(&e, sock);
	if (grandchild && !fork()) {
		/*
		 * The grandchild keeps all descriptors and outlives its parent, until the test
		 * closes the socket.
		 */
		char c;

		v_get(sock, &c, 1);
		_exit(0);
	}
	for (;;) {
		while (e.recvs < DEPTH)
			recv_one(&e);
		while (e.sends < DEPTH / 2)
			send_one(&e);
		while (ibv_poll_cq(e.v.cq, 1, &wc) > 0) {
			if (wc.status)
				die("the one to be killed got %s", ibv_wc_status_str(wc.status));
			if (wc.wr_id)
				e.recvs--;
			else
				e.sends--;
		}
	}
}

/* Traffic until the first error; then all work requests still outstanding must complete as flushed. */
static void survive(struct end *e, bool poll_only)
{
	struct ibv_wc wc = { 0 };
	bool failed = false;

	while (!failed || e->sends) {
		while (!failed && e->recvs < DEPTH)
			recv_one(e);
		while (!failed && !poll_only && e->sends < DEPTH / 2)
			send_one(e);
		if (poll_only && !e->sends && !failed)
			send_one(e);
		v_wait(e->v.cq, &wc, 30);
		if (wc.wr_id)
			e->recvs--;
		else
			e->sends--;
		if (!wc.status)
			continue;
		if (!failed && wc.status != IBV_WC_RETRY_EXC_ERR)
			die("first error is %s", ibv_wc_status_str(wc.status));
		if (failed && wc.status != IBV_WC_WR_FLUSH_ERR)
			die("after it came %s", ibv_wc_status_str(wc.status));
		failed = true;
	}
	while (e->recvs) {
		if (v_wait(e->v.cq, &wc, 30) != IBV_WC_WR_FLUSH_ERR)
			die("receive: %s", ibv_wc_status_str(wc.status));
		e->recvs--;
	}
}

static void round_of_death(unsigned int i)
{
	struct end e;
	int sk[2], st;
	pid_t pid, killer;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sk))
		die("socketpair");
	pid = fork();
	if (!pid) {
		close(sk[1]);
		srandom((unsigned int)getpid());
		child(sk[0], i % 3 == 2);
	}
	close(sk[0]);
	open_end(&e, sk[1]);
	killer = fork();
	if (!killer) {
		usleep((useconds_t)(random() % 20000));
		kill(pid, SIGKILL);
		_exit(0);
	}
	survive(&e, i % 4 == 3);
	waitpid(killer, &st, 0);
	waitpid(pid, &st, 0);
	if (!WIFSIGNALED(st) || WTERMSIG(st) != SIGKILL)
		die("the child ended by itself");
	if (ibv_dereg_mr(e.mr))
		die("dereg_mr");
	v_close(&e.v);
	close(sk[1]);	/* ends the grandchild, if any */
	munmap(e.buf, SIZE);
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc > 1 ? (unsigned int)atoi(argv[1]) : 20;
	unsigned int seed = argc > 2 ? (unsigned int)atoi(argv[2]) : (unsigned int)time(NULL);

	signal(SIGPIPE, SIG_IGN);
	printf("kill: %u rounds, seed %u\n", rounds, seed);
	fflush(stdout);
	for (unsigned int i = 0; i < rounds; i++) {
		pid_t pid = fork();
		int st;

		/*
		 * Each round runs in a process of its own, as this one must not open the device.
		 */
		if (!pid) {
			srandom(seed + i);
			round_of_death(i);
			_exit(0);
		}
		if (waitpid(pid, &st, 0) != pid || st)
			die("round %u (seed %u) failed", i, seed);
	}
	printf("kill: every death was seen\n");
	return 0;
}
