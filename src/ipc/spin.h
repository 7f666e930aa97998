/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How long to look for an answer: as long as it takes to sleep and be woken, while that is worth it. */
#ifndef RUSE_IPC_SPIN_H
#define RUSE_IPC_SPIN_H

#include "base/util.h"

struct ipc_spin {
	ns_t (*clock)(void);	/* NULL: not at all; the host's, set once there is a channel */
	ns_t slept;		/* what a call takes that sleeps at both ends, 0: not known yet */
	uint32_t luck;		/* how often it was worth it lately */
};

#endif
