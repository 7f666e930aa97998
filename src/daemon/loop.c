/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The event loop, and the only place in rused that reads a clock. Level
 * triggered: a callback handles one thing and is called again, so no client can
 * keep the others waiting. Callbacks of one round may still be called for a
 * client that an earlier one has ended; it is freed after the round.
 */
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/cpus.h"
#include "daemon/daemon.h"
#include "queue/barrier.h"

#define EVENTS 64
/* The next message is looked for as long as sleeping and being woken take, as senders have measured it. */
#define SPIN_MIN (50 * NS_US)
#define SPIN_MAX (2 * NS_MS)
#define SPIN_SOON 3		/* of the last eight messages that came so soon: then it is looked for */
#define SPIN_POLL 64u		/* looks at memory for one at the descriptors */
#define ROUNDS 8u		/* without a look at the descriptors, at most */

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
	l->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (l->epfd < 0)
		return -errno;
	l->now = loop_clock();
	l->moment = 1;
	l->one_cpu = cpus_usable() == 1;
	timer_heap_init(&l->timers);
	list_init(&l->dead);
	return 0;
}

void loop_fini(struct loop *l)
{
	timer_heap_fini(&l->timers);
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
	/* Explicitly: a descriptor that a client also holds would stay in the set. */
	epoll_ctl(l->epfd, EPOLL_CTL_DEL, f->fd, NULL);
	close(f->fd);
	f->fd = -1;
}

bool loop_hung_up(const struct loop_fd *f)
{
	struct pollfd p = { .fd = f->fd, .events = POLLRDHUP };

	return poll(&p, 1, 0) > 0;
}

static int wait_ms(const struct loop *l)
{
	ns_t next = timer_next(&l->timers);
	ns_t ms;

	if (next == NS_NEVER)
		return -1;
	ms = (next - l->now + NS_MS - 1) / NS_MS;
	return ms < 0 ? 0 : ms > 3600000 ? 3600000 : (int)ms;
}

void loop_message(struct loop *l, ns_t slept)
{
	l->spin = min(max(slept, SPIN_MIN), SPIN_MAX);
	/* Twice: while the sender sleeps, too, it cannot be sooner. */
	l->soon = l->soon << 1 | (l->now - l->last < 2 * l->spin);
	l->last = NS_NEVER;	/* until the round is over */
}

/* For how long; 0: not at all. */
static ns_t spin_until(const struct loop *l)
{
	ns_t until = l->last + l->spin;

	if (l->one_cpu || __builtin_popcount(l->soon & 0xff) < SPIN_SOON || l->now >= until)
		return 0;
	return min(until, timer_next(&l->timers));
}

/*
 * Looks at memory, and now and then at the descriptors, for as long as something is likely to come.
 * Number of events, and *there: there is something in memory.
 */
static int spin(struct loop *l, struct epoll_event *ev, bool *there)
{
	ns_t until = spin_until(l);
	int n = 0;

	if (!until || !l->memory->watch(l, true))
		return 0;
	for (uint32_t i = 1; !n; i++) {
		*there = l->memory->there(l);
		if (*there)
			return 0;
		if (i % SPIN_POLL) {
			cpu_relax();
			continue;
		}
		n = epoll_wait(l->epfd, ev, EVENTS, 0);
		l->now = loop_clock();
		if (l->now >= until)
			break;
	}
	return n;
}

/* What there is to do next. As epoll_wait(); *there: in memory. */
static int wait_next(struct loop *l, struct epoll_event *ev, bool *there)
{
	bool idle;
	int n = 0;

	*there = l->memory && l->memory->there(l);
	if (l->memory && !*there && timer_next(&l->timers) > l->now)
		n = spin(l, ev, there);
	idle = !*there && timer_next(&l->timers) > l->now;
	if (n || (*there && ++l->rounds < ROUNDS)) {
		l->rounds = n ? 0 : l->rounds;
		return n;
	}
	l->rounds = 0;
	if (idle && l->memory) {
		l->memory->watch(l, false);
		*there = l->memory->there(l);
		idle = !*there;
	}
	return epoll_wait(l->epfd, ev, EVENTS, idle ? wait_ms(l) : 0);
}

int loop_run(struct loop *l, void (*after)(struct loop *l))
{
	struct epoll_event ev[EVENTS];
	bool there;
	int i, n;

	while (!l->stop) {
		n = wait_next(l, ev, &there);
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
			l->memory->take(l);
		l->moment++;
		timer_run(&l->timers, l->now);
		after(l);
		if (l->last == NS_NEVER)
			l->last = l->now = loop_clock();
	}
	return 0;
}
