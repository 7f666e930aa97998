/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * event-gone: completion channels and asynchronous event files after the end of the device or of rused.
 *
 *   event-gone removed D	prints "ready" and waits until D is removed. The channels then answer EIO without end,
 *				also to a thread that waits; the unread event of a CQ vanishes. The
 *				asynchronous file has DEVICE_FATAL and nothing after it
 *   event-gone stopped		prints "ready", and when a line comes from standard input, rused has ended: nothing
 *				has changed, and events arrive
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>
#include "verbs.h"

#define IN (POLLIN | POLLRDNORM)
#define OUT (POLLOUT | POLLWRNORM)
#define LIMIT 120		/* seconds until a call that waits ends the program */

static struct vctx v = { .sock = -1 };
static struct ibv_qp *qp[2];
static volatile sig_atomic_t sigio;
static int bad;

#define CHECK(cond, ...) do { \
		if (!(cond)) { \
			bad++; \
			printf("%d: %s: ", __LINE__, #cond); \
			printf(__VA_ARGS__); \
			putchar('\n'); \
		} \
	} while (0)

static void on_io(int sig)
{
	sigio++;
}

static int fd_poll(int fd, int events)
{
	struct pollfd p = { .fd = fd, .events = (short)events };

	return poll(&p, 1, 0) < 0 ? -1 : p.revents;
}

static int fd_epoll(int fd)
{
	struct epoll_event e = { .events = IN | OUT };
	int ep = epoll_create1(0), n = epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);

	if (!n)
		n = epoll_wait(ep, &e, 1, 0);
	close(ep);
	return n == 1 ? (int)e.events : n;
}

static int fd_select(int fd)
{
	struct timeval tv = { 0, 0 };
	fd_set r, w;

	FD_ZERO(&r);
	FD_ZERO(&w);
	FD_SET(fd, &r);
	FD_SET(fd, &w);
	if (select(fd + 1, &r, &w, NULL, &tv) < 0)
		die("select: %s", strerror(errno));
	return (FD_ISSET(fd, &r) ? POLLIN : 0) | (FD_ISSET(fd, &w) ? POLLOUT : 0);
}

static void masks(const char *name, int fd, int want)
{
	CHECK(fd_poll(fd, IN | OUT) == want, "%s: 0x%x", name, fd_poll(fd, IN | OUT));
	CHECK(fd_poll(fd, POLLRDNORM) == (want & POLLRDNORM), "%s", name);
	CHECK(fd_poll(fd, OUT) == 0, "%s", name);
	CHECK(fd_epoll(fd) == want, "%s: 0x%x", name, fd_epoll(fd));
	CHECK(fd_select(fd) == (want & POLLIN), "%s: 0x%x", name, fd_select(fd));
	CHECK(write(fd, "x", 1) == -1 && errno == EBADF, "%s: %s", name, strerror(errno));
	CHECK(lseek(fd, 0, SEEK_CUR) == -1 && errno == ESPIPE, "%s: %s", name, strerror(errno));
}

static void nonblock(int fd, int on)
{
	int fl = fcntl(fd, F_GETFL);

	if (fl < 0 || fcntl(fd, F_SETFL, on ? fl | O_NONBLOCK : fl & ~O_NONBLOCK))
		die("O_NONBLOCK: %s", strerror(errno));
}

/* A completion channel of a removed device. */
static void closed(const char *name, int fd)
{
	char record[64];

	for (int i = 0; i < 6; i++) {
		/* POLLERR in the kernel: doc/deviations.md */
		masks(name, fd, IN);
		nonblock(fd, i & 1);
		errno = 0;
		CHECK(read(fd, record, i < 4 ? sizeof(record) : 1) == -1 && errno == EIO, "%s: %s", name,
		      strerror(errno));
	}
}

/* Without an event. */
static void quiet(const char *name, int fd)
{
	char record[64];

	masks(name, fd, 0);
	nonblock(fd, 1);
	errno = 0;
	for (size_t len = 1; len <= sizeof(record); len += sizeof(record) - 1)
		CHECK(read(fd, record, len) == -1 && errno == EAGAIN, "%s, %zu bytes: %s", name, len,
		      strerror(errno));
	nonblock(fd, 0);
}

static void comp_event(void)
{
	if (ibv_req_notify_cq(v.cq, 0) || v_message(&v, qp[0], qp[1], IBV_SEND_SIGNALED))
		die("completion event");
}

static void *waiter(void *arg)
{
	struct ibv_comp_channel *ch = arg;
	struct ibv_cq *cq;
	void *ctx;

	return ibv_get_cq_event(ch, &cq, &ctx) && errno == EIO ? arg : NULL;
}

/* The next asynchronous event. */
static int async_event(void)
{
	struct ibv_async_event e;

	if (ibv_get_async_event(v.ctx, &e))
		die("get_async_event: %s", strerror(errno));
	ibv_ack_async_event(&e);
	return (int)e.event_type;
}

static void removed(void)
{
	struct ibv_comp_channel *other = ibv_create_comp_channel(v.ctx);
	pthread_t thread;
	void *answer;
	int owner;

	if (!other || pthread_create(&thread, NULL, waiter, other))
		die("another channel");
	comp_event();
	owner = fcntl(v.ch->fd, F_SETOWN, getpid());
	CHECK(!owner && !fcntl(v.ch->fd, F_SETFL, O_ASYNC), "%s", strerror(errno));
	puts("ready");
	fflush(stdout);
	/* Port events of the interface may come first. */
	while (async_event() != IBV_EVENT_DEVICE_FATAL)
		;
	if (pthread_join(thread, &answer))
		die("pthread_join");
	CHECK(answer == other, "the thread that waits");
	CHECK(sigio > 0, "no SIGIO");
	closed("channel with an unread event", v.ch->fd);
	closed("channel", other->fd);
	quiet("async events", v.ctx->async_fd);
	ibv_destroy_comp_channel(other);
}

static void stopped(void)
{
	struct ibv_cq *cq;
	void *ctx;

	puts("ready");
	fflush(stdout);
	if (getchar() != '\n')
		die("no line");
	quiet("async events", v.ctx->async_fd);
	quiet("channel", v.ch->fd);
	comp_event();
	/* A read without room for the event leaves it there. */
	CHECK(read(v.ch->fd, &ctx, 7) == -1 && errno == EINVAL, "%s", strerror(errno));
	masks("channel, event", v.ch->fd, IN);
	if (ibv_get_cq_event(v.ch, &cq, &ctx))
		die("get_cq_event: %s", strerror(errno));
	ibv_ack_cq_events(cq, 1);
	quiet("channel, read", v.ch->fd);
}

int main(int argc, char **argv)
{
	struct sigaction io = { .sa_handler = on_io, .sa_flags = SA_RESTART };
	struct vcfg cfg = vcfg_default;

	if (argc < 2)
		return 2;
	if (argc > 2)
		setenv("VERBS_DEVICE", argv[2], 1);
	alarm(LIMIT);
	sigaction(SIGIO, &io, NULL);
	cfg.channel = true;
	v_open(&v, &cfg);
	qp[0] = v.qp;
	qp[1] = v_qp(&v);
	v_connect_self(&v, qp[0], qp[1]);
	if (!strcmp(argv[1], "removed"))
		removed();
	else
		stopped();
	ibv_destroy_qp(qp[1]);
	v_close(&v);
	puts(bad ? "bad" : "closed");
	return bad != 0;
}
