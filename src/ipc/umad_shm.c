/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <rdma/ib_user_mad.h>
#include "ipc/umad_shm.h"
#include "shared/barrier.h"
#include "wire/mad.h"

_Static_assert(sizeof(struct ib_user_mad_hdr) + MAD_LEN == IPC_UMAD_SHOWN, "one whole MAD");
_Static_assert(IPC_UMAD_SHOWN <= INBOX_DATA, "a packet fits into a slot");

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
