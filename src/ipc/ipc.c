/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages between a process and rused: framing, descriptors, calls.
 *
 * Used by both ends. The library's part runs inside programs under the engine's connection lock,
 * sometimes also under the engine lock, so it makes only raw system calls and allocates nothing.
 * A wait ends at once when rused dies, because the socket is closed then. It is limited to
 * CALL_TIMEOUT_S, so a rused that is stopped for ever does not hang a program. After IPC_SLOW_S the
 * wait is told (slow.c).
 *
 * ipc_call() uses the channel (ipc/channel.h) if rused watches it and the process may use two CPUs; else the socket.
 */
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/un.h>
#include <time.h>

#include "base/sys.h"
#include "ipc/channel.h"
#include "ipc/ipc.h"
#include "ipc/ipc_internal.h"
#include "ipc/messages.h"
#include "ipc/version.h"
#include "shared/barrier.h"

/* On a loaded machine rused may wait several seconds for a CPU or for a disk. */
#define CALL_TIMEOUT_S 60

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
	else if (m.msg_flags & MSG_CTRUNC && got < IPC_MAX_FDS)
		rc = -EMFILE; /* the kernel had no room for a descriptor */
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

/* Waits for events on fd, for at most ns of *left, the remaining time of the call, which is decreased. */
static int wait_part(int fd, short events, ns_t *left, ns_t ns)
{
	struct pollfd p = { .fd = fd, .events = events };
	ns_t part = min(*left, ns);
	struct timespec t = { .tv_sec = part / NS_S, .tv_nsec = part % NS_S };
	long n;

	do {	/* the raw system call writes back the remaining time */
		n = sys_call(SYS_ppoll, &p, 1, &t, NULL, 8);
	} while (n == -EINTR);
	*left -= part - min((ns_t)t.tv_sec * NS_S + (ns_t)t.tv_nsec, part);
	return n < 0 ? (int)n : n ? 0 : -ETIMEDOUT;
}

static int wait_answer(const struct ipc_conn *c, short events, ns_t *left)
{
	int rc = wait_part(c->fd, events, left, IPC_SLOW_S * NS_S);

	if (rc != -ETIMEDOUT || !*left)
		return rc;
	ipc_slow_tell(c->other_pid);
	return wait_part(c->fd, events, left, *left);
}

int ipc_connect(struct ipc_conn *c, const char *rundir)
{
	return ipc_connect_within(c, rundir, CALL_TIMEOUT_S);
}

int ipc_connect_within(struct ipc_conn *c, const char *rundir, int seconds)
{
	const struct timeval most = { .tv_sec = IPC_SLOW_S };
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	size_t dl = strlen(rundir);
	struct ucred cr = { 0 };
	socklen_t cl = sizeof(cr);
	int fd, rc, tries;

	*c = (struct ipc_conn){ .fd = -1, .seconds = seconds };
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
		if (rc != -EINTR && (rc != -EAGAIN || tries == seconds * 100))
			break;
		if (tries == IPC_SLOW_S * 100)
			ipc_slow_tell(0);
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
	c->other_pid = cr.pid;
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

static int call_send(struct ipc_conn *c, const struct ipc_hdr *hdr, const struct ipc_msg *m,
		     ns_t *left)
{
	int rc;

	for (;;) {
		rc = ipc_send(c->fd, hdr, m->req, m->len, m->fds, m->nfds);
		if (rc != -EAGAIN)
			return rc;
		rc = wait_answer(c, POLLOUT, left);
		if (rc)
			return rc;
	}
}

/*
 * Waits for a message. The first wait is in recvmsg(), which SO_RCVTIMEO limits. If a signal interrupts it, the function
 * waits in ppoll() instead: *left, the remaining time of the call, limits these waits together.
 */
static int wait_one(struct ipc_conn *c, struct ipc_hdr *hdr, void *body, size_t *len, int *fds,
		    int *nfds, ns_t *left)
{
	int room = nfds ? *nfds : 0;
	int rc = recv_one(c->fd, 0, hdr, body, len, fds, nfds);

	if (rc == -EAGAIN) {
		*left -= min(*left, IPC_SLOW_S * NS_S);
		ipc_slow_tell(c->other_pid);
	}
	while (rc == -EINTR || rc == -EAGAIN) {
		rc = wait_answer(c, POLLIN, left);
		if (rc)
			return rc;
		if (nfds)
			*nfds = room;
		rc = recv_one(c->fd, MSG_DONTWAIT, hdr, body, len, fds, nfds);
	}
	return rc;
}

static int check_answer(const struct ipc_hdr *req, const struct ipc_hdr *hdr, size_t len, int nfds)
{
	int rc = ipc_check(hdr, len, nfds, true);

	return !rc && (hdr->seq != req->seq || hdr->type != req->type) ? -EPROTO : rc;
}

/* Receives all parts of the answer to the request. *answer is its error: 0 or -errno. */
static int call_recv(struct ipc_conn *c, const struct ipc_hdr *req, struct ipc_msg *m, ns_t *left,
		     int *answer)
{
	size_t used = 0;
	int gotfds = 0;
	struct ipc_hdr hdr;
	int rc;

	do {
		char *to = m->room ? (char *)m->reply + used : NULL;
		int *tofds = m->rfds_room ? m->rfds + gotfds : NULL;
		int n = m->rfds_room - gotfds;
		size_t len = m->room - used;

		rc = wait_one(c, &hdr, to, &len, tofds, &n, left);
		if (rc == -EPROTONOSUPPORT)
			ipc_version_note(c, &hdr, to, len);
		if (rc)
			break;
		gotfds += n;
		rc = check_answer(req, &hdr, len, n);
		used += len;
	} while (!rc && (hdr.flags & IPC_F_MORE));
	if (rc) {
		ipc_close_fds(m->rfds, gotfds);
		return rc;
	}
	*answer = hdr.error;
	m->rlen = used;
	m->nrfds = gotfds;
	return 0;
}

/* Polls the channel for the answer. -EAGAIN: no answer in time; *withdrawn then says whether the request was withdrawn. */
static int channel_recv(struct ipc_conn *c, const struct ipc_hdr *req, struct ipc_msg *m,
			int *answer, bool *withdrawn)
{
	size_t len = m->room;
	struct ipc_hdr hdr;
	int rc;

	if (!ipc_channel_answer(c->chan, c->clock, c->clock() + TUNE_ANSWER, &hdr, m->reply, &len,
				&rc, withdrawn))
		return -EAGAIN;
	if (!rc)
		rc = check_answer(req, &hdr, len, 0);
	/* A multi-part answer must use the socket. */
	if (!rc && (hdr.flags & IPC_F_MORE))
		rc = -EPROTO;
	if (rc)
		return rc;
	*answer = hdr.error;
	m->rlen = len;
	return 0;
}

/* Sends the request and receives its answer, whose error is *answer. -errno: the connection has failed. */
static int call_trip(struct ipc_conn *c, const struct ipc_hdr *hdr, struct ipc_msg *m, int *answer)
{
	ns_t left = (ns_t)c->seconds * NS_S;
	bool here, withdrawn;
	int rc;

	/* Not while the socket may hold earlier messages, which the request would overtake. */
	here = c->chan && c->clock && !m->nfds && !c->unanswered &&
	       ipc_channel_ask(c->chan, hdr, m->req, m->len);
	if (here) {
		rc = channel_recv(c, hdr, m, answer, &withdrawn);
		if (rc != -EAGAIN)
			return rc;
	}
	rc = !here || withdrawn ? call_send(c, hdr, m, &left) : 0;
	return rc ? rc : call_recv(c, hdr, m, &left, answer);
}

int ipc_call(struct ipc_conn *c, struct ipc_msg *m)
{
	struct ipc_hdr hdr = { .version = IPC_VERSION, .type = m->type };
	int rc, answer;

	m->rlen = 0;
	m->nrfds = 0;
	if (c->fd < 0 || c->failed)
		return -ENOTCONN;
	hdr.seq = ++c->seq;
	if (ipc_check(&hdr, m->len, m->nfds, false))
		return -EINVAL;
	rc = call_trip(c, &hdr, m, &answer);
	if (rc) {
		c->failed = true;
		return rc;
	}
	c->unanswered = false;
	return answer;
}

/*
 * Waits until rused has handled all queued messages, as it does before it answers. The request has no effect: rused refuses
 * a second channel. False: the connection has failed.
 */
static bool ipc_drain(struct ipc_conn *c)
{
	struct ipc_msg m = { .type = IPC_CHANNEL };

	ipc_call(c, &m);
	return !c->failed;
}

/* Queues a message, waiting if the queue is full. False: send it over the socket. */
static bool ipc_queue(struct ipc_conn *c, const struct ipc_hdr *hdr, const struct ipc_msg *m,
		      bool *wake)
{
	/* Use the socket while it may hold earlier messages: a queued message would overtake them. */
	if (!c->chan || c->unanswered || m->len > CHAN_QUEUE_BODY)
		return false;
	return ipc_channel_push(c->chan, &c->queue, hdr, m->req, m->len, wake) ||
	       (ipc_drain(c) && ipc_channel_push(c->chan, &c->queue, hdr, m->req, m->len, wake));
}

int ipc_post(struct ipc_conn *c, enum ipc_type type, const void *req, size_t len)
{
	struct ipc_hdr hdr = { .version = IPC_VERSION, .type = type };
	struct ipc_msg m = { .type = type, .req = req, .len = len };
	ns_t left = (ns_t)c->seconds * NS_S;
	bool wake;
	int rc;

	if (c->fd < 0 || c->failed)
		return -ENOTCONN;
	hdr.seq = ++c->seq;
	if (ipc_check(&hdr, len, 0, false))
		return -EINVAL;
	if (ipc_queue(c, &hdr, &m, &wake)) {
		if (!wake)
			return 0;
		hdr.type = IPC_WAKE;
		m.len = 0;
	} else {
		c->unanswered = true;
	}
	rc = c->failed ? -EPIPE : call_send(c, &hdr, &m, &left);
	if (rc)
		c->failed = true;
	return rc;
}
