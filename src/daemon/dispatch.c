/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The messages from processes and from ruse.
 *
 * msg_run() checks a message against its row of ipc/messages.def: the framing (ipc_check()), and whether the client may send
 * it. Then it calls the row's handler and answers with what that has set in struct msg. The contents come from a process and
 * may be hostile; the handler, or the function that it calls, checks them.
 *
 * A handler returns 0, or -errno, with which the client is answered; -EPROTO: the message is invalid, and the client is
 * closed. The answer goes to the channel if the client polls it, else to the socket. A text waits until all processes have
 * applied what its handler has changed in the host page (client_hold()).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/ucma/ucma.h"
#include "daemon/daemon.h"
#include "ipc/capring.h"
#include "ipc/fabric_msg.h"
#include "ipc/messages.h"
#include "ipc/ucma_msg.h"
#include "ipc/umad_msg.h"
#include "shared/barrier.h"

/* The structure at the start of a request or of an answer. */
union msg_body {
	uint64_t number;	/* IPC_EXPLAIN */
	struct ipc_hello hello;
	struct ipc_hello_reply hello_reply;
	struct ipc_lease lease;
	struct ipc_peer peer;
	struct ipc_context context;
	struct ipc_run run;
	struct ipc_shutdown shutdown;
	struct ipc_capture capture;
	struct ipc_ucma ucma;
	struct ipc_ucma_open ucma_open;
	struct {
		struct ipc_ucma_reply h;
		uint8_t data[UCMA_RESPONSE_MAX];
	} ucma_reply;
	struct ipc_umad umad;
	struct ipc_umad_post umad_post;
	struct ipc_umad_open umad_open;
	struct ipc_umad_opened umad_opened;
	struct {
		struct ipc_umad_reply h;
		uint8_t data[IPC_UMAD_OUT];
	} umad_reply;
	struct ipc_fabric_host host;
	struct ipc_path path;
	struct ipc_mcast mcast;
	struct {
		struct ipc_members h;
		struct ipc_member to[IPC_MEMBERS_MAX];
	} members;
};

struct msg {
	struct client *c;
	const struct ipc_hdr *h;
	const union msg_body *q;	/* zeros if the request has no body */
	const uint8_t *more;	/* the bytes behind the structure */
	size_t nmore;
	int *fds;		/* received descriptors; a handler that keeps one sets it to -1 here */
	int nfds;

	/* The answer. */
	union msg_body *a;	/* its structure is zeros at first */
	size_t len;		/* bytes of the answer: those of the structure at first */
	char *text;		/* IPC_TEXT: a JSON object, malloc()ed; NULL: there was no memory */
	bool changed;		/* IPC_TEXT: the handler has changed the host page */
	int pass[IPC_MAX_FDS], npass;	/* descriptors */
	bool ours[IPC_MAX_FDS];	/* the descriptor is closed after the answer was sent */
};

/* Adds a descriptor to the answer. */
static void msg_pass(struct msg *m, int fd, bool ours)
{
	m->pass[m->npass] = fd;
	m->ours[m->npass++] = ours;
}

static int do_hello(struct msg *m)
{
	int notify, rc;

	rc = client_hello(m->c, &m->q->hello, m->fds, m->nfds, &m->a->hello_reply, &notify);
	if (rc)
		return rc;
	msg_pass(m, m->c->r->host.page_fd, false);
	if (notify >= 0)
		msg_pass(m, notify, true);
	return 0;
}

static int do_lease(struct msg *m)
{
	struct rused *r = m->c->r;
	struct ipc_lease *l = &m->a->lease;
	int rc;

	*l = m->q->lease;
	if (l->block) {
		rc = lease_reclaim(&r->leases, l->block, m->c->p.proc, m->c->p.pid);
	} else {
		rc = lease_get(&r->leases, m->c->p.proc, m->c->p.pid, r->loop.now);
		l->block = rc > 0 ? (uint32_t)rc : 0;
		rc = min(rc, 0);
	}
	if (rc)
		return rc;
	r->leases.block[l->block].dev_index = l->dev_index;
	rc = port_lease(&r->port, l->block);
	l->wire_error = min(rc, 0);
	if (rc >= 0) {
		msg_pass(m, rc, false);
		msg_pass(m, r->port.park[0], false);
		msg_pass(m, r->port.park[1], false);
	}
	return 0;
}

static int do_peer(struct msg *m)
{
	struct rused *r = m->c->r;

	return client_peer(&r->processes, &r->leases, m->q->peer.block, &m->a->peer);
}

static int do_netlink(struct msg *m)
{
	int fd = nlsock_open(&m->c->r->nlsocks, &m->c->netlink);

	if (fd < 0)
		return fd;
	msg_pass(m, fd, true);
	return 0;
}

static int do_context(struct msg *m)
{
	return client_context(m->c, &m->q->context);
}

static int do_status(struct msg *m)
{
	m->text = status_text(&m->c->r->status, m->c->r->loop.now);
	return 0;
}

static int do_explain(struct msg *m)
{
	struct rused *r = m->c->r;

	m->text = explain_text(&r->explain, &r->processes, r->host.page, m->q->number, r->loop.now);
	return 0;
}

static int do_stuck(struct msg *m)
{
	struct rused *r = m->c->r;

	m->text = stuck_text(&r->stuck, r->loop.now);
	WRITE_ONCE(r->host.page->stuck_asked, r->host.page->stuck_asked + 1);
	r->host.ops->notify(r->host.ctx, "what processes wait for");
	return 0;
}

static int do_run(struct msg *m)
{
	struct rused *r = m->c->r;
	int rc = runs_begin(&r->runs, m->q->run.id, m->c);

	if (rc)
		return rc;
	m->text = runs_text(&r->runs, &r->processes, r->host.page, m->q->run.id, r->loop.now);
	return 0;
}

static int do_shutdown(struct msg *m)
{
	m->c->r->drain = true;
	if (m->q->shutdown.now)
		m->c->r->loop.stop = true;
	return 0;
}

static int do_counters(struct msg *m)
{
	struct rused *r = m->c->r;

	res_counters_show(&r->host, &r->processes, &r->gsi, r->loop.now);
	fabrics_counters_show(&r->fabrics);
	return 0;
}

static int do_capture(struct msg *m)
{
	m->text = strdup("{}");
	return captures_start(&m->c->r->host, &m->c->r->gsi, &m->c->p, &m->q->capture);
}

static int do_fault(struct msg *m)
{
	struct rused *r = m->c->r;

	m->text = fault_command(&r->faults, (const char *)m->more, m->nmore, r->loop.now);
	return 0;
}

static int do_fabric(struct msg *m)
{
	m->text = fabrics_command(&m->c->r->fabrics, (const char *)m->more, m->nmore);
	/* Now, so that the answer waits for the change. */
	fabrics_settle(&m->c->r->fabrics);
	return 0;
}

static int do_host(struct msg *m)
{
	return fabric_client_host(&m->c->fabric, (const char *)m->more, m->nmore, &m->a->host);
}

static int do_path(struct msg *m)
{
	return fabrics_path(&m->c->fabric, &m->q->path, &m->a->path);
}

static int do_mcast(struct msg *m)
{
	return fabrics_mcast(&m->c->fabric, &m->q->mcast);
}

static int do_members(struct msg *m)
{
	int rc = fabrics_members(&m->c->fabric, &m->q->members.h, &m->a->members.h,
				 m->a->members.to);

	if (!rc)
		m->len += m->a->members.h.n * sizeof(m->a->members.to[0]);
	return rc;
}

static int do_channel(struct msg *m)
{
	int fd = channel_open(&m->c->r->channels, m->c);

	if (fd < 0)
		return fd;
	msg_pass(m, fd, true);
	return 0;
}

/* client_message() has handled the queue. */
static int do_wake(struct msg *m)
{
	return 0;
}

static int do_ucma_open(struct msg *m)
{
	struct cmfiles *us = &m->c->r->ucma;
	int fds[CMFILE_OPEN_FDS], rc;

	rc = cmfile_open(us, &m->c->p, &m->a->ucma_open.file, fds);
	if (rc)
		return rc;
	for (int i = 0; i < CMFILE_OPEN_FDS; i++)
		msg_pass(m, fds[i], true);
	msg_pass(m, us->recs_fd, false);
	return 0;
}

/* The bytes behind the command, or -EPROTO. */
static int msg_ucma_option(const struct msg *m)
{
	const struct ipc_ucma *q = &m->q->ucma;

	if (q->len > IPC_UCMA_CMD || q->len > m->nmore || q->count < q->len || q->aux_error > 0)
		return -EPROTO;
	return (int)(m->nmore - q->len);
}

static int do_ucma_write(struct msg *m)
{
	const struct ipc_ucma *q = &m->q->ucma;
	int opt = msg_ucma_option(m), rc;
	size_t len = 0;

	if (opt < 0 || (opt && (uint32_t)opt != q->aux))
		return -EPROTO;
	rc = cmfile_write(&m->c->r->ucma, q, m->more, (size_t)opt, &m->a->ucma_reply.h,
			  m->a->ucma_reply.data, &len);
	m->len += len;
	return rc;
}

static int do_ucma_post(struct msg *m)
{
	const struct ipc_ucma *q = &m->q->ucma;

	if (msg_ucma_option(m) || q->count != q->len)
		return -EPROTO;
	cmfile_write_posted(&m->c->r->ucma, &m->c->p, q, m->more);
	return 0;
}

static int do_umad_open(struct msg *m)
{
	const struct ipc_umad_open *q = &m->q->umad_open;
	struct umad_view *view = fabric_client_view(&m->c->fabric);
	int fds[UMAD_OPEN_FDS], rc;
	struct umad_node *n;

	n = umad_node_at(view ? view : &m->c->r->umads.view, q->minor);
	if (!n)
		return -ENXIO;
	/* Without the port, MADs within this host still work. */
	(void)port_want(&m->c->r->port);
	rc = umad_open_minor(n, q, m->c->p.pid, &m->a->umad_opened.file, fds);
	for (int i = 0; !rc && i < UMAD_OPEN_FDS && fds[i] >= 0; i++)
		msg_pass(m, fds[i], true);
	return rc;
}

static int do_umad_call(struct msg *m)
{
	struct ipc_umad_reply *rep = &m->a->umad_reply.h;
	int fd, rc;

	if (m->q->umad.len != m->nmore)
		return -EPROTO;
	rc = umad_call(&m->c->r->umads, &m->q->umad, m->more, m->nfds ? m->fds[0] : -1, rep,
		       m->a->umad_reply.data, &fd);
	if (rc)
		return rc;
	m->len += (fd < 0 ? rep->len : 0) + (rep->why ? sizeof(struct why) : 0);
	if (fd >= 0)
		msg_pass(m, fd, true);
	return 0;
}

static int do_umad_post(struct msg *m)
{
	uint8_t data[IPC_UMAD_SHOWN] __attribute__((aligned(8)));

	if (m->nmore > sizeof(data))
		return -EPROTO;
	memcpy(data, m->more, m->nmore);
	umad_posted(&m->c->r->umads, m->q->umad_post.file, data, m->nmore);
	return 0;
}

static const struct {
	enum { FIRST, ALL, DEVICES } who;
	int (*handler)(struct msg *m);
} rows[IPC_NTYPES] = {
#define MESSAGE(name, request, takes, answer, gives, who, handler) [IPC_##name] = { who, handler },
#include "ipc/messages.def"
#undef MESSAGE
};

#define BODY(type) sizeof(type)
#define OPTIONAL(type) sizeof(type)
#define HEAD(type) sizeof(type)
#define NO_BODY 0
#define BYTES 0
#define TEXT 0
#define POSTED 0
#define NO_ANSWER 0
#define MESSAGE(name, request, takes, answer, ...)                 \
	_Static_assert((request) <= sizeof(union msg_body) &&      \
		       (answer) <= sizeof(union msg_body), #name);
#include "ipc/messages.def"
#undef MESSAGE

/* Takes over m->text. */
static int msg_answer_text(struct msg *m)
{
	struct client *c = m->c;

	c->out = m->text;
	c->out_len = strlen(c->out);
	c->out_at = 0;
	c->out_seq = m->h->seq;
	c->out_type = m->h->type;
	if (!m->changed)
		return client_flush(c);
	client_hold(c);
	return 0;
}

static int msg_answer(struct msg *m, int error)
{
	struct ipc_hdr h = {
		.version = IPC_VERSION, .type = m->h->type, .flags = IPC_F_REPLY,
		.seq = m->h->seq, .error = error,
	};
	struct ipc_channel *ch = m->c->channel.map;
	size_t len = error ? 0 : m->len;
	int rc;

	if (ch && !m->npass && ipc_channel_put(ch, &h, m->a, len))
		return 0;
	rc = ipc_send(m->c->sock.fd, &h, m->a, len, m->pass, m->npass);
	if (ch)
		ipc_channel_sent(ch);
	for (int i = 0; i < m->npass; i++)
		if (m->ours[i])
			close(m->pass[i]);
	return rc;
}

/* Runs the handler and answers. */
static int msg_handle(struct msg *m)
{
	enum ipc_form form = ipc_rows[m->h->type].answer.form;
	const struct host_page *page = m->c->r->host.page;
	uint32_t changes = page->changes;
	int rc;

	if (rows[m->h->type].who == DEVICES && !m->c->p.proc)
		return msg_answer(m, -EPERM);
	if (form == IPC_TEXT && m->c->out)
		return -EPROTO;	/* a second request before the first answer was read */
	rc = rows[m->h->type].handler(m);
	if (!rc && form == IPC_TEXT && m->text) {
		m->changed = page->changes != changes;
		return msg_answer_text(m);
	}
	free(m->text);
	if (rc == -EPROTO || form == IPC_POSTED || form == IPC_NO_ANSWER)
		return rc;
	return msg_answer(m, rc || form != IPC_TEXT ? rc : -ENOMEM);
}

static int msg_run(struct client *c, const struct ipc_hdr *h, const void *body, size_t len,
		   int *fds, int nfds)
{
	struct msg m = { .c = c, .h = h, .fds = fds, .nfds = nfds };
	union msg_body q, a;
	const struct ipc_row *row;
	size_t head;

	if (ipc_check(h, len, nfds, false) || (!c->hello && rows[h->type].who != FIRST))
		return -EPROTO;
	row = &ipc_rows[h->type];
	head = min(len, (size_t)row->request.size);
	memset(&q, 0, row->request.size);
	if (head)
		memcpy(&q, body, head);
	memset(&a, 0, row->answer.size);
	m.q = &q;
	m.more = (const uint8_t *)body + head;
	m.nmore = len - head;
	m.a = &a;
	m.len = row->answer.size;
	return msg_handle(&m);
}

int client_posted(struct client *c, const struct ipc_hdr *h, const void *body, size_t len)
{
	if (h->type >= IPC_NTYPES || ipc_rows[h->type].answer.form != IPC_POSTED)
		return -EPROTO;
	return msg_run(c, h, body, len, NULL, 0);
}

int client_message(struct client *c, const struct ipc_hdr *h, const void *body, size_t len,
		   int *fds, int nfds)
{
	int i, rc;

	channel_used(c);
	channel_drain(c);
	c->r->loop.moment++;
	rc = c->dead ? -EPIPE : msg_run(c, h, body, len, fds, nfds);
	for (i = 0; i < nfds; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return rc;
}
