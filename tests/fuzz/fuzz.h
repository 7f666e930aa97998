/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Common to all fuzz targets. */
#ifndef RUSE_FUZZ_H
#define RUSE_FUZZ_H

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Aborts when cond is false: a finding, like a crash. */
#define REQUIRE(cond)                                                          \
	do {                                                                   \
		if (!(cond))                                                   \
			abort();                                               \
	} while (0)

#endif
