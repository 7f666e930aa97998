/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages between a process and rused: framing, descriptors, checks against a table of types,
 * calls.
 *
 * Used by both ends. The library's part runs inside programs under the engine's connection lock,
 * sometimes also under the engine lock, so it makes only raw system calls and allocates nothing.
 * Each wait is limited to CALL_TIMEOUT_S, so a stopped rused does not hang a program.
 *
 * ipc_trip() uses the channel (ipc/channel.h) if rused watches it and the process may use two CPUs; else
 * the socket.
 */
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/un.h>
#include <time.h>

#include "base/sys.h"
#include "ipc/capring.h"
#include "ipc/channel.h"
#include "ipc/ipc.h"
#include "ipc/ipc_internal.h"
#include "ipc/fabric_msg.h"
#include "ipc/ucma_msg.h"
#include "ipc/umad_msg.h"
#include "ipc/version.h"
#include "queue/barrier.h"

#define CALL_TIMEOUT_S 5

#define LEN_TEXT (-1)		/* any length up to the limit */
#define LEN_OPT(n) (-2 - (int)(n))	/* no body, or exactly n bytes */

static const struct row {
	int req, reply;		/* length of the body, LEN_TEXT or LEN_OPT() */
} rows[IPC_NTYPES] = {
	[IPC_HELLO] = { sizeof(struct ipc_hello), sizeof(struct ipc_hello_reply) },
	[IPC_LEASE] = { sizeof(struct ipc_lease), sizeof(struct ipc_lease) },
	[IPC_PEER] = { sizeof(struct ipc_peer), sizeof(struct ipc_peer) },
	[IPC_NETLINK] = { 0, 0 },
	[IPC_CONTEXT] = { sizeof(struct ipc_context), 0 },
	[IPC_STATUS] = { 0, LEN_TEXT },
	[IPC_EXPLAIN] = { 0, LEN_TEXT },
	[IPC_STUCK] = { 0, LEN_TEXT },
	[IPC_COUNTERS] = { 0, 0 },
	[IPC_CAPTURE] = { sizeof(struct ipc_capture), 0 },
	[IPC_FAULT] = { LEN_TEXT, LEN_TEXT },
	[IPC_UCMA_OPEN] = { 0, sizeof(struct ipc_ucma_open) },
	[IPC_UCMA_WRITE] = { LEN_TEXT, LEN_TEXT },
	[IPC_UCMA_POST] = { LEN_TEXT, LEN_TEXT },
	[IPC_UMAD_OPEN] = { sizeof(struct ipc_umad_open), sizeof(struct ipc_umad_opened) },
	[IPC_UMAD_CALL] = { LEN_TEXT, LEN_TEXT },
	[IPC_UMAD_POST] = { LEN_TEXT, LEN_TEXT },
	[IPC_FABRIC] = { LEN_TEXT, LEN_TEXT },
	[IPC_HOST] = { LEN_TEXT, sizeof(struct ipc_host) },
	[IPC_MCAST] = { sizeof(struct ipc_mcast), 0 },
	[IPC_MEMBERS] = { sizeof(struct ipc_members), LEN_TEXT },
	[IPC_PATH] = { sizeof(struct ipc_path), sizeof(struct ipc_path) },
	[IPC_CHANNEL] = { 0, 0 },
	[IPC_WAKE] = { 0, LEN_TEXT },
	[IPC_SHUTDOWN] = { LEN_OPT(sizeof(struct ipc_shutdown)), 0 },
};

static bool len_ok(int want, size_t len)
{
	if (want == LEN_TEXT)
		return len <= IPC_MAX - sizeof(struct ipc_hdr);
	if (want < LEN_TEXT)
		return !len || len == (size_t)(-2 - want);
	return len == (size_t)want;
}

int ipc_check(const struct ipc_hdr *hdr, size_t len, bool reply)
{
	const struct row *r;

	if (hdr->version != IPC_VERSION || hdr->reserved)
		return -EPROTO;
	if (hdr->type < IPC_HELLO || hdr->type >= IPC_NTYPES)
		return -EPROTO;
	r = &rows[hdr->type];
	if (!reply)
		return !hdr->flags && !hdr->error && len_ok(r->req, len) ? 0 : -EPROTO;
	if (!(hdr->flags & IPC_F_REPLY) || (hdr->flags & ~(IPC_F_REPLY | IPC_F_MORE)))
		return -EPROTO;
	if ((hdr->flags & IPC_F_MORE) && r->reply != LEN_TEXT)
		return -EPROTO;
	if (hdr->error)
		return hdr->error >= -4095 && hdr->error < 0 && !len &&
		       !(hdr->flags & IPC_F_MORE) ? 0 : -EPROTO;
	return len_ok(r->reply, len) ? 0 : -EPROTO;
}

int ipc_send(int fd, const struct ipc_hdr *hdr, const void *body, size_t len,
	     const int *fds, int nfds)
{
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(IPC_MAX_FDS * sizeof(int))];
	} ctl;
	struct iovec iov[2] = {
		{ (void *)hdr, sizeof(*hdr) }, { (void *)body, len },
	};
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = len ? 2 : 1 };
	ssize_t n;

	if (len > IPC_MAX - sizeof(*hdr) || nfds < 0 || nfds > IPC_MAX_FDS)
		return -EMSGSIZE;
	if (nfds) {
		memset(&ctl, 0, sizeof(ctl));
		ctl.align.cmsg_level = SOL_SOCKET;
		ctl.align.cmsg_type = SCM_RIGHTS;
		ctl.align.cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(&ctl.align), fds, nfds * sizeof(int));
		m.msg_control = &ctl;
		m.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
	}
	do {
		n = sys_sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
	} while (n == -EINTR);
	if (n == -ECONNRESET || n == -ENOTCONN)
		return -EPIPE;
	if (n < 0)
		return (int)n;
	return (size_t)n == sizeof(*hdr) + len ? 0 : -EPROTO;
}

void ipc_close_fds(const int *fds, int n)
{
	while (n-- > 0)
		sys_close(fds[n]);
}

/* Takes the descriptors of a message: stores at most room, closes the rest. Returns their count. */
static int take_fds(struct msghdr *m, int *fds, int room)
{
	struct cmsghdr *c;
	int n = 0;

	for (c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		size_t k, cnt = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (k = 0; k < cnt; k++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + k * sizeof(int), sizeof(int));
			if (n < room)
				fds[n] = fd;
			else
				sys_close(fd);
			n++;
		}
	}
	return n;
}

/* Like ipc_recv(), but may return -EINTR. */
static int recv_one(int fd, int flags, struct ipc_hdr *hdr, void *body, size_t *len, int *fds,
		    int *nfds)
{
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(IPC_MAX_FDS * sizeof(int))];
	} ctl;
	struct iovec iov[2] = { { hdr, sizeof(*hdr) }, { body, len ? *len : 0 } };
	struct msghdr m = {
		.msg_iov = iov, .msg_iovlen = 2,
		.msg_control = &ctl, .msg_controllen = sizeof(ctl),
	};
	int room = fds && nfds ? min(*nfds, IPC_MAX_FDS) : 0;
	int got, rc = 0;
	ssize_t n;

	if (nfds)
		*nfds = 0;
	n = sys_recvmsg(fd, &m, flags | MSG_CMSG_CLOEXEC);
	if (n == -EWOULDBLOCK)
		return -EAGAIN;
	if (n < 0)
		return n == -ECONNRESET ? -EPIPE : (int)n;
	got = take_fds(&m, fds, room);
	if (!n)
		rc = -EPIPE;
	else if (m.msg_flags & MSG_TRUNC)
		rc = -EMSGSIZE;
	else if ((m.msg_flags & MSG_CTRUNC) || got > room ||
		 (size_t)n < sizeof(*hdr))
		rc = -EPROTO;
	else if (hdr->version != IPC_VERSION)
		rc = -EPROTONOSUPPORT;
	if (rc)
		ipc_close_fds(fds, min(got, room));
	if (rc && rc != -EPROTONOSUPPORT)
		return rc;
	if (len)
		*len = (size_t)n - sizeof(*hdr);
	if (rc)
		return rc;
	if (nfds)
		*nfds = got;
	return 0;
}

int ipc_recv(int fd, int flags, struct ipc_hdr *hdr, void *body, size_t *len, int *fds, int *nfds)
{
	int room = nfds ? *nfds : 0, rc;

	do {
		if (nfds)
			*nfds = room;
		rc = recv_one(fd, flags, hdr, body, len, fds, nfds);
	} while (rc == -EINTR);
	return rc;
}

/* Waits for events on fd. *left is the remaining time of the call and is decreased. */
static int wait_fd(int fd, short events, struct timespec *left)
{
	struct pollfd p = { .fd = fd, .events = events };
	long n;

	do {	/* the raw system call writes back the remaining time */
		n = sys_call(SYS_ppoll, &p, 1, left, NULL, 8);
	} while (n == -EINTR);
	return n < 0 ? (int)n : n ? 0 : -ETIMEDOUT;
}

int ipc_connect(struct ipc_conn *c, const char *rundir)
{
	const struct timeval most = { .tv_sec = CALL_TIMEOUT_S };
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	size_t dl = strlen(rundir);
	struct ucred cr = { 0 };
	socklen_t cl = sizeof(cr);
	int fd, rc, tries;

	*c = (struct ipc_conn){ .fd = -1 };
	if (dl + sizeof("/" IPC_SOCK_NAME) > sizeof(sa.sun_path))
		return -ENAMETOOLONG;
	memcpy(sa.sun_path, rundir, dl);
	memcpy(sa.sun_path + dl, "/" IPC_SOCK_NAME, sizeof("/" IPC_SOCK_NAME));
	fd = sys_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return fd;
	/* -EAGAIN: the accept queue is full. Limit the retries, as rused may be stopped. */
	for (tries = 0;; tries++) {
		rc = sys_connect(fd, (struct sockaddr *)&sa, sizeof(sa));
		if (rc != -EINTR && (rc != -EAGAIN || tries == CALL_TIMEOUT_S * 100))
			break;
		ipc_sleep(10 * NS_MS);
	}
	if (!rc)
		rc = (int)sys_call(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &cr, &cl);
	if (!rc && cr.uid != (uid_t)sys_call(SYS_geteuid))
		rc = -EPERM;
	/* The socket is blocking from here on: recvmsg() waits for answers. */
	if (!rc)
		rc = (int)sys_call(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, &most,
				   sizeof(most));
	if (!rc)
		rc = sys_fcntl(fd, F_SETFL, 0);
	if (rc) {
		sys_close(fd);
		return rc;
	}
	c->fd = fd;
	return 0;
}

void ipc_close(struct ipc_conn *c)
{
	if (c->fd >= 0)
		sys_close(c->fd);
	c->fd = -1;
	ipc_channel_unmap(c->chan);
	c->chan = NULL;
}

static int call_send(struct ipc_conn *c, const struct ipc_hdr *hdr, const void *req, size_t len,
		     const int *fds, int nfds, struct timespec *left)
{
	int rc;

	for (;;) {
		rc = ipc_send(c->fd, hdr, req, len, fds, nfds);
		if (rc != -EAGAIN)
			return rc;
		rc = wait_fd(c->fd, POLLOUT, left);
		if (rc)
			return rc;
	}
}

/*
 * Waits for a message. The first wait is in recvmsg(), which SO_RCVTIMEO limits. If a signal interrupts it, the function
 * waits in ppoll() instead: *left, the remaining time of the call, limits these waits together.
 */
static int wait_one(struct ipc_conn *c, struct ipc_hdr *hdr, void *body, size_t *len, int *fds,
		    int *nfds, struct timespec *left)
{
	int room = nfds ? *nfds : 0;
	int rc = recv_one(c->fd, 0, hdr, body, len, fds, nfds);

	if (rc == -EAGAIN)
		return -ETIMEDOUT;
	while (rc == -EINTR || rc == -EAGAIN) {
		rc = wait_fd(c->fd, POLLIN, left);
		if (rc)
			return rc;
		if (nfds)
			*nfds = room;
		rc = recv_one(c->fd, MSG_DONTWAIT, hdr, body, len, fds, nfds);
	}
	return rc;
}

static int check_answer(const struct ipc_hdr *req, const struct ipc_hdr *hdr, size_t len)
{
	int rc = ipc_check(hdr, len, true);

	return !rc && (hdr->seq != req->seq || hdr->type != req->type) ? -EPROTO : rc;
}

/* Receives all parts of the answer to *req. *answer is its error: 0 or -errno. */
static int call_recv(struct ipc_conn *c, const struct ipc_hdr *req, char *reply, size_t *rsize,
		     int *rfds, int *nrfds, struct timespec *left, int *answer)
{
	size_t room = reply && rsize ? *rsize : 0, used = 0;
	int fdroom = rfds && nrfds ? *nrfds : 0, gotfds = 0;
	struct ipc_hdr hdr;
	int rc;

	do {
		size_t len = room - used;
		int n = fdroom - gotfds;

		rc = wait_one(c, &hdr, reply + used, &len, fdroom ? rfds + gotfds : NULL, &n, left);
		if (rc == -EPROTONOSUPPORT)
			ipc_version_note(c, &hdr, reply + used, len);
		if (rc)
			break;
		gotfds += n;
		rc = check_answer(req, &hdr, len);
		used += len;
	} while (!rc && (hdr.flags & IPC_F_MORE));
	if (rc) {
		ipc_close_fds(rfds, gotfds);
		return rc;
	}
	*answer = hdr.error;
	if (rsize)
		*rsize = used;
	if (nrfds)
		*nrfds = gotfds;
	return 0;
}

/* Polls the channel for the answer. -EAGAIN: no answer in time; *posted then says whether the request was withdrawn. */
static int channel_recv(struct ipc_conn *c, const struct ipc_hdr *req, char *reply, size_t *rsize,
			bool *posted)
{
	size_t len = reply && rsize ? *rsize : 0;
	struct ipc_hdr hdr;
	int rc;

	if (!ipc_channel_answer(c->chan, c->clock, c->clock() + TUNE_ANSWER, &hdr, reply, &len, &rc,
				posted))
		return -EAGAIN;
	c->unanswered = false;
	if (!rc)
		rc = check_answer(req, &hdr, len);
	/* A multi-part answer must use the socket. */
	if (!rc && (hdr.flags & IPC_F_MORE))
		rc = -EPROTO;
	if (rc)
		return rc;
	c->answer = hdr.error;
	if (rsize)
		*rsize = len;
	return 0;
}

int ipc_trip(struct ipc_conn *c, enum ipc_type type, const void *req, size_t len, const int *fds,
	     int nfds, void *reply, size_t *rsize, int *rfds, int *nrfds)
{
	struct ipc_hdr hdr = { .version = IPC_VERSION, .type = type };
	struct timespec left = { .tv_sec = CALL_TIMEOUT_S };
	bool here, withdrawn;
	int rc;

	c->answer = 0;
	if (c->fd < 0)
		return -ENOTCONN;
	hdr.seq = ++c->seq;
	if (ipc_check(&hdr, len, false)) {
		c->answer = -EINVAL;
		return 0;
	}
	/* Not while the socket may hold earlier messages, which the request would overtake. */
	here = c->chan && c->clock && !nfds && !c->unanswered &&
	       ipc_channel_post(c->chan, &hdr, req, len);
	if (here) {
		rc = channel_recv(c, &hdr, reply, rsize, &withdrawn);
		if (rc != -EAGAIN) {
			if (nrfds)
				*nrfds = 0;
			return rc;
		}
	}
	rc = !here || withdrawn ? call_send(c, &hdr, req, len, fds, nfds, &left) : 0;
	if (!rc)
		rc = call_recv(c, &hdr, reply, rsize, rfds, nrfds, &left, &c->answer);
	if (!rc)
		c->unanswered = false;
	return rc;
}

int ipc_call(struct ipc_conn *c, enum ipc_type type, const void *req, size_t len,
	     const int *fds, int nfds, void *reply, size_t *rsize, int *rfds, int *nrfds)
{
	int rc = ipc_trip(c, type, req, len, fds, nfds, reply, rsize, rfds, nrfds);

	if (!rc)
		return c->answer;
	ipc_close(c);
	if (nrfds)
		*nrfds = 0;
	return rc;
}

/*
 * Waits until rused has handled all queued messages, as it does before it answers. The request has no effect: rused refuses
 * a second channel. 0, or -errno: the connection has failed.
 */
static int ipc_drain(struct ipc_conn *c)
{
	int fds[IPC_MAX_FDS], nfds = 0;
	size_t rsize = 0;

	return ipc_trip(c, IPC_CHANNEL, NULL, 0, NULL, 0, NULL, &rsize, fds, &nfds);
}

/* Queues a message, waiting if the queue is full. False: send it over the socket. */
static bool ipc_queue(struct ipc_conn *c, const struct ipc_hdr *hdr, const void *req, size_t len,
		      bool *wake)
{
	/* Use the socket while it may hold earlier messages: a queued message would overtake them. */
	if (!c->chan || c->unanswered || len > CHAN_QUEUE_BODY)
		return false;
	return ipc_channel_push(c->chan, hdr, req, len, wake) ||
	       (!ipc_drain(c) && ipc_channel_push(c->chan, hdr, req, len, wake));
}

int ipc_post(struct ipc_conn *c, enum ipc_type type, const void *req, size_t len)
{
	struct ipc_hdr hdr = { .version = IPC_VERSION, .type = type };
	struct timespec left = { .tv_sec = CALL_TIMEOUT_S };
	bool wake;

	if (c->fd < 0)
		return -ENOTCONN;
	hdr.seq = ++c->seq;
	if (ipc_check(&hdr, len, false))
		return -EINVAL;
	if (ipc_queue(c, &hdr, req, len, &wake)) {
		hdr.type = IPC_WAKE;
		return wake ? call_send(c, &hdr, NULL, 0, NULL, 0, &left) : 0;
	}
	c->unanswered = true;
	return call_send(c, &hdr, req, len, NULL, 0, &left);
}
