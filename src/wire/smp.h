/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Attributes of subnet management, LID-routed and directed-route (IBA 14.2.1), and of
 * performance management (16.1): numbers and fields. An attribute is 64 bytes at
 * SMP_O_DATA of an SMP, or 192 bytes at PERF_O_DATA. The accessors take a pointer to
 * the attribute, so that it can also be stored without the MAD.
 */
#ifndef RUSE_WIRE_SMP_H
#define RUSE_WIRE_SMP_H

#include "wire/mad.h"
#include "wire/perf_fields.h"
#include "wire/smp_fields.h"

#define SMP_DATA_LEN 64
#define PERF_O_DATA 64
#define PERF_DATA_LEN 192
#define SMP_MAX_HOPS 63		/* entry 0 of a path is not used (IBA C14-6) */
#define LID_MCAST 0xc000	/* first multicast LID; unicast: 1 to LID_MCAST - 1 */

enum ib_smp_off {
	SMP_O_HOP_POINTER = 6,
	SMP_O_HOP_COUNT = 7,
};

enum ib_smp_attr {
	SMP_ATTR_NOTICE = 0x02,
	SMP_ATTR_NODE_DESC = 0x10,
	SMP_ATTR_NODE_INFO = 0x11,
	SMP_ATTR_SWITCH_INFO = 0x12,
	SMP_ATTR_GUID_INFO = 0x14,
	SMP_ATTR_PORT_INFO = 0x15,
	SMP_ATTR_PKEY_TABLE = 0x16,
	SMP_ATTR_SLTOVL = 0x17,
	SMP_ATTR_VLARB = 0x18,
	SMP_ATTR_LFT = 0x19,
	SMP_ATTR_RFT = 0x1a,
	SMP_ATTR_MFT = 0x1b,
	SMP_ATTR_SM_INFO = 0x20,
	SMP_ATTR_LED_INFO = 0x31,
	SMP_ATTR_MLNX_EXT_PORT_INFO = 0xff90,
};

enum perf_attr {
	PERF_ATTR_CLASS_PORT_INFO = 0x01,
	PERF_ATTR_COUNTERS = 0x12,
	PERF_ATTR_RCV_ERROR_DETAILS = 0x15,
	PERF_ATTR_XMIT_DISCARD_DETAILS = 0x16,
	PERF_ATTR_FLOW_CTL_COUNTERS = 0x18,
	PERF_ATTR_VL_XMIT_FLOW_CTL_ERRORS = 0x1b,
	PERF_ATTR_VL_XMIT_WAIT = 0x1c,
	PERF_ATTR_COUNTERS_EXT = 0x1d,
	PERF_ATTR_XMIT_DATA_SL = 0x36,
	PERF_ATTR_RCV_DATA_SL = 0x37,
};

/* Number of entries in a block: the 64 bytes of an attribute such as GUIDInfo, which has a part of a longer table. */
#define SMP_GUIDS 8
#define SMP_PKEYS 32
#define SMP_LFT_PORTS 64
#define SMP_MFT_MASKS 32
#define SMP_SLTOVL_LEN 8
#define SMP_LFT_NONE 255	/* no port: packets to this LID are discarded */

/* ClassPortInfo:CapabilityMask of performance management */
#define PERF_CAP_ALL_PORT_SELECT 0x0100
#define PERF_CAP_EXT_WIDTH 0x0200
#define PERF_CAP_XMIT_WAIT 0x1000
#define PERF_ALL_PORTS 0xff

enum node_type { NODE_CA = 1, NODE_SWITCH, NODE_ROUTER };

/* PortInfo:PortState; PORT_NOP occurs in Set only */
enum port_state { PORT_NOP, PORT_DOWN, PORT_INIT, PORT_ARMED, PORT_ACTIVE };

/* PortInfo:PortPhysicalState. PortInfo:LinkDownDefaultState takes PHYS_NOP, _SLEEP and _POLLING only. */
enum phys_state {
	PHYS_NOP, PHYS_SLEEP, PHYS_POLLING, PHYS_DISABLED, PHYS_TRAINING, PHYS_LINK_UP,
	PHYS_RECOVERY,
};

/* PortInfo:CapabilityMask */
#define PORT_CAP_SM 0x00000002u
#define PORT_CAP_TRAP 0x00000008u
#define PORT_CAP_SL_MAPPING 0x00000040u
#define PORT_CAP_LED_INFO 0x00000200u
#define PORT_CAP_SM_DISABLED 0x00000400u
#define PORT_CAP_SYSTEM_IMAGE_GUID 0x00000800u
#define PORT_CAP_EXT_SPEEDS 0x00004000u
#define PORT_CAP_CAP_MASK2 0x00008000u
#define PORT_CAP_CM 0x00010000u
#define PORT_CAP_CAP_NOTICE 0x00400000u
#define PORT_CAP_CLIENT_REREGISTER 0x02000000u
#define PORT_CAP_OTHER_LOCAL_CHANGES 0x04000000u
/* PortInfo:CapabilityMask2 */
#define PORT_CAP2_WIDTH_2X 0x0010
#define PORT_CAP2_SPEED_HDR 0x0020

#define LINK_WIDTH_SET_LWS 255		/* LinkWidthEnabled: all supported widths */
#define LINK_SPEED_SET_LSS 15
#define LINK_SPEED_EXT_NONE 30		/* LinkSpeedExtEnabled: no extended speed */
#define LINK_SPEED_EXT_SET_LSES 31

/* Trap numbers of subnet management */
#define TRAP_LINK_STATE 128
#define TRAP_CAP_MASK 144
#define TRAP_BAD_M_KEY 256
/* Notice types (NT_TYPE). */
#define NOTICE_URGENT 1
#define NOTICE_SECURITY 2
#define NOTICE_INFO 4

#define X(name, byte, bit, width) name,
enum ib_smp_field { SMP_FIELDS(X) SMP_FIELD_COUNT };
enum perf_field { PERF_FIELDS(X) PERF_FIELD_COUNT };
#undef X

/* data: start of the attribute. *_put() ignores bits of v beyond the field's width. */
uint64_t ib_smp_get(const uint8_t *data, enum ib_smp_field f);
void ib_smp_put(uint8_t *data, enum ib_smp_field f, uint64_t v);
uint64_t perf_get(const uint8_t *data, enum perf_field f);
void perf_put(uint8_t *data, enum perf_field f, uint64_t v);
uint8_t perf_width(enum perf_field f);	/* width of the field in bits */

/* Formats a request with an empty attribute; class version 1. */
void ib_smp_init(uint8_t smp[MAD_LEN], uint8_t mgmt_class, uint8_t method, uint16_t attr,
		 uint32_t mod,
		 uint64_t tid);

#endif
