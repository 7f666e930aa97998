/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>
#include "base/log.h"
#include "base/rand.h"
#include "base/sys.h"

void rand_bytes(void *buf, size_t len)
{
	uint8_t *p = buf;

	while (len) {
		long n = sys_call(SYS_getrandom, p, len, 0);

		if (n == -EINTR)
			continue;
		if (BUG_ON(n <= 0)) {
			memset(p, 0, len);
			return;
		}
		p += n;
		len -= (size_t)n;
	}
}

uint32_t rand_u32(void)
{
	uint32_t v;

	rand_bytes(&v, sizeof(v));
	return v;
}

/* splitmix64, so that similar seeds give unrelated sequences. */
void prng_seed(struct prng *p, uint64_t seed)
{
	for (size_t i = 0; i < ARRAY_SIZE(p->s); i++) {
		uint64_t z = seed += 0x9e3779b97f4a7c15;

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
		z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
		p->s[i] = z ^ (z >> 31);
	}
}

static uint64_t rand_rotl(uint64_t v, int n)
{
	return (v << n) | (v >> (64 - n));
}

/* xoshiro256** of Blackman and Vigna. */
uint64_t prng_u64(struct prng *p)
{
	uint64_t *s = p->s;
	uint64_t ret = rand_rotl(s[1] * 5, 7) * 9, t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rand_rotl(s[3], 45);
	return ret;
}
