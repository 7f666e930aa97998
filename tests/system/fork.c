/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Children of fork(): objects that the parent had open return EIO in the child, objects that the
 * child opens itself work, and the parent is not affected. Once the parent is dead, the child
 * takes over its open objects.
 *
 *   fork            every case, each in a process of its own
 *   fork NAME       one case
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "verbs.h"

#define SIZE 50000u

static void exchange(struct vctx *v, bool sender)
{
	static uint8_t buf[SIZE];
	struct ibv_mr *mr = ibv_reg_mr(v->pd, buf, SIZE, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = { (uintptr_t)buf, SIZE, mr ? mr->lkey : 0 };
	struct ibv_recv_wr rr = { .sg_list = &sge, .num_sge = 1 }, *badr;
	struct ibv_send_wr sr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED }, *bads;
	struct ibv_wc wc;

	if (!mr)
		die("reg_mr: %s", strerror(errno));
	memset(buf, 0, SIZE);
	if (sender)
		fill(buf, SIZE, 9);
	else if (ibv_post_recv(v->qp, &rr, &badr))
		die("post_recv");
	v_sync(v->sock);
	if (sender && ibv_post_send(v->qp, &sr, &bads))
		die("post_send");
	if (v_wait(v->cq, &wc, 20))
		die("%s", ibv_wc_status_str(wc.status));
	check(buf, SIZE, 9, "exchange");
	v_sync(v->sock);
	ibv_dereg_mr(mr);
}

/* Opens the device again, connects over the socket and exchanges messages both ways. */
static void talk(struct vctx *v, int sock, bool first)
{
	struct vdest mine = { 0 }, theirs;

	memset(v, 0, sizeof(*v));
	v->sock = sock;
	v_open(v, &vcfg_default);
	v_connect(v, &mine, &theirs);
	exchange(v, first);
	exchange(v, !first);
}

static void reap(pid_t pid)
{
	int st;

	if (waitpid(pid, &st, 0) != pid || st)
		die("child: status %#x", st);
}

static void pair(int sk[2])
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sk))
		die("socketpair");
}

static void want(const char *what, int got, int expected)
{
	if (got != expected)
		die("%s: %d (%s), expected %d", what, got, strerror(got), expected);
}

/* Every operation that a child may try with its parent's objects. */
static void use_inherited(struct vctx *v, bool post)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	struct ibv_recv_wr rr = { 0 }, *badr;
	struct ibv_device_attr da;
	struct ibv_port_attr pa;
	struct ibv_wc wc;
	char buf[64];

	want("query_device", ibv_query_device(v->ctx, &da), EIO);
	want("query_port", ibv_query_port(v->ctx, 1, &pa), EIO);
	errno = 0;
	if (ibv_reg_mr(v->pd, buf, sizeof(buf), 0) || errno != EIO)
		die("reg_mr: %s", strerror(errno));
	errno = 0;
	if (ibv_create_cq(v->ctx, 4, NULL, NULL, 0) || errno != EIO)
		die("create_cq: %s", strerror(errno));
	want("modify_qp", v_init(v->qp, 0), EIO);
	/*
	 * The queues are memory shared by both, as with kernel rxe: a work request that the child
	 * puts into a queue of the living parent becomes the parent's.
	 */
	if (post)
		ibv_post_recv(v->qp, &rr, &badr);
	if (post && !ibv_post_send(v->qp, &wr, &bad))
		die("post_send on the parent's QP succeeded");
	for (int i = 0; post && i < 1000; i++)
		ibv_poll_cq(v->cq, 1, &wc);
	if (!ibv_req_notify_cq(v->cq, 0))
		die("req_notify_cq on the parent's CQ succeeded");
	/* As in the kernel for objects of a lost device: any result is allowed. */
	ibv_destroy_qp(v->qp);
	ibv_destroy_cq(v->cq);
	ibv_dealloc_pd(v->pd);
	ibv_close_device(v->ctx);
}

static void before(void)
{
	struct vctx v;
	int sk[2];
	pid_t pid;

	pair(sk);
	pid = fork();
	talk(&v, sk[!pid], pid);
	v_close(&v);
	if (!pid)
		exit(0);
	reap(pid);
}

/* The child closes what it inherited, opens the device itself, and talks to its parent. */
static void after(void)
{
	struct vctx v = { 0 }, w;
	int sk[2];
	pid_t pid;

	v_open(&v, &vcfg_default);
	pair(sk);
	pid = fork();
	if (!pid) {
		use_inherited(&v, true);
		talk(&w, sk[1], false);
		v_close(&w);
		exit(0);
	}
	talk(&w, sk[0], true);
	v_close(&w);
	reap(pid);
	/* The parent's first context still works. */
	want("parent's QP", v_init(v.qp, 0), 0);
	v_close(&v);
}

static void connected(bool parent_goes_on)
{
	struct vctx v;
	int sk[2];
	pid_t pid, peer;

	pair(sk);
	peer = fork();
	if (!peer) {
		close(sk[0]);
		talk(&v, sk[1], false);
		exchange(&v, false);
		exit(0);
	}
	close(sk[1]);
	talk(&v, sk[0], true);
	pid = fork();
	if (!pid) {
		use_inherited(&v, false);
		exit(0);
	}
	if (parent_goes_on)
		exchange(&v, true);
	reap(pid);
	if (!parent_goes_on)
		exchange(&v, true);
	reap(peer);
}

static void while_connected(void)
{
	connected(true);
	connected(false);
}

/*
 * Forks; *sock is this process's end of a socket pair. Returns 0 in the parent, 1 in the child.
 */
static int apart(int *sock)
{
	int sk[2];

	pair(sk);
	if (fork()) {
		close(sk[1]);
		*sock = sk[0];
		return 0;
	}
	close(sk[0]);
	*sock = sk[1];
	return 1;
}

/* Connects the QP of v, which is open already, and exchanges messages in both directions. */
static void go_on(struct vctx *v, int sock, bool first)
{
	struct vdest mine = { 0 }, theirs;

	v->sock = sock;
	v_connect(v, &mine, &theirs);
	exchange(v, first);
	exchange(v, !first);
}

/* EIO until the parent is dead, however long that takes; no other error is allowed. */
static void wait_taken_over(struct vctx *v)
{
	struct ibv_device_attr da;
	int ret;

	while ((ret = ibv_query_device(v->ctx, &da)) == EIO)
		usleep(10000);
	want("query_device", ret, 0);
}

/* A completion channel created before the fork reports receives after it. */
static void channel(struct vctx *v)
{
	struct ibv_cq *cq;
	void *arg;

	if (ibv_get_cq_event(v->ch, &cq, &arg) || cq != v->cq)
		die("get_cq_event: %s", strerror(errno));
	ibv_ack_cq_events(cq, 1);
}

static void daemonized(void (*away)(struct vctx *v))
{
	struct vcfg cfg = vcfg_default;
	static uint8_t buf[4096];
	struct vctx v = { 0 };
	struct ibv_qp *qp, *old;
	uint32_t qpn, lkey;
	struct ibv_mr *mr;
	int sock;

	if (!apart(&sock)) {
		talk(&v, sock, true);
		v_close(&v);
		v_sync(sock);
		return;
	}
	alarm(100);
	cfg.channel = true;
	v_open(&v, &cfg);
	mr = ibv_reg_mr(v.pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);
	if (!mr)
		die("reg_mr");
	qpn = v.qp->qp_num;
	lkey = mr->lkey;
	away(&v);
	wait_taken_over(&v);
	want("req_notify_cq", ibv_req_notify_cq(v.cq, 0), 0);
	go_on(&v, sock, false);
	channel(&v);
	if (v.qp->qp_num != qpn || mr->lkey != lkey)
		die("other numbers");
	want("dereg_mr", ibv_dereg_mr(mr), 0);
	/* A new QP next to the inherited one. */
	old = v.qp;
	qp = v_qp(&v);
	if (!qp || qp->qp_num == qpn)
		die("create_qp");
	want("modify_qp", v_init(qp, 0), 0);
	want("destroy_qp", ibv_destroy_qp(qp), 0);
	v.qp = old;
	v_close(&v);
	/* No process reads the exit status of a daemon: report success over the socket. */
	v_sync(sock);
	exit(0);
}

static void away_daemon(struct vctx *v)
{
	if (daemon(0, 0))
		die("daemon");
}

static void away_twice(struct vctx *v)
{
	if (fork())
		_exit(0);
	setsid();
	if (fork())
		_exit(0);
}

/* The parent outlives the child's first attempt: EIO first, success later. */
static void away_late(struct vctx *v)
{
	struct ibv_device_attr da;
	int go[2];
	char c = 0;

	if (pipe(go))
		die("pipe");
	if (fork()) {
		close(go[1]);
		if (read(go[0], &c, 1) < 0)
			die("read");
		usleep(200000);
		_exit(0);
	}
	close(go[0]);
	want("query_device of a living parent's", ibv_query_device(v->ctx, &da), EIO);
	close(go[1]);
}

static void daemonize(void)
{
	daemonized(away_daemon);
}

static void double_fork(void)
{
	daemonized(away_twice);
}

static void late_parent(void)
{
	daemonized(away_late);
}

/*
 * A process connects a QP and becomes a daemon. After the child has taken over the QP, the QP has
 * no path to its peer: its receives are flushed, and after RESET it can be connected again.
 */
static void daemon_connected(void)
{
	struct vctx v, w;
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RESET };
	struct ibv_recv_wr rr = { 0 }, *bad;
	struct ibv_wc wc;
	int sock;

	if (!apart(&sock)) {
		talk(&v, sock, true);
		v_sync(sock);
		talk(&w, sock, true);
		v_sync(sock);
		return;
	}
	alarm(100);
	talk(&v, sock, false);
	if (ibv_post_recv(v.qp, &rr, &bad))
		die("post_recv");
	away_daemon(&v);
	wait_taken_over(&v);
	want("status", v_wait(v.cq, &wc, 20), IBV_WC_WR_FLUSH_ERR);
	want("reset", ibv_modify_qp(v.qp, &a, IBV_QP_STATE), 0);
	v_sync(sock);
	go_on(&v, sock, false);
	v_sync(sock);
	exit(0);
}

static void grandchildren(void)
{
	struct vctx v = { 0 };
	pid_t pid;

	for (int depth = 0; depth < 4; depth++) {
		memset(&v, 0, sizeof(v));
		v_open(&v, &vcfg_default);
		pid = fork();
		if (pid) {
			reap(pid);
			v_close(&v);
			if (depth)
				exit(0);
			return;
		}
		use_inherited(&v, true);
	}
	exit(0);
}

static atomic_bool stop;

static void *busy(void *arg)
{
	struct vctx *v = arg;
	struct ibv_wc wc;

	while (!atomic_load(&stop)) {
		char buf[64];
		struct ibv_mr *mr = ibv_reg_mr(v->pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);

		if (!mr || ibv_dereg_mr(mr))
			die("reg_mr, dereg_mr");
		ibv_poll_cq(v->cq, 1, &wc);
	}
	return NULL;
}

/*
 * Forks while two threads use the device. At the fork a thread may hold the engine lock or a lock
 * of libibverbs, and the child does not have this thread to release it. So the child does not call
 * libibverbs; it writes one command to the descriptor, which must fail with EIO.
 */
static void under_load(void)
{
	struct vctx v = { 0 };
	pthread_t t[2];
	pid_t pid;

	v_open(&v, &vcfg_default);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, busy, &v);
	for (int i = 0; i < 200; i++) {
		pid = fork();
		if (!pid) {
			char junk[64] = { 1 };

			alarm(20);
			errno = 0;
			if (write(v.ctx->cmd_fd, junk, sizeof(junk)) != -1 || errno != EIO)
				_exit(1);
			_exit(0);
		}
		reap(pid);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	v_close(&v);
}

/* Children that do nothing. */
static void *fork_often(void *arg)
{
	for (int i = 0; i < 50; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		reap(pid);
	}
	return arg;
}

/* Threads that fork at the same time, while another one uses the device. */
static void two_forkers(void)
{
	struct vctx v = { 0 };
	pthread_t t, user;

	v_open(&v, &vcfg_default);
	pthread_create(&user, NULL, busy, &v);
	pthread_create(&t, NULL, fork_often, NULL);
	fork_often(NULL);
	pthread_join(t, NULL);
	atomic_store(&stop, true);
	pthread_join(user, NULL);
	v_close(&v);
}

static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;

static void lock_own(void)
{
	pthread_mutex_lock(&own_lock);
}
static void unlock_own(void)
{
	pthread_mutex_unlock(&own_lock);
}

static void *busy_locked(void *arg)
{
	struct vctx *v = arg;

	while (!atomic_load(&stop)) {
		char buf[64];
		struct ibv_mr *mr;

		lock_own();
		mr = ibv_reg_mr(v->pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);
		if (!mr || ibv_dereg_mr(mr))
			die("reg_mr, dereg_mr");
		unlock_own();
	}
	return NULL;
}

/* The program's handlers take a lock, which another thread holds while it uses the device. */
static void locking_handlers(void)
{
	struct vctx v = { 0 };
	pthread_t t;

	pthread_atfork(lock_own, unlock_own, unlock_own);
	v_open(&v, &vcfg_default);
	pthread_create(&t, NULL, busy_locked, &v);
	fork_often(NULL);
	atomic_store(&stop, true);
	pthread_join(t, NULL);
	v_close(&v);
}

static struct vctx *handled;

/* Of a handler in the parent: before and after the fork all works. */
static void register_one(void)
{
	static char buf[64];
	struct ibv_mr *mr;

	if (!handled)
		return;
	mr = ibv_reg_mr(handled->pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);
	if (!mr || ibv_dereg_mr(mr))
		die("reg_mr in a handler: %s", strerror(errno));
}

/* Of a handler in the child. */
static void query_parents(void)
{
	struct ibv_device_attr da;

	if (handled)
		want("query_device in a handler", ibv_query_device(handled->ctx, &da), EIO);
}

/* The parent lives until its child has run its handlers. */
static void away_handled(struct vctx *v)
{
	int done[2];
	char c;

	handled = v;
	if (pipe(done))
		die("pipe");
	if (fork()) {
		close(done[1]);
		_exit(read(done[0], &c, 1) < 0);
	}
	handled = NULL;
	close(done[0]);
	close(done[1]);
}

/* The program's handlers use the device; a daemon takes it over nevertheless. */
static void using_handlers(void)
{
	pthread_atfork(register_one, register_one, query_parents);
	daemonized(away_handled);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "before", before }, { "after", after }, { "while_connected", while_connected },
	{ "daemonize", daemonize }, { "double_fork", double_fork }, { "late_parent", late_parent },
	{ "daemon_connected", daemon_connected }, { "grandchildren", grandchildren },
	{ "under_load", under_load }, { "two_forkers", two_forkers },
	{ "locking_handlers", locking_handlers }, { "using_handlers", using_handlers },
};

int main(int argc, char **argv)
{
	int st, failed = 0, ran = 0;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (argc > 1 && strcmp(argv[1], cases[i].name))
			continue;
		ran++;
		if (!fork()) {
			alarm(100);
			cases[i].run();
			exit(0);
		}
		wait(&st);
		printf("%-20s %s\n", cases[i].name, st ? "FAILED" : "ok");
		fflush(stdout);
		failed += st != 0;
	}
	return failed || !ran;
}
