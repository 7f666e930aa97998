/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * file-kinds: each kind of file answers poll, epoll, select, write, lseek and fcntl as the kernel's
 * file_operations of it do: uverbs_main.c, ucma.c and user_mad.c. Event files also send SIGIO, and hold
 * more events than the pipe behind them has room for.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <unistd.h>
#include "verbs.h"

#define IN (POLLIN | POLLRDNORM)
#define OUT (POLLOUT | POLLWRNORM)
#define EVENTS 1500		/* a pipe of one page has room for 512 */
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

static struct vctx v = { .sock = -1 };
static struct ibv_qp *qp[2];
static int bad;

#define CHECK(cond, ...) do { \
		if (!(cond)) { \
			bad++; \
			printf("%d: %s: ", __LINE__, #cond); \
			printf(__VA_ARGS__); \
			putchar('\n'); \
		} \
	} while (0)

/* What the kernel answers for an open file without an event. */
static const struct kind {
	const char *name, *path;	/* path NULL: an event file */
	int mode, idle;			/* access mode; poll() for everything */
	int write, lseek;		/* errno of a write of 1 byte and of lseek() */
	mode_t type;			/* st_mode of fstat(); an anonymous inode has no type */
	int fionread;			/* errno of FIONREAD */
} kinds[] = {
	{ "completion channel", NULL, O_RDONLY, 0, EBADF, ESPIPE, 0, ENOTTY },
	{ "async events", NULL, O_RDONLY, 0, EBADF, ESPIPE, 0, ENOTTY },
	{ "uverbs", "/dev/infiniband/uverbs0", O_RDWR, IN | OUT, EINVAL, ESPIPE, S_IFCHR, ENOTTY },
	/* poll() says POLLOUT of a rdma_cm file too: doc/deviations.md */
	{ "rdma_cm", "/dev/infiniband/rdma_cm", O_RDWR, OUT, EINVAL, ESPIPE, S_IFCHR, ENOTTY },
	{ "umad", "/dev/infiniband/umad0", O_RDWR, OUT, EINVAL, ESPIPE, S_IFCHR, ENOTTY },
};

static int fd_poll(int fd, int events)
{
	struct pollfd p = { .fd = fd, .events = (short)events };

	return poll(&p, 1, 0) < 0 ? -1 : p.revents;
}

static int fd_epoll(int fd, int events)
{
	struct epoll_event e = { .events = (uint32_t)events };
	int ep = epoll_create1(0), n;

	if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e)) {
		close(ep);
		return -errno;
	}
	n = epoll_wait(ep, &e, 1, 0);
	close(ep);
	return n ? (int)e.events : 0;
}

/* POLLIN for readable, POLLOUT for writable. */
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
	int got;

	CHECK(fd_poll(fd, IN | OUT) == want, "%s: 0x%x, not 0x%x", name, fd_poll(fd, IN | OUT), want);
	CHECK(fd_poll(fd, POLLRDNORM) == (want & POLLRDNORM), "%s", name);
	CHECK(fd_poll(fd, POLLPRI) == 0, "%s", name);
	/* epoll has the same values, and refuses a file that has no poll(). */
	got = fd_epoll(fd, IN | OUT);
	CHECK(got == (want == (IN | OUT) ? -EPERM : want), "%s: 0x%x", name, got);
	CHECK(fd_select(fd) == (want & (POLLIN | POLLOUT)), "%s: 0x%x", name, fd_select(fd));
}

static void idle(const struct kind *k, int fd)
{
	int n;
	struct stat st;

	masks(k->name, fd, k->idle);
	CHECK((fcntl(fd, F_GETFL) & O_ACCMODE) == k->mode, "%s", k->name);
	CHECK(write(fd, "x", 1) == -1 && errno == k->write, "%s: %s", k->name, strerror(errno));
	CHECK(lseek(fd, 0, SEEK_CUR) == -1 && errno == k->lseek, "%s: %s", k->name, strerror(errno));
	CHECK(lseek64(fd, 0, SEEK_END) == -1 && errno == k->lseek, "%s: %s", k->name,
	      strerror(errno));
	CHECK(!fstat(fd, &st) && (st.st_mode & S_IFMT) == k->type, "%s: 0%o", k->name, st.st_mode);
	CHECK(ioctl(fd, FIONREAD, &n) == -1 && errno == k->fionread, "%s: %s", k->name,
	      strerror(errno));
}

static void comp_event(void)
{
	if (ibv_req_notify_cq(v.cq, 0) || v_message(&v, qp[0], qp[1], IBV_SEND_SIGNALED))
		die("completion event");
}

static void comp_take(int unread)
{
	struct ibv_cq *cq;
	void *ctx;

	if (ibv_get_cq_event(v.ch, &cq, &ctx))
		die("get_cq_event, %d unread: %s", unread, strerror(errno));
	ibv_ack_cq_events(cq, 1);
}

/* One event: SQ_DRAINED. */
static void async_event(int which)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };

	if (ibv_modify_qp(qp[which], &a, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY))
		die("modify_qp to SQD: %s", strerror(errno));
	if (fd_poll(v.ctx->async_fd, POLLIN) != POLLIN) {
		struct pollfd p = { .fd = v.ctx->async_fd, .events = POLLIN };

		if (poll(&p, 1, 20000) != 1)
			die("no asynchronous event");
	}
}

static void async_take(void)
{
	struct ibv_async_event e;

	if (ibv_get_async_event(v.ctx, &e))
		die("get_async_event: %s", strerror(errno));
	ibv_ack_async_event(&e);
}

static void with_events(void)
{
	comp_event();
	masks("completion channel, event", v.ch->fd, IN);
	comp_take(1);
	masks("completion channel, read", v.ch->fd, 0);
	async_event(0);
	masks("async events, event", v.ctx->async_fd, IN);
	async_take();
	masks("async events, read", v.ctx->async_fd, 0);
}

/* Events of a CQ that is destroyed vanish from the descriptor. */
static void vanished(void)
{
	struct ibv_cq *cq = ibv_create_cq(v.ctx, 8, NULL, v.ch, 0), *old = v.cq;
	struct ibv_qp *mine[2];

	v.cq = cq;
	for (int i = 0; i < 2; i++)
		mine[i] = v_qp(&v);
	v_connect_self(&v, mine[0], mine[1]);
	if (ibv_req_notify_cq(cq, 0) || v_message(&v, mine[0], mine[1], IBV_SEND_SIGNALED))
		die("completion event");
	masks("unread event", v.ch->fd, IN);
	v.cq = old;
	if (ibv_destroy_qp(mine[0]) || ibv_destroy_qp(mine[1]) || ibv_destroy_cq(cq))
		die("destroy");
	masks("event of a destroyed CQ", v.ch->fd, 0);
}

/* More events than a pipe has room for. */
static void many(void)
{
	int fl = fcntl(v.ch->fd, F_GETFL);
	struct ibv_cq *cq;
	void *ctx;

	for (int i = 0; i < EVENTS; i++)
		comp_event();
	if (fcntl(v.ch->fd, F_SETFL, fl | O_NONBLOCK))
		die("O_NONBLOCK: %s", strerror(errno));
	for (int i = EVENTS; i; i--) {
		CHECK(fd_poll(v.ch->fd, POLLIN) == POLLIN, "%d unread", i);
		comp_take(i);
	}
	CHECK(fd_poll(v.ch->fd, POLLIN) == 0, "all read");
	CHECK(ibv_get_cq_event(v.ch, &cq, &ctx) && errno == EAGAIN, "%s", strerror(errno));
	fcntl(v.ch->fd, F_SETFL, fl);
}

static volatile sig_atomic_t sigio, sigusr, sig_fd;

static void on_io(int sig)
{
	sigio++;
}

static void on_usr(int sig, siginfo_t *si, void *arg)
{
	sigusr++;
	sig_fd = si->si_fd;
}

static void signal_driven(int fd)
{
	CHECK(fcntl(fd, F_SETOWN, getpid()) == 0, "%s", strerror(errno));
	CHECK(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC) == 0, "%s", strerror(errno));
	CHECK(fcntl(fd, F_GETFL) & O_ASYNC, "O_ASYNC");
}

/* Signals of the process's own actions are delivered before the call returns. */
static void signals(void)
{
	struct sigaction io = { .sa_handler = on_io, .sa_flags = SA_RESTART };
	struct sigaction usr = { .sa_sigaction = on_usr, .sa_flags = SA_RESTART | SA_SIGINFO };

	sigaction(SIGIO, &io, NULL);
	sigaction(SIGUSR1, &usr, NULL);
	signal_driven(v.ch->fd);
	comp_event();
	for (int i = 0; i < 2000 && !sigio; i++)
		usleep(10000);
	CHECK(sigio == 1, "%d signals", (int)sigio);
	comp_take(1);
	CHECK(fcntl(v.ch->fd, F_SETSIG, SIGUSR1) == 0, "%s", strerror(errno));
	comp_event();
	for (int i = 0; i < 2000 && !sigusr; i++)
		usleep(10000);
	CHECK(sigusr == 1 && sig_fd == v.ch->fd, "%d signals, fd %d", (int)sigusr, (int)sig_fd);
	comp_take(1);
	sigio = 0;
	signal_driven(v.ctx->async_fd);
	async_event(1);
	for (int i = 0; i < 2000 && !sigio; i++)
		usleep(10000);
	CHECK(sigio == 1, "%d signals", (int)sigio);
	async_take();
	CHECK(sigio == 1 && sigusr == 1, "signals for reading");
	fcntl(v.ch->fd, F_SETFL, 0);
	fcntl(v.ctx->async_fd, F_SETFL, 0);
}

int main(void)
{
	struct vcfg cfg = vcfg_default;

	cfg.channel = true;
	v_open(&v, &cfg);
	qp[0] = v.qp;
	qp[1] = v_qp(&v);
	v_connect_self(&v, qp[0], qp[1]);
	for (unsigned int i = 0; i < ARRAY_LEN(kinds); i++) {
		int fd = i == 0 ? v.ch->fd : i == 1 ? v.ctx->async_fd : open(kinds[i].path, O_RDWR);

		if (fd < 0)
			die("%s: %s", kinds[i].path, strerror(errno));
		idle(&kinds[i], fd);
	}
	vanished();
	many();
	with_events();
	/* The first QP is in SQD; traffic goes from the second to a new one. */
	ibv_destroy_qp(qp[0]);
	ibv_destroy_qp(qp[1]);
	qp[0] = v_qp(&v);
	qp[1] = v_qp(&v);
	v_connect_self(&v, qp[0], qp[1]);
	signals();
	return bad != 0;
}
