/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Management datagrams: the common header (IBA 13.4.3), the RMPP header (13.6.2) and
 * the headers of classes: offsets, values, names. A MAD is kept as its 256 bytes on
 * the wire.
 */
#ifndef RUSE_WIRE_MAD_H
#define RUSE_WIRE_MAD_H

#include "wire/be.h"

#define MAD_LEN 256
#define MAD_BASE_VERSION 1
#define LID_PERMISSIVE 0xffff /* LID not known; as DrSLID or DrDLID: no LID-routed part (IBA 4.1.3) */

/* Offsets. */
enum mad_off {
	MAD_O_BASE_VERSION = 0,
	MAD_O_CLASS = 1,
	MAD_O_CLASS_VERSION = 2,
	MAD_O_METHOD = 3,
	MAD_O_STATUS = 4,	/* be16; directed route: bit 15 is the direction */
	MAD_O_CLASS_SPECIFIC = 6, /* be16; directed route: hop pointer, hop count */
	MAD_O_TID = 8,		/* be64 */
	MAD_O_ATTR = 16,	/* be16 */
	MAD_O_ATTR_MOD = 20,	/* be32 */
	MAD_HDR_LEN = 24,
	RMPP_O_VERSION = 24,
	RMPP_O_TYPE = 25,
	RMPP_O_RTIME_FLAGS = 26,
	RMPP_O_STATUS = 27,
	RMPP_O_SEG = 28,	/* be32 */
	RMPP_O_LEN_WIN = 32,	/* be32: DATA: payload length; ACK: new window last */
	RMPP_HDR_LEN = 36,
	VENDOR_O_OUI = 37,	/* 3 bytes; vendor classes 0x30 to 0x4f */
	VENDOR_HDR_LEN = 40,
	SA_O_SM_KEY = 36,	/* be64 */
	SA_O_ATTR_OFFSET = 44,	/* be16, in units of 8 bytes */
	SA_O_COMP_MASK = 48,	/* be64 */
	SA_HDR_LEN = 56,
	DEV_HDR_LEN = 64,	/* device management and administration, BIS */
	SMP_O_MKEY = 24,	/* be64 */
	SMP_O_DR_SLID = 32,	/* be16 */
	SMP_O_DR_DLID = 34,	/* be16 */
	SMP_O_DATA = 64,
	SMP_O_INITIAL_PATH = 128, /* 64 bytes */
	SMP_O_RETURN_PATH = 192, /* 64 bytes */
};

enum mad_class {
	MAD_CLASS_SUBN_LID = 0x01,
	MAD_CLASS_SUBN_ADM = 0x03,
	MAD_CLASS_PERF = 0x04,
	MAD_CLASS_BM = 0x05,
	MAD_CLASS_DEVICE = 0x06,
	MAD_CLASS_CM = 0x07,
	MAD_CLASS_SNMP = 0x08,
	MAD_CLASS_VENDOR_1 = 0x09,	/* to 0x0f, without OUI */
	MAD_CLASS_DEVICE_ADM = 0x10,
	MAD_CLASS_BOOT = 0x11,
	MAD_CLASS_BIS = 0x12,
	MAD_CLASS_CC = 0x21,
	MAD_CLASS_VENDOR_2 = 0x30,	/* to VENDOR_2_END, with OUI and RMPP */
	MAD_CLASS_VENDOR_2_END = 0x4f,
	MAD_CLASS_SUBN_DR = 0x81,
};

enum mad_method {
	MAD_GET = 0x01,
	MAD_SET = 0x02,
	MAD_SEND = 0x03,
	MAD_TRAP = 0x05,
	MAD_REPORT = 0x06,
	MAD_TRAP_REPRESS = 0x07,
	MAD_GET_TABLE = 0x12,		/* SA */
	MAD_GET_TRACE_TABLE = 0x13,	/* SA */
	MAD_GET_MULTI = 0x14,		/* SA */
	MAD_DELETE = 0x15,		/* SA */
	MAD_RESP = 0x80,		/* bit */
};

#define MAD_ATTR_CLASS_PORT_INFO 0x0001
#define MAD_BM_ATTR_MOD_RESP 1u		/* baseboard management: bit that marks a response */
#define MAD_STATUS_BUSY 0x0001
#define MAD_STATUS_BAD_VERSION 0x0004	/* class or its version not supported (IBA 13.4.7) */
#define MAD_STATUS_BAD_METHOD 0x0008
#define MAD_STATUS_BAD_METHOD_ATTR 0x000c
#define MAD_STATUS_BAD_VALUE 0x001c
#define SMP_DIRECTION 0x8000

#define RMPP_VERSION 1
#define RMPP_DATA_LEN (MAD_LEN - RMPP_HDR_LEN)	/* the class header and the data, which PayloadLength counts */

enum rmpp_type { RMPP_NONE, RMPP_DATA, RMPP_ACK, RMPP_STOP, RMPP_ABORT };

#define RMPP_F_ACTIVE 1
#define RMPP_F_FIRST 2
#define RMPP_F_LAST 4
#define RMPP_FLAGS 7			/* the upper five bits are the response time */

/* IBA 13.6.2.5 and table 113 */
enum rmpp_status {
	RMPP_ST_OK = 0,
	RMPP_ST_RESX = 1,	/* resources exhausted; the only code in a STOP */
	RMPP_ST_T2L = 118,	/* total time too long */
	RMPP_ST_BAD_LEN = 119,	/* flag Last and payload length are inconsistent */
	RMPP_ST_BAD_SEG = 120,	/* flag First and segment number are inconsistent */
	RMPP_ST_BADT = 121,	/* bad type */
	RMPP_ST_W2S = 122,	/* new window last too small */
	RMPP_ST_S2B = 123,	/* segment number too big */
	RMPP_ST_BAD_STATUS = 124, /* illegal status */
	RMPP_ST_UNV = 125,	/* unsupported version */
	RMPP_ST_TMR = 126,	/* too many retries */
	RMPP_ST_UNSPEC = 127,
	RMPP_ST_ABORT_MIN = RMPP_ST_T2L,
	RMPP_ST_ABORT_MAX = RMPP_ST_UNSPEC,
};

static inline uint64_t mad_tid(const uint8_t *mad)
{
	return get_be64(mad + MAD_O_TID);
}

static inline uint16_t mad_attr(const uint8_t *mad)
{
	return get_be16(mad + MAD_O_ATTR);
}

/* True for a response, which is matched by transaction id (the kernel's ib_response_mad()). */
bool mad_is_response(const uint8_t *mad);
/* Classes whose MADs have an RMPP header. */
bool mad_class_has_rmpp(uint8_t mgmt_class);
/* Vendor classes whose MADs have an OUI. */
bool mad_class_has_oui(uint8_t mgmt_class);
/* Bytes before the class's data: 24, 40, 56 or 64 (the kernel's ib_get_mad_data_offset()). */
uint32_t mad_hdr_len(uint8_t mgmt_class);

/* Names as in the specification; NULL: unknown. */
const char *mad_class_name(uint8_t mgmt_class);
const char *mad_method_name(uint8_t mgmt_class, uint8_t method);
const char *mad_attr_name(uint8_t mgmt_class, uint16_t attr);
const char *rmpp_type_name(uint8_t type);
const char *rmpp_status_name(uint8_t status);

/* Prints one line, "CM ConnectRequest Send tid 0x..."; len: bytes in mad. Returns its length. */
int mad_print(const void *mad, size_t len, char *out, size_t size);

#endif
