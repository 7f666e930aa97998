/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The requests of an agent that wait for a response, for `ruse explain --stuck`. */
#ifndef RUSE_MAD_STUCK_H
#define RUSE_MAD_STUCK_H

#include "base/util.h"
#include "why/why.h"

struct mad_agent;

/* Calls fn for each. since: time of mad_send(). */
typedef void (*mad_stuck_fn)(void *arg, const struct why *why, ns_t since);
void mad_agent_stuck(const struct mad_agent *a, mad_stuck_fn fn, void *arg);

#endif
