/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Set(PortInfo), IBA 14.2.5.6. All fields are checked before any is changed. */
#include <string.h>
#include "fabric/fabric_internal.h"

/*
 * Which ports have a field, as a bit mask. Port 0 of a switch is ON_MGMT; its other ports are ON_LINK
 * and ON_SWITCH; a port of an HCA is ON_MGMT, ON_LINK and ON_HOST.
 */
enum where { ON_MGMT = 1, ON_LINK = 2, ON_HOST = 4, ON_SWITCH = 8 };

static const struct {
	enum ib_smp_field field;
	uint8_t where;
} rw[] = {
	{ PI_M_KEY, ON_MGMT },
	{ PI_GID_PREFIX, ON_MGMT },
	{ PI_LID, ON_MGMT },
	{ PI_MASTER_SM_LID, ON_MGMT },
	{ PI_M_KEY_LEASE_PERIOD, ON_MGMT },
	{ PI_M_KEY_PROTECT_BITS, ON_MGMT },
	{ PI_LMC, ON_MGMT },
	{ PI_MASTER_SM_SL, ON_MGMT },
	{ PI_INIT_TYPE, ON_MGMT },
	{ PI_SUBNET_TIMEOUT, ON_MGMT },
	{ PI_MC_PKEY_TRAP_SUPPRESSION, ON_MGMT },
	{ PI_NEIGHBOR_MTU, ON_MGMT | ON_LINK },
	{ PI_VL_HIGH_LIMIT, ON_LINK },
	{ PI_VL_STALL_COUNT, ON_SWITCH },
	{ PI_HOQ_LIFE, ON_SWITCH },
	{ PI_PARTITION_ENFORCEMENT_INBOUND, ON_SWITCH },
	{ PI_PARTITION_ENFORCEMENT_OUTBOUND, ON_SWITCH },
	{ PI_FILTER_RAW_INBOUND, ON_SWITCH },
	{ PI_FILTER_RAW_OUTBOUND, ON_SWITCH },
	{ PI_LOCAL_PHY_ERRORS, ON_LINK },
	{ PI_OVERRUN_ERRORS, ON_LINK },
};

static uint8_t where_of(const struct port *p)
{
	if (!is_switch(p->node))
		return ON_MGMT | ON_LINK | ON_HOST;
	return p->num ? ON_LINK | ON_SWITCH : ON_MGMT;
}

static bool state_ok(const struct port *p, const uint8_t *in)
{
	uint64_t want = ib_smp_get(in, PI_PORT_STATE), phys = ib_smp_get(in,
									 PI_PORT_PHYSICAL_STATE);
	enum port_state now = port_state(p);

	if (phys > PHYS_DISABLED || ib_smp_get(in, PI_LINK_DOWN_DEFAULT_STATE) > PHYS_POLLING)
		return false;
	/* A physical state is valid only with PortState Down or NOP, or if the port is down. */
	if (phys != PHYS_NOP && p->num && want > PORT_DOWN && now != PORT_DOWN)
		return false;
	if (!p->num)
		return want != PORT_DOWN && want != PORT_INIT && want <= PORT_ACTIVE;
	switch (want) {
	case PORT_NOP:
	case PORT_DOWN:
		return true;
	case PORT_ARMED:
		return now == PORT_INIT || now == PORT_ARMED;
	case PORT_ACTIVE:
		return now == PORT_ARMED || now == PORT_ACTIVE;
	}
	return false;
}

static bool lids_ok(const uint8_t *in)
{
	uint64_t lid = ib_smp_get(in, PI_LID), sm = ib_smp_get(in, PI_MASTER_SM_LID);
	uint64_t lmc = ib_smp_get(in, PI_LMC);

	return lid && lid + (1u << lmc) <= LID_MCAST && !(lid & ((1u << lmc) - 1)) && sm &&
	       sm < LID_MCAST;
}

static bool link_ok(const struct port *p, const uint8_t *in)
{
	uint64_t width = ib_smp_get(in, PI_LINK_WIDTH_ENABLED);
	uint64_t speed = ib_smp_get(in, PI_LINK_SPEED_ENABLED);
	uint64_t ext = ib_smp_get(in, PI_LINK_SPEED_EXT_ENABLED);

	return (width == LINK_WIDTH_SET_LWS || !(width & ~port_get(p, PI_LINK_WIDTH_SUPPORTED))) &&
	       (speed == LINK_SPEED_SET_LSS || !(speed & ~port_get(p, PI_LINK_SPEED_SUPPORTED))) &&
	       (ext >= LINK_SPEED_EXT_NONE || !(ext & ~port_get(p, PI_LINK_SPEED_EXT_SUPPORTED)));
}

static bool port_info_ok(const struct port *p, const uint8_t *in)
{
	uint64_t mtu = ib_smp_get(in, PI_NEIGHBOR_MTU), vls = ib_smp_get(in, PI_OPERATIONAL_VLS);
	uint8_t where = where_of(p);

	return state_ok(p, in) && (!(where & ON_MGMT) || lids_ok(in)) &&
	       (!(where & ON_LINK) || link_ok(p, in)) && mtu <= port_get(p, PI_MTU_CAP) &&
	       vls <= port_get(p, PI_VL_CAP);
}

/* Sets an enabled width or speed, which the next training uses. True: changed. */
static bool set_enabled(struct port *p, enum ib_smp_field f, uint64_t v, uint64_t all,
			enum ib_smp_field supported)
{
	if (!v || v == port_get(p, f))
		return false;
	port_put(p, f, v == all ? port_get(p, supported) : v);
	return true;
}

static void set_link(struct port *p, const uint8_t *in)
{
	set_enabled(p, PI_LINK_WIDTH_ENABLED, ib_smp_get(in, PI_LINK_WIDTH_ENABLED),
		    LINK_WIDTH_SET_LWS, PI_LINK_WIDTH_SUPPORTED);
	set_enabled(p, PI_LINK_SPEED_ENABLED, ib_smp_get(in, PI_LINK_SPEED_ENABLED),
		    LINK_SPEED_SET_LSS, PI_LINK_SPEED_SUPPORTED);
	set_enabled(p, PI_LINK_SPEED_EXT_ENABLED, ib_smp_get(in, PI_LINK_SPEED_EXT_ENABLED),
		    LINK_SPEED_EXT_SET_LSES, PI_LINK_SPEED_EXT_SUPPORTED);
	if (ib_smp_get(in, PI_LINK_DOWN_DEFAULT_STATE))
		port_put(p, PI_LINK_DOWN_DEFAULT_STATE, ib_smp_get(in, PI_LINK_DOWN_DEFAULT_STATE));
}

static void set_state(struct port *p, const uint8_t *in, ns_t now)
{
	enum port_state want = (enum port_state)ib_smp_get(in, PI_PORT_STATE);
	enum phys_state phys = (enum phys_state)ib_smp_get(in, PI_PORT_PHYSICAL_STATE);

	if (!p->num)
		return;
	switch (want) {
	case PORT_NOP:
	case PORT_DOWN:
	case PORT_INIT:
		break;
	case PORT_ARMED:
	case PORT_ACTIVE:
		port_set_state(p, want);
		return;
	}
	if (phys == PHYS_NOP && want == PORT_DOWN &&
	    port_get(p, PI_PORT_PHYSICAL_STATE) != PHYS_DISABLED)
		phys = (enum phys_state)port_get(p, PI_LINK_DOWN_DEFAULT_STATE);
	if (phys == PHYS_NOP)
		return;
	link_drop(p, phys, now);
	link_check(p, now);
}

static void port_info_tell(struct port *p, const uint8_t *before, const uint8_t *in)
{
	if (!(where_of(p) & ON_HOST))
		return;
	if (ib_smp_get(before, PI_LID) != port_get(p, PI_LID) ||
	    ib_smp_get(before, PI_LMC) != port_get(p, PI_LMC))
		fabric_port_event(p, FABRIC_LID_CHANGE);
	if (ib_smp_get(before, PI_MASTER_SM_LID) != port_get(p, PI_MASTER_SM_LID) ||
	    ib_smp_get(before, PI_MASTER_SM_SL) != port_get(p, PI_MASTER_SM_SL))
		fabric_port_event(p, FABRIC_SM_CHANGE);
	if (ib_smp_get(before, PI_GID_PREFIX) != ib_smp_get(p->info, PI_GID_PREFIX))
		fabric_port_event(p, FABRIC_GID_CHANGE);
	if (ib_smp_get(in, PI_CLIENT_REREGISTER))
		fabric_port_event(p, FABRIC_CLIENT_REREGISTER);
}

uint16_t sma_set_port_info(struct port *p, const uint8_t *in, uint8_t *out, ns_t now)
{
	static const enum ib_smp_field violations[] = {
		PI_M_KEY_VIOLATIONS, PI_P_KEY_VIOLATIONS, PI_Q_KEY_VIOLATIONS,
	};
	uint8_t before[SMP_DATA_LEN], where = where_of(p);
	bool ok = port_info_ok(p, in);

	memcpy(before, p->info, sizeof(before));
	for (size_t i = 0; ok && i < ARRAY_SIZE(rw); i++)
		if (rw[i].where & where &&
		    (rw[i].field != PI_NEIGHBOR_MTU || ib_smp_get(in, PI_NEIGHBOR_MTU)))
			ib_smp_put(p->info, rw[i].field, ib_smp_get(in, rw[i].field));
	if (ok) {
		if (ib_smp_get(in, PI_OPERATIONAL_VLS))
			port_put(p, PI_OPERATIONAL_VLS, ib_smp_get(in, PI_OPERATIONAL_VLS));
		/* Violation counters can only be cleared. */
		for (size_t i = 0; i < ARRAY_SIZE(violations); i++)
			if (!ib_smp_get(in, violations[i]))
				port_put(p, violations[i], 0);
		if (where & ON_LINK)
			set_link(p, in);
		set_state(p, in, now);
		port_info_tell(p, before, in);
	}
	memcpy(out, p->info, SMP_DATA_LEN);
	/* The response repeats ClientReregister, which is not stored (IBA o14-12.2.1). */
	if (ok && where & ON_HOST)
		ib_smp_put(out, PI_CLIENT_REREGISTER, ib_smp_get(in, PI_CLIENT_REREGISTER));
	return ok ? 0 : MAD_STATUS_BAD_VALUE;
}
