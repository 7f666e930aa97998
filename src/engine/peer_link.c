/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Links to processes of this host. rused knows which process leases a block of QP numbers
 * (IPC_PEER). A block belongs to its process as long as the process lives, so while a link to
 * that process lives, rused is not asked again.
 */
#include <errno.h>
#include <string.h>
#include "engine/engine_internal.h"
#include "engine/peer_link.h"
#include "engine/wire.h"

/*
 * The devices that this process has opened are searched before the host page, the table of all
 * devices that rused shares (struct host_page). Their GIDs are outdated until the process has
 * handled the latest change of the host page.
 */
uint32_t peer_gid_owner(const uint8_t raw[16])
{
	const struct host_page *copy;
	struct edev *e;
	uint32_t found = 0;

	list_for_each_entry(e, &engine.devs, entry)
		if (!e->dev.gone && rdev_find_gid(&e->dev, raw) >= 0)
			return e->dev.index;
	copy = host_page_copy();
	if (copy)
		for (int i = 0; i < HOST_MAX_DEVS; i++)
			for (int k = 0; copy->dev[i].in_use && k < HOST_MAX_GIDS; k++)
				if (!memcmp(copy->dev[i].gid[k].raw, raw, 16))
					found = copy->dev[i].index;
	return found;
}

/*
 * Asks rused for the process that has the block of QP numbers p->block. After a restart of rused
 * that process may not have connected to the new rused yet, because its progress thread looks for
 * one only once a second. rused answers EAGAIN meanwhile, and the request is repeated for up to
 * `wait` ns.
 */
static int peer_ask(struct ipc_peer *p, ns_t wait)
{
	ns_t until = engine_now() + wait;
	int ret;

	for (;;) {
		struct ipc_peer q = { .block = p->block };
		struct rused_msg m = { .q = { IPC_REQ(IPC_PEER, &q), IPC_ANSWER(p) },
				       .locked = true };

		ret = rused_ask(&m);
		if (ret != -EAGAIN)
			return ret;
		if (engine_now() >= until)
			return -ETIMEDOUT;
		shm_serve(engine.ep, PEERS_AGAIN);
	}
}

/* Ask rused for the process, and connect to it. */
static int peer_process_look_up(struct peer *peer, ns_t wait, void *arg)
{
	struct ipc_peer p = { .block = peer->key.block };
	int ret = peer_ask(&p, wait);

	if (ret == -ENOENT)
		return 0;	/* no process has this number: packets are lost */
	if (ret)
		return ret;
	p.sock[sizeof(p.sock) - 1] = 0;
	ret = shm_connect(engine.ep, p.proc, p.sock, p.pid, wait, &peer->link);
	/* The process has died meanwhile: packets are lost. */
	return ret == -ECONNREFUSED ? 0 : ret;
}

static const struct peers_ops peer_process_ops = {
	.now = engine_now, .look_up = peer_process_look_up,
};

/* The part of peer_link_to_dev() for a block of QP numbers that another process has. */
static int peer_link_to_process(uint32_t block, ns_t wait, struct link **link)
{
	const struct peer_key key = { .block = block };
	const struct peer *p = peers_known(&engine.peers, &key, engine.now);
	int ret = 0;

	/*
	 * The link of a QP is chosen once. Ask, unless there is a link and its peer certainly
	 * lives: a process may have started since the last look-up.
	 */
	if (!p || !p->link || !shm_alive(p->link))
		ret = peers_look_up(&engine.peers, &key, &peer_process_ops, wait, NULL, &p);
	*link = p->link;
	if (*link)
		link_get(*link);
	return ret;
}

int peer_link_to_dev(uint32_t owner, uint32_t block, ns_t wait, struct link **link)
{
	*link = NULL;
	if (engine.block_dev[block]) {
		/* The address and the block of QP numbers belong to different devices: no QP has both. */
		if (engine.block_dev[block]->index != owner)
			return 0;
		link_get(engine.loop);
		*link = engine.loop;
		return 0;
	}
	return peer_link_to_process(block, wait, link);
}

int peer_link_to_gid(const uint8_t dgid[16], uint32_t block, ns_t wait, struct link **link)
{
	uint32_t owner = engine.wire_only ? 0 : peer_gid_owner(dgid);

	*link = NULL;
	return owner ? peer_link_to_dev(owner, block, wait, link) : -EREMOTE;
}

const struct peer *peer_link_datagram(const struct peer_key *key, const struct peers_ops *ops,
				      void *arg)
{
	const struct peer *p = peers_known(&engine.peers, key, engine.now);

	if (likely(p))
		return p;
	/* In a signal handler that interrupted a call to rused: nothing is stored. */
	if (unlikely(elock_mine(&engine.conn_lock)))
		return NULL;
	peers_look_up(&engine.peers, key, ops, peers_wait(&engine.peers, key), arg, &p);
	return p;
}

struct link *peer_link_brief(uint32_t block)
{
	const struct peer_key key = { .block = block };
	const struct peer *p = peers_known(&engine.peers, &key, engine.now);

	/* Packets do not wait for a rused to start. */
	if (!p && engine.conn.fd >= 0 && !elock_mine(&engine.conn_lock))
		peers_look_up(&engine.peers, &key, &peer_process_ops, 5 * PEERS_AGAIN, NULL, &p);
	return p ? p->link : NULL;
}
