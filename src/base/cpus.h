/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RUSE_BASE_CPUS_H
#define RUSE_BASE_CPUS_H

#include <stdint.h>

/* Number of CPUs in this thread's affinity mask; at least 1. */
uint32_t cpus_usable(void);

#endif
