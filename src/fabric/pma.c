/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Performance management agent (IBA 16.1). A table has one row per attribute, with
 * its counters in the order of CounterSelect's bits. Data counters have 64 bits.
 * Fields of an attribute stop at their maximum (C16-6). Clearing PortCounters keeps
 * PortCountersExtended: PortCounters shows the difference to a base value.
 */
#include <errno.h>
#include <string.h>
#include "fabric/fabric_internal.h"

#define MAX_COUNTERS 18

enum kind {
	KIND_COUNTERS,
	KIND_EXT,
	KIND_RCV_ERROR,
	KIND_DISCARD,
	KIND_XMIT_SL,
	KIND_RCV_SL,
	KIND_NEVER,	/* always 0: the fabric simulates no flow control */
};

static const enum perf_field classic[MAX_COUNTERS] = {
	PC_SYMBOL_ERROR, PC_LINK_ERROR_RECOVERY, PC_LINK_DOWNED, PC_RCV_ERRORS,
	PC_RCV_REMOTE_PHYSICAL_ERRORS, PC_RCV_SWITCH_RELAY_ERRORS, PC_XMIT_DISCARDS,
	PC_XMIT_CONSTRAINT_ERRORS, PC_RCV_CONSTRAINT_ERRORS, PC_LOCAL_LINK_INTEGRITY_ERRORS,
	PC_EXCESSIVE_BUFFER_OVERRUN_ERRORS, PC_VL15_DROPPED, PC_XMIT_DATA, PC_RCV_DATA,
	PC_XMIT_PKTS, PC_RCV_PKTS,
	/* CounterSelect2 */
	PC_XMIT_WAIT, PC_QP1_DROPPED,
};

static const struct pma_attr {
	uint16_t attr;
	uint8_t count;
	enum kind kind;
	enum perf_field first;	/* field of the first counter; the others follow it. PortCounters uses classic[] instead */
} pma_attrs[] = {
	{ PERF_ATTR_COUNTERS, MAX_COUNTERS, KIND_COUNTERS, PC_SYMBOL_ERROR },
	{ PERF_ATTR_COUNTERS_EXT, 8, KIND_EXT, PX_XMIT_DATA },
	{ PERF_ATTR_RCV_ERROR_DETAILS, 6, KIND_RCV_ERROR, PR_LOCAL_PHYSICAL_ERRORS },
	{ PERF_ATTR_XMIT_DISCARD_DETAILS, 4, KIND_DISCARD, PD_INACTIVE_DISCARDS },
	{ PERF_ATTR_XMIT_DATA_SL, SLS, KIND_XMIT_SL, PS_DATA_SL0 },
	{ PERF_ATTR_RCV_DATA_SL, SLS, KIND_RCV_SL, PS_DATA_SL0 },
	{ PERF_ATTR_FLOW_CTL_COUNTERS, 0, KIND_NEVER, PC_SYMBOL_ERROR },
	{ PERF_ATTR_VL_XMIT_FLOW_CTL_ERRORS, 0, KIND_NEVER, PC_SYMBOL_ERROR },
	{ PERF_ATTR_VL_XMIT_WAIT, 0, KIND_NEVER, PC_SYMBOL_ERROR },
};

enum perf_field count_field(uint32_t i)
{
	return classic[i];
}

void count_error(struct port *p, enum perf_field counter, uint32_t n)
{
	for (uint32_t i = 0; i < ERROR_COUNTERS; i++)
		if (classic[i] == counter) {
			uint32_t top = (1u << perf_width(counter)) - 1, v = p->c.error[i];

			p->c.error[i] = (uint16_t)min((uint64_t)v + n, (uint64_t)top);
		}
}

/* A 64-bit counter by its index: 0 to 7 are those of PortCountersExtended, 8 is PortXmitWait. */
static uint64_t *counter_wide(struct counters *c, uint32_t i)
{
	uint64_t *const all[] = {
		&c->xmit_data,	&c->rcv_data,	&c->xmit_pkts, &c->rcv_pkts,  &c->ucast_xmit,
		&c->ucast_rcv,	&c->mcast_xmit, &c->mcast_rcv, &c->xmit_wait,
	};

	return all[i];
}

/* The counter with bit i of PortCounters' CounterSelect, which must be one of the five with a base. *base: its base. */
static uint64_t *counter_based(struct counters *c, uint32_t i, uint64_t **base)
{
	uint32_t n = i - ERROR_COUNTERS;

	*base = &c->base[n];
	return counter_wide(c, n < 4 ? n : 8);
}

static uint64_t counter_get(struct counters *c, enum kind kind, uint32_t i)
{
	uint64_t *v, *base;

	switch (kind) {
	case KIND_COUNTERS:
		if (i < ERROR_COUNTERS)
			return c->error[i];
		if (i == MAX_COUNTERS - 1)
			return c->qp1_dropped;
		v = counter_based(c, i, &base);
		return *v - *base;
	case KIND_EXT:
		return *counter_wide(c, i);
	case KIND_RCV_ERROR:
		return c->rcv_detail[i];
	case KIND_DISCARD:
		return c->discard_detail[i];
	case KIND_XMIT_SL:
		return c->xmit_sl[i];
	case KIND_RCV_SL:
		return c->rcv_sl[i];
	case KIND_NEVER:
		break;
	}
	return 0;
}

static void counter_set(struct counters *c, enum kind kind, uint32_t i, uint64_t to)
{
	uint64_t *v, *base;

	switch (kind) {
	case KIND_COUNTERS:
		if (i < ERROR_COUNTERS) {
			c->error[i] = (uint16_t)to;
		} else if (i == MAX_COUNTERS - 1) {
			c->qp1_dropped = (uint16_t)to;
		} else {
			v = counter_based(c, i, &base);
			*base = *v - to;
		}
		break;
	case KIND_EXT:
		v = counter_wide(c, i);
		if (i < 4)
			c->base[i] += to - *v;
		*v = to;
		break;
	case KIND_RCV_ERROR:
		c->rcv_detail[i] = (uint16_t)to;
		break;
	case KIND_DISCARD:
		c->discard_detail[i] = (uint16_t)to;
		break;
	case KIND_XMIT_SL:
		c->xmit_sl[i] = (uint32_t)to;
		break;
	case KIND_RCV_SL:
		c->rcv_sl[i] = (uint32_t)to;
		break;
	case KIND_NEVER:
		break;
	}
}

/* Field of the i-th counter; per-SL counters are an array of 32-bit fields. */
static uint64_t field_get(const uint8_t *d, const struct pma_attr *r, uint32_t i)
{
	if (r->first == PS_DATA_SL0)
		return perf_get(d + 4 * i, PS_DATA_SL0);
	return perf_get(d, r->kind == KIND_COUNTERS ? classic[i] : r->first + i);
}

/* Adds v to the field, up to its maximum: AllPortSelect gives the sum of all ports. */
static void field_add(uint8_t *d, const struct pma_attr *r, uint32_t i, uint64_t v)
{
	bool sl = r->first == PS_DATA_SL0;
	enum perf_field f = sl ? PS_DATA_SL0 :
			    r->kind == KIND_COUNTERS ? classic[i] : (enum perf_field)(r->first + i);
	uint64_t top = ~0ull >> (64 - perf_width(f)), have = field_get(d, r, i);

	perf_put(sl ? d + 4 * i : d, f, v > top - have ? top : have + v);
}

static bool counter_chosen(const uint8_t *in, const struct pma_attr *r, uint32_t i)
{
	uint64_t sel = perf_get(in, PC_COUNTER_SELECT);

	if (i >= 16)
		return perf_get(in, PC_COUNTER_SELECT2) >> (i - 16) & 1;
	return sel >> i & 1;
}

static void one_port(struct port *p, const struct pma_attr *r, const uint8_t *in, uint8_t *out,
		     bool set)
{
	for (uint32_t i = 0; i < r->count; i++) {
		if (set && counter_chosen(in, r, i))
			counter_set(&p->c, r->kind, i, field_get(in, r, i));
		field_add(out, r, i, counter_get(&p->c, r->kind, i));
	}
}

static uint16_t pma_counters(struct port *p, const struct pma_attr *r, const uint8_t *in,
			     uint8_t *out,
			     bool set)
{
	uint32_t sel = (uint32_t)perf_get(in, PC_PORT_SELECT);
	struct node *n = p->node;
	struct port *q = fabric_any_port(n->f, n->index, sel);

	if (!q && sel != PERF_ALL_PORTS)
		return MAD_STATUS_BAD_VALUE;
	if (sel != PERF_ALL_PORTS)
		one_port(q, r, in, out, set);
	for (uint32_t i = 1; sel == PERF_ALL_PORTS && i <= n->nports; i++)
		one_port(&n->ports[i], r, in, out, set);
	perf_put(out, PC_PORT_SELECT, sel);
	perf_put(out, PC_COUNTER_SELECT, perf_get(in, PC_COUNTER_SELECT));
	return 0;
}

static uint16_t class_port_info(uint8_t *out)
{
	perf_put(out, CPI_BASE_VERSION, 1);
	perf_put(out, CPI_CLASS_VERSION, 1);
	perf_put(out, CPI_CAPABILITY_MASK,
		 PERF_CAP_ALL_PORT_SELECT | PERF_CAP_EXT_WIDTH | PERF_CAP_XMIT_WAIT);
	perf_put(out, CPI_RESP_TIME_VALUE, RESP_TIME);
	return 0;
}

static uint16_t pma_run(struct port *p, const uint8_t *in, uint8_t *out)
{
	bool set = in[MAD_O_METHOD] == MAD_SET;

	if (in[MAD_O_BASE_VERSION] != MAD_BASE_VERSION || in[MAD_O_CLASS_VERSION] != 1)
		return MAD_STATUS_BAD_VERSION;
	memset(out + PERF_O_DATA, 0, PERF_DATA_LEN);
	if (mad_attr(in) == PERF_ATTR_CLASS_PORT_INFO && !set)
		return class_port_info(out + PERF_O_DATA);
	for (size_t i = 0; i < ARRAY_SIZE(pma_attrs); i++)
		if (pma_attrs[i].attr == mad_attr(in))
			return pma_counters(p, &pma_attrs[i], in + PERF_O_DATA, out + PERF_O_DATA,
					    set);
	return MAD_STATUS_BAD_METHOD_ATTR;
}

bool pma_process(struct port *p, const uint8_t *in, uint8_t *out)
{
	memcpy(out, in, MAD_LEN);
	put_be16(out + MAD_O_STATUS, pma_run(p, in, out));
	out[MAD_O_METHOD] = MAD_GET | MAD_RESP;
	return true;
}
