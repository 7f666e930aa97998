/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages of the communication manager (IBA chapter 12): MADs of class 7, 256
 * bytes each. A field is read and written by its name, in host byte order;
 * wire/cm_fields.h has their places. Nothing here can fail on a whole MAD:
 * whether the values make sense is the CM's business (cm/).
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

/* Offset from the start of the MAD, and length, of what is longer: CM_OFF_REQ_PRIVATE_DATA... */
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

/* Which message a MRA or REJ answers (IBA tables 107, 108). */
enum cm_msg_response {
	CM_MSG_RESPONSE_REQ,
	CM_MSG_RESPONSE_REP,
	CM_MSG_RESPONSE_OTHER
};

/* Common MAD header of a CM message; base version 1, class 7, class version 2, method SEND. */
struct cm_hdr {
	uint64_t tid;
	uint16_t attr;		/* enum cm_attr, or anything when it was received */
	uint32_t attr_mod;	/* 0; ECE's in REQ, REP, SIDR_REP */
};

/* Clears the whole MAD and writes its header. */
void cm_msg_init(uint8_t mad[CM_MAD_LEN], const struct cm_hdr *h);
/*
 * Reads the header. False if this is no message of the CM: another class, base
 * or class version, or method than SEND. The attribute may still be unknown.
 */
bool cm_msg_hdr(const uint8_t mad[CM_MAD_LEN], struct cm_hdr *h);

uint64_t cm_get(const uint8_t mad[CM_MAD_LEN], enum cm_field f);
/* Bits of v beyond the field's width are not written. */
void cm_set(uint8_t mad[CM_MAD_LEN], enum cm_field f, uint64_t v);

/* "REQ", "SIDR_REP"; "?" for what is none. */
const char *cm_attr_name(uint16_t attr);
/* Private data of this attribute in the MAD, its whole length to *len; NULL and 0: unknown attribute. */
const uint8_t *cm_msg_private_data(const uint8_t mad[CM_MAD_LEN], uint16_t attr, uint32_t *len);
/*
 * One line: the message's name, then its fields that are not 0 as name=value in
 * hexadecimal. Returns the length; what does not fit is cut off.
 */
int cm_msg_print(const uint8_t mad[CM_MAD_LEN], char *buf, size_t size);

#endif
