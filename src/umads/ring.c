/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The memory that an open umadN shares with its programs (ipc/umad_shm.h).
 *
 * umad_ring_show() puts received packets into the inbox. umad_ring_send() sends MADs that programs have posted. A program
 * that corrupts the memory affects only its own MADs.
 */
#include <errno.h>
#include <rdma/ib_user_mad.h>
#include <string.h>

#include "base/log.h"
#include "base/memfd.h"
#include "umads/umads_internal.h"
#include "loop/loop.h"
#include "shared/barrier.h"

int umad_ring_open(struct umad_fd *u, int *fd)
{
	struct umads *us = u->of->us;

	u->shm = memfd_new("ruse-umad", sizeof(*u->shm), fd);
	if (!u->shm)
		return *fd;
	u->box = (struct inbox_writer){ .in = &u->shm->inbox, .fd = u->f.fd };
	u->shm->generation = us->generation;
	u->shm->number = u->number;
	u->shm->hdr_len = sizeof(struct ib_user_mad_hdr_old);
	/*
	 * Programs may post MADs only on InfiniBand, where write() of a valid MAD
	 * cannot fail. On RoCE it can, as the address of the MAD may be invalid, so umad_shm.port stays 0
	 * and programs wait for the result of each write().
	 */
	if (u->of->port.mad->qps & 1)
		u->shm->port = u->of->port.mad->num;
	return 0;
}

void umad_ring_close(struct umad_fd *u)
{
	if (!u->shm)
		return;
	WRITE_ONCE(u->shm->dead, 1u);
	memfd_unmap(u->shm, sizeof(*u->shm));
	u->shm = NULL;
}

void umad_ring_send(struct umad_fd *u, const uint8_t *data, size_t len)
{
	size_t mad = len - MAD_LEN;
	ssize_t rc;

	u->posted = true;
	u->begun = false;
	rc = umad_write(u->file, data, len, u->of->us->loop->now);
	u->posted = false;
	/* Errors cannot be reported: the MAD is lost, as on a wire. */
	if (rc < 0)
		log_debug("umad%u: a MAD was not sent: %s", u->of->number, strerror((int)-rc));
	/* The send did not begin, but the program has counted it as begun: count it as ended. */
	if (!u->begun && len >= MAD_LEN && mad <= sizeof(struct ib_user_mad_hdr))
		umad_fd_ended(u, data + mad);
}

void umad_fd_begun(void *ctx, const uint8_t *mad)
{
	struct umad_fd *u = ctx;

	u->begun = u->posted;
	if (!u->posted && u->shm)
		atomic_add(&u->shm->begun[umad_shm_tid(mad)], 1u);
}

void umad_fd_ended(void *ctx, const uint8_t *mad)
{
	struct umad_fd *u = ctx;

	if (u->shm)
		atomic_add(&u->shm->ended[umad_shm_tid(mad)], 1u);
}

/* Moves the next packet, or its number, to the ring. False: there is none, or no room. */
static bool umad_ring_place_one(struct umad_fd *u)
{
	size_t len = u->marked ? 0 : umad_next_len(u->file), copied = 0;
	struct inbox_slot *slot = len ? inbox_room(&u->box) : NULL;

	if (!slot)
		return false;
	slot->tag = 0;
	if (!umad_next_why(u->file, &slot->why))
		slot->why.id = WHY_NONE;
	if (len > IPC_UMAD_SHOWN) {
		u->seq = u->seq + 1 ? u->seq + 1 : 1;
		u->marked = true;
		slot->tag = u->seq;
	} else {
		umad_read(u->file, slot->data, len, &copied);
	}
	slot->len = (uint32_t)copied;
	inbox_add(&u->box);
	return true;
}

/* Moves all packets that fit to the ring. False: one more waits for room. */
static bool umad_ring_fill(struct umad_fd *u)
{
	uint32_t pos;
	bool gone;

	while (inbox_reap(&u->box, &pos, &gone))
		;
	if (!inbox_full(&u->box)) {
		inbox_begin(&u->box);
		while (umad_ring_place_one(u))
			;
		inbox_end(&u->box);
	}
	return u->marked || !umad_next_len(u->file);
}

void umad_ring_show(struct umad_fd *u)
{
	enum inbox_more more;

	if (!u->shm || u->marked || !umad_next_len(u->file))
		return;
	do {
		more = umad_ring_fill(u) ? INBOX_MORE_NOT : INBOX_MORE_QUEUED;
	} while (inbox_set_more(&u->box, more));
}

void umad_ring_unmark(struct umad_fd *u)
{
	u->marked = false;
	inbox_withdraw(u->box.in, u->box.tail - 1);
}

void umad_ring_agents(struct umad_fd *u, uint32_t cmd, const void *arg)
{
	const struct ib_user_mad_reg_req2 *r2 = arg;
	const struct ib_user_mad_reg_req *r = arg;
	uint32_t id, agent = UMAD_AGENT;

	WRITE_ONCE(u->shm->hdr_len, (uint32_t)umad_file_hdr_len(u->file));
	switch (cmd) {
	case IB_USER_MAD_REGISTER_AGENT:
		agent |= r->qpn ? UMAD_AGENT_QP1 : 0;
		agent |= r->rmpp_version ? UMAD_AGENT_RMPP : 0;
		break;
	case IB_USER_MAD_REGISTER_AGENT2:
		agent |= r2->qpn ? UMAD_AGENT_QP1 : 0;
		agent |= r2->rmpp_version ? UMAD_AGENT_RMPP : 0;
		break;
	case IB_USER_MAD_UNREGISTER_AGENT:
		agent = 0;
		break;
	default:
		return;
	}
	/* id is the first member of all three structures. */
	memcpy(&id, arg, sizeof(id));
	if (id < UMAD_SHM_AGENTS)
		WRITE_ONCE(u->shm->agent[id], agent);
}
