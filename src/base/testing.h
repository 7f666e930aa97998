/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For test-*.c only. Includes cmocka.h after the headers that it requires, and provides a seed for
 * random tests.
 */
#ifndef RUSE_BASE_TESTING_H
#define RUSE_BASE_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/rand.h"

/* Seeds p from $RUSE_SEED, or with a random number, and prints the seed. */
static inline void test_seed(struct prng *p)
{
	const char *s = getenv("RUSE_SEED");
	uint64_t seed = s ? strtoull(s, NULL, 0) : rand_u32();

	print_message("RUSE_SEED=%llu\n", (unsigned long long)seed);
	prng_seed(p, seed);
}

#endif
