/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Debian 12's libdeflate multiplies 128 bits at a time; processors with
 * VPCLMULQDQ do 512, which on 4 KiB is some three times as fast.
 *
 * A run of bytes is a polynomial over GF(2). Modulo the CRC's, a block may be
 * replaced by its product with x^d added to the block that lies d bits behind
 * it: so 256 bytes at a time are folded onto the next 256, and in the end what
 * is left, 64 bytes that have the CRC of all, goes to libdeflate.
 */
#include <libdeflate.h>
#include "wire/crc.h"

#ifdef __x86_64__

#include <immintrin.h>

#define WIDE __attribute__((target("avx512f,vpclmulqdq")))
#define STRIDE 256u
#define WIDE_MIN (2 * STRIDE)

/*
 * x^(d + 63) and x^(d - 1) modulo the polynomial, bits reflected, for the two
 * halves of 128 bits: the lower one has the higher powers, 64 of them, and the
 * product of two reflected numbers is too high by one.
 */
static const uint64_t fold_2048[2] = { 0x7cc8e1e700000000, 0x03f9f86300000000 };
static const uint64_t fold_1536[2] = { 0x67f7947600000000, 0xc56d949600000000 };
static const uint64_t fold_1024[2] = { 0x7d657a1000000000, 0x7406fa9500000000 };
static const uint64_t fold_512[2] = { 0x653d982200000000, 0xcad38e8f00000000 };

static WIDE inline __m512i constant(const uint64_t k[2])
{
	return _mm512_set_epi64((long long)k[1], (long long)k[0], (long long)k[1], (long long)k[0],
				(long long)k[1], (long long)k[0], (long long)k[1], (long long)k[0]);
}

/* a times its power of x, plus b. */
static WIDE inline __m512i fold(__m512i a, __m512i k, __m512i b)
{
	return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(a, k, 0x00),
					 _mm512_clmulepi64_epi128(a, k, 0x11), b, 0x96);
}

/* len: at least STRIDE. */
static WIDE uint32_t wide(uint32_t crc, const uint8_t *p, size_t len)
{
	__m512i k = constant(fold_2048);
	__m512i a = _mm512_loadu_si512(p), b = _mm512_loadu_si512(p + 64);
	__m512i c = _mm512_loadu_si512(p + 128), d = _mm512_loadu_si512(p + 192);
	uint8_t rest[64];

	a = _mm512_xor_si512(a, _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)~crc)));
	for (p += STRIDE, len -= STRIDE; len >= STRIDE; p += STRIDE, len -= STRIDE) {
		a = fold(a, k, _mm512_loadu_si512(p));
		b = fold(b, k, _mm512_loadu_si512(p + 64));
		c = fold(c, k, _mm512_loadu_si512(p + 128));
		d = fold(d, k, _mm512_loadu_si512(p + 192));
	}
	k = constant(fold_512);
	d = fold(a, constant(fold_1536), d);
	d = fold(b, constant(fold_1024), d);
	d = fold(c, k, d);
	for (; len >= sizeof(rest); p += sizeof(rest), len -= sizeof(rest))
		d = fold(d, k, _mm512_loadu_si512(p));
	_mm512_storeu_si512(rest, d);
	/* The register is in there: it starts empty, which this function calls all ones. */
	crc = libdeflate_crc32(UINT32_MAX, rest, sizeof(rest));
	return len ? libdeflate_crc32(crc, p, len) : crc;
}

uint32_t crc32_add(uint32_t crc, const void *buf, size_t len)
{
	if (len >= WIDE_MIN && __builtin_cpu_supports("avx512f") &&
	    __builtin_cpu_supports("vpclmulqdq"))
		return wide(crc, buf, len);
	return libdeflate_crc32(crc, buf, len);
}

#else

uint32_t crc32_add(uint32_t crc, const void *buf, size_t len)
{
	return libdeflate_crc32(crc, buf, len);
}

#endif
