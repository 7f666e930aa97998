/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CRC-32 of strides of 256 bytes with VPCLMULQDQ, for code that has the data in registers, such as
 * a copy. Debian 12's libdeflate multiplies 128 bits at a time; this code multiplies 512, which on
 * 4 KiB is about three times as fast.
 *
 * The data is a polynomial over GF(2). Modulo the CRC polynomial, a block may be replaced by adding
 * its product with x^d to the block d bits later. So each stride is folded into the next one, and
 * at the end the four vectors of the stride are folded into the last one. The CRC of the remaining
 * 64 bytes is the CRC of all the data; crc32_add() computes it.
 */
#ifndef RUSE_WIRE_CRC_WIDE_H
#define RUSE_WIRE_CRC_WIDE_H

#include "wire/crc.h"

#ifdef __x86_64__

#include <immintrin.h>

#define CRC_WIDE __attribute__((target("avx512f,vpclmulqdq")))
#define CRC_STRIDE 256u
/* Shorter input is not worth the set-up. */
#define CRC_WIDE_MIN (2 * CRC_STRIDE)

/* A stride, or the folded sum of all strides so far. */
struct crc_wide {
	__m512i a, b, c, d;
};

/*
 * Constants for folding by d bits, modulo the polynomial, bits reflected: x^(d + 63) multiplies the
 * low 64 bits of a 128-bit lane, x^(d - 1) the high 64 bits. In reflected order the low 64 bits
 * hold the powers that are higher by 64. Both exponents are lower by 1, because the product of two
 * reflected numbers is too high by one bit.
 */
static const uint64_t crc_fold_2048[2] = { 0x7cc8e1e700000000, 0x03f9f86300000000 };
static const uint64_t crc_fold_1536[2] = { 0x67f7947600000000, 0xc56d949600000000 };
static const uint64_t crc_fold_1024[2] = { 0x7d657a1000000000, 0x7406fa9500000000 };
static const uint64_t crc_fold_512[2] = { 0x653d982200000000, 0xcad38e8f00000000 };

/* True if this CPU and the kernel have the instructions. */
bool crc_wide_works(void);

static CRC_WIDE inline __m512i crc_constant(const uint64_t k[2])
{
	return _mm512_set_epi64((long long)k[1], (long long)k[0], (long long)k[1], (long long)k[0],
				(long long)k[1], (long long)k[0], (long long)k[1], (long long)k[0]);
}

/* a * k + b, lane by lane. */
static CRC_WIDE inline __m512i crc_fold(__m512i a, __m512i k, __m512i b)
{
	return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(a, k, 0x00),
					 _mm512_clmulepi64_epi128(a, k, 0x11), b, 0x96);
}

/* Starts with the first stride in s; crc: CRC of the preceding bytes. */
static CRC_WIDE inline void crc_wide_first(struct crc_wide *s, uint32_t crc)
{
	s->a = _mm512_xor_si512(s->a, _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)~crc)));
}

/* Adds the next stride. k: crc_constant(crc_fold_2048). */
static CRC_WIDE inline void crc_wide_next(struct crc_wide *s, __m512i k,
					  const struct crc_wide *next)
{
	s->a = crc_fold(s->a, k, next->a);
	s->b = crc_fold(s->b, k, next->b);
	s->c = crc_fold(s->c, k, next->c);
	s->d = crc_fold(s->d, k, next->d);
}

/* The CRC of all strides. */
static CRC_WIDE inline uint32_t crc_wide_last(const struct crc_wide *s)
{
	__m512i d = s->d;
	uint8_t rest[64];

	d = crc_fold(s->a, crc_constant(crc_fold_1536), d);
	d = crc_fold(s->b, crc_constant(crc_fold_1024), d);
	d = crc_fold(s->c, crc_constant(crc_fold_512), d);
	_mm512_storeu_si512(rest, d);
	/*
	 * rest already contains the CRC of the preceding bytes. crc32_add() inverts its argument,
	 * so UINT32_MAX makes it start with a CRC register of 0.
	 */
	return crc32_add(UINT32_MAX, rest, sizeof(rest));
}

#endif
#endif
