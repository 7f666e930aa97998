/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>
#include "base/log.h"
#include "wire/be.h"
#include "wire/crc.h"
#include "wire/hdr.h"
#include "wire/icrc.h"

#define IP_HDR_MAX 60
#define MASK_LEN 8	/* bytes 0xff at the start, where an InfiniBand packet has its LRH */
#define CRC32_POLY 0xedb88320u

/* Masks TOS, TTL and checksum (IPv4), or traffic class, flow label and hop limit (IPv6). */
static void icrc_mask_ip(uint8_t *ip)
{
	if (ip[0] >> 4 == 4) {
		ip[1] = 0xff;
		ip[8] = 0xff;
		ip[10] = ip[11] = 0xff;
	} else {
		ip[0] |= 0x0f;
		ip[1] = ip[2] = ip[3] = 0xff;
		ip[7] = 0xff;
	}
}

uint32_t icrc_start(const void *ip, size_t iplen, const void *udp, const void *bth)
{
	uint8_t buf[MASK_LEN + IP_HDR_MAX + UDP_HDR_LEN + BTH_LEN];
	uint8_t *p = buf + MASK_LEN;

	if (BUG_ON(iplen < 20 || iplen > IP_HDR_MAX))
		return 0;
	memset(buf, 0xff, MASK_LEN);
	memcpy(p, ip, iplen);
	icrc_mask_ip(p);
	p += iplen;
	memcpy(p, udp, UDP_HDR_LEN);
	p[6] = p[7] = 0xff;	/* checksum */
	p += UDP_HDR_LEN;
	memcpy(p, bth, BTH_LEN);
	p[4] = 0xff;		/* FECN, BECN, reserved */
	p += BTH_LEN;
	return crc32_add(0, buf, (size_t)(p - buf));
}

uint32_t icrc_add(uint32_t crc, const void *buf, size_t len)
{
	return len ? crc32_add(crc, buf, len) : crc;
}

void icrc_put(void *p, uint32_t crc)
{
	put_le32(p, crc);
}

uint32_t icrc_get(const void *p)
{
	return get_le32(p);
}

/* a * b modulo the CRC's polynomial; bit 31 is the coefficient of x^0. */
static uint32_t icrc_poly_mul(uint32_t a, uint32_t b)
{
	uint32_t r = 0;

	for (; a; a <<= 1) {
		if (a & 0x80000000u)
			r ^= b;
		b = b >> 1 ^ (b & 1 ? CRC32_POLY : 0);
	}
	return r;
}

/*
 * A CRC is linear: the CRCs of two packets that differ only in the id differ by D = id * x^16 *
 * x^(8 * tail) modulo the CRC polynomial, with the id taken as a polynomial. x^16 stands for the
 * two bytes of the id, x^(8 * tail) for the bytes after it. D divided by these powers of x is the
 * id if its degree is below 16. If the degree is higher, no id explains the difference. To divide,
 * multiply by powers of 1/x = 0xdb710641, whose product with x is 1.
 */
bool icrc_explain_id(uint32_t crc, uint32_t got, size_t tail, uint16_t *id)
{
	const uint32_t inv_x = CRC32_POLY << 1 | 1;
	uint32_t diff = crc ^ got, step = inv_x;

	for (size_t bits = 8 * (tail + 2); bits; bits >>= 1) {
		if (bits & 1)
			diff = icrc_poly_mul(diff, step);
		step = icrc_poly_mul(step, step);
	}
	if (diff >> 16)
		return false;
	/*
	 * A CRC register has the first byte of the data in its low eight bits; the id is
	 * big-endian.
	 */
	*id = (uint16_t)(diff << 8 | diff >> 8);
	return true;
}
