/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RUSE_BASE_CPUS_H
#define RUSE_BASE_CPUS_H

#include <stdint.h>

/* CPUs that this process may run on, 1 at least. */
uint32_t cpus_usable(void);

#endif
