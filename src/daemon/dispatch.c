/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Handlers of the messages from processes and from ruse.
 *
 * client_message() checks the framing with ipc_check() and calls the handler of the type.
 * Everything else in a message is checked in its handler: the contents come from a process and may
 * be hostile. A handler answers with a result or an -errno; an error that it returns closes the
 * client. The answer goes to the channel if the client polls it, else to the socket.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "abi/ucma/ucma.h"
#include "base/fds.h"
#include "base/log.h"
#include "base/memfd.h"
#include "daemon/daemon.h"
#include "daemon/stuck.h"
#include "ipc/capring.h"
#include "ipc/fabric_msg.h"
#include "ipc/ucma_msg.h"
#include "ipc/umad_msg.h"
#include "queue/barrier.h"

struct msg {
	struct client *c;
	const struct ipc_hdr *h;
	const void *body;
	size_t len;
	int *fds;		/* received descriptors; a handler that keeps one sets it to -1 here */
	int nfds;
};

static int msg_reply(const struct msg *m, int error, const void *body, size_t len, const int *fds,
		     int nfds)
{
	struct ipc_hdr h = {
		.version = IPC_VERSION, .type = m->h->type, .flags = IPC_F_REPLY,
		.seq = m->h->seq, .error = error,
	};
	struct ipc_channel *ch = m->c->channel.map;
	int rc;

	if (ch && !nfds && ipc_channel_put(ch, &h, body, len))
		return 0;
	rc = ipc_send(m->c->sock.fd, &h, body, len, fds, nfds);
	if (ch)
		ipc_channel_sent(ch);
	return rc;
}

static int answer_fds(const struct msg *m, const void *body, size_t len, const int *fds, int nfds)
{
	return msg_reply(m, 0, body, len, fds, nfds);
}

static int msg_answer(const struct msg *m, int error, const void *body, size_t len, int fd)
{
	return msg_reply(m, error, body, error ? 0 : len, &fd, !error && fd >= 0);
}

static int msg_answer_error(const struct msg *m, int error)
{
	return msg_answer(m, error, NULL, 0, -1);
}

/* Copies a name for logs and status; unprintable characters become '?'. */
static int copy_text(char *to, const char *from, size_t size)
{
	size_t i;

	if (!memchr(from, 0, size))
		return -EPROTO;
	for (i = 0; i < size; i++)
		to[i] = !from[i] || (from[i] > ' ' && from[i] < 127) ? from[i] : '?';
	return 0;
}

/* Reads with pread() and does not map: a missing page is then an error instead of a SIGBUS. */
int client_page(const struct client *c, struct proc_page *copy)
{
	if (c->page_fd < 0)
		return -ENOENT;
	if (pread(c->page_fd, copy, sizeof(*copy), 0) != (ssize_t)sizeof(*copy))
		return -EIO;
	return copy->magic == PROC_PAGE_MAGIC && copy->version == 1 ? 0 : -EPROTO;
}

/*
 * Returns a number for a process that connects. A process that had a number from an earlier rused
 * (`wanted`) gets the same one if it is free, because the peers of the process know it by this
 * number.
 */
static uint32_t proc_number(struct clients *cs, uint32_t wanted)
{
	if (wanted && wanted <= IPC_PROC_MAX && !client_by_proc(cs, wanted))
		return wanted;
	do {
		cs->next_proc = cs->next_proc < IPC_PROC_MAX ? cs->next_proc + 1 : 1;
	} while (client_by_proc(cs, cs->next_proc));
	return cs->next_proc;
}

static int do_hello(struct msg *m)
{
	struct ipc_hello_reply rep = { .pid = (uint32_t)getpid() };
	struct client *c = m->c;
	struct ipc_hello q;
	int rc, sv[2];

	memcpy(&q, m->body, sizeof(q));
	if (c->hello || (m->nfds > 1 && m->nfds != 3))
		return -EPROTO;
	rc = copy_text(c->comm, q.comm, sizeof(c->comm));
	if (!rc)
		rc = copy_text(c->sock_name, q.sock, sizeof(c->sock_name));
	if (!rc && m->nfds)
		rc = memfd_check(m->fds[0], sizeof(struct proc_page));
	if (rc)
		return rc;
	/* Refuse a process of another network namespace: both may use the same $RUSE_DIR, but not the same addresses. */
	if (m->nfds && q.netns && q.netns != c->r->place.netns)
		return msg_answer_error(m, -EXDEV);
	if (m->nfds) {
		c->page_fd = m->fds[0];
		m->fds[0] = -1;
		c->proc = proc_number(&c->r->clients, q.proc);
		c->fabric.page_fd = c->page_fd;
		c->fabric.proc = c->proc;
	}
	c->hello = true;
	rep.proc = c->proc;
	strcpy(rep.rundir, c->r->place.rundir);
	snprintf(rep.netdevs, sizeof(rep.netdevs), "%s", c->r->devices.spec ?: "");
	log_info("process %u (pid %d, %s): connected", c->proc, c->pid, c->comm);
	if (m->nfds == 3) {
		rc = port_adopt(&c->r->port, m->fds + 1);
		if (rc)
			log_warn("process %u passed invalid sockets of UDP port 4791: %s", c->proc,
				 strerror(-rc));
	}
	if (!c->proc)
		return msg_answer(m, 0, &rep, sizeof(rep), c->r->host.page_fd);
	/*
	 * Socket pair for notifications. It has type SOCK_DGRAM because such a socket does not
	 * become readable when its peer is closed: the end of rused is no notification.
	 */
	rc = fds_pair(SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, sv);
	if (rc)
		return msg_answer_error(m, rc);
	c->notify_fd = sv[0];
	rc = answer_fds(m, &rep, sizeof(rep), (int[]){ c->r->host.page_fd, sv[1] }, 2);
	close(sv[1]);
	return rc;
}

static int do_lease(struct msg *m)
{
	struct client *c = m->c;
	struct ipc_lease l;
	int rc;

	memcpy(&l, m->body, sizeof(l));
	if (!c->proc)
		return msg_answer_error(m, -EPERM);
	if (l.block) {
		rc = lease_reclaim(&c->r->leases, l.block, c->proc, c->pid);
	} else {
		rc = lease_get(&c->r->leases, c->proc, c->pid, c->r->loop.now);
		l.block = rc > 0 ? (uint32_t)rc : 0;
		rc = min(rc, 0);
	}
	if (rc)
		return msg_answer_error(m, rc);
	c->r->leases.block[l.block].dev_index = l.dev_index;
	rc = port_lease(&c->r->port, l.block);
	l.wire_error = min(rc, 0);
	if (rc < 0)
		return msg_answer(m, 0, &l, sizeof(l), -1);
	return answer_fds(m, &l, sizeof(l),
			  (int[]){ rc, c->r->port.park[0], c->r->port.park[1] }, 3);
}

static int do_peer(struct msg *m)
{
	struct ipc_peer p, rep = { 0 };
	struct client *c;

	memcpy(&p, m->body, sizeof(p));
	c = client_by_proc(&m->c->r->clients, lease_owner(&m->c->r->leases, p.block));
	if (!c)
		return msg_answer_error(m, lease_awaited(&m->c->r->leases, p.block) ? -EAGAIN :
									   -ENOENT);
	rep.block = p.block;
	rep.pid = c->pid;
	rep.proc = c->proc;
	rep.dev_index = m->c->r->leases.block[p.block].dev_index;
	memcpy(rep.sock, c->sock_name, sizeof(rep.sock));
	return msg_answer(m, 0, &rep, sizeof(rep), -1);
}

static int do_netlink(struct msg *m)
{
	int fd = nlsock_open(&m->c->r->nlsocks, m->c), rc;

	if (fd < 0)
		return msg_answer_error(m, fd);
	rc = msg_answer(m, 0, NULL, 0, fd);
	close(fd);
	return rc;
}

static int do_context(struct msg *m)
{
	struct client *c = m->c;
	struct ipc_context q;
	int i;

	memcpy(&q, m->body, sizeof(q));
	if (q.opened > 1)
		return -EPROTO;
	for (i = 0; i < HOST_MAX_DEVS; i++)
		if (c->r->host.page->dev[i].in_use && c->r->host.page->dev[i].index == q.dev_index)
			break;
	if (i == HOST_MAX_DEVS)
		return msg_answer_error(m, -ENODEV);
	if (!q.opened && !c->nctx[i])
		return msg_answer_error(m, -EINVAL);
	c->nctx[i] += q.opened ? 1 : -1;
	devices_released(&c->r->devices);
	return msg_answer_error(m, 0);
}

/* Sends an answer of any length. text is malloc()ed and freed later; NULL: there was no memory. */
static int msg_answer_text(struct msg *m, char *text)
{
	struct client *c = m->c;

	if (!text)
		return msg_answer_error(m, -ENOMEM);
	c->out = text;
	c->out_len = strlen(c->out);
	c->out_at = 0;
	c->out_seq = m->h->seq;
	c->out_type = m->h->type;
	return client_flush(c);
}

static int do_status(struct msg *m)
{
	if (m->c->out)
		return -EPROTO;	/* a second request before the first answer was read */
	return msg_answer_text(m, status_text(m->c->r));
}

static int do_explain(struct msg *m)
{
	struct rused *r = m->c->r;

	if (m->c->out)
		return -EPROTO;
	return msg_answer_text(m, explain_text(&r->explain, &r->clients, r->host.page,
					       r->loop.now));
}

static int do_stuck(struct msg *m)
{
	struct rused *r = m->c->r;
	char *text;

	if (m->c->out)
		return -EPROTO;
	text = stuck_text(r);
	WRITE_ONCE(r->host.page->stuck_asked, r->host.page->stuck_asked + 1);
	r->host.ops->notify(r->host.ctx, "what processes wait for");
	return msg_answer_text(m, text);
}

static int do_fault(struct msg *m)
{
	if (m->c->out)
		return -EPROTO;
	return msg_answer_text(m, fault_command(&m->c->r->faults, m->body, m->len));
}

static int do_fabric(struct msg *m)
{
	if (m->c->out)
		return -EPROTO;
	return msg_answer_text(m, fabrics_command(&m->c->r->fabrics, m->body, m->len));
}

static int do_host(struct msg *m)
{
	struct ipc_host rep = { 0 };
	int rc = fabric_client_host(&m->c->fabric, m->body, m->len, &rep);

	return rc ? msg_answer_error(m, rc) : msg_answer(m, 0, &rep, sizeof(rep), -1);
}

static int do_path(struct msg *m)
{
	struct ipc_path q, rep;
	int rc;

	memcpy(&q, m->body, sizeof(q));
	rc = fabrics_path(&m->c->fabric, &q, &rep);
	return rc ? msg_answer_error(m, rc) : msg_answer(m, 0, &rep, sizeof(rep), -1);
}

static int do_mcast(struct msg *m)
{
	struct ipc_mcast q;

	memcpy(&q, m->body, sizeof(q));
	return msg_answer_error(m, fabrics_mcast(&m->c->fabric, &q));
}

static int do_members(struct msg *m)
{
	struct {
		struct ipc_members h;
		struct ipc_member to[IPC_MEMBERS_MAX];
	} rep;
	struct ipc_members q;
	int rc;

	memcpy(&q, m->body, sizeof(q));
	rc = fabrics_members(&m->c->fabric, &q, &rep.h, rep.to);
	return rc ? msg_answer_error(m, rc) :
		    msg_answer(m, 0, &rep, sizeof(rep.h) + rep.h.n * sizeof(rep.to[0]), -1);
}

static int do_shutdown(struct msg *m)
{
	struct ipc_shutdown s = { 0 };
	int rc;

	if (m->len)
		memcpy(&s, m->body, sizeof(s));
	rc = msg_answer_error(m, 0);
	m->c->r->drain = true;
	if (s.now)
		m->c->r->loop.stop = true;
	return rc;
}

static int do_capture(struct msg *m)
{
	struct ipc_capture q;
	int rc;

	memcpy(&q, m->body, sizeof(q));
	rc = captures_start(&m->c->r->host, &m->c->r->gsi, m->c, &q);
	return rc == -EPROTO ? rc : msg_answer_error(m, rc);
}

static int do_channel(struct msg *m)
{
	int fd = m->c->proc ? channel_open(&m->c->r->channels, m->c) : -EPERM, rc;

	if (fd < 0)
		return msg_answer_error(m, fd);
	rc = msg_answer(m, 0, NULL, 0, fd);
	close(fd);
	return rc;
}

static int do_ucma_open(struct msg *m)
{
	struct ipc_ucma_open rep = { 0 };
	int fds[UCMA_OPEN_FDS + 1], rc;

	if (!m->c->proc)
		return msg_answer_error(m, -EPERM);
	rc = ucma_open(&m->c->r->ucma, m->c, &rep.file, fds);
	if (rc)
		return msg_answer_error(m, rc);
	fds[UCMA_OPEN_FDS] = m->c->r->ucma.cards_fd;
	rc = answer_fds(m, &rep, sizeof(rep), fds, UCMA_OPEN_FDS + 1);
	for (int i = 0; i < UCMA_OPEN_FDS; i++)
		close(fds[i]);
	return rc;
}

static int do_ucma_write(struct msg *m)
{
	struct {
		struct ipc_ucma_reply h;
		uint8_t data[UCMA_RESPONSE_MAX];
	} rep = { 0 };
	struct ipc_ucma q;
	size_t len = 0, opt;
	int rc;

	if (m->len < sizeof(q))
		return -EPROTO;
	memcpy(&q, m->body, sizeof(q));
	opt = m->len - sizeof(q);
	if (q.len > IPC_UCMA_CMD || q.len > opt || q.count < q.len || q.aux_error > 0)
		return -EPROTO;
	opt -= q.len;
	if (m->h->type == IPC_UCMA_POST) {
		if (opt || q.count != q.len)
			return -EPROTO;
		ucma_posted(&m->c->r->ucma, m->c, &q, (const char *)m->body + sizeof(q));
		return 0;
	}
	if (opt && opt != q.aux)
		return -EPROTO;
	rc = ucma_call(&m->c->r->ucma, &q, (const char *)m->body + sizeof(q), opt, &rep.h,
		       rep.data, &len);
	if (rc)
		return msg_answer_error(m, rc);
	return msg_answer(m, 0, &rep, sizeof(rep.h) + len, -1);
}

static int do_umad_open(struct msg *m)
{
	struct ipc_umad_opened rep = { 0 };
	int fds[UMAD_OPEN_FDS], rc;
	struct ipc_umad_open q;
	struct umad_view *view;
	struct umad_node *n;

	if (!m->c->proc)
		return msg_answer_error(m, -EPERM);
	memcpy(&q, m->body, sizeof(q));
	view = fabric_client_view(&m->c->fabric);
	n = umad_node_at(view ? view : &m->c->r->umads.view, q.minor);
	if (!n)
		return msg_answer_error(m, -ENXIO);
	/* Without the port, MADs within this host still work. */
	(void)port_want(&m->c->r->port);
	rc = umad_open_minor(n, &q, m->c->pid, &rep.file, fds);
	if (rc)
		return msg_answer_error(m, rc);
	rc = answer_fds(m, &rep, sizeof(rep), fds, fds[1] < 0 ? 1 : UMAD_OPEN_FDS);
	close(fds[0]);
	if (fds[1] >= 0)
		close(fds[1]);
	return rc;
}

static int do_umad_call(struct msg *m)
{
	struct {
		struct ipc_umad_reply h;
		uint8_t data[IPC_UMAD_OUT];
	} rep = { 0 };
	struct ipc_umad q;
	size_t len;
	int fd, rc;

	if (m->len < sizeof(q) || m->nfds > 1)
		return -EPROTO;
	memcpy(&q, m->body, sizeof(q));
	if (q.len != m->len - sizeof(q))
		return -EPROTO;
	rc = umad_call(&m->c->r->umads, &q, (const char *)m->body + sizeof(q),
		       m->nfds ? m->fds[0] : -1, &rep.h, rep.data, &fd);
	if (rc)
		return rc == -EBADF ? msg_answer_error(m, rc) : rc;
	len = sizeof(rep.h) + (fd < 0 ? rep.h.len : 0) + (rep.h.why ? sizeof(struct why) : 0);
	rc = msg_answer(m, 0, &rep, len, fd);
	if (fd >= 0)
		close(fd);
	return rc;
}

static int do_umad_post(struct msg *m)
{
	uint8_t data[IPC_UMAD_SHOWN] __attribute__((aligned(8)));
	struct ipc_umad_post q;
	size_t len = m->len - sizeof(q);

	if (m->len < sizeof(q) || len > sizeof(data))
		return -EPROTO;
	memcpy(&q, m->body, sizeof(q));
	memcpy(data, (const char *)m->body + sizeof(q), len);
	umad_posted(&m->c->r->umads, q.file, data, len);
	return 0;
}

static int msg_dispatch(struct msg *m)
{
	switch ((enum ipc_type)m->h->type) {
	case IPC_HELLO:
		return do_hello(m);
	case IPC_LEASE:
		return do_lease(m);
	case IPC_PEER:
		return do_peer(m);
	case IPC_NETLINK:
		return do_netlink(m);
	case IPC_CONTEXT:
		return do_context(m);
	case IPC_STATUS:
		return do_status(m);
	case IPC_EXPLAIN:
		return do_explain(m);
	case IPC_STUCK:
		return do_stuck(m);
	case IPC_SHUTDOWN:
		return do_shutdown(m);
	case IPC_COUNTERS:
		res_counters_show(&m->c->r->host, &m->c->r->clients, &m->c->r->gsi,
				  m->c->r->loop.now);
		fabrics_counters_show(&m->c->r->fabrics);
		return msg_answer_error(m, 0);
	case IPC_CAPTURE:
		return do_capture(m);
	case IPC_FAULT:
		return do_fault(m);
	case IPC_FABRIC:
		return do_fabric(m);
	case IPC_HOST:
		return do_host(m);
	case IPC_PATH:
		return do_path(m);
	case IPC_MCAST:
		return do_mcast(m);
	case IPC_MEMBERS:
		return do_members(m);
	case IPC_UCMA_OPEN:
		return do_ucma_open(m);
	case IPC_UCMA_WRITE:
	case IPC_UCMA_POST:
		return do_ucma_write(m);
	case IPC_UMAD_OPEN:
		return do_umad_open(m);
	case IPC_UMAD_CALL:
		return do_umad_call(m);
	case IPC_CHANNEL:
		return do_channel(m);
	case IPC_UMAD_POST:
		return do_umad_post(m);
	case IPC_WAKE:
		return 0;	/* client_message() has handled the queue */
	case IPC_NTYPES:
		break;
	}
	return -EPROTO;
}

int client_posted(struct client *c, const struct ipc_hdr *h, const void *body, size_t len)
{
	struct msg m = { .c = c, .h = h, .body = body, .len = len };

	if (ipc_check(h, len, false))
		return -EPROTO;
	if (h->type == IPC_UMAD_POST)
		return do_umad_post(&m);
	return h->type == IPC_UCMA_POST ? do_ucma_write(&m) : -EPROTO;
}

int client_message(struct client *c, const struct ipc_hdr *h, const void *body, size_t len,
		   int *fds, int nfds)
{
	struct msg m = { c, h, body, len, fds, nfds };
	int i, rc;

	channel_used(c);
	channel_drain(c);
	c->r->loop.moment++;
	rc = c->dead ? -EPIPE : ipc_check(h, len, false);
	if (!rc && ((!c->hello && h->type != IPC_HELLO) ||
		    (nfds && h->type != IPC_HELLO && h->type != IPC_UMAD_CALL)))
		rc = -EPROTO;
	if (!rc)
		rc = msg_dispatch(&m);
	for (i = 0; i < nfds; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return rc;
}
