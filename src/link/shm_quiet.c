/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The end of direct placements by keys that were withdrawn.
 *
 * A requester sets shm_half.placing before it reads the record of a key (struct key_card), and clears it after the
 * access. So a peer that is seen once without an announcement after a withdrawal uses the withdrawn key no more,
 * whatever it announces later. Withdrawals are numbered, and each link remembers the last one after which its peer was
 * seen so: peers that never rest at the same moment do not keep each other from being found quiet.
 */
#include "base/log.h"
#include "link/shm_int.h"

#define QUIET_SPINS 1000

static bool shm_link_quiet(struct shm_link *l, uint64_t n)
{
	if (l->quiet_at >= n)
		return true;
	/* Acquire: what follows, the program's reads too, finds the data of the access. */
	if (smp_load_acquire(&l->rx.h->placing) && !shm_peer_gone(l))
		return false;
	l->quiet_at = l->ep->withdrawn;
	return true;
}

bool shm_quiet(struct shm_ep *ep, uint64_t n)
{
	struct shm_link *l;

	list_for_each_entry(l, &ep->links, list)
		if (!shm_link_quiet(l, n))
			return false;
	return true;
}

uint64_t shm_withdrawn(struct shm_ep *ep)
{
	uint64_t n = ++ep->withdrawn;

	/*
	 * The caller has withdrawn the key before this barrier. A requester either finds that, or its announcement is
	 * seen here.
	 */
	smp_mb();
	for (uint32_t i = 0; i < QUIET_SPINS && !shm_quiet(ep, n); i++)
		cpu_relax();
	return n;
}

void shm_quiet_given_up(struct shm_ep *ep, uint64_t n)
{
	struct shm_link *l;

	list_for_each_entry(l, &ep->links, list)
		if (!shm_link_quiet(l, n))
			log_warn("shm: pid %d is stopped during an access to this process; not waiting for it",
				 l->pid);
}
