/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <linux/futex.h>
#include "base/sys.h"
#include "base/tuning.h"
#include "engine/lock.h"

__thread char elock_self __attribute__((tls_model("initial-exec")));

bool elock_mine(const struct elock *l)
{
	return READ_ONCE(l->owner) == &elock_self;
}

bool elock_wait(struct elock *l)
{
	if (elock_mine(l)) {
		WRITE_ONCE(l->again, 1u);
		return false;
	}
	/* The owner normally holds the lock for at most a copy of 16 KiB. */
	for (uint32_t i = 0; i < TUNE_SPINS; i++) {
		cpu_relax();
		if (elock_try(l))
			return true;
	}
	while (atomic_xchg(&l->word, 2u) != 0)
		sys_call(SYS_futex, &l->word, FUTEX_WAIT_PRIVATE, 2u, NULL, NULL, 0);
	WRITE_ONCE(l->owner, (const void *)&elock_self);
	return true;
}

void elock_wake(struct elock *l)
{
	sys_call(SYS_futex, &l->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
