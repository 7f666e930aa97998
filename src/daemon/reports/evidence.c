/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <unistd.h>

#include "daemon/reports/evidence.h"

#define TRIES 3		/* attempts to read a record that is being written */

bool evidence_log(int fd, struct why_log *log)
{
	const size_t before = offsetof(struct why_log, slot);

	return pread(fd, log, before, WHY_OFFSET) == (ssize_t)before &&
	       seqlock_pread(fd, WHY_OFFSET + offsetof(struct why_log, slot), log->slot,
			     sizeof(log->slot[0]), WHY_RECS, TRIES) == WHY_RECS &&
	       seqlock_pread(fd, WHY_OFFSET + offsetof(struct why_log, stack), log->stack,
			     sizeof(log->stack[0]), WHY_STACKS, TRIES) == WHY_STACKS;
}

bool evidence_stuck(int fd, struct stuck_table *t)
{
	return seqlock_pread(fd, STUCK_OFFSET, t, sizeof(*t), 1, TRIES) == 1 &&
	       seqlock_pread_ok(&t->lock) && t->n <= STUCK_MAX;
}
