/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the QPs of this process wait for: the table that rused reads (ipc/stuck.h). */
#ifndef RUSE_ENGINE_STUCK_H
#define RUSE_ENGINE_STUCK_H

/* If rused has asked since the last call, writes the table. The caller holds the engine lock. */
void stuck_look(void);

#endif
