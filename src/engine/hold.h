/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completions that become visible later: rules `hold completions` of `ruse fault`. The caller holds the engine lock. */
#ifndef RUSE_ENGINE_HOLD_H
#define RUSE_ENGINE_HOLD_H

#include "core/cq.h"

/* rdev_ops.hold */
bool hold_ask(struct cq *cq, int what);
/* The rule by which the oldest hidden completion of the CQ is hidden; 0: none is. */
uint32_t hold_rule(const struct cq *cq);
/* The rules have changed: hold completions of all CQs, or make all visible and hold none. */
void hold_use(void);
/* Makes all completions of the CQ visible: a QP that uses it ends. */
void hold_show_all(struct cq *cq);
/* Makes all completions of a CQ visible that a forked child takes over: its timers are gone. */
void hold_inherit(struct cq *cq);

#endif
