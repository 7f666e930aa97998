/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What an id waits for, for `ruse explain --stuck`. */
#ifndef RUSE_CM_STUCK_H
#define RUSE_CM_STUCK_H

#include "cm/cm.h"

struct cm_wait {
	enum ib_cm_state state;
	ns_t since;		/* in this state, or since the first transmission of the message */
	uint32_t sent, most;	/* transmissions of the message that awaits an answer, now and in all; 0: there is none */
};

void cm_stuck(const struct cm_id *id, struct cm_wait *w);

#endif
