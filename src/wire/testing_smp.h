/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For tests and fuzzers: directed-route SMPs, which ruse itself does not send. */
#ifndef RUSE_WIRE_TESTING_SMP_H
#define RUSE_WIRE_TESTING_SMP_H

#include <string.h>
#include "wire/smp.h"

/* Makes smp a directed-route SMP: path[0..hops-1] are the numbers of the output ports; hops up to SMP_MAX_HOPS. */
static inline void t_smp_path(uint8_t smp[MAD_LEN], const uint8_t *path, uint8_t hops)
{
	smp[MAD_O_CLASS] = MAD_CLASS_SUBN_DR;
	smp[SMP_O_HOP_POINTER] = 0;
	smp[SMP_O_HOP_COUNT] = hops;
	put_be16(smp + SMP_O_DR_SLID, LID_PERMISSIVE);
	put_be16(smp + SMP_O_DR_DLID, LID_PERMISSIVE);
	memcpy(smp + SMP_O_INITIAL_PATH + 1, path, hops);
}

#endif
