/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waking a peer whose progress thread sleeps. engine/pollstate.h decides when it sleeps.
 *
 * A process that has put a segment into a ring checks the peer's want_wakeup flag. If it is set, the
 * process clears it and writes the peer's eventfd: one system call per sleep, none while the peer
 * polls. shm_want_wakeup() sets the flag and then checks the rings; the sender does it in the
 * opposite order, so no wake-up is lost.
 */
#include "base/sys.h"
#include "link/shm_int.h"

void shm_link_wake(struct shm_link *l)
{
	static const uint64_t one = 1;

	if (READ_ONCE(l->exp->want_wakeup) && atomic_xchg(&l->exp->want_wakeup, 0u))
		sys_write(l->evfd, &one, sizeof(one));
}

bool shm_want_wakeup(struct shm_ep *ep)
{
	struct shm_link *l;

	smp_store_mb(&ep->exp->want_wakeup, 1);
	list_for_each_entry(l, &ep->links, list)
		if (shm_rx_ready(&l->rx) ||
		    (shm_link_waits(l) && smp_load_acquire(&l->tx.h->cons) != l->tx.cons))
			return false;
	return !ep->ndoomed;
}

void shm_polling(struct shm_ep *ep)
{
	/* Read first, so that the cache line stays shared while the program polls. */
	if (READ_ONCE(ep->exp->want_wakeup))
		WRITE_ONCE(ep->exp->want_wakeup, 0);
}
