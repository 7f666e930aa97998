/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Masks of SIGSEGV and SIGBUS that no call of sigprocmask() sets (harmless.c): those of handlers, of contexts, of threads
 * and of the program before. With a device, memory of a region that is gone fails requests, whatever the mask is.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include "harmless.h"
#include "harmless_mask.h"
#include "verbs.h"

static void handle(int sig, void (*fn)(int), bool full)
{
	struct sigaction sa = { .sa_handler = fn };

	if (full)
		sigfillset(&sa.sa_mask);
	sigaction(sig, &sa, NULL);
}

/* Sends from memory that is not there any more; the request must fail, and the process live. */
static void use_gone_memory(const char *when)
{
	struct vctx v = { .sock = -1 };
	struct vcfg cfg = vcfg_default;
	struct ibv_sge sge = { .length = 100 };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_qp *other;
	struct ibv_mr *mr, *to;
	struct ibv_wc wc;
	void *p, *room;

	if (!has_device)
		return;
	cfg.timeout = 8;
	v_open(&v, &cfg);
	other = v_qp(&v);
	v_connect_self(&v, v.qp, other);
	p = mmap(NULL, 2 * PG, RW, ANON, -1, 0);
	room = h_filled(BY_ALIGNED, PG, 0);
	mr = ibv_reg_mr(v.pd, p, 2 * PG, 0);
	to = ibv_reg_mr(v.pd, room, PG, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!mr || !to || munmap(p, 2 * PG))
		die("region: %m");
	sge.addr = (uintptr_t)p;
	sge.lkey = mr->lkey;
	wr.wr.rdma.remote_addr = (uintptr_t)room;
	wr.wr.rdma.rkey = to->rkey;
	if (ibv_post_send(v.qp, &wr, &bad))
		die("post_send: %m");
	if (v_wait(v.cq, &wc, 60) == IBV_WC_SUCCESS)
		say("%s: a request with gone memory succeeds", when);
	ibv_dereg_mr(mr);
	ibv_dereg_mr(to);
	ibv_destroy_qp(other);
	v_close(&v);
	free(room);
}

static volatile sig_atomic_t handled, inside, nested, elsewhere;
static pid_t main_thread;

static void on_segv(int sig)
{
	(void)sig;
	if (gettid() != main_thread)
		elsewhere = elsewhere + 1;
	if (inside)
		nested = nested + 1;
	inside = 1;
	tell("SIGSEGV");
	handled = handled + 1;
	inside = 0;
}

/* While it runs, the kernel blocks what is in its mask. */
static void on_usr1(int sig)
{
	(void)sig;
	tell("SIGUSR1");
	raise(SIGSEGV);
	tell("SIGUSR1, raised");
}

static void handler_mask(void)
{
	main_thread = gettid();
	handle(SIGSEGV, on_segv, false);
	for (int full = 0; full < 2; full++) {
		handle(SIGUSR1, on_usr1, full);
		raise(SIGUSR1);
		tell("afterwards");
		use_gone_memory("after a handler");
	}
	say("handled %d", (int)handled);
}

static void wait_inside(int sig)
{
	struct timespec t = { .tv_nsec = 100000000 };

	(void)sig;
	if (gettid() != main_thread)
		elsewhere = elsewhere + 1;
	if (inside)
		nested = nested + 1;
	inside = 1;
	if (!handled)
		kill(getpid(), SIGSEGV);
	while (nanosleep(&t, &t))
		;
	handled = handled + 1;
	inside = 0;
}

/* One that comes while the handler runs is for after it, on the thread that does not block it. */
static void second_signal(void)
{
	main_thread = gettid();
	handle(SIGSEGV, wait_inside, false);
	for (int i = 0; i < 3; i++) {
		handled = 0;
		kill(getpid(), SIGSEGV);
		say("handled %d, nested %d, on another thread %d", (int)handled, (int)nested, (int)elsewhere);
	}
}

/* A signal that is pending when the device is opened, by a program that has inherited it. */
static void pending_at_start(void)
{
	char exe[] = "/proc/self/exe", name[] = "sigcontext-pending-at-start", device[] = "device";
	char *argv[] = { exe, name, has_device ? device : NULL, NULL };
	int sig;
	sigset_t set;

	if (!getenv("SIGCONTEXT_SECOND")) {
		change(SIG_BLOCK, SIGSEGV, SIGBUS);
		raise(SIGBUS);
		kill(getpid(), SIGSEGV);
		setenv("SIGCONTEXT_SECOND", "1", 1);
		execv(exe, argv);
		die("exec: %m");
	}
	tell("second");
	use_gone_memory("with pending signals");
	tell("later");
	sigemptyset(&set);
	sigaddset(&set, SIGBUS);
	sigaddset(&set, SIGSEGV);
	for (int i = 0; i < 2; i++) {
		sigwait(&set, &sig);
		say("taken: %d", sig);
	}
}

static sigjmp_buf env;

static void jump(int sig)
{
	siglongjmp(env, sig);
}

static void in_ms(int ms)
{
	struct itimerval t = { .it_value.tv_usec = ms * 1000 };

	setitimer(ITIMER_REAL, &t, NULL);
}

static void jumps(void)
{
	sigset_t none;

	sigemptyset(&none);
	handle(SIGALRM, jump, true);
	change(SIG_BLOCK, SIGSEGV, SIGUSR1);
	if (!sigsetjmp(env, 1)) {
		in_ms(20);
		ppoll(NULL, 0, NULL, &none);
	}
	tell("out of ppoll");
	use_gone_memory("out of ppoll");
	if (!sigsetjmp(env, 1)) {
		change(SIG_SETMASK, 0, 0);
		use_gone_memory("unblocked");
		tell("before the jump");
		siglongjmp(env, 1);
	}
	tell("after the jump");
	use_gone_memory("after the jump");
	/* The mask of the handler stays. */
	change(SIG_SETMASK, 0, 0);
	if (!sigsetjmp(env, 0)) {
		in_ms(20);
		ppoll(NULL, 0, NULL, &none);
	}
	tell("out of a handler with its mask");
	use_gone_memory("out of a handler");
}

static ucontext_t main_context, other_context;

static void other_side(void)
{
	tell("other, begins");
	use_gone_memory("other context");
	change(SIG_SETMASK, SIGBUS, 0);
	swapcontext(&other_context, &main_context);
	tell("other, again");
	use_gone_memory("other context, again");
}

static void contexts(void)
{
	static volatile int times;
	size_t size = 256 * 1024;
	void *stack = h_filled(BY_MMAP, size, 0);

	getcontext(&other_context);
	other_context.uc_stack.ss_sp = stack;
	other_context.uc_stack.ss_size = size;
	other_context.uc_link = &main_context;
	makecontext(&other_context, other_side, 0);
	change(SIG_BLOCK, SIGSEGV, SIGUSR1);
	for (int i = 0; i < 2; i++) {
		swapcontext(&main_context, &other_context);
		tell("main");
		use_gone_memory("main context");
	}
	getcontext(&main_context);
	tell("got");
	if (!times++) {
		change(SIG_SETMASK, 0, 0);
		use_gone_memory("unblocked");
		setcontext(&main_context);
	}
	use_gone_memory("context of before");
}

static int thread_tells(void *arg)
{
	tell(arg);
	use_gone_memory(arg);
	return 0;
}

static void *pthread_tells(void *arg)
{
	thread_tells(arg);
	return NULL;
}

static void *take_one(void *arg)
{
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	sigwait(&set, &sig);
	if (arg)
		say("cancelled, and took %d", sig);
	return arg;
}

#define WAITERS 24

static void thread_masks(void)
{
	static char inherits[] = "thread", own[] = "thread with a mask", cancelled[] = "cancelled";
	pthread_t t, waiter[WAITERS];
	pthread_attr_t attr;
	sigset_t bus;
	thrd_t c11;

	change(SIG_BLOCK, SIGSEGV, 0);
	if (thrd_create(&c11, thread_tells, inherits) != thrd_success)
		die("no thread");
	thrd_join(c11, NULL);
	sigemptyset(&bus);
	sigaddset(&bus, SIGBUS);
	pthread_attr_init(&attr);
	pthread_attr_setsigmask_np(&attr, &bus);
	if (pthread_create(&t, &attr, pthread_tells, own))
		die("no thread");
	pthread_join(t, NULL);
	for (int i = 0; i < 20; i++) {
		if (pthread_create(&t, NULL, take_one, cancelled))
			die("no thread");
		usleep(1000);
		pthread_cancel(t);
		pthread_join(t, NULL);
	}
	for (int i = 0; i < WAITERS; i++)
		if (pthread_create(&waiter[i], NULL, take_one, NULL))
			die("no thread");
	for (int i = 0; i < WAITERS; i++) {
		kill(getpid(), SIGSEGV);
		for (int tries = 0; tries < 10000; tries++) {
			sigset_t set;

			sigpending(&set);
			if (!sigismember(&set, SIGSEGV))
				break;
			usleep(1000);
		}
	}
	for (int i = 0; i < WAITERS; i++)
		pthread_join(waiter[i], NULL);
	main_thread = gettid();
	handle(SIGSEGV, on_segv, false);
	change(SIG_UNBLOCK, SIGSEGV, 0);
	for (int i = 0; i < 100; i++)
		kill(getpid(), SIGSEGV);
	say("handled %d, on another thread %d", (int)handled, (int)elsewhere);
}

static atomic_bool over;
static atomic_int raised, missed, caught;

static void count_segv(int sig)
{
	(void)sig;
	caught++;
}

/* Of a thread that blocks all: raise() returns after the handler. */
static void raise_segv(int sig)
{
	int before = caught;

	(void)sig;
	change(SIG_UNBLOCK, SIGSEGV, 0);
	raise(SIGSEGV);
	raised++;
	missed += caught == before;
}

/* With a device, it writes as fast as it can. */
static void *write_on(void *arg)
{
	struct vctx v = { .sock = -1 };
	struct ibv_qp *other = NULL;
	sigset_t all;

	sigfillset(&all);
	sigdelset(&all, SIGUSR1);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	if (has_device) {
		v_open(&v, &vcfg_default);
		other = v_qp(&v);
		v_connect_self(&v, v.qp, other);
	}
	while (!over)
		if (has_device && v_message(&v, v.qp, other, IBV_SEND_SIGNALED))
			die("the message failed");
	return arg;
}

static void raise_in_handler(void)
{
	pthread_t t;

	handle(SIGSEGV, count_segv, false);
	handle(SIGUSR1, raise_segv, false);
	if (pthread_create(&t, NULL, write_on, NULL))
		die("no thread");
	for (int i = 0; i < 300; i++) {
		int before = raised;

		pthread_kill(t, SIGUSR1);
		for (int tries = 0; raised == before && tries < 100000; tries++)
			usleep(100);
	}
	over = true;
	pthread_join(t, NULL);
	say("raised %d, missed %d, caught %d", (int)raised, (int)missed, (int)caught);
}

static pthread_barrier_t barrier;
static atomic_int unlike;

/* The mask of the first action has SIGUSR1, that of the second SIGUSR2. */
static void fits(int other)
{
	sigset_t set;

	pthread_sigmask(SIG_SETMASK, NULL, &set);
	unlike += sigismember(&set, SIGUSR1) == other || sigismember(&set, SIGUSR2) != other;
}

static void first_action(int sig)
{
	(void)sig;
	fits(0);
}

static void second_action(int sig)
{
	(void)sig;
	fits(1);
}

#define TURNS 3000

static void *set_action(void *arg)
{
	struct sigaction sa = { .sa_handler = arg ? second_action : first_action };

	sigaddset(&sa.sa_mask, arg ? SIGUSR2 : SIGUSR1);
	for (int i = 0; i < TURNS; i++) {
		pthread_barrier_wait(&barrier);
		sigaction(SIGSEGV, &sa, NULL);
		pthread_barrier_wait(&barrier);
	}
	return arg;
}

/* Two threads set the action at the same time: one of the two counts, with its mask. */
static void actions_at_once(void)
{
	pthread_t t[2];

	pthread_barrier_init(&barrier, NULL, 3);
	for (int i = 0; i < 2; i++)
		if (pthread_create(&t[i], NULL, set_action, i ? &barrier : NULL))
			die("no thread");
	for (int i = 0; i < TURNS; i++) {
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
		raise(SIGSEGV);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	say("with the other mask: %d", (int)unlike);
}

static void writer(struct vctx *v, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	struct vcfg cfg = vcfg_default;
	struct ibv_qp *other;
	struct ibv_mr *mr;
	void *p = h_filled(BY_ALIGNED, PG, 0);

	cfg.channel = true;
	v_open(v, &cfg);
	other = v_qp(v);
	v_connect_self(v, v->qp, other);
	mr = ibv_reg_mr(v->pd, p, PG, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!mr)
		die("reg_mr: %m");
	*sge = (struct ibv_sge){ .addr = (uintptr_t)p, .length = 8, .lkey = mr->lkey };
	*wr = (struct ibv_send_wr){ .sg_list = sge,
				    .num_sge = 1,
				    .opcode = IBV_WR_RDMA_WRITE,
				    .send_flags = IBV_SEND_SIGNALED,
				    .wr.rdma = { (uintptr_t)p + 64, mr->rkey } };
}

/* A wait that a handler ends by a jump, for a timeout; the device works on. */
static void wait_with_timeout(struct vctx *v, struct ibv_send_wr *wr, unsigned int us)
{
	struct itimerval t = { .it_value.tv_usec = us }, never = { 0 };
	const struct timespec now = { 0 };
	struct ibv_send_wr *bad;
	struct ibv_cq *cq;
	sigset_t alarms;
	void *context;

	if (has_device && (ibv_req_notify_cq(v->cq, 0) || ibv_post_send(v->qp, wr, &bad)))
		die("post_send: %m");
	if (!sigsetjmp(env, 1)) {
		setitimer(ITIMER_REAL, &t, NULL);
		change(SIG_UNBLOCK, SIGALRM, 0);
		if (!has_device)
			pause();
		else if (ibv_get_cq_event(v->ch, &cq, &context) && errno != EINTR)
			die("get_cq_event: %m");
		change(SIG_BLOCK, SIGALRM, 0);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	sigtimedwait(&alarms, NULL, &now);
}

static void event_timeouts(void)
{
	struct vctx v = { .sock = -1 };
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_wc wc;
	unsigned int seed = 1;

	handle(SIGALRM, jump, false);
	change(SIG_BLOCK, SIGALRM, SIGSEGV);
	if (has_device)
		writer(&v, &wr, &sge);
	for (int i = 0; i < 100000 && h_has_time(); i++) {
		wait_with_timeout(&v, &wr, 1 + (unsigned int)rand_r(&seed) % 12);
		if (has_device && v_wait(v.cq, &wc, 60))
			say("a WRITE fails: %s", ibv_wc_status_str(wc.status));
	}
	tell("after all");
}

const struct hcase sigcontext_cases[] = {
	{ "sigcontext-event", event_timeouts },
	{ "sigcontext-raise", raise_in_handler },
	{ "sigcontext-actions", actions_at_once },
	{ "sigcontext-handler", handler_mask },
	{ "sigcontext-second", second_signal },
	{ "sigcontext-pending-at-start", pending_at_start },
	{ "sigcontext-jumps", jumps },
	{ "sigcontext-contexts", contexts },
	{ "sigcontext-threads", thread_masks },
	{ 0 },
};
