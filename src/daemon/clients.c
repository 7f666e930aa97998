/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections of processes, and their end.
 *
 * A process counts as dead when its pidfd is readable or its socket is closed. The socket alone is
 * not enough, as a forked child keeps the inherited one open; the pidfd alone is not either, as a
 * process of another PID namespace has none here.
 *
 * rused exits in two steps: it shuts the listening socket down, so that connect() fails with
 * ECONNREFUSED, and then accepts what is left in the queue. If there is a client, it listens again
 * and stays. A socket of the service manager (ruse.socket) is not shut down: the manager starts the
 * next rused for what connects to it.
 *
 * Killed clients stay in loop.dead until the end of the event loop's round, as callers may still
 * use them.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fds.h"
#include "base/log.h"
#include "daemon/daemon.h"
#include "ipc/version.h"

#define MAX_CLIENTS 1024
#define BACKLOG 128
#define GIVEN_FD 3		/* SD_LISTEN_FDS_START of sd_listen_fds(3) */
#define DRAIN_MAX 512		/* more messages than a socket can hold */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77		/* Linux 6.5 */
#endif

struct client *client_by_proc(const struct clients *cs, uint32_t proc)
{
	struct client *c;

	list_for_each_entry(c, &cs->list, node)
		if (proc && c->proc == proc)
			return c;
	return NULL;
}

void client_kill(struct client *c, const char *why)
{
	struct rused *r = c->r;

	if (c->dead)
		return;
	c->dead = true;
	log_info("process %u (pid %d, %s): %s", c->proc, c->pid, c->comm, why);
	lease_put_all(&r->leases, c->proc, r->loop.now);
	port_steer(&r->port);
	nlsock_close_all(c);
	channel_close(c);
	loop_del(&r->loop, &c->sock);
	loop_del(&r->loop, &c->pidfd);
	res_client_gone(&r->host, c);
	explain_client_gone(&r->explain, c, r->loop.now);
	captures_client_gone(&r->host, &r->gsi, c);
	fault_client_gone(&r->faults, c);
	fabric_client_gone(&c->fabric);
	if (c->page_fd >= 0)
		close(c->page_fd);
	c->page_fd = -1;
	if (c->notify_fd >= 0)
		close(c->notify_fd);
	c->notify_fd = -1;
	free(c->out);
	c->out = NULL;
	list_del(&c->node);
	devices_released(&c->r->devices);
	list_add_tail(&c->node, &r->loop.dead);
	if (--r->clients.count)
		return;
	if (r->drain)
		r->loop.stop = true;
	else if (r->idle && timer_set(&r->loop.timers, &r->idle_timer, r->loop.now + r->idle))
		r->loop.stop = true;
}

void clients_reap(struct loop *l)
{
	while (!list_empty(&l->dead)) {
		struct list_head *e = l->dead.next;

		list_del(e);
		free(e);	/* every object in this list begins with its list node */
	}
}

_Static_assert(offsetof(struct client, node) == 0, "freed by its node");

int client_flush(struct client *c)
{
	size_t most = IPC_MAX - sizeof(struct ipc_hdr);

	while (c->out) {
		size_t n = min(c->out_len - c->out_at, most);
		struct ipc_hdr h = {
			.version = IPC_VERSION, .type = c->out_type, .seq = c->out_seq,
			.flags = IPC_F_REPLY | (c->out_at + n < c->out_len ? IPC_F_MORE : 0),
		};
		int rc = ipc_send(c->sock.fd, &h, c->out + c->out_at, n, NULL, 0);

		if (rc == -EAGAIN)
			return loop_mod(&c->r->loop, &c->sock, EPOLLIN | EPOLLOUT);
		if (rc)
			return rc;
		c->out_at += n;
		if (c->out_at == c->out_len) {
			free(c->out);
			c->out = NULL;
		}
	}
	return loop_mod(&c->r->loop, &c->sock, EPOLLIN);
}

void client_refused(struct client *c, int rc)
{
	if (rc == -EPIPE) {
		if (!c->dead)
			channel_drain(c);	/* messages sent before the close */
		client_kill(c, "closed its connection");
		return;
	}
	log_warn("pid %d (%s) sent an invalid message: %s", c->pid, c->comm, strerror(-rc));
	client_kill(c, "disconnected");
}

static void client_other_version(struct client *c, const struct ipc_hdr *h)
{
	log_warn("refused pid %d: its messages have version %u, those of this rused (%s) version %d; "
		 "`ruse stop --now' ends this rused", c->pid, h->version, ipc_release, IPC_VERSION);
	ipc_version_refuse(c->sock.fd, h);
	client_kill(c, "disconnected: another version");
}

/* Takes one message from the socket. False: there is none. */
static bool client_take_one(struct client *c)
{
	char body[IPC_MAX];
	int fds[IPC_MAX_FDS], nfds = IPC_MAX_FDS, rc;
	size_t len = sizeof(body);
	struct ipc_hdr h;

	rc = ipc_recv(c->sock.fd, MSG_DONTWAIT, &h, body, &len, fds, &nfds);
	if (rc == -EAGAIN)
		return false;
	if (!rc)
		rc = client_message(c, &h, body, len, fds, nfds);
	if (rc == -EPROTONOSUPPORT)
		client_other_version(c, &h);
	else if (rc)
		client_refused(c, rc);
	return true;
}

void client_drain(struct client *c)
{
	channel_drain(c);
	for (int i = 0; i < DRAIN_MAX && !c->dead && client_take_one(c); i++)
		;
}

static void client_event(struct loop_fd *f, uint32_t events)
{
	struct client *c = container_of(f, struct client, sock);

	if ((events & EPOLLOUT) && client_flush(c)) {
		client_kill(c, "disconnected: cannot send the reply");
		return;
	}
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		client_take_one(c);
}

static void client_died(struct loop_fd *f, uint32_t events)
{
	struct client *c = container_of(f, struct client, pidfd);

	/* Handle the messages that it sent before it died. */
	client_drain(c);
	client_kill(c, "died");
}

static void client_watch_death(struct client *c)
{
	socklen_t len = sizeof(int);
	int fd = -1;

	if (!c->pid)
		return;
	/* The kernel's SO_PEERPIDFD is safe against reuse of the PID. */
	if (getsockopt(c->sock.fd, SOL_SOCKET, SO_PEERPIDFD, &fd, &len))
		fd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	if (fd < 0)
		return;
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	if (loop_add(&c->r->loop, &c->pidfd, fd, EPOLLIN))
		close(fd);
}

/*
 * Closes a connection that is not served. Its HELLO, if present, is read and answered with the
 * error: close() with unread data would reset the connection. After shutdown() no HELLO can arrive
 * any more; the client's send() fails with EPIPE. A client without an answer retries.
 */
static void clients_refuse(int fd, int error)
{
	int fds[IPC_MAX_FDS], nfds = IPC_MAX_FDS;
	char body[IPC_MAX];
	size_t len = sizeof(body);
	struct ipc_hdr h;

	shutdown(fd, SHUT_RD);
	if (!ipc_recv(fd, MSG_DONTWAIT, &h, body, &len, fds, &nfds)) {
		h = (struct ipc_hdr){ .version = IPC_VERSION, .type = h.type,
				      .flags = IPC_F_REPLY, .seq = h.seq, .error = error };
		ipc_send(fd, &h, NULL, 0, NULL, 0);
		for (int i = 0; i < nfds; i++)
			close(fds[i]);
	}
	close(fd);
}

static void client_new(struct rused *r, int fd)
{
	struct ucred cr = { 0 };
	socklen_t len = sizeof(cr);
	struct client *c;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cr, &len) || cr.uid != r->place.uid) {
		log_warn("refused pid %d: uid %u is not the user of this rused", cr.pid, cr.uid);
		close(fd);
		return;
	}
	c = r->clients.count < MAX_CLIENTS ? calloc(1, sizeof(*c)) : NULL;
	if (!c) {
		log_warn("refused pid %d: there are already %u clients", cr.pid, r->clients.count);
		clients_refuse(fd, -EUSERS);
		return;
	}
	c->r = r;
	c->pid = cr.pid;
	c->uid = cr.uid;
	c->page_fd = c->notify_fd = -1;
	c->pidfd.fd = -1;
	fabric_client_init(&c->fabric, &r->fabrics);
	c->sock.fn = client_event;
	c->pidfd.fn = client_died;
	list_init(&c->netlink);
	if (loop_add(&r->loop, &c->sock, fd, EPOLLIN)) {
		clients_refuse(fd, -ENOMEM);
		free(c);
		return;
	}
	client_watch_death(c);
	list_add_tail(&c->node, &r->clients.list);
	r->clients.count++;
	timer_cancel(&r->loop.timers, &r->idle_timer);
}

/*
 * Out of descriptors: a waiting client would make the loop spin. Close the spare descriptor to
 * accept and refuse it.
 */
static void clients_refuse_one(struct rused *r, int lfd)
{
	int fd;

	log_warn("refused a client: out of file descriptors (see ulimit -n)");
	if (r->spare >= 0)
		close(r->spare);
	fd = fds_accept(lfd, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0)
		clients_refuse(fd, -EMFILE);
	r->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Accepts one client. False: none is waiting. */
static bool clients_accept_one(struct rused *r)
{
	int fd = fds_accept(r->listen.fd, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0) {
		client_new(r, fd);
		return true;
	}
	if (fd == -EMFILE || fd == -ENFILE)
		clients_refuse_one(r, r->listen.fd);
	return false;
}

static void clients_listen_event(struct loop_fd *f, uint32_t events)
{
	clients_accept_one(container_of(f, struct rused, listen));
}

bool clients_given(struct rused *r)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	int type = 0, listens = 0;
	socklen_t len = sizeof(int);

	r->given = -1;
	if (!pid || !count || strtol(pid, NULL, 10) != getpid())
		return true;
	if (strcmp(count, "1") || getsockopt(GIVEN_FD, SOL_SOCKET, SO_TYPE, &type, &len) ||
	    type != SOCK_SEQPACKET ||
	    getsockopt(GIVEN_FD, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) || !listens)
		return false;
	fcntl(GIVEN_FD, F_SETFD, FD_CLOEXEC);
	fcntl(GIVEN_FD, F_SETFL, O_NONBLOCK);
	r->given = GIVEN_FD;
	return true;
}

/* Makes RUN/rused.sock a link of the given socket. A descriptor of the socket, or -errno. */
static int clients_link(const struct rused *r)
{
	struct sockaddr_un sa = { 0 };
	socklen_t len = sizeof(sa) - 1;
	struct stat there, st;

	if (getsockname(r->given, (struct sockaddr *)&sa, &len) || lstat(sa.sun_path, &st))
		return -errno;
	/* ruse.socket has made the link already, so that a program could start rused. */
	if (fstatat(r->place.run, IPC_SOCK_NAME, &there, AT_SYMLINK_NOFOLLOW) ||
	    there.st_ino != st.st_ino || there.st_dev != st.st_dev) {
		unlinkat(r->place.run, IPC_SOCK_NAME, 0);
		if (linkat(AT_FDCWD, sa.sun_path, r->place.run, IPC_SOCK_NAME, 0))
			return -errno;
	}
	/* The process that has called listen() last is the peer that SO_PEERCRED names: not systemd. */
	if (listen(r->given, BACKLOG))
		return -errno;
	return fcntl(r->given, F_DUPFD_CLOEXEC, 0);
}

/* Creates RUN/rused.sock. A descriptor of the socket, or -errno. */
static int clients_bind(const struct rused *r)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd, rc;

	if (snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/" IPC_SOCK_NAME, r->place.rundir) >=
	    (int)sizeof(sa.sun_path))
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	/* rused holds the lock, so the old socket's owner is dead. */
	unlinkat(r->place.run, IPC_SOCK_NAME, 0);
	if (!bind(fd, (struct sockaddr *)&sa, sizeof(sa)) && !listen(fd, BACKLOG))
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

int clients_listen(struct rused *r)
{
	int fd = -1, rc;

	if (r->given >= 0) {
		fd = clients_link(r);
		if (fd < 0) {
			log_warn("cannot link the socket of the service manager to %s/" IPC_SOCK_NAME
				 ": %s; rused makes a socket of its own",
				 r->place.rundir, strerror(-fd));
			close(r->given);
			r->given = -1;
		}
	}
	if (fd < 0)
		fd = clients_bind(r);
	if (fd < 0)
		return fd;
	place_bound(&r->place);
	r->listen.fn = clients_listen_event;
	rc = loop_add(&r->loop, &r->listen, fd, EPOLLIN);
	if (rc)
		close(fd);
	return rc;
}

void clients_listen_no_more(struct rused *r)
{
	if (r->listen.fd < 0)
		return;
	/* The next rused accepts what connects to a given socket. */
	if (r->given < 0)
		shutdown(r->listen.fd, SHUT_RD);
	while (clients_accept_one(r))
		;
	loop_del(&r->loop, &r->listen);
}

void clients_unlink(const struct rused *r)
{
	if (r->given < 0 && place_ours(&r->place))
		unlinkat(r->place.run, IPC_SOCK_NAME, 0);
}

int clients_listen_again(struct rused *r)
{
	clients_listen_no_more(r);
	return clients_listen(r);
}

bool clients_leave(struct rused *r)
{
	int rc;

	clients_listen_no_more(r);
	if (!r->clients.count) {
		clients_unlink(r);
		return true;
	}
	/* Another rused owns the run directory: serve the client, but do not listen again. */
	if (!place_ours(&r->place))
		return false;
	rc = clients_listen(r);
	if (rc)
		log_err("cannot listen for clients again: %s", strerror(-rc));
	return rc;
}

bool rused_busy(const struct rused *r)
{
	/* Leased QP number blocks, devices added or deleted by the user, a fabric and open files must not be lost. */
	return lease_any(&r->leases) || r->host.configured || r->fabrics.fabric ||
	       ucma_busy(&r->ucma) || umad_busy(&r->umads);
}

void clients_close_all(struct rused *r)
{
	struct client *c, *t;

	list_for_each_entry_safe(c, t, &r->clients.list, node)
		client_kill(c, "disconnected: rused exits");
	clients_reap(&r->loop);
}
