/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Random numbers. rand_bytes() is the kernel's getrandom: keys and starting
 * PSNs that a stranger must not guess. struct prng is fast and seeded: tests
 * and fault injection, where a run must be repeatable from its seed.
 */
#ifndef RUSE_BASE_RAND_H
#define RUSE_BASE_RAND_H

#include "base/util.h"

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
