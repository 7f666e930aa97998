/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections of processes, and their end.
 *
 * A process counts as dead when its pidfd is readable or its socket is closed. The socket alone is
 * not enough, as a forked child keeps the inherited one open; the pidfd alone is not either, as a
 * process of another PID namespace has none here.
 *
 * rused exits in two steps: it stops listening and accepts what is left in the queue. If there is a
 * client, it listens again and stays.
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
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fds.h"
#include "base/log.h"
#include "daemon/daemon.h"
#include "ipc/version.h"

#define MAX_CLIENTS 1024
#define DRAIN_MAX 512		/* more messages than a socket can hold */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77		/* Linux 6.5 */
#endif

struct client *client_of(struct process *pr)
{
	return container_of(pr, struct client, p);
}

struct client *client_by_proc(const struct processes *ps, uint32_t proc)
{
	struct process *pr = process_by_number(ps, proc);

	return pr ? client_of(pr) : NULL;
}

int client_peer(const struct processes *ps, const struct lease_table *leases, uint32_t block,
		struct ipc_peer *rep)
{
	const struct process *pr = process_by_number(ps, lease_owner(leases, block));

	if (!pr)
		return lease_awaited(leases, block) ? -EAGAIN : -ENOENT;
	rep->block = block;
	rep->pid = pr->pid;
	rep->proc = pr->proc;
	rep->dev_index = leases->block[block].dev_index;
	memcpy(rep->sock, pr->sock_name, sizeof(rep->sock));
	return 0;
}

int client_context(struct client *c, const struct ipc_context *q)
{
	const struct host_page *page = c->r->host.page;
	int i;

	if (q->opened > 1)
		return -EPROTO;
	for (i = 0; i < HOST_MAX_DEVS; i++)
		if (page->dev[i].in_use && page->dev[i].index == q->dev_index)
			break;
	if (i == HOST_MAX_DEVS)
		return -ENODEV;
	if (!q->opened && !c->p.nctx[i])
		return -EINVAL;
	c->p.nctx[i] += q->opened ? 1 : -1;
	devices_released(&c->r->devices);
	return 0;
}

void client_kill(struct client *c, const char *why)
{
	struct rused *r = c->r;

	if (c->dead)
		return;
	c->dead = true;
	log_info("process %u (pid %d, %s): %s", c->p.proc, c->p.pid, c->p.comm, why);
	lease_put_all(&r->leases, c->p.proc, r->loop.now);
	port_steer(&r->port);
	nlsock_close_all(&c->netlink);
	channel_close(c);
	loop_del(&r->loop, &c->sock);
	loop_del(&r->loop, &c->pidfd);
	res_process_gone(&r->host, &c->p);
	explain_process_gone(&r->explain, &c->p, r->loop.now);
	runs_process_gone(&r->runs, &r->processes, &c->p, r->host.page, r->loop.now);
	runs_end(&r->runs, c);
	captures_process_gone(&r->host, &r->gsi, &c->p);
	fault_process_gone(&r->faults, &c->p);
	fabric_client_gone(&c->fabric);
	if (c->p.page_fd >= 0)
		close(c->p.page_fd);
	c->p.page_fd = -1;
	if (c->notify_fd >= 0)
		close(c->notify_fd);
	c->notify_fd = -1;
	hold_cancel(&c->hold);
	free(c->out);
	c->out = NULL;
	list_del(&c->p.node);
	devices_released(&c->r->devices);
	list_add_tail(&c->p.node, &r->loop.dead);
	if (--r->processes.count)
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

_Static_assert(offsetof(struct client, p.node) == 0, "freed by its node");

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
	log_warn("pid %d (%s) sent an invalid message: %s", c->p.pid, c->p.comm, strerror(-rc));
	client_kill(c, "disconnected");
}

static void client_other_version(struct client *c, const struct ipc_hdr *h)
{
	log_warn("refused pid %d: its messages have version %u, those of this rused (%s) version %d; "
		 "`ruse stop --now` ends this rused", c->p.pid, h->version, ipc_release, IPC_VERSION);
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

	if (!c->p.pid)
		return;
	/* The kernel's SO_PEERPIDFD is safe against reuse of the PID. */
	if (getsockopt(c->sock.fd, SOL_SOCKET, SO_PEERPIDFD, &fd, &len))
		fd = (int)syscall(SYS_pidfd_open, c->p.pid, 0);
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
	c = r->processes.count < MAX_CLIENTS ? calloc(1, sizeof(*c)) : NULL;
	if (!c) {
		log_warn("refused pid %d: there are already %u clients", cr.pid, r->processes.count);
		clients_refuse(fd, -EUSERS);
		return;
	}
	c->r = r;
	c->p.pid = cr.pid;
	c->p.uid = cr.uid;
	c->p.page_fd = c->notify_fd = -1;
	c->pidfd.fd = -1;
	fabric_client_init(&c->fabric, &r->fabrics);
	c->p.fabric = &c->fabric;
	c->sock.fn = client_event;
	c->pidfd.fn = client_died;
	nlsock_owner_init(&c->netlink, &c->p);
	if (loop_add(&r->loop, &c->sock, fd, EPOLLIN)) {
		clients_refuse(fd, -ENOMEM);
		free(c);
		return;
	}
	client_watch_death(c);
	list_add_tail(&c->p.node, &r->processes.list);
	r->processes.count++;
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

bool clients_accept(void *ctx, int lfd)
{
	struct rused *r = ctx;
	int fd = fds_accept(lfd, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0) {
		client_new(r, fd);
		return true;
	}
	if (fd == -EMFILE || fd == -ENFILE)
		clients_refuse_one(r, lfd);
	return false;
}

bool clients_leave(struct rused *r)
{
	int rc;

	listener_stop(&r->listener);
	if (!r->processes.count) {
		listener_unlink(&r->listener);
		return true;
	}
	/* Another rused owns the run directory: serve the client, but do not listen again. */
	if (!place_ours(&r->place))
		return false;
	rc = listener_open(&r->listener);
	if (rc)
		log_err("cannot listen for clients again: %s", strerror(-rc));
	return rc;
}

bool rused_busy(const struct rused *r)
{
	/* Leased QP number blocks, devices added or deleted by the user, a fabric and open files must not be lost. */
	return lease_any(&r->leases) || r->host.configured || r->fabrics.fabric ||
	       cmfiles_busy(&r->ucma) || umad_busy(&r->umads);
}

void clients_close_all(struct rused *r)
{
	struct process *pr, *t;

	list_for_each_entry_safe(pr, t, &r->processes.list, node)
		client_kill(client_of(pr), "disconnected: rused exits");
	clients_reap(&r->loop);
}
