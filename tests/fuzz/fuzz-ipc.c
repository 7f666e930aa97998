/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes rused's side of a process's connection. The input is a series of messages: a byte of
 * options, the type, a length, optionally a header, a body. They go through a real socket and
 * ipc_recv() to the daemon's dispatch, or through the shared channel if the client has asked for
 * one, until a message is refused. The memory that umad files share with rused is written as
 * well. Every answer must pass the library's check.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "daemon/daemon.h"
#include "ipc/messages.h"
#include "ipc/umad_msg.h"
#include "like/shown.h"
#include "umads/umads_internal.h"
#include "fuzz.h"

#define OPT_FD 1	/* pass a descriptor: a memfd with a valid struct proc_page */
#define OPT_BAD_FD 2	/* pass a descriptor that is no such memfd */
#define OPT_HEADER 4	/* take the header's fields from the input */
#define OPT_CHANNEL 8	/* use the channel, if there is one */
#define OPT_WORDS 16	/* take the channel's state and length from the input */

static struct host_page page;
static struct rused r;
static struct mad_port mad;
static struct umad_node node;
static uint32_t files[4];	/* umad files, in the order of their opening */
static unsigned int nfiles;

static int mad_goes(void *ctx, const struct mad_addr *a, const void *m, size_t len)
{
	return 0;
}

static int addr_ok(void *ctx, const struct mad_addr *a)
{
	return a->grh ? 0 : -EINVAL;
}

static int set_sm(void *ctx, bool sm)
{
	return 0;
}

/* Creates umad0 and issm0, without files in sysfs. */
static void umad_make(void)
{
	static const struct mad_ops mad_ops = { .send = mad_goes };
	static const struct umad_port_ops ops = { .check_addr = addr_ok, .set_sm = set_sm };

	memset(files, 0, sizeof(files));
	nfiles = 0;
	rused_connect(&r);
	mad_ports_init(&r.gsi.mad);
	mad = (struct mad_port){ .ops = &mad_ops, .qps = 1 << GSI_QPN };
	mad_port_init(&mad, &r.gsi.mad);
	node = (struct umad_node){ .us = &r.umads, .view = &r.umads.view,
				   .port = { .mad = &mad, .ops = &ops } };
	umad_port_init(&node.port);
	r.umads.view.node[0] = &node;
}

static void umad_unmake(void)
{
	umad_port_remove(&node.port, 0);
	umad_close_node(&node);
	mad_port_fini(&mad, 0);
	mad_ports_fini(&r.gsi.mad);
	umads_fini(&r.umads);
}

static void no_event(struct loop_fd *f, uint32_t events)
{
}

static struct client *client(int fd)
{
	struct client *c = calloc(1, sizeof(*c));

	if (!c)
		abort();
	memset(&page, 0, sizeof(page));
	page.dev[0].in_use = 1;
	page.dev[0].index = 1;
	memset(&r, 0, sizeof(r));
	r.host.page = &page;
	r.host.page_fd = 0;
	r.host.like = &like_default;
	r.host.shown_like = &like_shown_default;
	list_init(&r.processes.list);
	explain_init(&r.explain);
	runs_init(&r.runs);
	orphans_init(&r.orphans, &r.loop, &r.leases, &r.port);
	port_init(&r.port, &r.loop, &r.leases, &r.gsi, rused_port_opened);
	lease_init(&r.leases, 0, NULL, NULL);
	if (loop_init(&r.loop))
		abort();
	list_init(&r.ucma.woken);	/* without rdma_cm: cmfiles_init() is not called */
	channels_init(&r.channels, &r.loop, &r.processes, &r.ucma);
	umad_make();
	c->r = &r;
	fabric_client_init(&c->fabric, &r.fabrics);
	c->p.fabric = &c->fabric;
	c->p.pid = 1;
	c->p.page_fd = c->notify_fd = c->pidfd.fd = -1;
	c->sock.fn = no_event;
	nlsock_owner_init(&c->netlink, &c->p);
	list_add_tail(&c->p.node, &r.processes.list);
	r.processes.count = 1;
	if (loop_add(&r.loop, &c->sock, fd, EPOLLIN))
		abort();
	return c;
}

static int descriptor(uint8_t options)
{
	int fd;

	if (options & OPT_BAD_FD)
		return dup(0);
	fd = memfd_create("proc", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || ftruncate(fd, sizeof(struct proc_page)) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK))
		abort();
	return fd;
}

static void drain(int fd)
{
	char body[IPC_MAX];
	int fds[IPC_MAX_FDS], n, i;
	struct ipc_hdr h;
	size_t len;

	for (;;) {
		len = sizeof(body);
		n = IPC_MAX_FDS;
		if (ipc_recv(fd, MSG_DONTWAIT, &h, body, &len, fds, &n))
			return;
		if (ipc_check(&h, len, n, true))
			abort();
		if (h.type == IPC_UMAD_OPEN && !h.error)
			memcpy(&files[nfiles++ % ARRAY_SIZE(files)], body, sizeof(files[0]));
		for (i = 0; i < n; i++)
			close(fds[i]);
	}
}

/* Writes the message into the channel's queue as a hostile process would. */
static void put_queue(struct ipc_channel *ch, uint8_t options, const struct ipc_hdr *h,
		      const uint8_t *body, size_t len)
{
	struct shared_ring_end queue = ipc_channel_queue(ch);

	queue.at = ch->queue.prod;
	if (queue.at % 8 || !shared_ring_put(&queue, h, body, (uint32_t)len, NULL))
		return;
	if (options & OPT_WORDS && len >= 2 * sizeof(uint32_t)) {
		memcpy(ch->data + ch->queue.cons % CHAN_QUEUE / 8 * 8, body, sizeof(uint32_t));
		memcpy(&ch->queue.prod, body + sizeof(uint32_t), sizeof(uint32_t));
	}
}

/* Writes the message into the channel as a hostile process would. False: there is no channel. */
static bool put_channel(struct client *c, uint8_t options, const struct ipc_hdr *h,
			const uint8_t *body, size_t len)
{
	struct ipc_channel *ch = c->channel.map;

	if (!ch || !(options & OPT_CHANNEL))
		return false;
	if (h->type == IPC_UCMA_POST || h->type == IPC_UMAD_POST) {
		put_queue(ch, options, h, body, len);
		return true;
	}
	ch->request.hdr = *h;
	memcpy(ch->request.body, body, len);
	ch->request.len = (uint32_t)len;
	ch->state = CHAN_ASKED;
	if (options & OPT_WORDS && len >= 2 * sizeof(uint32_t)) {
		memcpy(&ch->request.len, body, sizeof(uint32_t));
		memcpy(&ch->state, body + sizeof(uint32_t), sizeof(uint32_t));
	}
	return true;
}

/* Writes a word at a random address of the shared memory of a umad file, as a hostile process would. */
static void put_umad(uint32_t file, const uint8_t *body, size_t len)
{
	struct umad_fd *u = idtable_find(&r.umads.ids, file & (UMAD_MAX_FILES - 1));
	uint32_t word[2];

	if (!u || !u->shm || len < sizeof(word))
		return;
	memcpy(word, body, sizeof(word));
	memcpy((uint8_t *)u->shm + word[0] % (sizeof(*u->shm) - 4), &word[1], 4);
}

/* Lets rused look at the channel; its answer must be valid. */
static void take_channel(struct client *c)
{
	struct ipc_channel *ch = c->channel.map;
	uint32_t before = ch->state;

	channel_used(c);
	r.loop.memory->watch(r.loop.memory_ctx, true);
	r.loop.memory->take(r.loop.memory_ctx);
	if (c->dead)
		return;
	/* rused has answered, as the state was another one before: check the answer. */
	if (ch->state == CHAN_ANSWERED && before != CHAN_ANSWERED) {
		if (ch->answer.len > CHAN_BODY ||
		    ipc_check(&ch->answer.hdr, ch->answer.len, 0, true))
			abort();
		ch->state = CHAN_FREE;
	}
	r.loop.memory->watch(r.loop.memory_ctx, false);
}

/* Sends one message of the input. Returns the bytes used; 0: the input is at its end. */
static size_t send_one(struct client *c, int fd, const uint8_t *data, size_t size)
{
	struct ipc_hdr h = { .version = IPC_VERSION };
	size_t at = 3, len;
	uint8_t body[sizeof(struct ipc_umad_post) + IPC_UMAD_SHOWN] = { 0 };
	uint32_t file;
	int pass = -1;

	if (size < 3)
		return 0;
	h.type = data[1];
	len = data[2];
	if (data[0] & OPT_HEADER) {
		if (size < at + sizeof(h))
			return 0;
		memcpy(&h, data + at, sizeof(h));
		at += sizeof(h);
	}
	len = min(len, size - at);
	memcpy(body, data + at, len);
	at += len;
	/* File numbers cannot be guessed: the input gives an index into files[]. */
	if (h.type == IPC_UMAD_CALL && len >= sizeof(files[0]))
		memcpy(body, &files[body[0] % ARRAY_SIZE(files)], sizeof(files[0]));
	if (h.type == IPC_UMAD_POST && len >= sizeof(struct ipc_umad_post)) {
		file = files[body[0] % ARRAY_SIZE(files)];
		if (data[0] & OPT_BAD_FD)
			put_umad(file, body + sizeof(file), len - sizeof(file));
		else
			len = sizeof(body) - (body[sizeof(file)] & 8);	/* a whole MAD */
		memcpy(body, &file, sizeof(file));
	}
	if (put_channel(c, data[0], &h, body, len)) {
		take_channel(c);
		return at;
	}
	if (data[0] & (OPT_FD | OPT_BAD_FD))
		pass = descriptor(data[0]);
	ipc_send(fd, &h, body, len, &pass, pass >= 0);
	if (pass >= 0)
		close(pass);
	return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct client *c;
	int sv[2];
	size_t n;

	setenv("RUSE_LOG", "err", 1);
	log_init("rused", STDERR_FILENO);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv))
		abort();
	c = client(sv[0]);
	while (!c->dead && (n = send_one(c, sv[1], data, size))) {
		int fds[IPC_MAX_FDS], nfds = IPC_MAX_FDS, rc;
		char body[IPC_MAX];
		size_t len = sizeof(body);
		struct ipc_hdr h;

		data += n;
		size -= n;
		/*
		 * A message that went through the channel leaves the socket empty (-EAGAIN), which
		 * is no error.
		 */
		rc = c->dead ? -EAGAIN :
			       ipc_recv(sv[0], MSG_DONTWAIT, &h, body, &len, fds, &nfds);
		if (!rc)
			rc = client_message(c, &h, body, len, fds, nfds);
		else if (rc == -EAGAIN)
			rc = 0;
		if (rc)
			break;
		drain(sv[1]);
	}
	client_kill(c, "input ends");
	umad_unmake();
	clients_reap(&r.loop);
	explain_fini(&r.explain);
	runs_fini(&r.runs);
	blame_fini(&r.blame);
	loop_fini(&r.loop);
	close(sv[1]);
	return 0;
}
