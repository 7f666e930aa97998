/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * State of a process that polls its channel (ipc/channel.h) for answers. It polls for about as long as a call takes if
 * neither side polls, that is, if rused and then the process are woken by the scheduler.
 */
#ifndef RUSE_IPC_SPIN_H
#define RUSE_IPC_SPIN_H

#include "base/util.h"

struct ipc_spin {
	ns_t (*clock)(void);	/* host clock; NULL: no polling */
	ns_t slept;		/* estimated duration in ns of a call for which both sides sleep; 0: unknown */
	uint32_t luck;		/* recent successes of polling, see ipc/ipc.c */
};

#endif
