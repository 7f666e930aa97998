/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The memory that an open umadN shares with its programs (ipc/umad_shm.h).
 *
 * umad_ring_send() takes the MADs that a program has put into the ring tx; umad_ring_show() puts received packets
 * into the ring rx, and the byte into the socket as ipc/bell.h says. Positions are kept in rused, so a
 * program that corrupts the memory affects only its own MADs. Files to whose tx a program has written recently are polled
 * (umads.rings); the others wake rused with an eventfd.
 */
#include <errno.h>
#include <rdma/ib_user_mad.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fds.h"
#include "base/log.h"
#include "base/memfd.h"
#include "umads/umads_internal.h"
#include "loop/loop.h"
#include "queue/barrier.h"

/* The eventfd is not read: with EPOLLET each write is a new event. */
static void umad_ring_kicked(struct loop_fd *f, uint32_t events)
{
	struct umad_fd *u = container_of(f, struct umad_fd, kick);

	umad_ring_send(u);
	umad_ring_show(u);
}

static int umad_ring_kick_open(struct umad_fd *u)
{
	int fd = fds_event(0, EFD_CLOEXEC | EFD_NONBLOCK), rc;

	if (fd < 0)
		return fd;
	u->kick.fn = umad_ring_kicked;
	rc = loop_add(u->of->us->loop, &u->kick, fd, EPOLLIN | EPOLLET);
	if (rc)
		close(fd);
	return rc;
}

int umad_ring_open(struct umad_fd *u, int fds[2])
{
	struct umads *us = u->of->us;
	int rc;

	u->shm = memfd_new("ruse-umad", sizeof(*u->shm), &fds[0]);
	if (!u->shm)
		return fds[0];
	rc = umad_ring_kick_open(u);
	if (rc) {
		memfd_unmap(u->shm, sizeof(*u->shm));
		u->shm = NULL;
		close(fds[0]);
		return rc;
	}
	fds[1] = u->kick.fd;
	umad_shm_init(u->shm);
	u->shm->generation = us->generation;
	u->shm->number = u->number;
	u->shm->hdr_len = sizeof(struct ib_user_mad_hdr_old);
	/*
	 * Programs may put MADs into the ring tx only on InfiniBand, where write() of a valid MAD
	 * cannot fail. On RoCE it can, as the address of the MAD may be invalid, so umad_shm.port stays 0
	 * and programs send each MAD with a message and wait for the result.
	 */
	if (u->of->port.mad->qps & 1)
		u->shm->port = u->of->port.mad->num;
	return 0;
}

void umad_ring_close(struct umad_fd *u)
{
	list_del(&u->ring);
	loop_del(u->of->us->loop, &u->kick);
	if (!u->shm)
		return;
	WRITE_ONCE(u->shm->dead, 1u);
	memfd_unmap(u->shm, sizeof(*u->shm));
	u->shm = NULL;
}

/* Sends one MAD. False: there is none. Errors cannot be reported: the MAD is lost, as on a wire. */
static bool umad_ring_send_one(struct umad_fd *u)
{
	uint8_t data[IPC_UMAD_SHOWN] __attribute__((aligned(8)));
	ssize_t len = umad_shm_fetch(u->shm, u->tx, data), rc;
	size_t mad;

	if (len < 0) {
		if (len != -EAGAIN)
			log_debug("umad%u: the client's ring is invalid", u->of->number);
		return false;
	}
	u->tx++;
	u->fetched = true;
	u->begun = false;
	rc = umad_write(u->file, data, (size_t)len, u->of->us->loop->now);
	u->fetched = false;
	if (rc < 0)
		log_debug("umad%u: a MAD was not sent: %s", u->of->number, strerror((int)-rc));
	mad = (size_t)len - MAD_LEN;
	/* The send did not begin, but the program has counted it as begun: count it as ended. */
	if (!u->begun && len >= MAD_LEN && mad <= sizeof(struct ib_user_mad_hdr))
		umad_fd_ended(u, data + mad);
	return true;
}

void umad_ring_send(struct umad_fd *u)
{
	struct umads *us = u->of->us;

	smp_store_mb(&u->shm->kicked, 0u);
	if (!umad_shm_posted(u->shm, u->tx))
		return;
	/* Poll the ring while rused is awake. */
	if (list_empty(&u->ring))
		list_add_tail(&u->ring, &us->rings);
	if (!u->watched)
		WRITE_ONCE(u->shm->watched, 1u);
	u->watched = true;
	for (uint32_t n = 0; n < UMAD_TX && umad_ring_send_one(u); n++)
		;
}

void umad_fd_begun(void *ctx, const uint8_t *mad)
{
	struct umad_fd *u = ctx;

	u->begun = u->fetched;
	if (!u->fetched && u->shm)
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
	size_t len = umad_next_len(u->file), copied = 0;
	struct umad_slot *slot = umad_shm_room(u->shm, u->rx);

	u->full = len && !u->marked && !slot;
	if (!len || u->marked || !slot)
		return false;
	slot->seq = 0;
	if (len > sizeof(slot->data)) {
		u->seq = u->seq + 1 ? u->seq + 1 : 1;
		u->marked = true;
		slot->seq = u->seq;
	} else {
		umad_read(u->file, slot->data, len, &copied);
	}
	slot->len = (uint32_t)copied;
	smp_store_release(&slot->state, umad_slot_word(u->rx++, UMAD_SLOT_READY));
	return true;
}

/* Sends the byte that makes the file readable. The socket holds at most two, so send() fails only after a hang-up. */
static void umad_ring_bell(struct umad_fd *u)
{
	if (send(u->f.fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) != 1)
		log_debug("umad%u: cannot wake the reader: %m", u->of->number);
}

/*
 * Moves all packets that fit to the ring. Sends the bytes that bell_show() asks for only then, so
 * that a reader that is woken finds the packets.
 */
static void umad_ring_fill(struct umad_fd *u)
{
	struct bell b = umad_shm_bell(u->shm);
	bool before, after;

	u->full = !umad_shm_room(u->shm, u->rx);
	if (u->full)
		return;
	before = bell_show(&b);
	while (umad_ring_place_one(u))
		;
	WRITE_ONCE(u->shm->tail, u->rx);
	after = bell_show(&b);
	if (before)
		umad_ring_bell(u);
	if (after)
		umad_ring_bell(u);
}

void umad_ring_show(struct umad_fd *u)
{
	if (!u->shm || u->marked || !umad_next_len(u->file))
		return;
	do {
		umad_ring_fill(u);
		smp_store_mb(&u->shm->more, u->full);
		/* A reader that made room before `more` was set has not told rused: look for room again. */
	} while (u->full && umad_shm_room(u->shm, u->rx));
}

void umad_ring_unmark(struct umad_fd *u)
{
	uint32_t pos = u->rx - 1;

	u->marked = false;
	umad_shm_take(u->shm, &u->shm->rx[pos % UMAD_RX], pos);
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

void umad_rings_sleep(struct umads *us)
{
	struct umad_fd *u, *t;

	list_for_each_entry_safe(u, t, &us->rings, ring) {
		smp_store_mb(&u->shm->watched, 0u);
		u->watched = false;
		/*
		 * A MAD that was put into the ring before `watched` was cleared came without a wake-up: go on polling
		 * this ring.
		 */
		if (!umad_shm_posted(u->shm, u->tx))
			list_del(&u->ring);
	}
}

bool umad_rings_there(const struct umads *us)
{
	const struct umad_fd *u;

	list_for_each_entry(u, &us->rings, ring)
		if (umad_shm_posted(u->shm, u->tx))
			return true;
	return false;
}

void umad_rings_take(struct umads *us)
{
	struct umad_fd *u, *t;

	/* Sending closes no file, so the list stays valid. */
	list_for_each_entry_safe(u, t, &us->rings, ring)
		umad_ring_send(u);
}
