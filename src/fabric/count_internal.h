/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RUSE_FABRIC_COUNT_INTERNAL_H
#define RUSE_FABRIC_COUNT_INTERNAL_H

#include "fabric/topo.h"

#define SLS 16
#define ERROR_COUNTERS 12		/* error counters of PortCounters, the first 12 bits of CounterSelect */

struct counters {
	uint64_t xmit_data, rcv_data, xmit_pkts, rcv_pkts;
	uint64_t ucast_xmit, ucast_rcv, mcast_xmit, mcast_rcv;
	uint64_t xmit_wait;
	uint32_t xmit_sl[SLS], rcv_sl[SLS];
	/*
	 * For data, packets (both directions) and PortXmitWait, PortCounters shows counter - base. A Set of PortCounters
	 * changes the base only, so PortCountersExtended keeps its values.
	 */
	uint64_t base[5];
	uint16_t error[ERROR_COUNTERS], qp1_dropped;
	uint16_t rcv_detail[6], discard_detail[4];
};

struct port;

/* The field of PortCounters that counters.error[i] is. */
enum perf_field count_field(uint32_t i);
/* Adds n to an error counter of PortCounters, which stops at its maximum. */
void count_error(struct port *p, enum perf_field counter, uint32_t n);
/* Adds 1 to a counter of an error details attribute, which stops at its maximum. */
void count_detail(uint16_t *detail);

#endif
