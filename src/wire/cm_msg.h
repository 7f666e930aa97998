/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages of the communication manager (IBA chapter 12): MADs of class 7, 256
 * bytes each. Fields are read and written by name, in host byte order; their offsets
 * are in wire/cm_fields.h. Accessors cannot fail; the CM (cm/) checks the values.
 */
#ifndef RUSE_WIRE_CM_MSG_H
#define RUSE_WIRE_CM_MSG_H

#include "base/util.h"
#include "wire/cm_fields.h"

#define CM_MAD_LEN 256
#define CM_HDR_LEN 24		/* common MAD header before the fields */
#define CM_CLASS_VERSION 2	/* IBA 12.6.1 */

/* Attribute of the MAD header; the kernel's CM_*_ATTR_ID. */
enum cm_attr {
	CM_ATTR_REQ = 0x10,
	CM_ATTR_MRA,
	CM_ATTR_REJ,
	CM_ATTR_REP,
	CM_ATTR_RTU,
	CM_ATTR_DREQ,
	CM_ATTR_DREP,
	CM_ATTR_SIDR_REQ,
	CM_ATTR_SIDR_REP,
	CM_ATTR_LAP,
	CM_ATTR_APR,
	CM_ATTR_END
};
#define CM_ATTR_COUNT (CM_ATTR_END - CM_ATTR_REQ)

/* Fields of up to 64 bits. */
enum cm_field {
#define X(name, byte, bit, width) CM_##name,
	CM_FIELDS(X)
#undef X
		CM_FIELD_COUNT
};

/* Offset from the start of the MAD, and length, of longer fields: CM_OFF_REQ_PRIVATE_DATA, ... */
enum cm_block_off {
#define X(name, byte, len) CM_OFF_##name = CM_HDR_LEN + (byte),
	CM_BLOCKS(X)
#undef X
};

enum cm_block_len {
#define X(name, byte, len) CM_LEN_##name = (len),
	CM_BLOCKS(X)
#undef X
};

/* The message that an MRA or REJ answers (IBA tables 107, 108). */
enum cm_msg_response {
	CM_MSG_RESPONSE_REQ,
	CM_MSG_RESPONSE_REP,
	CM_MSG_RESPONSE_OTHER
};

/* Variable fields of the MAD header. Fixed: base version 1, class 7, version 2, method Send. */
struct cm_hdr {
	uint64_t tid;
	uint16_t attr;		/* enum cm_attr; of a received MAD any value */
	uint32_t attr_mod;	/* 0; in REQ, REP, SIDR_REP the ECE attribute modifier */
};

/* Clears the whole MAD and writes its header. */
void cm_msg_init(uint8_t mad[CM_MAD_LEN], const struct cm_hdr *h);
/*
 * Reads the header. False if base version, class, class version or method are not
 * those of a CM message. The attribute is not checked.
 */
bool cm_msg_hdr(const uint8_t mad[CM_MAD_LEN], struct cm_hdr *h);

uint64_t cm_get(const uint8_t mad[CM_MAD_LEN], enum cm_field f);
/* Bits of v beyond the field's width are not written. */
void cm_set(uint8_t mad[CM_MAD_LEN], enum cm_field f, uint64_t v);

/* "REQ", "SIDR_REP", ...; "?" if unknown. */
const char *cm_attr_name(uint16_t attr);
/* Private data of a message, with the length of the whole field; NULL and 0: unknown attribute. */
const uint8_t *cm_msg_private_data(const uint8_t mad[CM_MAD_LEN], uint16_t attr, uint32_t *len);
/*
 * Prints one line: the message's name, then all fields that are not 0 as name=value
 * in hexadecimal. Truncates to size. Returns the length.
 */
int cm_msg_print(const uint8_t mad[CM_MAD_LEN], char *buf, size_t size);

#endif
