/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bit fields in big-endian records, as in management attributes. byte: the byte in
 * which the field starts; bit: offset from that byte's most significant bit; width:
 * 1 to 64 bits. bit + width is at most 64.
 */
#ifndef RUSE_WIRE_BITS_H
#define RUSE_WIRE_BITS_H

#include "base/util.h"

struct bits {
	uint16_t byte;
	uint8_t bit, width;
};

static inline uint64_t bits_get(const uint8_t *p, const struct bits *f)
{
	uint32_t n = (f->bit + f->width + 7u) / 8;
	uint64_t v = 0;

	for (uint32_t i = 0; i < n; i++)
		v = v << 8 | p[f->byte + i];
	return v >> (n * 8 - f->bit - f->width) & ~0ull >> (64 - f->width);
}

/* Bits of v beyond the field's width are ignored. */
static inline void bits_put(uint8_t *p, const struct bits *f, uint64_t v)
{
	uint32_t n = (f->bit + f->width + 7u) / 8, shift = n * 8 - f->bit - f->width;
	uint64_t mask = ~0ull >> (64 - f->width) << shift;

	v = v << shift & mask;
	for (uint32_t i = n; i-- > 0; v >>= 8, mask >>= 8)
		p[f->byte + i] = (uint8_t)((p[f->byte + i] & ~mask) | v);
}

#endif
