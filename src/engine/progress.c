/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Progress: which thread looks at rings, sockets and timers, and when.
 *
 * A doorbell transmits on the caller's thread. A program that polls a CQ drives the engine from
 * there (pollwrap.c). Everything else is done by the progress thread of the process, which sleeps
 * in epoll. pollstate.h decides which of the two looks, and when the thread wakes.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include "base/fds.h"
#include "base/log.h"
#include "base/proc.h"
#include "base/sys.h"
#include "check/check.h"
#include "core/shake.h"
#include "core/umem_mask.h"
#include "engine/captures.h"
#include "engine/checks.h"
#include "engine/engine_internal.h"
#include "engine/wire.h"
#include "shared/bell.h"

#define BUDGET 64		/* segments, or QPs in ERR, that are handled at once; bounds how long the lock is held */
#define TAKE_BUDGET 4096	/* segments that progress_take() handles: more than the ring of a shm link has slots */
#define PAGE_NS (200 * NS_MS)

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
HOT noinline ns_t engine_clock(void)
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
static bool progress_loop_pending(void)
{
	return unlikely(engine.loop->tx_segs != engine.loop->rx_segs) &&
	       engine.loop->ops->peer_behind(engine.loop);
}

/*
 * Deliver what has arrived. all: continue until nothing is left (at most BUDGET); otherwise stop
 * after the first poll of the links that finds segments, because a program waits for them. The
 * clock is read at the first segment (qp_input()).
 */
HOT static inline int progress_arrived(bool all)
{
	int n, more;

	engine.now_read = false;
	/*
	 * wire_poll() is not in the loop: the first call takes everything that has arrived from
	 * other hosts, and a second call would cost as much as a packet.
	 */
	n = wire_poll(BUDGET);
	do {
		more = shm_poll(engine.ep, BUDGET);
		if (progress_loop_pending())
			more += engine.loop->ops->poll(engine.loop, BUDGET);
		if (unlikely(!list_empty(&engine.work)))
			qp_work_run(engine_clock());
		shm_round_done(engine.ep);
		n += more;
	} while (unlikely(more) && (all || progress_loop_pending()) && n < BUDGET);
	return n;
}

/*
 * Deliver segments that this process sent to itself, and those that follow from them. After BUDGET
 * segments the progress thread continues.
 */
void progress_loop(void)
{
	int n = 0;

	while (progress_loop_pending() && n < BUDGET)
		n += engine.loop->ops->poll(engine.loop, BUDGET);
	if (!list_empty(&engine.work))
		qp_work_run(engine.now);
	if (progress_loop_pending())
		progress_kick();
}

/* Take in everything that a peer can have left on this link. */
void progress_take(struct link *l)
{
	engine.now_read = false;
	link_get(l);
	wire_poll(BUDGET);
	if (!l->dead && l->ops->poll)
		l->ops->poll(l, TAKE_BUDGET);
	link_put(l);
	if (!list_empty(&engine.work))
		qp_work_run(engine_clock());
	shm_round_done(engine.ep);
}

static void progress_timers(void)
{
	ns_t now;

	if (timer_next(&engine.timers) == NS_NEVER)
		return;
	now = engine.now = engine_now();
	if (timer_next(&engine.timers) <= now)
		timer_run(&engine.timers, now);
}

/* Do all that is possible: arrived segments, blocked QPs, due timers. Returns the number of segments. */
static noinline int progress_run(void)
{
	int n = progress_arrived(true);

	progress_timers();
	/* When a timer expired, a QP may have sent a segment to this process itself. */
	if (progress_loop_pending())
		n += progress_arrived(true);
	return n;
}

void progress_kick(void)
{
	if (engine.started && !pthread_equal(engine.thread, pthread_self()))
		bell_ring(engine.kickfd);
}

static void progress_kick_event(struct link_fd *fd, uint32_t events)
{
	bell_heard(engine.kickfd);
}

/* Returns whether the thread may sleep: nothing has arrived since peers were asked for wake-ups. */
static noinline bool progress_actions(unsigned int actions)
{
	if (actions & POLLSTATE_NO_WAKE) {
		shm_polling(engine.ep);
		wire_want_wakeup(false);
	}
	if (actions & POLLSTATE_KICK)
		progress_kick();
	if (!(actions & POLLSTATE_WAKE))
		return true;
	wire_want_wakeup(true);
	return shm_want_wakeup(engine.ep);
}

void progress_cq_armed(struct cq *cq)
{
	unsigned int actions = pollstate_step(&engine.poll, POLLSTATE_ARM, engine.now);

	for (int i = 0; i < 4 && !progress_actions(actions); i++)
		progress_run();
	progress_watch_arm(cq);
}

bool progress_asleep(uint32_t tid)
{
	char path[48];
	int state;
	long pid;

	snprintf(path, sizeof(path), "/proc/self/task/%u/stat", tid);
	state = proc_state(path);
	if (state != -ENOENT)
		return state == 'S';
	pid = sys_call(SYS_getpid);
	return sys_call(SYS_tgkill, pid, (long)tid, 0L) == -ESRCH;
}

static bool progress_arm_shaken(struct cq *cq)
{
	uint32_t n;

	if (likely(!cq->shake))
		return false;
	n = (cq->ring.index - cq->hidden - cq_consumer(cq)) & cq->ring.mask;
	return shake_ops->arm(cq, n);
}

void progress_watch_arm(struct cq *cq)
{
	if (unlikely(cq->check) && cq_arm_pending(cq))
		check_cq_armed(cq);
	if (engine.strict_arm || !cq_arm_pending(cq) || progress_arm_shaken(cq) ||
	    !armed_add(&engine.armed, cq, (uint32_t)sys_call(SYS_gettid), engine_now()))
		return;
	if (READ_ONCE(engine.sleep_until) > engine.armed.due)
		progress_kick();
}

/* The program's poll found nothing. */
static noinline __cold void progress_empty_poll(void)
{
	progress_actions(pollstate_step(&engine.poll, POLLSTATE_EMPTY_POLL, engine.now));
}

static noinline __cold void progress_flush_err(void)
{
	qp_flush_err(engine_now(), BUDGET);
}

/* Look at the links. A look at the timers costs more, so only some polls do it. */
static inline void progress_look(void)
{
	if (unlikely(!list_empty(&engine.err)))
		progress_flush_err();
	if (likely(READ_ONCE(engine.poll_gen) % TUNE_RARELY))
		progress_arrived(false);
	else
		progress_run();
}

static noinline void progress_look_wire(void)
{
	/*
	 * An earlier poll delivered a message that the program has not answered. It may be waiting
	 * for something else, such as the ACK of a message of its own, so the ACKs that were held
	 * too long are sent.
	 */
	if (unlikely(wire_holds()))
		wire_flush_old(engine_now());
	/* The thread of a program that stops polling sends the ACKs that are held. */
	wire_hold(pollstate_get(&engine.poll) == POLLSTATE_POLLED);
	progress_look();
	wire_hold(false);
}

/*
 * This poll found the lock held. The holder looks at the links for this thread too, so there is
 * nothing to do, and no memory that threads share is written. With more polling threads than CPUs
 * the holder may be waiting for a CPU, and the other threads would use up their time slices in
 * vain: they yield now and then.
 */
static noinline void progress_held(void)
{
	static __thread uint32_t held __attribute__((tls_model("initial-exec")));

	if (unlikely(++held % TUNE_SPINS == 0))
		sys_call(SYS_sched_yield);
}

HOT __flatten void engine_poll(void)
{
	engine_check_fork();
	if (unlikely(inherit_pending))
		inherit_poll();
	if (unlikely(!elock_try(&engine.lock))) {
		progress_held();
		return;
	}
	WRITE_ONCE(engine.poll_gen, READ_ONCE(engine.poll_gen) + 1);
	if (likely(engine.attached)) {
		if (unlikely(pollstate_get(&engine.poll) != POLLSTATE_POLLED) && engine.started)
			progress_empty_poll();
		if (likely(wire_quiet()))
			progress_look();
		else
			progress_look_wire();
	}
	engine_unlock();
}

/*
 * The thread polls while a stream of segments arrives. The lock is free between two looks; if it is
 * held, the holder looks. Returns when the first timer is due: this thread does not kick itself when it sets one.
 */
static ns_t progress_stream(void)
{
	ns_t timer = NS_NEVER;
	bool due;

	while (pollstate_get(&engine.poll) == POLLSTATE_STREAM && elock_try(&engine.lock)) {
		int n = progress_arrived(true);

		ns_t now = engine_now();

		progress_actions(pollstate_step(&engine.poll, pollstate_round(n), now));
		due = now >= engine.armed.due;
		page_look_changed();
		timer = timer_next(&engine.timers);
		engine_unlock();
		if (due)
			break;
		if (!n)
			cpu_relax();
	}
	return timer;
}

/* Deliver what has arrived, and choose how to sleep. Returns the deadline; 0: segments have arrived. */
static ns_t progress_round(ns_t now, struct pollstate_seen *seen)
{
	ns_t until = min(timer_next(&engine.timers), engine.reattach_at);
	uint32_t gen = READ_ONCE(engine.poll_gen);
	enum pollstate_event event;

	if (pollstate_get(&engine.poll) == POLLSTATE_POLLED && gen != seen->gen) {
		/*
		 * The program polls and looks at the links itself. If this thread looked too, the
		 * program would have to wait for the lock.
		 */
		progress_timers();
		pollstate_seen_look(seen, gen);
		event = POLLSTATE_ALIVE;
	} else {
		wire_hold(true);
		event = pollstate_round(progress_run());
		wire_hold(false);
		pollstate_seen_reset(seen, gen);
	}
	now = engine_now();
	if (!progress_actions(pollstate_step(&engine.poll, event, now)))
		return 0;
	if (!list_empty(&engine.err))
		until = min(until, now + ERR_RESCAN);
	/* What has arrived may have set timers. */
	until = min(until, timer_next(&engine.timers));
	return min(min(until, engine.armed.due), pollstate_due(&engine.poll, seen, now));
}

/* What the thread does between two sleeps. Returns the next deadline; 0: run again at once. */
static ns_t progress_round_locked(struct pollstate_seen *seen, ns_t *page_at)
{
	ns_t now = engine_now(), until;

	if (now >= engine.reattach_at) {
		engine.reattach_at = now + NS_S;
		attach_if_running();
	}
	qp_flush_err(now, BUDGET);
	if (now >= engine.armed.due)
		armed_check(&engine.armed, now);
	until = progress_round(now, seen);
	if (now >= *page_at) {
		*page_at = now + PAGE_NS;
		own_page_update();
		page_look();
	}
	if (unlikely(quiet_unpin()))
		until = min(until, now + PAGE_NS);
	if (unlikely(now >= READ_ONCE(checkacks_due)))
		checkacks_look(now, false);
	until = min(until, READ_ONCE(checkacks_due));
	return min(until, wire_flush_old(now));
}

/* Sleep until an event or the deadline. Returns whether there was an event. */
static bool progress_wait(ns_t until)
{
	struct epoll_event ev[16];
	uint32_t closed = READ_ONCE(engine.closed);
	ns_t now = engine_now(), ns = until > now ? until - now : 0;
	struct timespec ts = { .tv_sec = ns / NS_S, .tv_nsec = ns % NS_S };
	long n;

	umem_rest();
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

/*
 * Does the program still poll? Checked without the lock, which a program that polls sockets holds
 * most of the time. A program inside the engine (lock held) counts as polling even if its poll
 * count did not move, because its thread may have lost its CPU.
 */
static bool progress_polled(struct pollstate_seen *seen, ns_t page_at)
{
	uint32_t gen = READ_ONCE(engine.poll_gen);
	ns_t now;

	if (pollstate_get(&engine.poll) != POLLSTATE_POLLED)
		return false;
	if (gen == seen->gen && !READ_ONCE(engine.lock.word))
		return false;
	now = engine_now();
	if (now >= page_at || now >= READ_ONCE(engine.armed.due))
		return false;
	pollstate_seen_check(seen, gen);
	WRITE_ONCE(engine.sleep_until, min(page_at, pollstate_due(&engine.poll, seen, now)));
	return true;
}

static void progress_thread_setup(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t prio;
		uint64_t runtime, deadline, period;
	} attr = { sizeof(attr), 0, 0, 0, 0, TUNE_SLICE, 0, 0 };

	prctl(PR_SET_NAME, "ruse-progress");
	prctl(PR_SET_TIMERSLACK, 1UL);
	attr.nice = (int32_t)(20 - sys_call(SYS_getpriority, 0, 0));
	sys_call(SYS_sched_setattr, 0, &attr, 0);	/* fails without EEVDF; harmless */
}

static void *progress_thread(void *arg)
{
	struct pollstate_seen seen;
	ns_t page_at = 0, until;

	umem_engine_thread();
	engine.host->thread_began();
	pollstate_seen_reset(&seen, 0);
	progress_thread_setup();
	shm_ep_thread_start(engine.ep);
	WRITE_ONCE(engine.thread_began, 1u);
	sys_call(SYS_futex, &engine.thread_began, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	for (;;) {
		if (!engine_lock())
			return NULL;
		until = progress_round_locked(&seen, &page_at);
		WRITE_ONCE(engine.sleep_until, until);
		engine_unlock();
		until = min(until, progress_stream());
		while (!progress_wait(until) && progress_polled(&seen, page_at))
			until = engine.sleep_until;
	}
}

#define SMALL_STACK (256ul << 10)

/*
 * Create the thread with a default stack, which has the size of ulimit -s. If limits of address
 * space or of locked memory forbid that size (EAGAIN), create it with a small stack.
 */
static int progress_thread_try(void)
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
static bool progress_clone3_unknown(void)
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

static int progress_thread_create(void)
{
	int ret = progress_thread_try();

	if (ret == -EPERM && sys_call(SYS_clone3, NULL, 0) == -EPERM && progress_clone3_unknown())
		ret = progress_thread_try();
	if (ret)
		log_err("cannot create the progress thread: %s%s", strerrordesc_np(-ret),
			ret == -EPERM ? " (a seccomp filter must refuse clone3 with ENOSYS)" : "");
	return ret;
}

/*
 * Waits until the thread runs: a child by a raw clone() has libc's list of threads, and its setuid() waits for a thread that
 * libc has not begun (glibc's setxid_mark_thread()). The limit is for a thread that cannot begin before the caller goes on.
 */
static void progress_thread_wait(void)
{
	const struct timespec limit = { .tv_sec = 1 };
	long rc = 0;

	while (!READ_ONCE(engine.thread_began) && rc != -ETIMEDOUT)
		rc = sys_call(SYS_futex, &engine.thread_began, FUTEX_WAIT_PRIVATE, 0u, &limit, NULL,
			      0);
}

int progress_start(void)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = &engine.kick_fd };
	const uint64_t blocked = ~(3ull << 31);
	uint64_t old;
	int ret;

	if (engine.started)
		return 0;
	engine.kickfd = own_fd(fds_event(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (engine.kickfd < 0)
		return engine.kickfd;
	engine.kick_fd.event = progress_kick_event;
	sys_call(SYS_epoll_ctl, engine.epfd, EPOLL_CTL_ADD, engine.kickfd, &ev);
	/*
	 * The thread blocks all signals, so the program's threads receive them, but those by which libc cancels threads
	 * and changes the ids of all of them (setuid()). umem_engine_thread() is for those that its guarded copies may raise.
	 */
	sys_call(SYS_rt_sigprocmask, SIG_SETMASK, &blocked, &old, sizeof(blocked));
	page_looks(true);
	ret = progress_thread_create();
	sys_call(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, sizeof(old));
	if (ret) {
		page_looks(false);
		own_close(engine.kickfd);
		return ret;
	}
	pthread_detach(engine.thread);
	progress_thread_wait();
	engine.started = true;
	/* Captures may have started between the attach and now. */
	captures_attached();
	return 0;
}
