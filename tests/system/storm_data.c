/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The storm's messages. Message n of a direction follows from the connection's key and n, so its
 * receiver knows kind, length, immediate and contents:
 *
 *   M_SEND, M_SEND_IMM	in a receive buffer
 *   M_WRITE		a WRITE into slot n % CREDITS of the peer's area, then a short SEND
 *   M_WRITE_IMM	the same with immediate, without a SEND
 */
#include <stdio.h>
#include <string.h>
#include "storm.h"
#include "verbs.h"

struct plan plan(uint64_t seed, uint32_t n)
{
	uint64_t s = hash(seed + n * 0x10001ull);
	struct plan p = { .seed = s, .kind = (enum message)below(&s, M_KINDS) };

	switch (below(&s, 8)) {
	case 0:
		p.len = 0;
		break;
	case 1:
		p.len = SLOT;
		break;
	case 2:
	case 3:
		p.len = 1 + below(&s, SLOT);
		break;
	default:
		p.len = 1 + below(&s, 2000);
	}
	p.imm = below(&s, UINT32_MAX);
	p.note = 1 + below(&s, NOTE);
	p.read_back = below(&s, 3) == 0;
	p.read_fixed = below(&s, 4) == 0;
	p.add = below(&s, 4) == 0;
	return p;
}

void compare(uint64_t key, const char *what, uint32_t n, const uint8_t *found, uint32_t len,
	     uint64_t seed, uint32_t skip)
{
	static uint8_t want[FIXED > SLOT ? FIXED : SLOT];
	uint32_t wrong = 0;

	fill(want, skip + len, seed);
	if (!memcmp(found, want + skip, len))
		return;
	for (uint32_t i = 0; i < len; i++)
		if (found[i] != want[skip + i] && wrong++ < 16)
			fprintf(stderr, "byte %u: expected %02x, found %02x\n", i, want[skip + i],
				found[i]);
	die("wrong data: connection %#llx: %s %u: %u of %u bytes are wrong", (unsigned long long)key, what, n,
	    wrong, len);
}
