/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes packets: packet_build() must give back byte for byte what packet_parse() accepts, apart
 * from bits that are ignored. The same bytes are also used as a segment that a peer wrote into
 * shared memory: building and printing it must stay within the buffers, whatever its fields say.
 */
#include <stdlib.h>
#include <string.h>
#include "fuzz.h"
#include "wire/packet.h"

/*
 * Ignored: BTH MigReq, FECN, BECN and reserved bits; a reserved DETH byte; reserved FETH bits;
 * the pad.
 */
static void clear_ignored(uint8_t *p, size_t len, uint32_t pad)
{
	const struct opcode_info *op = opcode_info(p[0]);

	p[1] &= (uint8_t)~0x40;
	p[4] = 0;
	p[8] &= 0x80;
	if (opcode_has(op, HDR_DETH))
		p[op->off[HDR_DETH] + 4] = 0;
	if (opcode_has(op, HDR_FETH)) {
		uint8_t *feth = p + op->off[HDR_FETH];

		feth[0] = feth[1] = feth[2] = 0;
		feth[3] &= SEG_FETH_PLT | SEG_FETH_SEL;
	}
	memset(p + len - pad, 0, pad);
}

static void fuzz_packet(const uint8_t *data, size_t size)
{
	uint8_t in[PACKET_MAX], out[PACKET_MAX];
	char line[64];
	struct iovec iov;
	struct seg seg;
	uint32_t pad;
	int len;

	len = packet_print(data, size, line, sizeof(line));
	REQUIRE(len > 0 && strlen(line) == (size_t)len);
	if (packet_parse(data, size, &seg, &iov) != PACKET_OK)
		return;
	REQUIRE(size <= sizeof(in) && seg.npkts >= 1 && seg.len <= PACKET_MTU_MAX);
	len = packet_build(&seg, 0, out, sizeof(out), NULL);
	REQUIRE(len == (int)size);
	memcpy(in, data, size);
	pad = data[1] >> 4 & 3;
	REQUIRE(pad == (-seg.len & 3));
	clear_ignored(in, size, pad);
	clear_ignored(out, size, pad);
	REQUIRE(!memcmp(in, out, size));
}

static void fuzz_seg(const uint8_t *data, size_t size)
{
	uint8_t raw[sizeof(struct seg)] = { 0 }, out[PACKET_MAX];
	struct seg seg;
	int n;

	memcpy(raw, data, min(size, sizeof(raw)));
	memcpy(&seg, raw, sizeof(seg));
	seg.iov = NULL;
	seg.niov = 0;
	seg.pull = NULL;
	for (uint32_t i = 0; i < 2; i++) {
		n = packet_build(&seg, i, out, sizeof(out), NULL);
		REQUIRE(n < 0 || (n >= BTH_LEN && n <= PACKET_HDR_MAX));
	}
	n = packet_build(&seg, seg.npkts - 1, out, sizeof(out), NULL);
	REQUIRE(n < 0 || (n >= BTH_LEN && n <= PACKET_HDR_MAX));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_packet(data, size);
	fuzz_seg(data, size);
	return 0;
}
