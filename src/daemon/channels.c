/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages that clients write to shared memory (ipc/channel.h). A channel has a slot for one
 * request, which rused answers, and a queue of messages without an answer.
 *
 * rused polls the channels of all clients that sent something since it last slept. In one round of
 * the event loop it takes from each of these channels at most one request and CHAN_QUEUE bytes of queued
 * messages, so no client can starve the others.
 */
#include <errno.h>

#include "base/log.h"
#include "daemon/channels.h"
#include "daemon/clients.h"
#include "daemon/files/cmfile.h"
#include "loop/loop.h"

static bool channel_has_message(const struct client *c)
{
	return ipc_channel_asked(c->channel.map) || ipc_channel_queued(&c->channel.queue);
}

static void channel_watch(struct client *c, bool on)
{
	/* Written only on change: the client polls this cache line. */
	if (c->channel.watched != on)
		ipc_channel_watch(c->channel.map, on);
	c->channel.watched = on;
}

static bool channels_watch(void *ctx, bool on)
{
	struct channels *chs = ctx;
	struct client *c, *t;

	list_for_each_entry_safe(c, t, &chs->list, channel.node) {
		channel_watch(c, on);
		/* The next message comes over the socket and adds the client again. */
		if (!on && !channel_has_message(c))
			list_del(&c->channel.node);
	}
	return !list_empty(&chs->list);
}

static bool channels_there(void *ctx)
{
	struct channels *chs = ctx;
	struct client *c;

	list_for_each_entry(c, &chs->list, channel.node)
		if (channel_has_message(c))
			return true;
	return false;
}

void channel_drain(struct client *c)
{
	struct shared_ring_end *queue = &c->channel.queue;
	uint32_t began = queue->at, there = began;
	char body[CHAN_QUEUE_BODY];
	struct ipc_hdr h;
	uint32_t len;
	int rc = 0;

	if (!c->channel.map)
		return;
	/* All that was queued before this call is taken. */
	while (queue->at - began < CHAN_QUEUE && !rc && c->channel.map) {
		/*
		 * Handle all messages that are queued by now with the same loop.moment, so that
		 * kernel tables are read at most once for them. Then publish their effects, which
		 * may wake programs: a woken program competes with rused for the CPU.
		 */
		if (there == queue->at) {
			cmfiles_flush(c->channel.all->ucma);
			there = shared_ring_there(queue);
			c->channel.all->loop->moment++;
		}
		rc = shared_ring_get(queue, &h, body, sizeof(body), &len);
		if (!rc)
			rc = client_posted(c, &h, body, len);
	}
	if (rc && rc != -EAGAIN)
		client_refused(c, rc);
}

bool channels_drain(struct channels *chs)
{
	struct process *pr, *t;
	bool any = false;

	list_for_each_entry_safe(pr, t, &chs->processes->list, node) {
		struct client *c = client_of(pr);

		if (!c->channel.map || !ipc_channel_queued(&c->channel.queue))
			continue;
		channel_drain(c);
		any = true;
	}
	return any;
}

static void channel_take(struct client *c)
{
	char body[CHAN_BODY];
	struct ipc_hdr h;
	size_t len;
	int rc;

	if (ipc_channel_queued(&c->channel.queue)) {
		channel_used(c);
		channel_drain(c);
	}
	if (c->dead)
		return;
	rc = ipc_channel_take(c->channel.map, &h, body, &len);
	if (rc == -EAGAIN)
		return;
	if (!rc)
		rc = client_message(c, &h, body, len, NULL, 0);
	if (rc)
		client_refused(c, rc);
}

static void channels_take(void *ctx)
{
	struct channels *chs = ctx;
	struct client *c;
	uint32_t n = 0;

	list_for_each_entry(c, &chs->list, channel.node)
		n++;
	/*
	 * Handle each client once: it moves to the end of the list. channel_take() removes no other
	 * client from the list, since client_kill() removes only the killed one.
	 */
	while (n-- && !list_empty(&chs->list)) {
		c = list_first_entry(&chs->list, struct client, channel.node);
		list_del(&c->channel.node);
		list_add_tail(&c->channel.node, &chs->list);
		channel_take(c);
	}
}

void channels_init(struct channels *chs, struct loop *l, struct processes *processes,
		   struct cmfiles *ucma)
{
	static const struct loop_memory memory = { channels_watch, channels_there, channels_take,
						   TUNE_SOON };

	*chs = (struct channels){ .loop = l, .processes = processes, .ucma = ucma };
	list_init(&chs->list);
	l->memory = &memory;
	l->memory_ctx = chs;
}

int channel_open(struct channels *chs, struct client *c)
{
	int fd;

	if (c->channel.map)
		return -EBUSY;
	fd = ipc_channel_create(&c->channel.map);
	if (fd < 0)
		return fd;
	c->channel.all = chs;
	list_init(&c->channel.node);
	c->channel.watched = false;
	c->channel.queue = ipc_channel_queue(c->channel.map);
	return fd;
}

void channel_close(struct client *c)
{
	if (!c->channel.map)
		return;
	list_del(&c->channel.node);
	ipc_channel_unmap(c->channel.map);
	c->channel.map = NULL;
}

void channel_used(struct client *c)
{
	if (!c->channel.map)
		return;
	loop_message(c->channel.all->loop);
	if (list_empty(&c->channel.node))
		list_add_tail(&c->channel.node, &c->channel.all->list);
	/* Set `watched` at once: rused polls the channel before it sleeps, so the client need not wake it. */
	channel_watch(c, true);
}
