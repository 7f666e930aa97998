/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The BTH opcodes as a table: type, flags and headers of each (IBA 9.2.1, table 38). */
#ifndef RUSE_WIRE_OPCODE_H
#define RUSE_WIRE_OPCODE_H

#include "wire/hdr.h"
#include "wire/seg.h"

/* Bits 4-0 of the opcode; bits 7-5 are enum seg_service. */
enum bth_op {
	OP_SEND_FIRST,
	OP_SEND_MIDDLE,
	OP_SEND_LAST,
	OP_SEND_LAST_IMM,
	OP_SEND_ONLY,
	OP_SEND_ONLY_IMM,
	OP_WRITE_FIRST,
	OP_WRITE_MIDDLE,
	OP_WRITE_LAST,
	OP_WRITE_LAST_IMM,
	OP_WRITE_ONLY,
	OP_WRITE_ONLY_IMM,
	OP_READ_REQ,
	OP_READ_RESP_FIRST,
	OP_READ_RESP_MIDDLE,
	OP_READ_RESP_LAST,
	OP_READ_RESP_ONLY,
	OP_ACK,
	OP_ATOMIC_ACK,
	OP_CMP_SWP,
	OP_FETCH_ADD,
	OP_SEND_LAST_INV = 0x16,
	OP_SEND_ONLY_INV = 0x17,
	OP_FLUSH = 0x1c,
	OP_ATOMIC_WRITE = 0x1d,
};

/* An enum, so that the compiler tells flags from opcodes. */
enum op_flags {
	OPF_START = 0x001,	/* first packet of a message */
	OPF_MIDDLE = 0x002,	/* neither first nor last */
	OPF_END = 0x004,	/* last packet of a message */
	OPF_REQ = 0x008,	/* goes to the responder */
	OPF_RESP = 0x010,	/* goes to the requester */
	OPF_PAYLOAD = 0x020,	/* may carry payload */
	OPF_RECV = 0x040,	/* consumes a receive WQE */
	OPF_SEND = 0x080,
	OPF_WRITE = 0x100,
	OPF_READ = 0x200,
	OPF_ATOMIC = 0x400,
	OPF_ACK = 0x800,	/* acknowledges a request; its PSN is the request's */
};

struct opcode_info {
	const char *name;	/* without the service: "SEND_ONLY"; NULL: no such opcode */
	uint8_t service;	/* enum seg_service */
	uint8_t type;		/* enum seg_type; *_FIRST and *_MIDDLE: of the message without immediate or IETH */
	uint16_t hdrs;		/* bit mask of enum hdr */
	uint8_t hdr_len;	/* bytes of all headers, from the BTH on */
	enum op_flags flags;
	uint8_t off[HDR_COUNT];	/* offset of each header; 0 if absent */
};

/* NULL for an opcode that is reserved or not supported (RD, CNP, XRC). */
const struct opcode_info *opcode_info(uint8_t opcode);
/*
 * Opcode of a packet of this service and type; start, end: it starts, ends the message.
 * -1: no such opcode, for example a READ on UD.
 */
int opcode_of(enum seg_service service, enum seg_type type, bool start, bool end);

/* What opcode_set() takes, for messages. */
#define OPCODE_SET_WORDS                                                        \
	"an opcode such as SEND_ONLY or a class: SEND, WRITE, READ, READ_REQUEST, READ_RESPONSE, ATOMIC, " \
	"REQUEST, RESPONSE, FIRST, MIDDLE, LAST, ONLY"
/* Bit mask of enum bth_op for an opcode without its service, also in the specification's form, or a class. 0: unknown. */
uint32_t opcode_set(const char *word);

static inline bool opcode_has(const struct opcode_info *op, enum hdr h)
{
	return op->hdrs & 1u << h;
}

#endif
