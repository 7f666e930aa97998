/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Subnet management agent (IBA 14.2): checks the M_Key, then calls the handler of the attribute. If the request is a Set,
 * the handler first changes the attribute. For a Get and a Set it writes the attribute to req.out. It returns the MAD status;
 * if that is not 0, nothing was changed.
 */
#include <stdlib.h>
#include <string.h>
#include "fabric/fabric_internal.h"

#define MLNX_OUI 0x2c9
#define MLNX_OUI2 0x1405
#define LFT_BLOCKS (LFT_CAP / SMP_LFT_PORTS)
#define MFT_BLOCKS (MFT_CAP / SMP_MFT_MASKS)

struct req {
	struct port *p;		/* port that has received the request */
	struct port *mgmt;
	struct node *n;
	const uint8_t *smp;
	const uint8_t *in;	/* attribute data of the request */
	uint8_t *out;
	uint32_t mod;
	bool set;
	ns_t now;
};

/* The port with the number num of the attribute modifier. At an HCA, 0 stands for the port that has received the request. */
static struct port *req_port(const struct req *r, uint32_t num)
{
	if (!is_switch(r->n) && !num)
		return r->p;
	return fabric_any_port(r->n->f, r->n->index, num);
}

static uint16_t node_desc(struct req *r)
{
	memcpy(r->out, r->n->desc, SMP_DATA_LEN);
	return 0;
}

static uint16_t node_info(struct req *r)
{
	const struct node *n = r->n;

	ib_smp_put(r->out, NI_BASE_VERSION, 1);
	ib_smp_put(r->out, NI_CLASS_VERSION, 1);
	ib_smp_put(r->out, NI_NODE_TYPE, n->type);
	ib_smp_put(r->out, NI_NUM_PORTS, n->nports);
	ib_smp_put(r->out, NI_SYSTEM_IMAGE_GUID, n->sysimgguid);
	ib_smp_put(r->out, NI_NODE_GUID, n->guid);
	ib_smp_put(r->out, NI_PORT_GUID, r->mgmt->guid);
	ib_smp_put(r->out, NI_PARTITION_CAP, HOST_PKEYS);
	ib_smp_put(r->out, NI_DEVICE_ID, n->devid);
	ib_smp_put(r->out, NI_LOCAL_PORT_NUM, r->p->num);
	ib_smp_put(r->out, NI_VENDOR_ID, n->vendid);
	return 0;
}

static uint16_t switch_info(struct req *r)
{
	static const enum ib_smp_field rw[] = {
		SI_LINEAR_FDB_TOP, SI_DEFAULT_PORT, SI_DEFAULT_MC_PRIMARY_PORT,
		SI_DEFAULT_MC_NOT_PRIMARY_PORT, SI_LIFE_TIME,
	};

	if (r->set) {
		if (ib_smp_get(r->in, SI_LINEAR_FDB_TOP) >= LFT_CAP)
			return MAD_STATUS_BAD_VALUE;
		for (size_t i = 0; i < ARRAY_SIZE(rw); i++)
			ib_smp_put(r->n->swinfo, rw[i], ib_smp_get(r->in, rw[i]));
		/* Writing 1 clears the bit. */
		if (ib_smp_get(r->in, SI_PORT_STATE_CHANGE))
			ib_smp_put(r->n->swinfo, SI_PORT_STATE_CHANGE, 0);
	}
	memcpy(r->out, r->n->swinfo, SMP_DATA_LEN);
	return 0;
}

static uint16_t guid_info(struct req *r)
{
	struct port *p = r->mgmt;
	bool changed = false;

	if (r->mod)
		return MAD_STATUS_BAD_VALUE;
	/* Index 0 is the port's own GUID and read-only. */
	for (uint32_t i = 1; r->set && i < GUID_CAP; i++) {
		changed |= p->guids[i] != get_be64(r->in + 8 * i);
		p->guids[i] = get_be64(r->in + 8 * i);
	}
	for (uint32_t i = 0; i < GUID_CAP; i++)
		put_be64(r->out + 8 * i, p->guids[i]);
	if (changed)
		fabric_port_event(p, FABRIC_GID_CHANGE);
	return 0;
}

static uint16_t port_info(struct req *r)
{
	struct port *p = req_port(r, r->mod & 0xff);
	const struct port *m = r->mgmt;
	uint16_t st = 0;

	if (!p)
		return MAD_STATUS_BAD_VALUE;
	if (r->set)
		st = sma_set_port_info(p, r->in, r->out, r->now);
	else
		memcpy(r->out, p->info, SMP_DATA_LEN);
	ib_smp_put(r->out, PI_LOCAL_PORT_NUM, r->p->num);
	/* Protection level 1: a Get without the M_Key does not return it (IBA 14.2.4). */
	if (port_get(m, PI_M_KEY_PROTECT_BITS) == 1 &&
	    ib_smp_get(m->info, PI_M_KEY) != get_be64(r->smp + SMP_O_MKEY))
		ib_smp_put(r->out, PI_M_KEY, 0);
	return st;
}

static uint16_t pkey_table(struct req *r)
{
	struct port *p = is_switch(r->n) ? req_port(r, r->mod >> 16) : r->p;
	uint32_t first = (r->mod & 0xffff) * SMP_PKEYS;
	bool changed = false;

	if (!p || first >= p->npkeys)
		return MAD_STATUS_BAD_VALUE;
	for (uint32_t i = 0; i < SMP_PKEYS; i++) {
		uint16_t key = get_be16(r->in + 2 * i);

		if (r->set) {
			changed |= p->pkeys[first + i] != key;
			p->pkeys[first + i] = key;
		}
		put_be16(r->out + 2 * i, p->pkeys[first + i]);
	}
	if (changed)
		fabric_port_event(p, FABRIC_PKEY_CHANGE);
	return 0;
}

/* SLtoVLMappingTable, two SLs per byte. A port whose mapping was never set maps an SL to VL = SL % 8. */
static uint16_t sltovl_table(struct req *r)
{
	uint32_t in = is_switch(r->n) ? r->mod >> 8 & 0xff : 0;
	struct port *p = is_switch(r->n) ? req_port(r, r->mod & 0xff) : r->p;
	size_t rows = r->n->nports + 1u;

	if (r->mod >> 16 || !p || in > r->n->nports)
		return MAD_STATUS_BAD_VALUE;
	if (r->set && !p->sltovl) {
		p->sltovl = malloc(rows * SLS);
		if (!p->sltovl)
			return MAD_STATUS_BUSY;
		for (size_t i = 0; i < rows * SLS; i++)
			p->sltovl[i] = i % 8;
	}
	for (uint32_t sl = 0; sl < SLS; sl++) {
		uint32_t shift = sl % 2 ? 0 : 4, vl;

		if (r->set)
			p->sltovl[in * SLS + sl] = r->in[sl / 2] >> shift & 15;
		vl = p->sltovl ? p->sltovl[in * SLS + sl] : sl % 8;
		r->out[sl / 2] |= (uint8_t)(vl << shift);
	}
	return 0;
}

/* VLArbitrationTable: blocks 1 and 2 are the low-priority part, 3 and 4 the high-priority one. Only 1 and 3 exist here. */
static uint16_t vl_arb(struct req *r)
{
	struct port *p = is_switch(r->n) ? req_port(r, r->mod & 0xffff) : r->p;
	uint32_t block = r->mod >> 16;

	if (!p || (block != 1 && block != 3))
		return MAD_STATUS_BAD_VALUE;
	if (r->set)
		memcpy(p->vlarb[block / 2], r->in, (size_t)2 * VLARB_CAP);
	memcpy(r->out, p->vlarb[block / 2], SMP_DATA_LEN);
	return 0;
}

static uint16_t lft_block(struct req *r)
{
	struct node *n = r->n;

	if (r->mod >= LFT_BLOCKS)
		return MAD_STATUS_BAD_VALUE;
	if (r->set && !n->lft) {
		n->lft = malloc(LFT_CAP);
		if (!n->lft)
			return MAD_STATUS_BUSY;
		memset(n->lft, SMP_LFT_NONE, LFT_CAP);
	}
	if (r->set)
		memcpy(n->lft + (size_t)r->mod * SMP_LFT_PORTS, r->in, SMP_LFT_PORTS);
	if (n->lft)
		memcpy(r->out, n->lft + (size_t)r->mod * SMP_LFT_PORTS, SMP_LFT_PORTS);
	else
		memset(r->out, SMP_LFT_NONE, SMP_LFT_PORTS);
	return 0;
}

/* MulticastForwardingTable: a block has the port masks of 32 MLIDs for 16 ports; the position selects the 16 ports. */
static uint16_t mft_block(struct req *r)
{
	uint32_t block = r->mod & 0x1ff, pos = r->mod >> 28;

	if (block >= MFT_BLOCKS || pos >= r->n->positions)
		return MAD_STATUS_BAD_VALUE;
	for (uint32_t i = 0; i < SMP_MFT_MASKS; i++) {
		uint16_t *mask = &r->n->mft[(block * SMP_MFT_MASKS + i) * r->n->positions + pos];

		if (r->set)
			*mask = get_be16(r->in + 2 * i);
		put_be16(r->out + 2 * i, *mask);
	}
	return 0;
}

static uint16_t led_info(struct req *r)
{
	struct port *p = req_port(r, r->mod & 0xff);

	if (!p)
		return MAD_STATUS_BAD_VALUE;
	if (r->set)
		p->led = ib_smp_get(r->in, LED_MASK);
	ib_smp_put(r->out, LED_MASK, p->led);
	return 0;
}

/* Mellanox's attribute for FDR10, which no port here has: all zero. */
static uint16_t mlnx_ext_port_info(struct req *r)
{
	if (r->n->vendid != MLNX_OUI && r->n->vendid != MLNX_OUI2)
		return MAD_STATUS_BAD_METHOD_ATTR;
	return req_port(r, r->mod & 0xff) ? 0 : MAD_STATUS_BAD_VALUE;
}

static const struct sma_attr {
	uint16_t attr;
	bool get_only, switch_only;
	uint16_t (*fn)(struct req *r);
} sma_attrs[] = {
	{ SMP_ATTR_NODE_DESC, true, false, node_desc },
	{ SMP_ATTR_NODE_INFO, true, false, node_info },
	{ SMP_ATTR_SWITCH_INFO, false, true, switch_info },
	{ SMP_ATTR_GUID_INFO, false, false, guid_info },
	{ SMP_ATTR_PORT_INFO, false, false, port_info },
	{ SMP_ATTR_PKEY_TABLE, false, false, pkey_table },
	{ SMP_ATTR_SLTOVL, false, false, sltovl_table },
	{ SMP_ATTR_VLARB, false, false, vl_arb },
	{ SMP_ATTR_LFT, false, true, lft_block },
	{ SMP_ATTR_MFT, false, true, mft_block },
	{ SMP_ATTR_LED_INFO, false, false, led_info },
	{ SMP_ATTR_MLNX_EXT_PORT_INFO, true, false, mlnx_ext_port_info },
};

/* The M_Key lease has expired: another SM may set its own key (IBA 14.2.4.2). */
static void lease_over(struct timer *t, ns_t now)
{
	port_put(container_of(t, struct port, lease), PI_M_KEY_PROTECT_BITS, 0);
}

static bool m_key_ok(struct port *m, const uint8_t *smp, ns_t now)
{
	uint64_t key = ib_smp_get(m->info, PI_M_KEY);
	uint32_t lease = port_get(m, PI_M_KEY_LEASE_PERIOD);
	uint32_t bad = port_get(m, PI_M_KEY_VIOLATIONS);

	if (!key)
		return true;
	if (key == get_be64(smp + SMP_O_MKEY)) {
		timer_cancel(&m->node->f->timers, &m->lease);
		return true;
	}
	if (smp[MAD_O_METHOD] == MAD_GET && port_get(m, PI_M_KEY_PROTECT_BITS) < 2)
		return true;
	port_put(m, PI_M_KEY_VIOLATIONS, min(bad + 1, 0xffffu));
	m->lease.fn = lease_over;
	if (lease && !timer_armed(&m->lease))
		timer_set(&m->node->f->timers, &m->lease, now + lease * NS_S);
	trap_bad_m_key(m, smp, now);
	return false;
}

static uint16_t sma_run(struct req *r)
{
	for (size_t i = 0; i < ARRAY_SIZE(sma_attrs); i++) {
		if (sma_attrs[i].attr != mad_attr(r->smp))
			continue;
		if ((r->set && sma_attrs[i].get_only) || (sma_attrs[i].switch_only &&
							  !is_switch(r->n)))
			break;
		return sma_attrs[i].fn(r);
	}
	return MAD_STATUS_BAD_METHOD_ATTR;
}

bool sma_process(struct port *p, const uint8_t *in, uint8_t *out, ns_t now)
{
	struct port *m = mgmt_port(p);
	struct req r = {
		.p = p, .mgmt = m, .n = p->node, .smp = in, .in = in + SMP_O_DATA,
		.out = out + SMP_O_DATA, .mod = get_be32(in + MAD_O_ATTR_MOD),
		.set = in[MAD_O_METHOD] == MAD_SET, .now = now,
	};
	uint16_t st;

	if (r.set)
		p->node->f->generation++;
	memcpy(out, in, MAD_LEN);
	if (in[MAD_O_BASE_VERSION] != MAD_BASE_VERSION || in[MAD_O_CLASS_VERSION] != 1) {
		st = MAD_STATUS_BAD_VERSION;
	} else if (!m_key_ok(m, in, now)) {
		return false;
	} else if (in[MAD_O_METHOD] == MAD_TRAP_REPRESS) {
		trap_repress(m, in);
		return false;
	} else if (in[MAD_O_METHOD] != MAD_GET && in[MAD_O_METHOD] != MAD_SET) {
		st = MAD_STATUS_BAD_METHOD;
	} else {
		memset(r.out, 0, SMP_DATA_LEN);
		st = sma_run(&r);
	}
	out[MAD_O_METHOD] = MAD_GET | MAD_RESP;
	if (in[MAD_O_CLASS] == MAD_CLASS_SUBN_DR)
		st |= SMP_DIRECTION;
	put_be16(out + MAD_O_STATUS, st);
	return true;
}

bool fabric_for_agents(const uint8_t *mad)
{
	switch (mad[MAD_O_CLASS]) {
	case MAD_CLASS_SUBN_LID:
	case MAD_CLASS_SUBN_DR:
		return mad_attr(mad) == SMP_ATTR_SM_INFO || mad[MAD_O_METHOD] == MAD_TRAP ||
		       (mad_is_response(mad) && mad[MAD_O_METHOD] != MAD_TRAP_REPRESS);
	case MAD_CLASS_PERF:
		return mad[MAD_O_METHOD] != MAD_GET && mad[MAD_O_METHOD] != MAD_SET;
	}
	return true;
}
