/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `ruse run --shake` in this process: RUSE_SHAKE, the process's place, and what becomes of a decision. */
#ifndef RUSE_ENGINE_SHAKES_H
#define RUSE_ENGINE_SHAKES_H

#include <stdbool.h>
#include "core/shake.h"

/* Reads RUSE_SHAKE, and begins to shake if it is set. Before the first QP. Returns whether the process is shaken. */
bool shakes_begin(void);

/* As shake_ops.cm, for a thread that does not hold the engine lock. */
ns_t engine_shake_cm(enum shake_message message, bool *twice);

#endif
