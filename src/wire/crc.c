/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <libdeflate.h>
#include "wire/be.h"
#include "wire/crc_wide.h"

#define POLY 0xedb88320u

/* table[i][b]: contribution to the CRC of byte b followed by i zero bytes. Filled by crc32_tune(). */
static uint32_t table[8][256];
static bool by_table;

static void make_table(void)
{
	for (uint32_t b = 0; b < 256; b++) {
		uint32_t r = b;

		for (int i = 0; i < 8; i++)
			r = r >> 1 ^ (r & 1 ? POLY : 0);
		table[0][b] = r;
	}
	for (int i = 1; i < 8; i++)
		for (uint32_t b = 0; b < 256; b++) {
			uint32_t r = table[i - 1][b];

			table[i][b] = r >> 8 ^ table[0][r & 0xff];
		}
}

static uint32_t sliced(uint32_t crc, const uint8_t *p, size_t len)
{
	crc = ~crc;
	for (; len >= 8; p += 8, len -= 8) {
		uint32_t lo = crc ^ get_le32(p), hi = get_le32(p + 4);

		crc = table[7][lo & 0xff] ^ table[6][lo >> 8 & 0xff] ^ table[5][lo >> 16 & 0xff] ^
		      table[4][lo >> 24] ^ table[3][hi & 0xff] ^ table[2][hi >> 8 & 0xff] ^
		      table[1][hi >> 16 & 0xff] ^ table[0][hi >> 24];
	}
	for (; len; p++, len--)
		crc = crc >> 8 ^ table[0][(crc ^ *p) & 0xff];
	return ~crc;
}

#ifdef __x86_64__

static CRC_WIDE inline struct crc_wide load(const uint8_t *p)
{
	return (struct crc_wide){ _mm512_loadu_si512(p), _mm512_loadu_si512(p + 64),
				  _mm512_loadu_si512(p + 128), _mm512_loadu_si512(p + 192) };
}

static CRC_WIDE uint32_t wide(uint32_t crc, const uint8_t *p, size_t len)
{
	struct crc_wide s = load(p), next;
	__m512i k = crc_constant(crc_fold_2048);

	crc_wide_first(&s, crc);
	for (p += CRC_STRIDE, len -= CRC_STRIDE; len >= CRC_STRIDE;
	     p += CRC_STRIDE, len -= CRC_STRIDE) {
		next = load(p);
		crc_wide_next(&s, k, &next);
	}
	crc = crc_wide_last(&s);
	return len ? libdeflate_crc32(crc, p, len) : crc;
}

#endif

uint32_t crc32_add(uint32_t crc, const void *buf, size_t len)
{
#ifdef __x86_64__
	if (len >= CRC_WIDE_MIN && crc_wide_works())
		return wide(crc, buf, len);
#endif
	return unlikely(by_table) ? sliced(crc, buf, len) : libdeflate_crc32(crc, buf, len);
}

#define TUNE_TRIES 6
#define TUNE_BYTES 508u		/* fewer than CRC_WIDE_MIN */

/* Minimum of several measurements, since some are interrupted. */
static ns_t crc_takes(ns_t (*now)(void), bool with_table)
{
	static const uint8_t bytes[TUNE_BYTES];
	ns_t best = NS_NEVER;

	by_table = with_table;
	for (int i = 0; i < TUNE_TRIES; i++) {
		ns_t start = now();

		crc32_add(0, bytes, sizeof(bytes));
		crc32_add(0, bytes, sizeof(bytes));
		best = min(best, now() - start);
	}
	return best;
}

void crc32_tune(ns_t (*now)(void))
{
	ns_t sums, multiplies;

	make_table();
	sums = crc_takes(now, true);
	multiplies = crc_takes(now, false);
	by_table = sums < multiplies - multiplies / 4;
}
