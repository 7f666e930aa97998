/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "wire/aeth.h"
#include "wire/seg.h"

#define RNR_CODE_MASK 0x1f
#define TIMEOUT_MASK 0x1f

/*
 * RNR NAK wait of each timer code (IBA table 46), in units of 10 us. Code 25 is 61.44 ms; kernel
 * rxe waits 61.41 ms, which has no effect on interoperation.
 */
static const uint32_t rnr_10us[RNR_CODE_MASK + 1] = {
	65536, 1,    2,	   3,	 4,    6,    8,	   12,	 16,   24,   32,
	48,    64,   96,   128,	 192,  256,  384,  512,	 768,  1024, 1536,
	2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};

ns_t aeth_rnr_ns(uint8_t code)
{
	return rnr_10us[code & RNR_CODE_MASK] * 10 * NS_US;
}

ns_t ack_timeout_ns(uint8_t code)
{
	code &= TIMEOUT_MASK;
	return code ? 4096LL << code : NS_NEVER;
}

const char *aeth_syndrome_name(uint8_t syndrome)
{
	switch (syndrome & AETH_TYPE_MASK) {
	case AETH_ACK:
		return "ack";
	case AETH_RNR_NAK:
		return "rnr_nak";
	case AETH_NAK:
		break;
	default:
		return "reserved";
	}
	switch (syndrome) {
	case AETH_NAK_PSN_SEQ:
		return "nak psn_seq";
	case AETH_NAK_INV_REQ:
		return "nak inv_req";
	case AETH_NAK_REM_ACC:
		return "nak rem_acc";
	case AETH_NAK_REM_OP:
		return "nak rem_op";
	default:
		return "nak reserved";
	}
}
