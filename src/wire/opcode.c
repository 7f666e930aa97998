/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Table of the BTH opcodes. A row gives name, segment type, flags and extended
 * headers. Lengths and offsets are computed from the headers, which in any packet are
 * in the order of enum hdr.
 */
#include <string.h>

#include "wire/opcode.h"

#define LEN_IF(hdrs, h, len) ((hdrs) & 1u << (h) ? (len) : 0)
#define LEN(hdrs)                                                              \
	(LEN_IF(hdrs, HDR_BTH, BTH_LEN) + LEN_IF(hdrs, HDR_DETH, DETH_LEN) +   \
	 LEN_IF(hdrs, HDR_FETH, FETH_LEN) + LEN_IF(hdrs, HDR_RETH, RETH_LEN) +     \
	 LEN_IF(hdrs, HDR_ATOMIC, ATOMIC_ETH_LEN) +                            \
	 LEN_IF(hdrs, HDR_AETH, AETH_LEN) +                                    \
	 LEN_IF(hdrs, HDR_ATOMIC_ACK, ATOMIC_ACK_ETH_LEN) +                    \
	 LEN_IF(hdrs, HDR_IMM, IMM_LEN) + LEN_IF(hdrs, HDR_IETH, IETH_LEN))
#define OFF(hdrs, h) ((hdrs) & 1u << (h) ? LEN((hdrs) & ((1u << (h)) - 1)) : 0)

#define ROW(svc, op, typ, flg, hdr)                                            \
	[SEG_##svc << 5 | OP_##op] = {                                         \
		.name = #op,                                                   \
		.service = SEG_##svc,                                          \
		.type = SEG_##typ,                                             \
		.flags = (flg),                                                \
		.hdrs = BTH | (hdr),                                           \
		.hdr_len = LEN(BTH | (hdr)),                                   \
		.off = {                                                       \
			[HDR_DETH] = OFF(BTH | (hdr), HDR_DETH),               \
			[HDR_FETH] = OFF(BTH | (hdr), HDR_FETH),               \
			[HDR_RETH] = OFF(BTH | (hdr), HDR_RETH),               \
			[HDR_ATOMIC] = OFF(BTH | (hdr), HDR_ATOMIC),           \
			[HDR_AETH] = OFF(BTH | (hdr), HDR_AETH),               \
			[HDR_ATOMIC_ACK] = OFF(BTH | (hdr), HDR_ATOMIC_ACK),   \
			[HDR_IMM] = OFF(BTH | (hdr), HDR_IMM),                 \
			[HDR_IETH] = OFF(BTH | (hdr), HDR_IETH),               \
		},                                                             \
	}

#define BTH (1u << HDR_BTH)
#define DETH (1u << HDR_DETH)
#define FETH (1u << HDR_FETH)
#define RETH (1u << HDR_RETH)
#define ATOMIC (1u << HDR_ATOMIC)
#define AETH (1u << HDR_AETH)
#define ATOMIC_ACK (1u << HDR_ATOMIC_ACK)
#define IMM (1u << HDR_IMM)
#define IETH (1u << HDR_IETH)

#define FIRST OPF_START
#define MIDDLE OPF_MIDDLE
#define LAST OPF_END
#define ONLY (OPF_START | OPF_END)
#define SEND (OPF_REQ | OPF_PAYLOAD | OPF_SEND)
#define WRITE (OPF_REQ | OPF_PAYLOAD | OPF_WRITE)
#define READ_RESP (OPF_RESP | OPF_PAYLOAD | OPF_READ | OPF_ACK)
#define RECV OPF_RECV

static const struct opcode_info opcodes[0x80] = {
	ROW(RC, SEND_FIRST, SEND, SEND | FIRST | RECV, 0),
	ROW(RC, SEND_MIDDLE, SEND, SEND | MIDDLE, 0),
	ROW(RC, SEND_LAST, SEND, SEND | LAST, 0),
	ROW(RC, SEND_LAST_IMM, SEND_IMM, SEND | LAST, IMM),
	ROW(RC, SEND_ONLY, SEND, SEND | ONLY | RECV, 0),
	ROW(RC, SEND_ONLY_IMM, SEND_IMM, SEND | ONLY | RECV, IMM),
	ROW(RC, SEND_LAST_INV, SEND_INV, SEND | LAST, IETH),
	ROW(RC, SEND_ONLY_INV, SEND_INV, SEND | ONLY | RECV, IETH),
	ROW(RC, WRITE_FIRST, WRITE, WRITE | FIRST, RETH),
	ROW(RC, WRITE_MIDDLE, WRITE, WRITE | MIDDLE, 0),
	ROW(RC, WRITE_LAST, WRITE, WRITE | LAST, 0),
	ROW(RC, WRITE_LAST_IMM, WRITE_IMM, WRITE | LAST | RECV, IMM),
	ROW(RC, WRITE_ONLY, WRITE, WRITE | ONLY, RETH),
	ROW(RC, WRITE_ONLY_IMM, WRITE_IMM, WRITE | ONLY | RECV, RETH | IMM),
	ROW(RC, READ_REQ, READ_REQ, OPF_REQ | OPF_READ | ONLY, RETH),
	ROW(RC, READ_RESP_FIRST, READ_RESP, READ_RESP | FIRST, AETH),
	ROW(RC, READ_RESP_MIDDLE, READ_RESP, READ_RESP | MIDDLE, 0),
	ROW(RC, READ_RESP_LAST, READ_RESP, READ_RESP | LAST, AETH),
	ROW(RC, READ_RESP_ONLY, READ_RESP, READ_RESP | ONLY, AETH),
	ROW(RC, ACK, ACK, OPF_RESP | OPF_ACK | ONLY, AETH),
	ROW(RC, ATOMIC_ACK, ATOMIC_ACK, OPF_RESP | OPF_ATOMIC | OPF_ACK | ONLY, AETH | ATOMIC_ACK),
	ROW(RC, CMP_SWP, CMP_SWP, OPF_REQ | OPF_ATOMIC | ONLY, ATOMIC),
	ROW(RC, FETCH_ADD, FETCH_ADD, OPF_REQ | OPF_ATOMIC | ONLY, ATOMIC),
	ROW(RC, ATOMIC_WRITE, ATOMIC_WRITE, OPF_REQ | OPF_PAYLOAD | OPF_ATOMIC | ONLY, RETH),
	ROW(RC, FLUSH, FLUSH, OPF_REQ | ONLY, FETH | RETH),

	ROW(UC, SEND_FIRST, SEND, SEND | FIRST | RECV, 0),
	ROW(UC, SEND_MIDDLE, SEND, SEND | MIDDLE, 0),
	ROW(UC, SEND_LAST, SEND, SEND | LAST, 0),
	ROW(UC, SEND_LAST_IMM, SEND_IMM, SEND | LAST, IMM),
	ROW(UC, SEND_ONLY, SEND, SEND | ONLY | RECV, 0),
	ROW(UC, SEND_ONLY_IMM, SEND_IMM, SEND | ONLY | RECV, IMM),
	ROW(UC, WRITE_FIRST, WRITE, WRITE | FIRST, RETH),
	ROW(UC, WRITE_MIDDLE, WRITE, WRITE | MIDDLE, 0),
	ROW(UC, WRITE_LAST, WRITE, WRITE | LAST, 0),
	ROW(UC, WRITE_LAST_IMM, WRITE_IMM, WRITE | LAST | RECV, IMM),
	ROW(UC, WRITE_ONLY, WRITE, WRITE | ONLY, RETH),
	ROW(UC, WRITE_ONLY_IMM, WRITE_IMM, WRITE | ONLY | RECV, RETH | IMM),

	ROW(UD, SEND_ONLY, SEND, SEND | ONLY | RECV, DETH),
	ROW(UD, SEND_ONLY_IMM, SEND_IMM, SEND | ONLY | RECV, DETH | IMM),
};

const struct opcode_info *opcode_info(uint8_t opcode)
{
	if (opcode >= ARRAY_SIZE(opcodes) || !opcodes[opcode].name)
		return NULL;
	return &opcodes[opcode];
}

/*
 * Opcodes of a middle, first, last and only packet of a segment type. All four are the same for
 * types that always have one packet.
 */
static const uint8_t op_at[SEG_NTYPES][4] = {
	[SEG_SEND] = { OP_SEND_MIDDLE, OP_SEND_FIRST, OP_SEND_LAST, OP_SEND_ONLY },
	[SEG_SEND_IMM] = { OP_SEND_MIDDLE, OP_SEND_FIRST, OP_SEND_LAST_IMM, OP_SEND_ONLY_IMM },
	[SEG_SEND_INV] = { OP_SEND_MIDDLE, OP_SEND_FIRST, OP_SEND_LAST_INV, OP_SEND_ONLY_INV },
	[SEG_WRITE] = { OP_WRITE_MIDDLE, OP_WRITE_FIRST, OP_WRITE_LAST, OP_WRITE_ONLY },
	[SEG_WRITE_IMM] = { OP_WRITE_MIDDLE, OP_WRITE_FIRST, OP_WRITE_LAST_IMM, OP_WRITE_ONLY_IMM },
	[SEG_READ_REQ] = { OP_READ_REQ, OP_READ_REQ, OP_READ_REQ, OP_READ_REQ },
	[SEG_READ_RESP] = { OP_READ_RESP_MIDDLE, OP_READ_RESP_FIRST, OP_READ_RESP_LAST,
			    OP_READ_RESP_ONLY },
	[SEG_ACK] = { OP_ACK, OP_ACK, OP_ACK, OP_ACK },
	[SEG_CMP_SWP] = { OP_CMP_SWP, OP_CMP_SWP, OP_CMP_SWP, OP_CMP_SWP },
	[SEG_FETCH_ADD] = { OP_FETCH_ADD, OP_FETCH_ADD, OP_FETCH_ADD, OP_FETCH_ADD },
	[SEG_ATOMIC_ACK] = { OP_ATOMIC_ACK, OP_ATOMIC_ACK, OP_ATOMIC_ACK, OP_ATOMIC_ACK },
	[SEG_ATOMIC_WRITE] = { OP_ATOMIC_WRITE, OP_ATOMIC_WRITE, OP_ATOMIC_WRITE, OP_ATOMIC_WRITE },
	[SEG_FLUSH] = { OP_FLUSH, OP_FLUSH, OP_FLUSH, OP_FLUSH },
};

int opcode_of(enum seg_service service, enum seg_type type, bool start, bool end)
{
	uint32_t op;

	if ((unsigned int)service > SEG_UD || (unsigned int)type >= SEG_NTYPES)
		return -1;
	op = (uint32_t)service << 5 | op_at[type][start | end << 1];
	return opcode_info((uint8_t)op) ? (int)op : -1;
}

/* Bit mask of the opcodes that have all flags of `all` and none of `none`. */
static uint32_t opcode_with(uint32_t all, uint32_t none)
{
	uint32_t ops = 0;

	for (uint32_t i = 0; i < 32; i++) {
		const struct opcode_info *o = opcode_info((uint8_t)i);

		if (o && (o->flags & all) == all && !(o->flags & none))
			ops |= 1u << i;
	}
	return ops;
}

/* Compares names. word may have the specification's form: READ_RESPONSE_FIRST for READ_RESP_FIRST of the table. */
static bool opcode_same(const char *table, const char *word)
{
	static const char longer[] = "READ_RESPONSE", shorter[] = "READ_RESP";
	size_t n = sizeof(longer) - 1;

	if (!strncmp(word, longer, n))
		return !strncmp(table, shorter, sizeof(shorter) - 1) &&
		       !strcmp(table + sizeof(shorter) - 1, word + n);
	return !strcmp(table, word);
}

uint32_t opcode_set(const char *word)
{
	static const struct {
		const char *name;
		uint32_t all, none;
	} classes[] = {
		{ "SEND", OPF_SEND, 0 }, { "WRITE", OPF_WRITE, 0 }, { "READ", OPF_READ, 0 },
		{ "READ_RESPONSE", OPF_READ | OPF_RESP, 0 }, { "READ_RESP", OPF_READ | OPF_RESP, 0 },
		{ "READ_REQUEST", OPF_READ | OPF_REQ, 0 }, { "ATOMIC", OPF_ATOMIC, 0 },
		{ "REQUEST", OPF_REQ, 0 }, { "RESPONSE", OPF_RESP, 0 },
		{ "FIRST", OPF_START | OPF_PAYLOAD, OPF_END }, { "MIDDLE", OPF_MIDDLE, 0 },
		{ "LAST", OPF_END | OPF_PAYLOAD, OPF_START },
		{ "ONLY", OPF_START | OPF_END | OPF_PAYLOAD, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
		if (!strcmp(classes[i].name, word))
			return opcode_with(classes[i].all, classes[i].none);
	for (uint32_t i = 0; i < 32; i++) {
		const struct opcode_info *o = opcode_info((uint8_t)i);

		if (o && opcode_same(o->name, word))
			return 1u << i;
	}
	return 0;
}
