/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* State of polling for an answer: polls for about as long as a call takes if both ends sleep. */
#ifndef RUSE_IPC_SPIN_H
#define RUSE_IPC_SPIN_H

#include "base/util.h"

struct ipc_spin {
	ns_t (*clock)(void);	/* host clock; NULL: no polling */
	ns_t slept;		/* ns of a call that sleeps at both ends, 0: unknown */
	uint32_t luck;		/* recent successes of polling */
};

#endif
