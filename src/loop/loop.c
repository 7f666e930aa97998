/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The event loop; the only place in rused that reads a clock. epoll is level-triggered: a callback
 * handles one event and is called again, so no client can starve the others. A round of the loop
 * handles the events of one epoll_wait(), then messages in shared memory, then expired timers. A
 * callback may be called for a client that was closed in the same round; clients are freed after
 * the round.
 *
 * Clients may also write messages to shared memory. Before the loop sleeps it polls this memory
 * and the descriptors until memory->spin ns after the last message (loop_spin()), if rused may use more
 * than one CPU.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/cpus.h"
#include "base/log.h"
#include "loop/loop.h"

#define EVENTS 64
#define SLOW NS_S	/* a round that takes longer is logged: programs wait for their answers meanwhile */

ns_t loop_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NS_S + ts.tv_nsec;
}

uint64_t loop_wall_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * NS_S + (uint64_t)ts.tv_nsec;
}

int loop_init(struct loop *l)
{
	l->now = loop_clock();
	l->moment = 1;
	l->one_cpu = cpus_usable() == 1;
	timer_heap_init(&l->timers);
	list_init(&l->dead);
	l->epfd = epoll_create1(EPOLL_CLOEXEC);
	return l->epfd < 0 ? -errno : 0;
}

void loop_fini(struct loop *l)
{
	timer_heap_fini(&l->timers);
	if (l->epfd >= 0)
		close(l->epfd);
}

int loop_add(struct loop *l, struct loop_fd *f, int fd, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.ptr = f };

	f->fd = fd;
	if (!epoll_ctl(l->epfd, EPOLL_CTL_ADD, fd, &e))
		return 0;
	f->fd = -1;
	return -errno;
}

int loop_mod(struct loop *l, struct loop_fd *f, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.ptr = f };

	return epoll_ctl(l->epfd, EPOLL_CTL_MOD, f->fd, &e) ? -errno : 0;
}

void loop_del(struct loop *l, struct loop_fd *f)
{
	if (f->fd < 0)
		return;
	/* Remove explicitly: epoll keeps a descriptor that a client also holds. */
	epoll_ctl(l->epfd, EPOLL_CTL_DEL, f->fd, NULL);
	close(f->fd);
	f->fd = -1;
}

bool loop_hung_up(const struct loop_fd *f)
{
	struct pollfd p = { .fd = f->fd, .events = POLLRDHUP };

	return poll(&p, 1, 0) > 0;
}

static int loop_wait_ms(const struct loop *l)
{
	ns_t next = timer_next(&l->timers);
	ns_t ms;

	if (next == NS_NEVER)
		return -1;
	ms = (next - l->now + NS_MS - 1) / NS_MS;
	return ms < 0 ? 0 : ms > 3600000 ? 3600000 : (int)ms;
}

void loop_message(struct loop *l)
{
	l->last = NS_NEVER;	/* loop_run() replaces it by the time at the end of the round */
}

/* When to stop polling; 0: do not poll. */
static ns_t loop_spin_until(const struct loop *l)
{
	ns_t until = l->last + l->memory->spin;

	if (l->one_cpu || l->now >= until)
		return 0;
	return min(until, timer_next(&l->timers));
}

/* Polls memory and descriptors while a message is likely. Returns as epoll_wait(); *there: memory has a message. */
static int loop_spin(struct loop *l, struct epoll_event *ev, bool *there)
{
	ns_t until = loop_spin_until(l);
	int n = 0;

	if (!until || !l->memory->watch(l->memory_ctx, true))
		return 0;
	while (!n && !*there && l->now < until) {
		n = epoll_wait(l->epfd, ev, EVENTS, 0);
		*there = l->memory->there(l->memory_ctx);
		/* The sender of the next message may need this CPU. */
		if (!n && !*there)
			sched_yield();
		l->now = loop_clock();
	}
	return n;
}

/* Waits for the next work. Returns as epoll_wait(); *there: memory has a message. */
static int loop_wait_next(struct loop *l, struct epoll_event *ev, bool *there)
{
	bool idle;
	int n;

	*there = l->memory && l->memory->there(l->memory_ctx);
	if (l->memory && !*there) {
		n = loop_spin(l, ev, there);
		if (n || *there)
			return n;
	}
	idle = !*there && timer_next(&l->timers) > l->now;
	if (idle && l->memory) {
		l->memory->watch(l->memory_ctx, false);
		*there = l->memory->there(l->memory_ctx);
		idle = !*there;
	}
	return epoll_wait(l->epfd, ev, EVENTS, idle ? loop_wait_ms(l) : 0);
}

/* The end of a round with n events. */
static void loop_round_end(struct loop *l, int n)
{
	ns_t end = loop_clock();

	if (end - l->now >= SLOW)
		log_warn("answers were late: handling %d events took %lld ms; the processor or the disk was busy, or a "
			 "request was large", n, (long long)((end - l->now) / NS_MS));
	if (l->last == NS_NEVER)
		l->last = l->now = end;
}

int loop_run(struct loop *l, void (*after)(struct loop *l))
{
	struct epoll_event ev[EVENTS];
	bool there;
	int i, n;

	while (!l->stop) {
		n = loop_wait_next(l, ev, &there);
		if (n < 0 && errno != EINTR)
			return -errno;
		l->now = loop_clock();
		for (i = 0; i < n; i++) {
			struct loop_fd *f = ev[i].data.ptr;

			l->moment++;
			if (f->fd >= 0)
				f->fn(f, ev[i].events);
		}
		if (there)
			l->memory->take(l->memory_ctx);
		l->moment++;
		timer_run(&l->timers, l->now);
		after(l);
		loop_round_end(l, max(n, 0));
	}
	return 0;
}
