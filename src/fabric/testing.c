/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For tests only: the small subnet manager of testing.h. It discovers the fabric by
 * directed routes, breadth first, assigns LIDs, computes shortest paths to each LID,
 * writes the forwarding tables and takes the ports to Armed and Active.
 */
#include "fabric/testing.h"

struct topo topo;
struct fabric *fab;
uint32_t sm_at;
uint64_t sm_key;
ns_t now;
struct sm_node *sm;
uint32_t sm_count;
uint8_t resp[MAD_LEN], last_trap[MAD_LEN];
struct mad_addr resp_from;
uint32_t nresp, ntraps, nevents[FABRIC_EVENT_COUNT];
uint16_t sm_status;
uint64_t tid;
uint32_t got, got_node;

static void on_mad(void *ctx, uint32_t node, uint8_t port, const struct mad_addr *from,
		   const uint8_t *mad)
{
	if (mad[MAD_O_METHOD] == MAD_TRAP) {
		memcpy(last_trap, mad, MAD_LEN);
		ntraps++;
		return;
	}
	memcpy(resp, mad, MAD_LEN);
	resp_from = *from;
	nresp++;
}

static void on_event(void *ctx, uint32_t node, uint8_t port, enum fabric_event e)
{
	nevents[e]++;
}

void on_data(void *ctx, uint32_t node, uint8_t port)
{
	got++;
	got_node = node;
}

static const struct fabric_ops test_ops = { on_mad, on_event };

void start(const char *host)
{
	assert_int_equal(fabric_create(&topo, &test_ops, NULL, &fab), 0);
	sm_at = fabric_find(fab, host);
	assert_int_not_equal(sm_at, TOPO_NONE);
	sm = calloc(SM_NODES, sizeof(*sm));
	assert_non_null(sm);
	sm_count = 0;
	sm_key = 0;
}

int setup(void **state)
{
	topo_init(&topo);
	fab = NULL;
	sm = NULL;
	nresp = ntraps = 0;
	memset(nevents, 0, sizeof(nevents));
	now = NS_S;
	return 0;
}

int teardown(void **state)
{
	if (fab)
		fabric_destroy(fab);
	free(sm);
	topo_fini(&topo);
	return 0;
}

bool ask(uint8_t *smp, uint16_t dlid, uint8_t qp)
{
	const struct smi_node at = { .port = 1, .nports = 1 };
	struct mad_addr to = { .qp = qp, .qpn = qp, .lid = dlid };
	uint32_t before = nresp;
	uint8_t out;

	put_be64(smp + MAD_O_TID, ++tid);
	if (qp == 0)
		put_be64(smp + SMP_O_MKEY, sm_key);
	if (smp[MAD_O_CLASS] == MAD_CLASS_SUBN_DR && smi_send(&at, smp) == SMI_LOCAL) {
		if (fabric_process(fab, sm_at, 1, smp, resp, now) != MAD_REPLY)
			return false;
	} else {
		assert_int_equal(fabric_send(fab, sm_at, 1, &to, smp, now), 0);
		if (nresp == before)
			return false;
		assert_int_equal(nresp, before + 1);
		assert_int_equal(resp_from.lid, dlid);
		if (smp[MAD_O_CLASS] == MAD_CLASS_SUBN_DR)
			assert_int_equal(smi_input(&at, resp, &out), SMI_LOCAL);
	}
	assert_true(mad_tid(resp) == tid);
	assert_int_equal(resp[MAD_O_METHOD], MAD_GET | MAD_RESP);
	sm_status = get_be16(resp + MAD_O_STATUS) & (uint16_t)~SMP_DIRECTION;
	return true;
}

uint8_t *dr(const struct sm_node *n, uint16_t attr, uint32_t mod, const uint8_t *data)
{
	uint8_t smp[MAD_LEN];

	ib_smp_init(smp, MAD_CLASS_SUBN_DR, data ? MAD_SET : MAD_GET, attr, mod, 0);
	t_smp_path(smp, n->path, n->hops);
	if (data)
		memcpy(smp + SMP_O_DATA, data, SMP_DATA_LEN);
	return ask(smp, LID_PERMISSIVE, 0) ? resp + SMP_O_DATA : NULL;
}

void dr_set(const struct sm_node *n, uint16_t attr, uint32_t mod, const uint8_t *data)
{
	uint8_t copy[SMP_DATA_LEN];

	memcpy(copy, data, sizeof(copy));
	assert_non_null(dr(n, attr, mod, copy));
	assert_int_equal(sm_status, 0);
}

/* The node at the end of this path; *known: it was found before. */
static uint32_t sm_meet(const uint8_t *path, uint8_t hops, bool *known)
{
	struct sm_node *n = &sm[sm_count];
	const uint8_t *d;
	uint32_t i;

	assert_true(sm_count < SM_NODES - 1);
	memset(n, 0, sizeof(*n));
	memcpy(n->path, path, hops);
	n->hops = hops;
	d = dr(n, SMP_ATTR_NODE_INFO, 0, NULL);
	assert_non_null(d);
	n->guid = ib_smp_get(d, NI_NODE_GUID);
	n->type = (enum node_type)ib_smp_get(d, NI_NODE_TYPE);
	n->nports = (uint8_t)ib_smp_get(d, NI_NUM_PORTS);
	n->in = (uint8_t)ib_smp_get(d, NI_LOCAL_PORT_NUM);
	for (i = 0; i < sm_count && sm[i].guid != n->guid; i++)
		;
	*known = i < sm_count;
	if (!*known)
		n->lid = (uint16_t)++sm_count;
	return i;
}

static void sm_discover(void)
{
	uint8_t path[SMP_MAX_HOPS] = { 0 };
	bool known;

	sm_count = 0;
	sm_meet(path, 0, &known);
	for (uint32_t i = 0; i < sm_count; i++) {
		struct sm_node *n = &sm[i];

		for (uint32_t p = 1; p <= n->nports; p++) {
			const uint8_t *d;
			uint32_t j;

			if (n->type != NODE_SWITCH && (i || p != n->in))
				continue;
			d = dr(n, SMP_ATTR_PORT_INFO, p, NULL);
			assert_non_null(d);
			if (ib_smp_get(d, PI_PORT_STATE) == PORT_DOWN)
				continue;
			memcpy(path, n->path, n->hops);
			path[n->hops] = (uint8_t)p;
			j = sm_meet(path, n->hops + 1, &known);
			n->peer[p] = (uint16_t)(j + 1);
			if (n->type != NODE_SWITCH || sm[j].type != NODE_SWITCH)
				sm[j].peer[sm[j].in] = (uint16_t)(i + 1);
		}
	}
}

/* Sets the entry for the LID of node d in each switch's forwarding table to a port on a shortest path. */
static void sm_route(uint32_t d)
{
	uint32_t *dist = calloc(sm_count, sizeof(*dist)), *queue = calloc(sm_count, sizeof(*queue));
	uint32_t head = 0, tail = 0;

	assert_true(dist && queue);
	queue[head++] = d;
	dist[d] = 1;
	sm[d].lft[sm[d].lid] = 0;
	while (tail < head) {
		uint32_t at = queue[tail++];

		if (at != d && sm[at].type != NODE_SWITCH)
			continue;
		for (uint32_t p = 1; p <= sm[at].nports; p++) {
			uint32_t j = sm[at].peer[p];

			if (!j-- || dist[j])
				continue;
			dist[j] = dist[at] + 1;
			queue[head++] = j;
		}
	}
	for (uint32_t i = 0; i < sm_count; i++)
		for (uint32_t p = 1; i != d && p <= sm[i].nports; p++) {
			uint32_t j = sm[i].type == NODE_SWITCH ? sm[i].peer[p] : 0;

			if (j-- && dist[j] && dist[j] + 1 == dist[i])
				sm[i].lft[sm[d].lid] = (uint8_t)p;
		}
	free(dist);
	free(queue);
}

/* Takes all ports of the node to a state; port 0 of switches and host ports also get LIDs. */
static void sm_ports(const struct sm_node *n, enum port_state to)
{
	uint8_t d[SMP_DATA_LEN];

	for (uint32_t p = n->type == NODE_SWITCH ? 0 : n->in; p <= n->nports; p++) {
		enum port_state s;

		if (p && !n->peer[p])
			continue;
		assert_non_null(dr(n, SMP_ATTR_PORT_INFO, p, NULL));
		memcpy(d, resp + SMP_O_DATA, sizeof(d));
		s = (enum port_state)ib_smp_get(d, PI_PORT_STATE);
		ib_smp_put(d, PI_PORT_STATE, p && s < to ? to : PORT_NOP);
		ib_smp_put(d, PI_PORT_PHYSICAL_STATE, PHYS_NOP);
		ib_smp_put(d, PI_NEIGHBOR_MTU, 4);
		ib_smp_put(d, PI_OPERATIONAL_VLS, 4);
		if (!p || n->type != NODE_SWITCH) {
			ib_smp_put(d, PI_LID, n->lid);
			ib_smp_put(d, PI_MASTER_SM_LID, sm[0].lid);
			ib_smp_put(d, PI_SUBNET_TIMEOUT, 18);
		}
		dr_set(n, SMP_ATTR_PORT_INFO, p, d);
	}
}

static void sm_tables(const struct sm_node *n)
{
	uint8_t d[SMP_DATA_LEN];

	if (n->type != NODE_SWITCH)
		return;
	assert_non_null(dr(n, SMP_ATTR_SWITCH_INFO, 0, NULL));
	memcpy(d, resp + SMP_O_DATA, sizeof(d));
	ib_smp_put(d, SI_LINEAR_FDB_TOP, sm_count);
	ib_smp_put(d, SI_PORT_STATE_CHANGE, 1);
	dr_set(n, SMP_ATTR_SWITCH_INFO, 0, d);
	for (uint32_t b = 0; b <= sm_count / SMP_LFT_PORTS; b++)
		dr_set(n, SMP_ATTR_LFT, b, n->lft + (size_t)b * SMP_LFT_PORTS);
}

void sm_sweep(void)
{
	sm_discover();
	for (uint32_t i = 0; i < sm_count; i++) {
		memset(sm[i].lft, SMP_LFT_NONE, sizeof(sm[i].lft));
		sm_ports(&sm[i], PORT_NOP);
	}
	for (uint32_t i = 0; i < sm_count; i++)
		sm_route(i);
	for (uint32_t i = 0; i < sm_count; i++)
		sm_tables(&sm[i]);
	for (uint32_t i = 0; i < sm_count; i++)
		sm_ports(&sm[i], PORT_ARMED);
	for (uint32_t i = 0; i < sm_count; i++)
		sm_ports(&sm[i], PORT_ACTIVE);
}

uint16_t lid_of(const char *name)
{
	uint32_t n = fabric_find(fab, name);

	assert_int_not_equal(n, TOPO_NONE);
	return (uint16_t)ib_smp_get(
		fabric_port_info(fab, n, fabric_node_type(fab, n) == NODE_SWITCH ? 0 : 1), PI_LID);
}

enum fabric_fate data(const char *from, uint16_t dlid)
{
	struct fabric_pkt pkt = { .slid = lid_of(from), .dlid = dlid, .pkey = 0xffff, .packets = 3,
				  .words = 300, .mtu = 2048 };

	got = 0;
	return fabric_data(fab, fabric_find(fab, from), 1, &pkt, on_data, NULL, now);
}
