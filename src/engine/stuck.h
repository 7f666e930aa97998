/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the QPs of this process wait for: the table that rused reads (ipc/stuck.h). */
#ifndef RUSE_ENGINE_STUCK_H
#define RUSE_ENGINE_STUCK_H

/* If rused has asked since the last call, writes the table. The caller holds the engine lock. */
void stuck_look(void);

struct why;
/* stuck_acks.c: calls add for each thread of this process that waits in a destroy call for acknowledgements. */
void stuck_acks(void (*add)(uint32_t tid, const struct why *why));

#endif
