/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Progress: which thread looks at rings, sockets and timers, and when.
 *
 * A doorbell transmits on the caller's thread. A program that polls a CQ drives the engine from
 * there (pollwrap.c). Everything else is done by the progress thread of the process, which sleeps
 * in epoll. While the program polls, peers need not wake it (WATCH_POLLED), and the thread checks
 * only once a grace period whether the program still polls. The check is needed because a program
 * may stop polling its CQ and poll its memory for the data of an RDMA WRITE: only the thread can
 * then deliver the data.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include "base/fds.h"
#include "base/log.h"
#include "base/sys.h"
#include "engine/captures.h"
#include "engine/engine_internal.h"
#include "engine/faults.h"
#include "engine/wire.h"

#define BUDGET 64		/* segments that arrived() takes from a kind of link at once; bounds how long the lock is held */
#define TAKE_BUDGET 4096	/* segments that progress_take() handles: more than the ring of a shm link has slots */
#define STREAM 4		/* segments that one look at the links finds and that suggest a stream: more will follow */
#define STREAM_BYTES (32u << 10)	/* bytes from other hosts in one look that suggest the same */
#define LINGER_NS (50 * NS_US)	/* wait of linger() for the next segment: the time of two 64 KiB messages on a busy machine */
#define GRACE_MIN (100 * NS_US)
#define GRACE_SOME (1000 * NS_US)	/* a check doubles a grace period below this, and adds 1/8 to a longer one */
#define GRACE_MAX (2000 * NS_US)	/* longest grace period; reached after about 5 ms of polling */
/* If checks are slow (emulated machines), the longest period is the CPU time of GRACE_LOOKS checks, but at most GRACE_SLOW. */
#define GRACE_LOOKS 200
#define GRACE_SLOW (10 * NS_MS)
#define HELD_POLLS 1024u	/* after this many polls that found the lock held (about 5 us), a thread yields its CPU */
#define TIMER_POLLS 16		/* empty polls between two looks at the timers */
#define EMPTY_POLLS 8u		/* empty polls after which the program counts as polling */
#define POLLS_MAX (1u << 20)	/* upper limit of engine.polls_wanted, which not_polling() raises from EMPTY_POLLS on */
/*
 * How many QPs in ERR are checked for new receives by one poll of the program, and by one pass of the progress
 * thread.
 */
#define ERR_AT_POLL 16
#define ERR_AT_ROUND 512
#define PAGE_NS (200 * NS_MS)
#define SLICE_NS 100000		/* EEVDF slice of the progress thread in ns: its worst wake-up latency is 74 us instead of 2 ms */

ns_t engine_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (ns_t)ts.tv_sec * NS_S + ts.tv_nsec;
}

/*
 * The time for deadlines that are milliseconds away. A call takes a quarter of the time of
 * engine_now(). The value is at most a tick (4 ms) behind CLOCK_MONOTONIC, and never behind an
 * earlier value. A deadline derived from it may be that much early. Timers therefore run by
 * engine_now(), after all arrived segments were taken in.
 */
HOT APART ns_t engine_clock(void)
{
	struct timespec ts;
	ns_t coarse;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	coarse = (ns_t)ts.tv_sec * NS_S + ts.tv_nsec;
	if (unlikely(coarse > engine.now))
		engine.now = engine_now();
	return engine.now;
}

/* Does the loop link hold undelivered segments? Usually the equal counters show without a call that it does not. */
static bool loop_pending(void)
{
	return unlikely(engine.loop->tx_segs != engine.loop->rx_segs) &&
	       engine.loop->ops->peer_behind(engine.loop);
}

/*
 * Deliver what has arrived. all: continue until nothing is left (at most BUDGET); otherwise stop
 * after the first poll of the links that finds segments, because a program waits for them. The
 * clock is read at the first segment (qp_input()).
 */
HOT static inline int arrived(bool all)
{
	uint64_t bytes = 0;
	int n = 0, more;

	engine.now_read = false;
	/*
	 * wire_poll() is not in the loop: the first call takes everything that has arrived from
	 * other hosts, and a second call would cost as much as a packet.
	 */
	n = wire_poll(BUDGET, &bytes);
	if (bytes >= STREAM_BYTES)
		n = max(n, STREAM);
	do {
		more = shm_poll(engine.ep, BUDGET);
		if (loop_pending())
			more += engine.loop->ops->poll(engine.loop, BUDGET);
		if (unlikely(!list_empty(&engine.work)))
			qp_work_run(engine_clock());
		shm_round_done(engine.ep);
		n += more;
	} while (unlikely(more) && (all || loop_pending()) && n < BUDGET);
	return n;
}

/*
 * Deliver segments that this process sent to itself, and those that follow from them. After BUDGET
 * segments the progress thread continues.
 */
void progress_loop(void)
{
	int n = 0;

	while (loop_pending() && n < BUDGET)
		n += engine.loop->ops->poll(engine.loop, BUDGET);
	if (!list_empty(&engine.work))
		qp_work_run(engine.now);
	if (loop_pending())
		progress_kick();
}

/* Take in everything that a peer can have left on this link. */
void progress_take(struct link *l)
{
	uint64_t bytes = 0;

	engine.now_read = false;
	link_get(l);
	wire_poll(BUDGET, &bytes);
	if (!l->dead && l->ops->poll)
		l->ops->poll(l, TAKE_BUDGET);
	link_put(l);
	if (!list_empty(&engine.work))
		qp_work_run(engine_clock());
	shm_round_done(engine.ep);
}

static void timers_due(void)
{
	ns_t now;

	if (timer_next(&engine.timers) == NS_NEVER)
		return;
	now = engine.now = engine_now();
	if (timer_next(&engine.timers) <= now)
		timer_run(&engine.timers, now);
}

APART int progress_run(void)
{
	int n = arrived(true);

	timers_due();
	/* When a timer expired, a QP may have sent a segment to this process itself. */
	if (loop_pending())
		n += arrived(true);
	return n;
}

void progress_kick(void)
{
	uint64_t one = 1;

	if (engine.started && !pthread_equal(engine.thread, pthread_self()))
		sys_write(engine.kickfd, &one, sizeof(one));
}

static void kick_event(struct link_fd *fd, uint32_t events)
{
	uint64_t v;

	sys_read(engine.kickfd, &v, sizeof(v));
}

void progress_cq_armed(struct cq *cq)
{
	engine.empty_polls = 0;
	if (engine.watch == WATCH_ASLEEP)
		return;
	WRITE_ONCE(engine.watch, WATCH_ASLEEP);
	wire_want_wakeup(true);
	for (int i = 0; i < 4 && !shm_want_wakeup(engine.ep); i++)
		progress_run();
}

/* The program polls: stop wake-ups from peers. */
static RARE void polls(void)
{
	WRITE_ONCE(engine.watch, WATCH_POLLED);
	WRITE_ONCE(engine.grace, (ns_t)GRACE_MIN);
	shm_polling(engine.ep);
	wire_want_wakeup(false);
	progress_kick();
}

static RARE void flush_some(void)
{
	qp_flush_err(engine_now(), ERR_AT_POLL);
}

/* Look at the links. A look at the timers costs more, so only some polls do it. */
static inline void look(void)
{
	if (unlikely(!list_empty(&engine.err)))
		flush_some();
	if (likely(READ_ONCE(engine.poll_gen) % TIMER_POLLS))
		arrived(false);
	else
		progress_run();
}

static APART void look_wire(void)
{
	/*
	 * An earlier poll delivered a message that the program has not answered. It may be waiting
	 * for something else, such as the ACK of a message of its own, so the ACKs that were held
	 * too long are sent.
	 */
	if (unlikely(wire_holds()))
		wire_flush_old(engine_now());
	wire_hold(true);
	look();
	wire_hold(false);
	/*
	 * If the program stops polling, the progress thread must send the held ACKs. polls() wakes
	 * the thread, which then finds them. If there is no thread, the ACKs are sent here.
	 */
	if (unlikely(engine.watch == WATCH_ASLEEP) && wire_holds())
		engine.started ? polls() : wire_flush();
}

/*
 * This poll found the lock held. The holder looks at the links for this thread too, so there is
 * nothing to do, and no memory that threads share is written. With more polling threads than CPUs
 * the holder may be waiting for a CPU, and the other threads would use up their time slices in
 * vain: they yield now and then.
 */
static APART void held_again(void)
{
	static __thread uint32_t held __attribute__((tls_model("initial-exec")));

	if (unlikely(++held % HELD_POLLS == 0))
		sys_call(SYS_sched_yield);
}

FLAT void engine_poll(void)
{
	engine_check_fork();
	if (unlikely(inherit_pending))
		inherit_poll();
	if (unlikely(!elock_try(&engine.lock))) {
		held_again();
		return;
	}
	WRITE_ONCE(engine.poll_gen, READ_ONCE(engine.poll_gen) + 1);
	if (likely(engine.attached)) {
		if (unlikely(engine.watch == WATCH_ASLEEP) && engine.started &&
		    ++engine.empty_polls >= max(READ_ONCE(engine.polls_wanted), EMPTY_POLLS))
			polls();
		if (likely(wire_quiet()))
			look();
		else
			look_wire();
	}
	engine_unlock();
}

/* The longest grace period. A check takes CPU time from the program, so slower checks are made less often. */
static ns_t grace_max(void)
{
	return min(max(GRACE_LOOKS * engine.look_ns, (ns_t)GRACE_MAX), (ns_t)GRACE_SLOW);
}

/* The program still polls: extend the grace period. Called by the thread, also without the lock. */
static void still_polls(void)
{
	ns_t grace = READ_ONCE(engine.grace);

	if (grace >= GRACE_SOME)
		WRITE_ONCE(engine.polls_wanted, READ_ONCE(engine.polls_wanted) / 2);
	grace += grace < GRACE_SOME ? grace : grace / 8;
	WRITE_ONCE(engine.grace, min(grace, grace_max()));
}

/* Choose how to sleep. Returns the deadline; 0: segments have arrived. */
static ns_t watch_next(ns_t now, uint32_t *seen_gen)
{
	ns_t until = min(timer_next(&engine.timers), engine.reattach_at);

	if (!list_empty(&engine.err))
		until = min(until, now + ERR_RESCAN);
	if (engine.watch == WATCH_POLLED) {
		uint32_t gen = READ_ONCE(engine.poll_gen);

		if (gen != *seen_gen) {
			*seen_gen = gen;
			still_polls();
			return min(until, now + READ_ONCE(engine.grace));
		}
		WRITE_ONCE(engine.watch, WATCH_ASLEEP);
		engine.empty_polls = 0;
	}
	wire_want_wakeup(true);
	return shm_want_wakeup(engine.ep) ? until : 0;
}

/*
 * A stream of segments arrives for a program that does not poll (RDMA WRITE to a sleeping program).
 * The next segment comes sooner than a sleep and a wake-up take, so look for LINGER_NS after the
 * last one. The lock is free between two looks. Called only if arrived() has found STREAM segments
 * or more: after a single message the CPU is left to the program that it woke.
 */
static void linger(void)
{
	ns_t until = 0;

	for (int i = 0; ; i++) {
		int n;

		if (i % 16 == 0) {
			ns_t now = engine_now();

			if (until && now >= until)
				return;
			until = until ? until : now + LINGER_NS;
		}
		if (READ_ONCE(engine.watch) == WATCH_POLLED || !elock_try(&engine.lock))
			return;	/* the program polls by itself */
		n = arrived(true);
		engine_unlock();
		if (n)
			until = 0, i = -1;
		else
			cpu_relax();
	}
}

/*
 * Segments arrived for a program that was taken to poll but does not.
 *
 * A program that alternates between waiting for a completion and for a byte in its memory
 * (ib_write_lat) polls just long enough to count as polling, and its next segment waits for the end
 * of the grace period. Each time that this happens, more empty polls are required.
 */
static void not_polling(void)
{
	if (engine.watch == WATCH_POLLED) {
		uint32_t wanted = max(READ_ONCE(engine.polls_wanted), EMPTY_POLLS) * 16;

		WRITE_ONCE(engine.polls_wanted, min(wanted, POLLS_MAX));
	}
	engine.empty_polls = 0;
}

/* What the thread does between two sleeps. Returns the next deadline; 0: run again at once. */
static ns_t round_locked(uint32_t *seen_gen, ns_t *page_at, int *n)
{
	ns_t now = engine_now(), until;
	struct host_page *copy;

	if (now >= engine.reattach_at) {
		engine.reattach_at = now + NS_S;
		attach_if_running();
	}
	qp_flush_err(now, ERR_AT_ROUND);
	if (engine.watch == WATCH_POLLED && READ_ONCE(engine.poll_gen) != *seen_gen) {
		/*
		 * The program polls and looks at the links itself. If this thread looked too, the
		 * program would have to wait for the lock.
		 */
		timers_due();
		*n = 0;
	} else {
		uint32_t gen = READ_ONCE(engine.poll_gen);

		wire_hold(true);
		*n = progress_run();
		wire_hold(false);
		if (*n && gen == *seen_gen)
			not_polling();
		if (engine.watch == WATCH_ASLEEP)
			*seen_gen = gen;
	}
	if (now >= *page_at) {
		*page_at = now + PAGE_NS;
		page_update();
		copy = malloc(sizeof(*copy));
		if (copy && !host_page_read(engine.host_page, copy))
			host_page_news(copy);
		free(copy);
		faults_look();
	}
	until = wire_flush_old(now);
	return *n >= STREAM ? 0 : min(until, watch_next(now, seen_gen));
}

/* Sleep until an event or the deadline. Returns whether there was an event. */
static bool wait_events(ns_t until)
{
	struct epoll_event ev[16];
	uint32_t closed = READ_ONCE(engine.closed);
	ns_t now = engine_now(), ns = until > now ? until - now : 0;
	struct timespec ts = { .tv_sec = ns / NS_S, .tv_nsec = ns % NS_S };
	long n;

	n = sys_call(SYS_epoll_pwait2, engine.epfd, ev, ARRAY_SIZE(ev),
		     until == NS_NEVER ? NULL : &ts, NULL, 0);
	if (fds_refused(n))
		n = sys_call(SYS_epoll_pwait, engine.epfd, ev, ARRAY_SIZE(ev),
			     until == NS_NEVER ? -1L : min((ns + NS_MS - 1) / NS_MS, 1000LL), NULL,
			     0);
	if (n <= 0)
		return false;
	if (!engine_lock())
		return true;
	engine.now = engine_now();
	/*
	 * After a close, a pending event may belong to a freed link_fd, so all are skipped; epoll
	 * reports the others again.
	 */
	for (long i = 0; i < n && engine.closed == closed; i++) {
		struct link_fd *fd = ev[i].data.ptr;

		fd->event(fd, ev[i].events);
	}
	engine_unlock();
	return true;
}

/* CPU time of this thread. */
static ns_t thread_cpu(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (ns_t)ts.tv_sec * NS_S + ts.tv_nsec;
}

/*
 * Does the program still poll? Checked without the lock, which a program that polls sockets holds
 * most of the time. A program inside the engine (lock held) counts as polling even if its poll
 * count did not move: its thread may have lost its CPU, or the machine is emulated.
 */
static bool polls_on(uint32_t *seen_gen, ns_t page_at, ns_t *look_cpu)
{
	uint32_t gen = READ_ONCE(engine.poll_gen);
	ns_t now, cpu;

	if (READ_ONCE(engine.watch) != WATCH_POLLED)
		return false;
	if (gen == *seen_gen && !READ_ONCE(engine.lock.word))
		return false;
	now = engine_now();
	if (now >= page_at)
		return false;
	*seen_gen = gen;
	/* CPU time between two consecutive checks: the cost of one. */
	cpu = thread_cpu();
	if (*look_cpu)
		engine.look_ns = ns_learn(engine.look_ns, cpu - *look_cpu);
	*look_cpu = cpu;
	still_polls();
	WRITE_ONCE(engine.sleep_until, min(page_at, now + READ_ONCE(engine.grace)));
	return true;
}

static void thread_setup(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t prio;
		uint64_t runtime, deadline, period;
	} attr = { sizeof(attr), 0, 0, 0, 0, SLICE_NS, 0, 0 };

	prctl(PR_SET_NAME, "ruse-progress");
	prctl(PR_SET_TIMERSLACK, 1UL);
	attr.nice = (int32_t)(20 - sys_call(SYS_getpriority, 0, 0));
	sys_call(SYS_sched_setattr, 0, &attr, 0);	/* fails without EEVDF; harmless */
}

static void *progress_thread(void *arg)
{
	uint32_t seen_gen = 0;
	ns_t page_at = 0, until, look_cpu;
	int n;

	thread_setup();
	shm_ep_thread_start(engine.ep);
	for (;;) {
		if (!engine_lock())
			return NULL;
		until = round_locked(&seen_gen, &page_at, &n);
		WRITE_ONCE(engine.sleep_until, until);
		engine_unlock();
		if (n >= STREAM)
			linger();
		look_cpu = 0;
		while (!wait_events(until) && polls_on(&seen_gen, page_at, &look_cpu))
			until = engine.sleep_until;
	}
}

#define SMALL_STACK (256ul << 10)

/*
 * Create the thread with a default stack, which has the size of ulimit -s. If limits of address
 * space or of locked memory forbid that size (EAGAIN), create it with a small stack.
 */
static int thread_try(void)
{
	pthread_attr_t attr;
	int ret = -pthread_create(&engine.thread, NULL, progress_thread, NULL);

	if (ret != -EAGAIN || pthread_attr_init(&attr))
		return ret;
	if (!pthread_attr_setstacksize(&attr, SMALL_STACK))
		ret = -pthread_create(&engine.thread, &attr, progress_thread, NULL);
	pthread_attr_destroy(&attr);
	return ret;
}

/*
 * glibc's pthread_create() falls back to clone() if clone3() fails with ENOSYS, but the seccomp
 * filters of some container engines return EPERM. If several filters return an errno, that of the
 * newest filter counts. A filter added here therefore corrects the errno, for this thread and its
 * children. The kernel accepts it only from a thread with no_new_privs or CAP_SYS_ADMIN.
 */
static bool clone3_unknown(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { ARRAY_SIZE(f), f };

	return !sys_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog);
}

static int thread_create(void)
{
	int ret = thread_try();

	if (ret == -EPERM && sys_call(SYS_clone3, NULL, 0) == -EPERM && clone3_unknown())
		ret = thread_try();
	if (ret)
		log_err("cannot create the progress thread: %s%s", strerrordesc_np(-ret),
			ret == -EPERM ? " (a seccomp filter must refuse clone3 with ENOSYS)" : "");
	return ret;
}

int progress_start(void)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = &engine.kick_fd };
	sigset_t all, old;
	int ret;

	if (engine.started)
		return 0;
	engine.kickfd = own_fd(fds_event(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (engine.kickfd < 0)
		return engine.kickfd;
	engine.kick_fd.event = kick_event;
	sys_call(SYS_epoll_ctl, engine.epfd, EPOLL_CTL_ADD, engine.kickfd, &ev);
	/*
	 * The thread blocks all signals but those that its guarded copies may raise, so the
	 * program's threads receive the rest.
	 */
	memset(&all, 0xff, sizeof(all));
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	sys_call(SYS_rt_sigprocmask, SIG_SETMASK, &all, &old, 8);
	ret = thread_create();
	sys_call(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, 8);
	if (ret) {
		own_close(engine.kickfd);
		return ret;
	}
	pthread_detach(engine.thread);
	engine.started = true;
	/* Captures may have started between the attach and now. */
	captures_attached(engine.host_page);
	return 0;
}
