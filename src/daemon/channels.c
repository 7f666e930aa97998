/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages that clients write to shared memory (ipc/channel.h). A channel has a slot for one
 * request, which rused answers, and a queue of at most CHAN_QUEUE messages without an answer.
 *
 * rused polls the channels of all clients that sent something within LATELY. In one round of the
 * event loop it takes from each of these channels at most one request and CHAN_QUEUE queued
 * messages, so no client can starve the others.
 */
#include <errno.h>

#include "base/log.h"
#include "daemon/daemon.h"

#define LATELY (20 * NS_MS)
/*
 * Number of queued messages after which ucma_settle() publishes their effects, which may wake
 * programs. It is not called after every message, because a woken program competes with rused for
 * the CPU.
 */
#define BATCH 32

static bool something(const struct client *c)
{
	const struct ipc_channel *ch = c->channel.map;

	return ipc_channel_posted(ch) || ipc_channel_queued(ch, c->channel.tail);
}

static void watch_one(struct client *c, bool on)
{
	/* Written only on change: the client polls this cache line. */
	if (c->channel.watched != on)
		ipc_channel_watch(c->channel.map, on);
	c->channel.watched = on;
}

static bool watch(struct loop *l, bool on)
{
	struct rused *r = container_of(l, struct rused, loop);
	struct client *c, *t;

	list_for_each_entry_safe(c, t, &r->channels, channel.node) {
		bool lately = l->now - c->channel.used < LATELY;

		if (on && !lately)
			continue;
		watch_one(c, on);
		/*
		 * Stop polling an idle client. Its next message comes over the socket and adds it
		 * again.
		 */
		if (!on && !lately && !something(c))
			list_del(&c->channel.node);
	}
	if (!on)
		umad_rings_sleep(&r->umads);
	return !list_empty(&r->channels);
}

static bool there(struct loop *l)
{
	struct rused *r = container_of(l, struct rused, loop);
	struct client *c;

	list_for_each_entry(c, &r->channels, channel.node)
		if (something(c))
			return true;
	return umad_rings_there(&r->umads);
}

void channel_drain(struct client *c)
{
	uint32_t there = c->channel.tail;
	char body[CHAN_QUEUE_BODY];
	struct ipc_hdr h;
	size_t len;
	int rc = 0;

	if (!c->channel.map)
		return;
	ipc_channel_heard(c->channel.map);
	for (uint32_t n = 1; n <= CHAN_QUEUE && !rc && c->channel.map; n++) {
		/*
		 * Handle all messages that are queued by now with the same loop.moment, so that
		 * kernel tables are read at most once for them.
		 */
		if (there == c->channel.tail) {
			there = ipc_channel_head(c->channel.map);
			c->r->loop.moment++;
		}
		rc = ipc_channel_pop(c->channel.map, &c->channel.tail, &h, body, &len);
		if (!rc)
			rc = client_posted(c, &h, body, len);
		if (!rc && n % BATCH == 0)
			ucma_settle(c->r);
	}
	if (rc && rc != -EAGAIN)
		client_refused(c, rc);
}

bool channels_drain(struct rused *r)
{
	struct client *c, *t;
	bool any = false;

	list_for_each_entry_safe(c, t, &r->clients.list, node) {
		if (!c->channel.map || !ipc_channel_queued(c->channel.map, c->channel.tail))
			continue;
		channel_drain(c);
		any = true;
	}
	return any;
}

static void take_one(struct client *c)
{
	char body[CHAN_BODY];
	struct ipc_hdr h;
	size_t len;
	int rc;

	if (ipc_channel_queued(c->channel.map, c->channel.tail)) {
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

static void take(struct loop *l)
{
	struct rused *r = container_of(l, struct rused, loop);
	struct client *c;
	uint32_t n = 0;

	list_for_each_entry(c, &r->channels, channel.node)
		n++;
	/*
	 * Handle each client once: it moves to the end of the list. take_one() removes no other
	 * client from the list, since client_kill() removes only the killed one.
	 */
	while (n-- && !list_empty(&r->channels)) {
		c = list_first_entry(&r->channels, struct client, channel.node);
		list_del(&c->channel.node);
		list_add_tail(&c->channel.node, &r->channels);
		take_one(c);
	}
	umad_rings_take(&r->umads);
}

void channels_init(struct rused *r)
{
	static const struct loop_memory memory = { watch, there, take };

	list_init(&r->channels);
	r->loop.memory = &memory;
}

int channel_open(struct client *c)
{
	int fd;

	if (c->channel.map)
		return -EBUSY;
	fd = ipc_channel_create(&c->channel.map);
	if (fd < 0)
		return fd;
	list_init(&c->channel.node);
	c->channel.watched = false;
	c->channel.tail = 0;
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
	loop_message(&c->r->loop, ipc_channel_slept(c->channel.map));
	c->channel.used = c->r->loop.now;
	if (list_empty(&c->channel.node))
		list_add_tail(&c->channel.node, &c->r->channels);
	/* Set `watched` at once: rused polls the channel before it sleeps, so the client need not wake it. */
	watch_one(c, true);
}
