/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The blocks of QP numbers that rused leases to this process, and their UDP sockets.
 *
 * rused has no socket to give while UDP port 4791 is closed: the park, the pair of Unix sockets with
 * the host's UDP sockets (wire_park()), is held by a process that has not reconnected yet (-EAGAIN),
 * or another rused or rxe uses the port (-EADDRINUSE). The block is leased without a socket then.
 * rused writes to the notify socket when it has opened the port.
 */
#include <errno.h>
#include <time.h>
#include "base/sys.h"
#include "core/mcast.h"
#include "engine/attach.h"
#include "engine/engine_internal.h"
#include "engine/inherit.h"
#include "engine/lease.h"

#define LEASE_NAP (20 * NS_MS)	/* pause between two attempts to get a socket */
#define LEASE_TRIES 100
/*
 * How long the first QP that needs another host waits for UDP port 4791. Another rused may hold the
 * port for a moment only: that of a container that has ended and whose processes the kernel still kills.
 */
#define LEASE_WAIT (2 * NS_S)

static int lease_call(struct ipc_lease *l)
{
	int fds[IPC_MAX_FDS], ret;
	struct rused_msg m = { .q = { IPC_REQ(IPC_LEASE, l), IPC_ANSWER(l),
				      IPC_RFDS(fds) }, .locked = true };

	ret = rused_ask(&m);
	if (ret)
		return ret;
	if (m.q.rlen != sizeof(*l) || !l->block || l->block >= QPN_BLOCKS) {
		while (m.q.nrfds)
			sys_close(fds[--m.q.nrfds]);
		return -EPROTO;
	}
	wire_leased(l->block, l, fds, m.q.nrfds);
	return 0;
}

int lease_block(struct rdev *dev, struct qp_card **cards)
{
	struct ipc_lease l = { .block = 0, .dev_index = dev->index };
	const struct timespec nap = { .tv_nsec = LEASE_NAP };
	int ret;

	if (engine.nblocks == SHM_MAX_BLOCKS)
		return -ENOSPC;
	ret = lease_call(&l);
	for (int i = 0; !ret && l.wire_error == -EAGAIN && i < LEASE_TRIES; i++) {
		sys_call(SYS_nanosleep, &nap, NULL);
		ret = lease_call(&l);
	}
	if (ret)
		return ret;
	*cards = shm_ep_add_block(engine.ep, l.block);
	if (!*cards)
		return -ENOSPC;
	engine.blocks[engine.nblocks++] = l.block;
	engine.block_dev[l.block] = dev;
	return (int)l.block;
}

int inherit_lease(struct rdev *dev, uint32_t block, struct qp_card **cards)
{
	struct ipc_lease l = { .block = block, .dev_index = dev->index };
	int ret = lease_call(&l);

	if (ret)
		return ret;
	*cards = shm_ep_add_block(engine.ep, block);
	if (!*cards)
		return -ENOSPC;
	engine.blocks[engine.nblocks++] = block;
	engine.block_dev[block] = dev;
	return 0;
}

/* Ask for the socket of a leased block. 0 or -errno: there is none. */
static int lease_socket(uint32_t block)
{
	struct ipc_lease l = { .block = block, .dev_index = engine.block_dev[block]->index };
	bool up = wire_up();
	struct mcast_grp *g;
	struct edev *e;
	int ret = lease_call(&l);

	if (ret || up || !wire_up())
		return ret ? ret : l.wire_error;
	/* The groups that QPs joined before there was an endpoint. */
	list_for_each_entry(e, &engine.devs, entry)
		list_for_each_entry(g, &e->dev.mcgs, entry)
			e->dev.ops->mcast(&e->dev, g->mgid, true);
	return 0;
}

void lease_sockets(void)
{
	for (uint32_t i = 0; i < engine.nblocks; i++)
		if (wire_wanted(engine.blocks[i]) && lease_socket(engine.blocks[i]))
			return;
}

void lease_await_socket(const struct qp *qp)
{
	uint32_t block = qpn_block(qp->qpn);
	ns_t now = engine_now();
	int ret;

	if (likely(!wire_wanted(block)))
		return;
	if (!engine.wire.await_until)
		engine.wire.await_until = now + LEASE_WAIT;
	for (;;) {
		ret = lease_socket(block);
		if (ret != -EADDRINUSE && ret != -EAGAIN)
			return;
		if (engine_now() >= engine.wire.await_until)
			return;
		shm_serve(engine.ep, LEASE_NAP);
	}
}
