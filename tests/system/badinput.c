/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bad input by a program: each case must return the documented error on both sides, and nothing may crash or hang.
 *   badinput [NAME]     runs every case, each with a new peer, or one
 *   client (misbehaves)  -- RC -->  server (obeys commands over a socket)
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "verbs.h"

#define SIZE (1u << 20)

struct peer {
	struct vctx v;
	struct vdest mine, theirs;
	uint8_t *buf;
	struct ibv_mr *mr;
};

/* The client's commands to the server. */
enum cmd { CMD_RECV, CMD_SEND, CMD_UNMAP, CMD_WAIT, CMD_STATE, CMD_EVENT, CMD_QUIT };
struct ask {
	enum cmd cmd;
	uint32_t len;
};

static void setup(struct peer *p, const struct vcfg *cfg, int sock)
{
	memset(p, 0, sizeof(*p));
	p->v.sock = sock;
	v_open(&p->v, cfg);
	p->buf = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	p->mr = ibv_reg_mr(p->v.pd, p->buf, SIZE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
			   IBV_ACCESS_REMOTE_WRITE);
	if (!p->mr)
		die("reg_mr: %s", strerror(errno));
	p->mine.addr = (uintptr_t)p->buf;
	p->mine.rkey = p->mr->rkey;
	v_connect(&p->v, &p->mine, &p->theirs);
}

static int post_recv(struct peer *p, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)p->buf, len, p->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(p->v.qp, &wr, &bad);
}

static int post(struct peer *p, enum ibv_wr_opcode op, uint32_t len, uint64_t raddr, uint32_t rkey)
{
	struct ibv_sge sge = { (uintptr_t)p->buf, len, p->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = 2, .sg_list = &sge, .num_sge = 1, .opcode = op,
		.send_flags = IBV_SEND_SIGNALED, .wr.rdma = { raddr, rkey },
	}, *bad;

	return ibv_post_send(p->v.qp, &wr, &bad);
}

static int qp_state(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr ia;
	struct ibv_qp_attr a;

	if (ibv_query_qp(qp, &a, IBV_QP_STATE, &ia))
		die("query_qp");
	return a.qp_state;
}

static int next_event(struct vctx *v)
{
	struct ibv_async_event ev;
	int type;

	if (ibv_get_async_event(v->ctx, &ev))
		die("get_async_event: %s", strerror(errno));
	type = ev.event_type;
	ibv_ack_async_event(&ev);
	return type;
}

static void serve(const struct vcfg *cfg, int sock)
{
	struct peer p;
	struct ask a;
	struct ibv_wc wc;
	int answer;

	setup(&p, cfg, sock);
	for (;;) {
		v_get(sock, &a, sizeof(a));
		answer = 0;
		switch (a.cmd) {
		case CMD_RECV:
			answer = post_recv(&p, a.len);
			break;
		case CMD_SEND:
			answer = post(&p, IBV_WR_SEND, a.len, 0, 0);
			break;
		case CMD_UNMAP:
			munmap(p.buf, SIZE);
			break;
		case CMD_WAIT:
			answer = v_wait(p.v.cq, &wc, 20);
			break;
		case CMD_STATE:
			answer = qp_state(p.v.qp);
			break;
		case CMD_EVENT:
			answer = next_event(&p.v);
			break;
		case CMD_QUIT:
			exit(0);
		}
		v_put(sock, &answer, sizeof(answer));
	}
}

static int ask(struct peer *p, enum cmd cmd, uint32_t len)
{
	struct ask a = { cmd, len };
	int answer;

	v_put(p->v.sock, &a, sizeof(a));
	v_get(p->v.sock, &answer, sizeof(answer));
	return answer;
}

static void want(const char *what, int got, int expected)
{
	if (got != expected)
		die("%s: %d, expected %d", what, got, expected);
}

/* Posts a WR and expects this completion status, and the QP in ERR. */
static void fails(struct peer *p, enum ibv_wr_opcode op, uint32_t len, uint64_t raddr,
		  uint32_t rkey, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	want("post_send", post(p, op, len, raddr, rkey), 0);
	want("status", v_wait(p->v.cq, &wc, 20), status);
	want("state", qp_state(p->v.qp), IBV_QPS_ERR);
	/* Later WRs are flushed. */
	want("post_send in ERR", post(p, IBV_WR_SEND, 8, 0, 0), 0);
	want("flush", v_wait(p->v.cq, &wc, 20), IBV_WC_WR_FLUSH_ERR);
}

/* 0 if the pages of unmapped memory are kept for the MR, as a kernel keeps them; else the status. */
static int kept_or(int status)
{
	return getenv("BADINPUT_PINNED") ? 0 : status;
}

/* As fails(); if the pages are kept, it succeeds. */
static void fails_or_kept(struct peer *p, enum ibv_wr_opcode op, uint32_t len, int status)
{
	struct ibv_wc wc;

	if (kept_or(status))
		fails(p, op, len, p->theirs.addr, p->theirs.rkey, status);
	else if (post(p, op, len, p->theirs.addr, p->theirs.rkey) || v_wait(p->v.cq, &wc, 20))
		die("the pages are not kept");
}

static void wrong_rkey(struct peer *p)
{
	fails(p, IBV_WR_RDMA_WRITE, 64, p->theirs.addr, p->theirs.rkey ^ 0x55,
	      IBV_WC_REM_ACCESS_ERR);
	want("peer's state", ask(p, CMD_STATE, 0), IBV_QPS_ERR);
	want("peer's event", ask(p, CMD_EVENT, 0), IBV_EVENT_QP_ACCESS_ERR);
}

static void wrong_rkey_read(struct peer *p)
{
	fails(p, IBV_WR_RDMA_READ, 64, p->theirs.addr, p->theirs.rkey + 0x100,
	      IBV_WC_REM_ACCESS_ERR);
}

static void out_of_range(struct peer *p)
{
	fails(p, IBV_WR_RDMA_WRITE, 64, p->theirs.addr + SIZE - 63, p->theirs.rkey,
	      IBV_WC_REM_ACCESS_ERR);
}

static void out_of_range_wrap(struct peer *p)
{
	fails(p, IBV_WR_RDMA_WRITE, 64, UINT64_MAX - 10, p->theirs.rkey, IBV_WC_REM_ACCESS_ERR);
}

static void local_range(struct peer *p)
{
	p->buf += SIZE - 10;
	fails(p, IBV_WR_SEND, 64, 0, 0, IBV_WC_LOC_PROT_ERR);
}

static void local_lkey(struct peer *p)
{
	p->mr->lkey ^= 0x33;
	fails(p, IBV_WR_RDMA_READ, 64, p->theirs.addr, p->theirs.rkey, IBV_WC_LOC_PROT_ERR);
}

static void long_send(struct peer *p)
{
	want("recv", ask(p, CMD_RECV, 100), 0);
	fails(p, IBV_WR_SEND, 101, 0, 0, IBV_WC_REM_INV_REQ_ERR);
	want("receiver", ask(p, CMD_WAIT, 0), IBV_WC_LOC_LEN_ERR);
}

static void unmapped_send(struct peer *p)
{
	ask(p, CMD_RECV, SIZE);
	munmap(p->buf, SIZE);
	fails_or_kept(p, IBV_WR_SEND, 100, IBV_WC_LOC_PROT_ERR);
}

static void unmapped_send_large(struct peer *p)
{
	ask(p, CMD_RECV, SIZE);
	munmap(p->buf + SIZE / 2, SIZE / 2);
	fails_or_kept(p, IBV_WR_SEND, SIZE, IBV_WC_LOC_PROT_ERR);
}

static void unmapped_write(struct peer *p)
{
	munmap(p->buf, SIZE);
	fails_or_kept(p, IBV_WR_RDMA_WRITE, 100000, IBV_WC_LOC_PROT_ERR);
}

static void unmapped_read(struct peer *p)
{
	munmap(p->buf, SIZE);
	fails_or_kept(p, IBV_WR_RDMA_READ, 5000, IBV_WC_LOC_PROT_ERR);
}

static void unmapped_recv(struct peer *p)
{
	ask(p, CMD_RECV, SIZE);
	ask(p, CMD_UNMAP, 0);
	fails_or_kept(p, IBV_WR_SEND, 100, IBV_WC_REM_OP_ERR);
	want("receiver", ask(p, CMD_WAIT, 0), kept_or(IBV_WC_LOC_PROT_ERR));
}

static void unmapped_target(struct peer *p)
{
	ask(p, CMD_UNMAP, 0);
	fails_or_kept(p, IBV_WR_RDMA_WRITE, 70000, IBV_WC_REM_ACCESS_ERR);
}

static void unmapped_source(struct peer *p)
{
	ask(p, CMD_UNMAP, 0);
	fails_or_kept(p, IBV_WR_RDMA_READ, 70000, IBV_WC_REM_ACCESS_ERR);
}

static void *blocked_thread(void *arg)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	unmapped_send(arg);
	return NULL;
}

static void blocked_signals(struct peer *p)
{
	pthread_t t;

	pthread_create(&t, NULL, blocked_thread, p);
	pthread_join(t, NULL);
}

/*
 * A thread that only polls its CQ, with all signals blocked by a raw system call, which libruse does not see. The receive
 * buffer is unmapped, so the copy of the message faults inside ibv_poll_cq(), or finds the pages that are kept.
 */
static void *polling_thread(void *arg)
{
	struct peer *p = arg;
	uint64_t all = ~0ull;
	struct ibv_wc wc;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all));
	for (int i = 0; i < 20000; i++)
		want("empty CQ", ibv_poll_cq(p->v.cq, 1, &wc), 0);
	want("peer's post_send", ask(p, CMD_SEND, 100), 0);
	want("receive", v_wait(p->v.cq, &wc, 20), kept_or(IBV_WC_LOC_PROT_ERR));
	return NULL;
}

static void blocked_polling(struct peer *p)
{
	pthread_t t;

	want("post_recv", post_recv(p, SIZE), 0);
	munmap(p->buf, SIZE);
	pthread_create(&t, NULL, polling_thread, p);
	pthread_join(t, NULL);
	want("peer's completion", ask(p, CMD_WAIT, 0), kept_or(IBV_WC_REM_OP_ERR));
}

static volatile sig_atomic_t trapped;
static uint8_t *own_page;

static void trap(int sig, siginfo_t *si, void *uc)
{
	if (si->si_addr != own_page)
		_exit(3);
	trapped++;
	mprotect(own_page, 4096, PROT_READ | PROT_WRITE);
}

/* A program with a SIGSEGV handler: the handler gets the program's own faults and none of libruse's. */
static void own_handler(struct peer *p)
{
	struct sigaction sa = { .sa_sigaction = trap, .sa_flags = SA_SIGINFO }, old;

	sigaction(SIGSEGV, &sa, NULL);
	own_page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unmapped_send(p);
	want("own faults before", trapped, 0);
	*(volatile uint8_t *)own_page = 1;
	want("own faults", trapped, 1);
	sigaction(SIGSEGV, NULL, &old);
	if (old.sa_sigaction != trap)
		die("sigaction does not show the program's own handler");
}

static void rnr_exceeded(struct peer *p)
{
	struct ibv_wc wc;

	/* The peer has posted no receive, and cases[] gives this case a limited rnr_retry. */
	want("post", post(p, IBV_WR_SEND, 8, 0, 0), 0);
	want("status", v_wait(p->v.cq, &wc, 20), IBV_WC_RNR_RETRY_EXC_ERR);
}

static void wrong_state(struct peer *p)
{
	struct ibv_qp *qp = v_qp(&p->v), *keep = p->v.qp;

	p->v.qp = qp;
	want("post_send in RESET", post(p, IBV_WR_SEND, 8, 0, 0), EINVAL);
	want("INIT", v_init(qp, 0), 0);
	want("post_send in INIT", post(p, IBV_WR_SEND, 8, 0, 0), EINVAL);
	want("INIT to RTS", v_rts(qp, &p->v.cfg, 1), EINVAL);
	want("RTR", v_rtr(qp, &p->v.cfg, &p->theirs), 0);
	want("post_send in RTR", post(p, IBV_WR_SEND, 8, 0, 0), EINVAL);
	ibv_destroy_qp(qp);
	p->v.qp = keep;
}

static void bad_gid_index(struct peer *p)
{
	struct ibv_qp *qp = v_qp(&p->v);
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = 1,
		.max_dest_rd_atomic = 1, .min_rnr_timer = 1,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = p->theirs.gid, .sgid_index = 77 } },
	};
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;

	want("INIT", v_init(qp, 0), 0);
	want("empty GID index", ibv_modify_qp(qp, &a, mask), ENODATA);	/* rdma_get_gid_attr() */
	a.ah_attr.grh.sgid_index = 255;
	want("GID index 255", ibv_modify_qp(qp, &a, mask), ENODATA);
	a.ah_attr.grh.sgid_index = GID_INDEX;
	a.ah_attr.is_global = 0;
	want("no GRH", ibv_modify_qp(qp, &a, mask), EINVAL);
	a.ah_attr.is_global = 1;
	a.ah_attr.port_num = 2;
	want("port 2", ibv_modify_qp(qp, &a, mask), EINVAL);
	ibv_destroy_qp(qp);
}

static void bad_create(struct peer *p)
{
	struct ibv_qp_init_attr a = {
		.send_cq = p->v.cq, .recv_cq = p->v.cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1,
			 .max_inline_data = 1 << 20 },
	};
	void *hole = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (ibv_create_qp(p->v.pd, &a) || errno != EINVAL)
		die("inline of 1 MiB: %s", strerror(errno));
	a.cap.max_inline_data = 0;
	a.cap.max_send_sge = 1000;
	if (ibv_create_qp(p->v.pd, &a) || errno != EINVAL)
		die("1000 SGEs: %s", strerror(errno));
	if (ibv_create_cq(p->v.ctx, 0, NULL, NULL, 0) || errno != EINVAL)
		die("CQ of 0: %s", strerror(errno));
	if (ibv_create_cq(p->v.ctx, 1 << 22, NULL, NULL, 0) || errno != EINVAL)
		die("CQ of 2^22: %s", strerror(errno));
	if (ibv_create_cq(p->v.ctx, 8, NULL, NULL, 100000) || errno != EINVAL)
		die("comp_vector 100000: %s", strerror(errno));
	munmap((char *)hole + 4096, 4096);
	if (ibv_reg_mr(p->v.pd, hole, 8192, IBV_ACCESS_LOCAL_WRITE) || errno != EFAULT)
		die("MR over a hole: %s", strerror(errno));
	if (ibv_reg_mr(p->v.pd, p->buf, 64, IBV_ACCESS_REMOTE_WRITE) || errno != EINVAL)
		die("REMOTE_WRITE without LOCAL_WRITE: %s", strerror(errno));
	if (ibv_dealloc_pd(p->v.pd) != EBUSY)
		die("dealloc of a busy PD");
	if (ibv_destroy_cq(p->v.cq) != EBUSY)
		die("destroy of a busy CQ");
}

static void inline_too_long(struct peer *p)
{
	struct ibv_sge sge = { (uintptr_t)p->buf, 4096, p->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_INLINE }, *bad;

	want("inline of 4096", ibv_post_send(p->v.qp, &wr, &bad), EINVAL);
}

/* A small CQ gets more completions than it has room for: CQ_ERR. */
static void cq_too_small(struct peer *p)
{
	for (int i = 0; i < 64; i++)
		want("post", post(p, IBV_WR_RDMA_WRITE, 8, p->theirs.addr, p->theirs.rkey), 0);
	want("event", next_event(&p->v), IBV_EVENT_CQ_ERR);
}

/* Receives posted to a QP in ERR are flushed, although posting them rings no doorbell. */
static void late_recv(struct peer *p)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_ERR };
	struct ibv_wc wc;

	want("to ERR", ibv_modify_qp(p->v.qp, &a, IBV_QP_STATE), 0);
	for (int i = 0; i < 3; i++) {
		want("post_recv", post_recv(p, 100), 0);
		want("flush", v_wait(p->v.cq, &wc, 20), IBV_WC_WR_FLUSH_ERR);
	}
}

/*
 * Two connected QPs of one process without an ACK timeout; the program does not poll until the
 * event arrives: the message must arrive through the progress thread.
 */
static void self_by_events(struct peer *p)
{
	struct vcfg cfg = vcfg_default;
	struct vctx v = { .sock = -1 };
	struct ibv_qp *other;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *arg;

	cfg.channel = true;
	cfg.timeout = 0;
	v_open(&v, &cfg);
	other = v_qp(&v);
	v_connect_self(&v, v.qp, other);
	mr = ibv_reg_mr(v.pd, p->buf, SIZE, IBV_ACCESS_LOCAL_WRITE);
	for (int i = 0; i < 20; i++) {
		struct ibv_sge sge = { (uintptr_t)p->buf, 64, mr->lkey };
		struct ibv_recv_wr rwr = { .sg_list = &sge, .num_sge = 1 }, *rbad;
		struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND },
				   *bad;

		want("post_recv", ibv_post_recv(other, &rwr, &rbad), 0);
		want("arm", ibv_req_notify_cq(v.cq, 0), 0);
		want("post_send", ibv_post_send(v.qp, &wr, &bad), 0);
		want("event", ibv_get_cq_event(v.ch, &cq, &arg), 0);
		ibv_ack_cq_events(cq, 1);
		want("status", v_wait(v.cq, &wc, 20), IBV_WC_SUCCESS);
	}
	ibv_dereg_mr(mr);
	ibv_destroy_qp(other);
	v_close(&v);
}

/*
 * Random bytes are written to the device's descriptor. Each write must fail, and the connection
 * must still work.
 */
static void garbage(struct peer *p)
{
	char junk[4096];
	struct ibv_wc wc;

	srandom(42);
	for (int i = 0; i < 20000; i++) {
		size_t n = (size_t)random() % 200;

		for (size_t k = 0; k < n; k++)
			junk[k] = (char)random();
		if (n >= 4 && i % 3) {	/* plausible command numbers */
			junk[0] = (char)(random() % 60);
			junk[1] = junk[2] = junk[3] = 0;
			if (junk[0] == 13 || junk[0] == 20 || junk[0] == 27 || junk[0] == 4)
				continue;	/* these commands could succeed by chance */
		}
		if (write(p->v.ctx->cmd_fd, junk, n) == (ssize_t)n && n >= 200)
			die("garbage was taken");
	}
	want("recv", ask(p, CMD_RECV, 100), 0);
	want("post", post(p, IBV_WR_SEND, 100, 0, 0), 0);
	want("still works", v_wait(p->v.cq, &wc, 20), IBV_WC_SUCCESS);
}

static const struct {
	const char *name;
	void (*run)(struct peer *p);
	uint32_t cqe;
	uint8_t rnr_retry;
} cases[] = {
	{ "wrong_rkey", wrong_rkey, 0, 7 },
	{ "wrong_rkey_read", wrong_rkey_read, 0, 7 },
	{ "out_of_range", out_of_range, 0, 7 },
	{ "out_of_range_wrap", out_of_range_wrap, 0, 7 },
	{ "local_range", local_range, 0, 7 },
	{ "local_lkey", local_lkey, 0, 7 },
	{ "long_send", long_send, 0, 7 },
	{ "unmapped_send", unmapped_send, 0, 7 },
	{ "unmapped_send_large", unmapped_send_large, 0, 7 },
	{ "unmapped_write", unmapped_write, 0, 7 },
	{ "unmapped_read", unmapped_read, 0, 7 },
	{ "unmapped_recv", unmapped_recv, 0, 7 },
	{ "unmapped_target", unmapped_target, 0, 7 },
	{ "unmapped_source", unmapped_source, 0, 7 },
	{ "blocked_signals", blocked_signals, 0, 7 },
	{ "blocked_polling", blocked_polling, 0, 7 },
	{ "own_handler", own_handler, 0, 7 },
	{ "rnr_exceeded", rnr_exceeded, 0, 2 },
	{ "wrong_state", wrong_state, 0, 7 },
	{ "bad_gid_index", bad_gid_index, 0, 7 },
	{ "bad_create", bad_create, 0, 7 },
	{ "inline_too_long", inline_too_long, 0, 7 },
	{ "cq_too_small", cq_too_small, 3, 7 },
	{ "late_recv", late_recv, 0, 7 },
	{ "self_by_events", self_by_events, 0, 7 },
	{ "garbage", garbage, 0, 7 },
};

static int run(unsigned int i)
{
	struct vcfg cfg = vcfg_default;
	struct peer p;
	pid_t client, server;
	int sk[2], st, bad = 0;

	cfg.rnr_retry = cases[i].rnr_retry;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sk))
		die("socketpair");
	server = fork();
	if (!server) {
		close(sk[1]);
		serve(&cfg, sk[0]);
	}
	close(sk[0]);
	client = fork();
	if (!client) {
		struct ask quit = { CMD_QUIT, 0 };

		cfg.cqe = cases[i].cqe ? cases[i].cqe : cfg.cqe;
		setup(&p, &cfg, sk[1]);
		cases[i].run(&p);
		v_put(sk[1], &quit, sizeof(quit));
		exit(0);
	}
	close(sk[1]);
	waitpid(client, &st, 0);
	bad |= st;
	waitpid(server, &st, 0);
	bad |= st;
	printf("%-20s %s\n", cases[i].name, bad ? "FAILED" : "ok");
	fflush(stdout);
	return bad != 0;
}

int main(int argc, char **argv)
{
	int failed = 0, ran = 0;

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (argc < 2 || !strcmp(argv[1], cases[i].name)) {
			failed += run(i);
			ran++;
		}
	printf("badinput: %d cases, %d failed\n", ran, failed);
	return failed || !ran;
}
