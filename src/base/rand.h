/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Random numbers. rand_bytes() and rand_u32() use getrandom(), for keys and starting PSNs
 * that must not be guessed. struct prng is fast and seeded, for tests and fault injection,
 * which must be repeatable from a seed.
 */
#ifndef RUSE_BASE_RAND_H
#define RUSE_BASE_RAND_H

#include "base/util.h"

/* If getrandom() fails: BUG_ON(), and the rest of buf is zeroed if that returns. */
void rand_bytes(void *buf, size_t len);
uint32_t rand_u32(void);

struct prng {
	uint64_t s[4];
};

void prng_seed(struct prng *p, uint64_t seed);
uint64_t prng_u64(struct prng *p);

/* Uniform in [0, n), n > 0. */
static inline uint32_t prng_below(struct prng *p, uint32_t n)
{
	return (uint32_t)(((prng_u64(p) >> 32) * n) >> 32);
}

#endif
