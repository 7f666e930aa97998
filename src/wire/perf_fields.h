/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fields of the supported attributes of performance management (IBA 16.1.3) and of
 * ClassPortInfo (13.4.8.1): X(name, byte, bit, width) as in wire/smp_fields.h. Fields
 * with the same place in all attributes (PortSelect, CounterSelect) have one row. Of an
 * array of counters the first one has a row.
 */
#ifndef RUSE_WIRE_PERF_FIELDS_H
#define RUSE_WIRE_PERF_FIELDS_H

#define PERF_FIELDS(X) \
	/* ClassPortInfo */ \
	X(CPI_BASE_VERSION, 0, 0, 8) \
	X(CPI_CLASS_VERSION, 1, 0, 8) \
	X(CPI_CAPABILITY_MASK, 2, 0, 16) \
	X(CPI_CAPABILITY_MASK2, 4, 0, 27) \
	X(CPI_RESP_TIME_VALUE, 7, 3, 5) \
	X(CPI_REDIRECT_TC, 24, 0, 8) \
	X(CPI_REDIRECT_SL, 25, 0, 4) \
	X(CPI_REDIRECT_FL, 25, 4, 20) \
	X(CPI_REDIRECT_LID, 28, 0, 16) \
	X(CPI_REDIRECT_P_KEY, 30, 0, 16) \
	X(CPI_REDIRECT_QP, 33, 0, 24) \
	X(CPI_REDIRECT_Q_KEY, 36, 0, 32) \
	X(CPI_TRAP_TC, 56, 0, 8) \
	X(CPI_TRAP_SL, 57, 0, 4) \
	X(CPI_TRAP_FL, 57, 4, 20) \
	X(CPI_TRAP_LID, 60, 0, 16) \
	X(CPI_TRAP_P_KEY, 62, 0, 16) \
	X(CPI_TRAP_HL, 64, 0, 8) \
	X(CPI_TRAP_QP, 65, 0, 24) \
	X(CPI_TRAP_Q_KEY, 68, 0, 32) \
	/* all port counters */ \
	X(PC_PORT_SELECT, 1, 0, 8) \
	X(PC_COUNTER_SELECT, 2, 0, 16) \
	/* PortCounters, 16.1.3.5 */ \
	X(PC_SYMBOL_ERROR, 4, 0, 16) \
	X(PC_LINK_ERROR_RECOVERY, 6, 0, 8) \
	X(PC_LINK_DOWNED, 7, 0, 8) \
	X(PC_RCV_ERRORS, 8, 0, 16) \
	X(PC_RCV_REMOTE_PHYSICAL_ERRORS, 10, 0, 16) \
	X(PC_RCV_SWITCH_RELAY_ERRORS, 12, 0, 16) \
	X(PC_XMIT_DISCARDS, 14, 0, 16) \
	X(PC_XMIT_CONSTRAINT_ERRORS, 16, 0, 8) \
	X(PC_RCV_CONSTRAINT_ERRORS, 17, 0, 8) \
	X(PC_COUNTER_SELECT2, 18, 0, 8) \
	X(PC_LOCAL_LINK_INTEGRITY_ERRORS, 19, 0, 4) \
	X(PC_EXCESSIVE_BUFFER_OVERRUN_ERRORS, 19, 4, 4) \
	X(PC_QP1_DROPPED, 20, 0, 16) \
	X(PC_VL15_DROPPED, 22, 0, 16) \
	X(PC_XMIT_DATA, 24, 0, 32) \
	X(PC_RCV_DATA, 28, 0, 32) \
	X(PC_XMIT_PKTS, 32, 0, 32) \
	X(PC_RCV_PKTS, 36, 0, 32) \
	X(PC_XMIT_WAIT, 40, 0, 32) \
	/* PortCountersExtended, 16.1.4.11 */ \
	X(PX_XMIT_DATA, 8, 0, 64) \
	X(PX_RCV_DATA, 16, 0, 64) \
	X(PX_XMIT_PKTS, 24, 0, 64) \
	X(PX_RCV_PKTS, 32, 0, 64) \
	X(PX_UNICAST_XMIT_PKTS, 40, 0, 64) \
	X(PX_UNICAST_RCV_PKTS, 48, 0, 64) \
	X(PX_MULTICAST_XMIT_PKTS, 56, 0, 64) \
	X(PX_MULTICAST_RCV_PKTS, 64, 0, 64) \
	/* PortRcvErrorDetails, 16.1.4.1 */ \
	X(PR_LOCAL_PHYSICAL_ERRORS, 4, 0, 16) \
	X(PR_MALFORMED_PACKET_ERRORS, 6, 0, 16) \
	X(PR_BUFFER_OVERRUN_ERRORS, 8, 0, 16) \
	X(PR_DLID_MAPPING_ERRORS, 10, 0, 16) \
	X(PR_VL_MAPPING_ERRORS, 12, 0, 16) \
	X(PR_LOOPING_ERRORS, 14, 0, 16) \
	/* PortXmitDiscardDetails, 16.1.4.2 */ \
	X(PD_INACTIVE_DISCARDS, 4, 0, 16) \
	X(PD_NEIGHBOR_MTU_DISCARDS, 6, 0, 16) \
	X(PD_SW_LIFETIME_LIMIT_DISCARDS, 8, 0, 16) \
	X(PD_SW_HOQ_LIFETIME_LIMIT_DISCARDS, 10, 0, 16) \
	/* PortXmitDataSL and PortRcvDataSL: 16 counters */ \
	X(PS_DATA_SL0, 4, 0, 32)

#endif
