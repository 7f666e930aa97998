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

#include "daemon/daemon.h"

#define EVENTS 64

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

int loop_run(struct loop *l, void (*after)(struct loop *l))
{
	struct epoll_event ev[EVENTS];
	int i, n;

	while (!l->stop) {
		n = epoll_wait(l->epfd, ev, EVENTS, wait_ms(l));
		if (n < 0 && errno != EINTR)
			return -errno;
		l->now = loop_clock();
		for (i = 0; i < n; i++) {
			struct loop_fd *f = ev[i].data.ptr;

			if (f->fd >= 0)
				f->fn(f, ev[i].events);
		}
		timer_run(&l->timers, l->now);
		after(l);
	}
	return 0;
}
