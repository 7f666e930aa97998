/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Handshake of two endpoints: one message in each direction over an abstract SEQPACKET socket. The
 * connector sends its memfds, eventfd and a pair of rings, the acceptor its memfds and eventfd.
 * Afterwards the socket is silent; only its hang-up matters.
 *
 * SO_PEERCRED identifies the peer. A uid that is neither the effective one nor the endpoint's is
 * refused; pid 0 (another PID namespace) gets no cross-memory copies. The message and the types of
 * the descriptors are checked (shm_link.c) before anything is mapped.
 *
 * Limit: the eventfd's file is shared, and O_NONBLOCK with it. A peer that clears O_NONBLOCK later
 * and fills the counter blocks the next wake-up, and with it the engine. Only a process that passed
 * the check of the uid can do this, and such a process may send SIGSTOP as well.
 *
 * shm_connect() waits with the engine lock held. Two processes that connect to each other at once
 * would wait for each other's acceptor, so during the wait a process also accepts connections to its
 * own listener. If both dial at once, both connections succeed, and there are two links between the
 * processes. shm_connect() returns the one that its own side dialled, also when it is called again.
 *
 * An acceptor does not wait. Connections without a hello are pending in the epoll set; if there are
 * too many, the oldest is dropped.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/un.h>
#include <time.h>
#include "base/eventfd.h"
#include "base/fds.h"
#include "base/log.h"
#include "base/pool.h"
#include "base/rand.h"
#include "base/sys.h"
#include "link/shm_int.h"

/* A connection that has not sent its hello yet. */
struct shm_pending {
	struct list_head list;
	struct shm_ep *ep;
	int sock;
	struct shm_watch *watch;
};

#define BACKLOG 64

static socklen_t shm_abstract(struct sockaddr_un *sa, const char *name)
{
	size_t len = strnlen(name, SHM_SOCK_LEN - 1);

	memset(sa, 0, sizeof(*sa));
	sa->sun_family = AF_UNIX;
	memcpy(sa->sun_path + 1, name, len);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
}

/*
 * The peer's pid (0: not visible here); -EPERM: another user. A program may change its user after
 * it created its endpoint, but a listener keeps the credentials of its listen(). Therefore two uids
 * are accepted: the present one, and that of the time when this endpoint was created.
 */
static int shm_peer_pid(const struct shm_ep *ep, int sock)
{
	struct ucred uc;
	socklen_t len = sizeof(uc);
	int rc = (int)sys_call(SYS_getsockopt, sock, SOL_SOCKET, SO_PEERCRED, &uc, &len);

	if (rc < 0)
		return rc;
	return uc.uid == ep->uid || uc.uid == (uid_t)sys_call(SYS_geteuid) ? uc.pid : -EPERM;
}

static int shm_send_hello(struct shm_ep *ep, int sock, int ring)
{
	int fds[HELLO_MAX_FDS] = { ep->pub_fd, ep->exp_fd, ep->evfd, ring };
	size_t flen = sizeof(int) * (ring >= 0 ? HELLO_MAX_FDS : HELLO_RING);
	union {
		char buf[CMSG_SPACE(sizeof(fds))];
		struct cmsghdr align;
	} u;
	struct iovec iov = { .iov_base = &ep->hello, .iov_len = sizeof(ep->hello) };
	struct msghdr m = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &u,
		.msg_controllen = CMSG_SPACE(flen),
	};
	struct cmsghdr *c;
	ssize_t rc;

	memset(&u, 0, sizeof(u));
	c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(flen);
	memcpy(CMSG_DATA(c), fds, flen);
	rc = sys_sendmsg(sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
	return rc < 0 ? (int)rc : rc == (ssize_t)sizeof(ep->hello) ? 0 : -EPROTO;
}

/* Collect all received descriptors, so that none leaks. Returns their number. */
static int shm_take_fds(struct msghdr *m, int *fds, int max)
{
	int n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		size_t have;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		have = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < have; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (n < max)
				fds[n++] = fd;
			else
				sys_close(fd);
		}
	}
	return n;
}

static bool shm_hello_sane(const struct shm_ep *ep, const struct shm_hello *h)
{
	return h->magic == SHM_MAGIC && h->version == SHM_VERSION && h->proc &&
	       h->proc != ep->hello.proc && h->nkeys && h->nkeys <= SHM_MAX_KEYS &&
	       h->ncards && h->ncards <= SHM_MAX_CARDS &&
	       memchr(h->sock, 0, sizeof(h->sock));
}

/*
 * Receive a hello with exactly `want` descriptors, which then belong to the caller. 0; -EAGAIN:
 * nothing has arrived; -EPIPE: closed; -EPROTO: invalid.
 */
static int shm_recv_hello(struct shm_ep *ep, int sock, struct shm_hello *h, int *fds, int want)
{
	union {
		char buf[CMSG_SPACE(sizeof(int) * HELLO_MAX_FDS)];
		struct cmsghdr align;
	} u;
	struct iovec iov = { .iov_base = h, .iov_len = sizeof(*h) };
	struct msghdr m = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &u,
		.msg_controllen = sizeof(u),
	};
	ssize_t rc = sys_recvmsg(sock, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	int n, fl;

	if (rc < 0)
		return rc == -EAGAIN || rc == -EINTR ? -EAGAIN : -EPIPE;
	n = shm_take_fds(&m, fds, want);
	if (rc == 0) {
		rc = -EPIPE;
	} else if (rc != (ssize_t)sizeof(*h) || n != want ||
		   (m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) || !shm_hello_sane(ep, h)) {
		rc = -EPROTO;
	} else {
		/*
		 * Must be a non-blocking eventfd: a wake-up writes it with the engine lock held,
		 * and may neither block nor raise SIGPIPE.
		 */
		fl = sys_fcntl(fds[HELLO_EVENT], F_GETFL, 0);
		rc = fl >= 0 && (fl & O_NONBLOCK) && fd_is_eventfd(fds[HELLO_EVENT]) ? 0 : -EPROTO;
	}
	for (int i = 0; rc && i < n; i++)
		sys_close(fds[i]);
	return (int)rc;
}

static void shm_pending_free(struct shm_pending *p, bool close)
{
	shm_unwatch(p->ep, p->watch);
	if (close)
		shm_close(p->ep, p->sock);
	list_del(&p->list);
	p->ep->npending--;
	pool_free(p, sizeof(*p));
}

/* The connector has sent something or closed the socket. */
static void shm_pending_serve(struct shm_pending *p)
{
	struct shm_ep *ep = p->ep;
	struct shm_hello h;
	struct shm_link *l;
	int fds[HELLO_MAX_FDS];
	int sock = p->sock, pid, rc;

	rc = shm_recv_hello(ep, sock, &h, fds, HELLO_MAX_FDS);
	if (rc == -EAGAIN)
		return;
	shm_pending_free(p, rc != 0);
	if (rc) {
		if (rc == -EPROTO)
			log_warn("shm: refused an invalid handshake from an unknown process");
		return;
	}
	pid = shm_peer_pid(ep, sock);
	rc = shm_link_create(ep, &h, pid, sock, fds, false, &l);
	if (rc) {
		log_warn("shm: refused a link from a process (number %u at rused, pid %d): errno %d",
			 h.proc, pid, rc);
		return;
	}
	if (shm_send_hello(ep, sock, -1))
		shm_link_bury(l);
}

static void shm_pending_event(struct link_fd *fd, uint32_t events)
{
	struct shm_pending *p = container_of(fd, struct shm_watch, fd)->owner;

	if (p)
		shm_pending_serve(p);
}

static void shm_listener_serve(struct shm_ep *ep)
{
	struct shm_pending *p;
	int sock;

	for (;;) {
		sock = fds_accept(ep->listener, SOCK_CLOEXEC);
		if (sock < 0)
			return;
		if (shm_peer_pid(ep, sock) < 0) {
			sys_close(sock);
			continue;
		}
		sock = shm_own(ep, sock);
		if (ep->npending == SHM_MAX_PENDING)
			shm_pending_free(list_first_entry(&ep->pending, struct shm_pending, list),
					 true);
		p = pool_zalloc(sizeof(*p));
		if (p) {
			p->ep = ep;
			p->sock = sock;
			p->watch = shm_watch(ep, sock, EPOLLIN, p, shm_pending_event);
		}
		if (!p || !p->watch) {
			shm_close(ep, sock);
			pool_free(p, sizeof(*p));
			continue;
		}
		list_add_tail(&p->list, &ep->pending);
		ep->npending++;
		shm_pending_serve(p);
	}
}

static void shm_listener_event(struct link_fd *fd, uint32_t events)
{
	struct shm_ep *ep = container_of(fd, struct shm_watch, fd)->owner;

	if (ep)
		shm_listener_serve(ep);
}

int shm_listen(struct shm_ep *ep)
{
	struct sockaddr_un sa;
	int fd, rc;

	fd = sys_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return fd;
	do {
		snprintf(ep->hello.sock, sizeof(ep->hello.sock), "ruse-%08x%08x%08x",
			 rand_u32(), rand_u32(), rand_u32());
		rc = sys_bind(fd, (struct sockaddr *)&sa, shm_abstract(&sa, ep->hello.sock));
	} while (rc == -EADDRINUSE);
	if (!rc)
		rc = (int)sys_call(SYS_listen, fd, BACKLOG);
	if (rc) {
		sys_close(fd);
		return rc;
	}
	ep->listener = shm_own(ep, fd);
	return 0;
}

/*
 * Starts accepting connections. They cannot be accepted earlier, because the handshake message that answers them
 * (struct shm_hello) contains the number that rused gives this process. Earlier connections wait in the backlog.
 */
void shm_ep_set_proc(struct shm_ep *ep, uint32_t proc)
{
	ep->hello.proc = proc;
	WRITE_ONCE(ep->pub->proc, proc);
	if (!ep->wlisten)
		ep->wlisten = shm_watch(ep, ep->listener, EPOLLIN, ep, shm_listener_event);
	if (!ep->wlisten)
		log_err("shm: out of memory: other processes cannot connect to this one");
}

void shm_unlisten(struct shm_ep *ep)
{
	struct shm_pending *p, *n;

	list_for_each_entry_safe(p, n, &ep->pending, list)
		shm_pending_free(p, true);
	shm_unwatch(ep, ep->wlisten);
	shm_close(ep, ep->listener);
}

/*
 * Wait for events on sock, and serve this endpoint's listener meanwhile. 0, -ETIMEDOUT. *left is
 * reduced by the time that has passed.
 */
static int shm_wait_serving(struct shm_ep *ep, int sock, short events, struct timespec *left)
{
	struct pollfd pfd[2 + SHM_MAX_PENDING];
	struct shm_pending *p, *next;
	long rc;
	int n;

	for (;;) {
		pfd[0] = (struct pollfd){ .fd = sock, .events = events };
		pfd[1] = (struct pollfd){ .fd = ep->listener, .events = POLLIN };
		n = 2;
		list_for_each_entry(p, &ep->pending, list)
			pfd[n++] = (struct pollfd){ .fd = p->sock, .events = POLLIN };
		/* The kernel stores the remaining time in *left. */
		rc = sys_call(SYS_ppoll, pfd, (long)n, left, NULL, 0L);
		if (pfd[0].revents)
			return 0;
		if (rc == 0)
			return -ETIMEDOUT;
		if (rc < 0 && rc != -EINTR)
			return (int)rc;
		shm_listener_serve(ep);
		list_for_each_entry_safe(p, next, &ep->pending, list)
			shm_pending_serve(p);
	}
}

void shm_serve(struct shm_ep *ep, ns_t wait)
{
	struct timespec left = { .tv_sec = wait / NS_S, .tv_nsec = wait % NS_S };

	shm_wait_serving(ep, -1, 0, &left);
}

/* connect() that waits while the backlog is full. 0, -ECONNREFUSED, -EPERM, -ETIMEDOUT. */
static int shm_dial(struct shm_ep *ep, const char *name, struct timespec *left, int *sock)
{
	struct sockaddr_un sa;
	socklen_t len = shm_abstract(&sa, name);
	struct timespec step;
	int fd, rc;

	fd = sys_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return fd;
	for (;;) {
		rc = sys_connect(fd, (struct sockaddr *)&sa, len);
		if (rc != -EAGAIN)
			break;
		if (left->tv_sec == 0 && left->tv_nsec < 10 * NS_MS) {
			rc = -ETIMEDOUT;
			break;
		}
		if (left->tv_nsec < 10 * NS_MS) {
			left->tv_sec--;
			left->tv_nsec += NS_S;
		}
		left->tv_nsec -= 10 * NS_MS;
		step = (struct timespec){ .tv_nsec = 10 * NS_MS };
		shm_wait_serving(ep, -1, 0, &step);
	}
	if (!rc)
		rc = min(shm_peer_pid(ep, fd), 0);
	if (rc) {
		sys_close(fd);
		return rc;
	}
	*sock = shm_own(ep, fd);
	return 0;
}

/*
 * The peer closed the socket instead of answering. -EPERM: this process has changed its user and
 * the peer has not, so the peer saw another uid than its own and refused. -ECONNREFUSED: the peer
 * counts as dead.
 */
static int shm_hung_up(const struct shm_ep *ep)
{
	if (ep->uid == (uid_t)sys_call(SYS_geteuid))
		return -ECONNREFUSED;
	log_info("shm: the peer refused the link: this program has changed its user ID, the peer has not");
	return -EPERM;
}

/*
 * Send the hello and receive the peer's. On success the descriptors in fds, the peer's and the
 * ring, belong to the caller.
 */
static int shm_exchange(struct shm_ep *ep, int sock, struct timespec *left, struct shm_hello *h,
			int *fds)
{
	int ring, rc;

	ring = memfd_sealed("ruse-ring", 2 * sizeof(struct shm_half));
	if (ring < 0)
		return ring;
	rc = shm_send_hello(ep, sock, ring);
	while (!rc) {
		rc = shm_wait_serving(ep, sock, POLLIN, left);
		if (rc)
			break;
		rc = shm_recv_hello(ep, sock, h, fds, HELLO_RING);
		if (rc != -EAGAIN)
			break;
		rc = 0;
	}
	if (rc) {
		sys_close(ring);
		return rc == -EPIPE ? shm_hung_up(ep) : rc;
	}
	fds[HELLO_RING] = ring;
	return 0;
}

/*
 * The link to a process. Of two, the one that this side has dialled, and so sends by half[0]: a
 * sender always gets the same one, so what it sends arrives in order.
 */
static struct shm_link *shm_link_find(struct shm_ep *ep, uint32_t proc, const char *sock)
{
	struct shm_link *l, *found = NULL;

	list_for_each_entry(l, &ep->links, list) {
		if (l->doomed || l->hello.proc != proc || strcmp(l->hello.sock, sock))
			continue;
		if (l->tx.h == &l->half[0])
			return l;
		found = l;
	}
	return found;
}

bool shm_alive(const struct link *link)
{
	const struct shm_link *l = container_of(link, struct shm_link, l);

	return link->kind == LINK_SHM && l->ep && !l->doomed && shm_held(l->pub);
}

int shm_connect(struct shm_ep *ep, uint32_t proc, const char *name, int pid, ns_t wait,
		struct link **out)
{
	struct timespec left = { .tv_sec = wait / NS_S, .tv_nsec = wait % NS_S };
	int fds[HELLO_MAX_FDS];
	struct shm_hello h;
	struct shm_link *l = shm_link_find(ep, proc, name);
	int sock, rc;

	if (!l) {
		if (BUG_ON(!ep->hello.proc))
			return -EINVAL;
		rc = shm_dial(ep, name, &left, &sock);
		if (rc)
			return rc;
		rc = shm_exchange(ep, sock, &left, &h, fds);
		if (rc) {
			shm_close(ep, sock);
			log_info("shm: cannot create a link to a process (number %u at rused, pid %d): errno %d",
				 proc, pid, rc);
			return rc;
		}
		if (h.proc != proc) {
			/* The address is used by another process than the one that rused named. */
			for (int i = 0; i < HELLO_MAX_FDS; i++)
				sys_close(fds[i]);
			shm_close(ep, sock);
			return -ECONNREFUSED;
		}
		rc = shm_link_create(ep, &h, shm_peer_pid(ep, sock), sock, fds, true, &l);
		if (rc)
			return rc;
	}
	link_get(&l->l);
	*out = &l->l;
	return 0;
}
