/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What threads of this process wait for in the kernel. */
#ifndef RUSE_ENGINE_ASLEEP_H
#define RUSE_ENGINE_ASLEEP_H

#include <stdbool.h>
#include <stdint.h>

/* The system call in which a thread sleeps, and its first argument. False: it is in none, or that is not known. */
bool asleep_in(uint32_t tid, long *number, uint64_t *argument);

#endif
