/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes charts of packets: whatever the packets are, each row is printed and drawn. The input is a row of records: two
 * bytes of length, a byte of flags, the bytes. They are a packet, to which addresses and an ICRC are added, or a whole frame.
 */
#include <stdio.h>
#include <string.h>
#include "fuzz.h"
#include "ladder/ladder.h"
#include "wire/frame.h"

#define FLAG_REVERSED 0x01 /* the other direction */
#define FLAG_SAME 0x02	   /* both ends have one address */
#define FLAG_LIVE 0x04	   /* the sender's QP number is known */
#define FLAG_CUT 0x08	   /* only half of it was captured */
#define FLAG_NOTE 0x10
#define FLAG_FRAME 0x80		/* the bytes are a frame; so are those that are too few for a packet */

static void fuzz_record(struct ladder *l, FILE *f, const uint8_t *data, uint32_t len, uint8_t flags,
			uint64_t ns)
{
	static const struct ladder_style style = { .columns = 60, .colour = true };
	struct seg_net net = { .hop_limit = 64 };
	uint8_t frame[FRAME_MAX];
	struct ladder_packet p = { .ns = ns,
				   .frame = frame,
				   .note = flags & FLAG_NOTE ? "fault: \033 dropped" : "",
				   .sqpn = flags & FLAG_LIVE ? 1 + (flags & 3u) : 0,
				   .pid = flags & FLAG_LIVE,
				   .comm = "<&\"'\033" };

	memset(net.sgid + 10, 0xff, 2);
	memset(net.dgid + 10, 0xff, 2);
	net.sgid[15] = flags & FLAG_REVERSED && !(flags & FLAG_SAME);
	net.dgid[15] = !(flags & FLAG_REVERSED) && !(flags & FLAG_SAME);
	if (len > PACKET_MAX)
		len = PACKET_MAX;
	if (flags & FLAG_FRAME || len < BTH_LEN) {
		memcpy(frame, data, len);
		p.len = len;
	} else {
		memcpy(frame + frame_head(&net), data, len);
		p.len = (uint32_t)frame_wrap(frame, &net, 49152, len);
	}
	p.caplen = flags & FLAG_CUT ? p.len / 2 : p.len;
	ladder_add(l, &p, f, &style);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ladder *l = ladder_new(64);
	FILE *f = fopen("/dev/null", "we");
	uint64_t ns = 0;

	REQUIRE(l && f);
	while (size >= 3) {
		uint32_t len = data[0] | (uint32_t)data[1] << 8;
		uint8_t flags = data[2];

		data += 3;
		size -= 3;
		if (len > size)
			len = (uint32_t)size;
		ns += flags * 1000u;
		fuzz_record(l, f, data, len, flags, ns);
		data += len;
		size -= len;
	}
	ladder_svg(l, f, "fuzz", true);
	REQUIRE(!ferror(f));
	fclose(f);
	ladder_free(l);
	return 0;
}
