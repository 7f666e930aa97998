/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Traps of subnet management (IBA 13.4.9, 14.2.5.1, 14.3.13). A trap goes to the
 * master SM of PortInfo and is repeated each subnet timeout until the SM represses
 * it, at most TRAP_REPEATS times. A port repeats one trap at a time; a newer one
 * replaces it, since an SM sweeps the whole fabric on any trap.
 */
#include <string.h>
#include "fabric/fabric_internal.h"
#include "wire/pkey.h"

#define TRAP_REPEATS 8

static ns_t trap_gap(const struct port *p)
{
	return max((ns_t)4096 << port_get(p, PI_SUBNET_TIMEOUT), (ns_t)NS_MS);
}

static void trap_send(struct port *p, ns_t now)
{
	struct hdr h = {
		.slid = (uint16_t)port_get(p, PI_LID),
		.dlid = (uint16_t)port_get(p, PI_MASTER_SM_LID),
		.sl = (uint8_t)port_get(p, PI_MASTER_SM_SL),
		.pkey = PKEY_DEFAULT,
	};

	/* Arm the timer first: the SM's TrapRepress may arrive within fabric_carry_mad(). */
	if (p->repeats++ < TRAP_REPEATS)
		timer_set(&p->node->f->timers, &p->repeat, now + trap_gap(p));
	fabric_carry_mad(p, &h, p->trap, now);
}

static void trap_repeat(struct timer *t, ns_t now)
{
	trap_send(container_of(t, struct port, repeat), now);
}

/* Writes to p->trap what all traps have in common. False: the node is off, or the LID of the SM or of the port is not set. */
static bool trap_make(struct port *p, uint8_t type, uint16_t number)
{
	uint8_t *d = p->trap + SMP_O_DATA;

	if (!port_get(p, PI_MASTER_SM_LID) || !port_get(p, PI_LID) || !p->node->on)
		return false;
	ib_smp_init(p->trap, MAD_CLASS_SUBN_LID, MAD_TRAP, SMP_ATTR_NOTICE, 0, ++p->node->f->tid);
	ib_smp_put(d, NT_IS_GENERIC, 1);
	ib_smp_put(d, NT_TYPE, type);
	ib_smp_put(d, NT_PRODUCER_TYPE, p->node->type);
	ib_smp_put(d, NT_TRAP_NUMBER, number);
	ib_smp_put(d, NT_ISSUER_LID, port_get(p, PI_LID));
	return true;
}

static void trap_go(struct port *p, ns_t now)
{
	p->repeat.fn = trap_repeat;
	p->repeats = 0;
	trap_send(p, now);
}

void trap_stop(struct port *p)
{
	timer_cancel(&p->node->f->timers, &p->repeat);
}

void trap_link_state(struct node *n, ns_t now)
{
	struct port *p = &n->ports[0];

	if (!trap_make(p, NOTICE_URGENT, TRAP_LINK_STATE))
		return;
	ib_smp_put(p->trap + SMP_O_DATA, NT_128_LIDADDR, port_get(p, PI_LID));
	trap_go(p, now);
}

/* Sends trap 144. flag: the field of the notice that names the change; SMP_FIELD_COUNT: the capability mask changed. */
void trap_port_change(struct port *p, enum ib_smp_field flag, ns_t now)
{
	uint8_t *d = p->trap + SMP_O_DATA;

	if (!trap_make(p, NOTICE_INFO, TRAP_CAP_MASK))
		return;
	ib_smp_put(d, NT_144_LIDADDR, port_get(p, PI_LID));
	ib_smp_put(d, NT_144_CAPABILITY_MASK, port_get(p, PI_CAPABILITY_MASK));
	if (flag != SMP_FIELD_COUNT) {
		ib_smp_put(d, NT_144_OTHER_LOCAL_CHANGES, 1);
		ib_smp_put(d, flag, 1);
	}
	trap_go(p, now);
}

void trap_bad_m_key(struct port *p, const uint8_t *smp, ns_t now)
{
	uint8_t *d = p->trap + SMP_O_DATA;

	/*
	 * An SM with another key answers the trap with a Get of PortInfo and a TrapRepress,
	 * both with its key, and either violates the M_Key again. A pause of
	 * PortInfo:SubnetTimeOut between traps breaks the loop.
	 */
	if (now < p->m_key_quiet || !trap_make(p, NOTICE_SECURITY, TRAP_BAD_M_KEY))
		return;
	p->m_key_quiet = now + trap_gap(p);
	ib_smp_put(d, NT_256_LIDADDR, port_get(p, PI_LID));
	ib_smp_put(d, NT_256_METHOD, smp[MAD_O_METHOD]);
	ib_smp_put(d, NT_256_ATTR, mad_attr(smp));
	ib_smp_put(d, NT_256_ATTR_MOD, get_be32(smp + MAD_O_ATTR_MOD));
	ib_smp_put(d, NT_256_M_KEY, get_be64(smp + SMP_O_MKEY));
	if (smp[MAD_O_CLASS] == MAD_CLASS_SUBN_DR) {
		uint8_t hops = min(smp[SMP_O_HOP_COUNT], (uint8_t)30);

		ib_smp_put(d, NT_256_DR_SLID, get_be16(smp + SMP_O_DR_SLID));
		ib_smp_put(d, NT_256_DR_NOTICE, 1);
		ib_smp_put(d, NT_256_DR_PATH_TRUNCATED, smp[SMP_O_HOP_COUNT] > 30);
		ib_smp_put(d, NT_256_DR_HOP_COUNT, hops);
		memcpy(d + 34, smp + SMP_O_RETURN_PATH + 1, hops);
	}
	trap_go(p, now);
}

/* Stops the trap that the TrapRepress answers. Both have the same transaction id, which is unique in the fabric. */
void trap_repress(struct port *p, const uint8_t *smp)
{
	if (mad_tid(smp) == mad_tid(p->trap))
		trap_stop(p);
}
