/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <rdma/ib_user_mad.h>
#include <string.h>
#include "ipc/umad_shm.h"
#include "queue/barrier.h"
#include "wire/mad.h"

_Static_assert(sizeof(struct ib_user_mad_hdr) + MAD_LEN == IPC_UMAD_SHOWN, "one whole MAD");

void umad_shm_init(struct umad_shm *s)
{
	memset(s, 0, sizeof(*s));
	for (uint32_t i = 0; i < UMAD_RX; i++)
		s->rx[i].state = umad_slot_word(i - UMAD_RX, UMAD_SLOT_TAKEN);
}

struct umad_slot *umad_shm_next(struct umad_shm *s, uint32_t *pos)
{
	uint32_t tail = smp_load_acquire(&s->tail), at = READ_ONCE(s->head);

	/* The ring has only the last UMAD_RX positions; head may be older or invalid. */
	if (tail - at > UMAD_RX)
		at = tail - UMAD_RX;
	for (; at != tail; at++) {
		struct umad_slot *slot = &s->rx[at % UMAD_RX];

		if (umad_shm_there(slot, at)) {
			*pos = at;
			return slot;
		}
	}
	return NULL;
}

bool umad_shm_there(const struct umad_slot *slot, uint32_t pos)
{
	smp_rmb();
	return smp_load_acquire(&slot->state) == umad_slot_word(pos, UMAD_SLOT_READY);
}

bool umad_shm_take(struct umad_shm *s, struct umad_slot *slot, uint32_t pos)
{
	if (!atomic_cmpxchg(&slot->state, umad_slot_word(pos, UMAD_SLOT_READY),
			    umad_slot_word(pos, UMAD_SLOT_TAKEN)))
		return false;
	WRITE_ONCE(s->head, pos + 1);
	return true;
}

static bool umad_ring_ready(void *of)
{
	uint32_t pos;

	return umad_shm_next(of, &pos);
}

struct bell umad_shm_bell(struct umad_shm *s)
{
	return (struct bell){ &s->shown, umad_ring_ready, s };
}

struct umad_slot *umad_shm_room(struct umad_shm *s, uint32_t pos)
{
	struct umad_slot *slot = &s->rx[pos % UMAD_RX];

	return smp_load_acquire(&slot->state) == umad_slot_word(pos - UMAD_RX, UMAD_SLOT_TAKEN) ?
		       slot : NULL;
}

uint32_t umad_shm_tid(const uint8_t *mad)
{
	return ((uint32_t)mad_tid(mad) ^ mad[MAD_O_CLASS] * 31u) % UMAD_TIDS;
}

/* True if the directed route of an SMP passes the checks of the MAD layer for a first hop that leaves by this port. */
static bool umad_smp_leaves(const uint8_t *mad, uint32_t port)
{
	uint8_t pointer = mad[MAD_O_CLASS_SPECIFIC], count = mad[MAD_O_CLASS_SPECIFIC + 1];

	return !(get_be16(mad + MAD_O_STATUS) & SMP_DIRECTION) && !pointer && count &&
	       count < 64 && mad[SMP_O_INITIAL_PATH + 1] == port;
}

static bool class_fits(const uint8_t *mad, uint32_t agent, uint32_t port)
{
	uint8_t c = mad[MAD_O_CLASS];

	if (c == MAD_CLASS_SUBN_DR || c == MAD_CLASS_SUBN_LID)
		return !(agent & (UMAD_AGENT_QP1 | UMAD_AGENT_RMPP)) &&
		       (c == MAD_CLASS_SUBN_LID || umad_smp_leaves(mad, port));
	if (!(agent & UMAD_AGENT_QP1))
		return false;
	if (!mad_class_has_rmpp(c))
		return !(agent & UMAD_AGENT_RMPP);
	return !(mad[RMPP_O_RTIME_FLAGS] & RMPP_F_ACTIVE);
}

bool umad_shm_sendable(const struct umad_shm *s, const uint32_t posted[UMAD_TIDS],
		       const void *data, size_t len)
{
	uint32_t hdr_len = READ_ONCE(s->hdr_len), port = READ_ONCE(s->port), agent, tid;
	const struct ib_user_mad_hdr *h = data;
	const uint8_t *mad = (const uint8_t *)data + hdr_len;
	bool pkey = hdr_len == sizeof(*h);

	if (!port || READ_ONCE(s->dead) || len != hdr_len + MAD_LEN ||
	    (!pkey && hdr_len != sizeof(struct ib_user_mad_hdr_old)))
		return false;
	agent = h->id < UMAD_SHM_AGENTS ? READ_ONCE(s->agent[h->id]) : 0;
	if (!agent || h->grh_present || (pkey && h->pkey_index) || !class_fits(mad, agent, port))
		return false;
	tid = umad_shm_tid(mad);
	return READ_ONCE(posted[tid]) + READ_ONCE(s->begun[tid]) ==
	       smp_load_acquire(&s->ended[tid]);
}
