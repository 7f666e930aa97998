/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waking a peer whose progress thread sleeps. engine/pollstate.h decides when it sleeps.
 *
 * A process that has put a segment into a ring takes the peer's bell and writes the peer's eventfd: one system call per
 * sleep, none while the peer polls (shared/bell.h).
 */
#include "link/shm_int.h"

void shm_link_wake(struct shm_link *l)
{
	if (bell_take(&l->exp->wakeup))
		bell_ring(l->evfd);
}

bool shm_want_wakeup(struct shm_ep *ep)
{
	struct shm_link *l;

	bell_want(&ep->exp->wakeup, 1);
	list_for_each_entry(l, &ep->links, list)
		if (shm_rx_ready(&l->rx) ||
		    (shm_link_waits(l) && smp_load_acquire(&l->tx.h->cons) != l->tx.cons))
			return false;
	return !ep->ndoomed;
}

void shm_polling(struct shm_ep *ep)
{
	bell_hush(&ep->exp->wakeup);
}
