/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Big-endian loads and stores at unaligned addresses. Only wire/ converts byte order; other folders
 * use these functions.
 */
#ifndef RUSE_WIRE_BE_H
#define RUSE_WIRE_BE_H

#include <endian.h>
#include <string.h>
#include "base/util.h"

static inline uint16_t get_be16(const void *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return be16toh(v);
}

static inline uint32_t get_be24(const void *p)
{
	const uint8_t *b = p;

	return (uint32_t)b[0] << 16 | (uint32_t)b[1] << 8 | b[2];
}

static inline uint32_t get_be32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

static inline uint64_t get_be64(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

static inline void put_be16(void *p, uint16_t v)
{
	v = htobe16(v);
	memcpy(p, &v, sizeof(v));
}

/* Converts v to network byte order, for fields such as sin_port of a socket address. */
static inline uint16_t be16_of(uint16_t v)
{
	uint16_t be;

	put_be16(&be, v);
	return be;
}

static inline void put_be24(void *p, uint32_t v)
{
	uint8_t *b = p;

	b[0] = (uint8_t)(v >> 16);
	b[1] = (uint8_t)(v >> 8);
	b[2] = (uint8_t)v;
}

static inline void put_be32(void *p, uint32_t v)
{
	v = htobe32(v);
	memcpy(p, &v, sizeof(v));
}

/* Converts v to network byte order. */
static inline uint32_t be32_of(uint32_t v)
{
	uint32_t r;

	put_be32(&r, v);
	return r;
}

static inline void put_be64(void *p, uint64_t v)
{
	v = htobe64(v);
	memcpy(p, &v, sizeof(v));
}

/* Little-endian: used on the wire only by the ICRC. */
static inline void put_le32(void *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
}

static inline uint32_t get_le32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

#endif
