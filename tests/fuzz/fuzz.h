/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What every fuzz target has. */
#ifndef RUSE_FUZZ_H
#define RUSE_FUZZ_H

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A finding, as much as a crash. */
#define REQUIRE(cond)                                                          \
	do {                                                                   \
		if (!(cond))                                                   \
			abort();                                               \
	} while (0)

#endif
