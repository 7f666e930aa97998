/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes the answers of a subnet administrator to path queries and multicast joins: early, late,
 * twice, never, or with a TID of no query. Each query that is not cancelled must be answered
 * exactly once, and rdma_cm must get only valid paths and multicast groups.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "fabrics/cm.h"
#include "fabrics/fabrics.h"
#include "fuzz.h"
#include "gsi/gsi.h"
#include "loop/loop.h"
#include "rdmacm/rdmacm.h"

#define STEP_LEN 72	/* action, index, two bytes of options, data */
#define DATA 4
#define MAX_STEPS 200
#define ASKED 4
#define SENT 8

static struct host_page page;
static struct loop loop;
static struct gsi gsi;
static struct fabrics fabrics;
static struct fabric_host *host;
static struct fabric_cm cm;
static uint8_t sent[SENT][MAD_LEN];	/* the last queries on the wire */
static unsigned int nsent;
static bool closed;			/* send_mad() fails */
static struct rdmacm_sa_path paths[ASKED];
static struct rdmacm_sa_join joins[ASKED];
static bool asked[ASKED], in[ASKED];

static int send_mad(void *ctx, const struct mad_addr *a, const void *mad, size_t len)
{
	REQUIRE(len == MAD_LEN && a->qp == GSI_QPN && a->lid == 1);
	if (closed)
		return -ENODEV;
	memcpy(sent[nsent++ % SENT], mad, MAD_LEN);
	return 0;
}

static int query_gid(void *ctx, uint8_t index, uint8_t gid[16])
{
	memset(gid, index, 16);
	return 0;
}

static const struct mad_ops ops = { .send = send_mad, .gid = query_gid };

/* These replace rdmacm's functions (linker option --wrap). */
void __wrap_rdmacm_sa_path(struct rdmacm *rm, struct rdmacm_sa_path *q, int status);
void __wrap_rdmacm_sa_joined(struct rdmacm *rm, struct rdmacm_sa_join *j, int status);

void __wrap_rdmacm_sa_path(struct rdmacm *rm, struct rdmacm_sa_path *q, int status)
{
	size_t i = (size_t)(q - paths);

	REQUIRE(i < ASKED && asked[i] && status <= 0);
	asked[i] = false;
	REQUIRE(status || (q->path.dlid && q->path.slid && q->path.mtu && q->path.mtu <= 5));
}

/*
 * Checks the result of a multicast join. Leaves the group within this call if the join failed, or
 * if the two low bits of the group's Q_Key are 0: so the input decides whether a member leaves
 * here.
 */
void __wrap_rdmacm_sa_joined(struct rdmacm *rm, struct rdmacm_sa_join *j, int status)
{
	size_t i = (size_t)(j - joins);

	REQUIRE(i < ASKED && in[i] && status <= 0);
	REQUIRE(status || (j->rec.mlid >= 0xc000 && j->rec.mlid != LID_PERMISSIVE));
	if (status || !(j->rec.qkey & 3)) {
		in[i] = false;
		fabrics_sa_leave(&cm, j);
	}
}

static void setup(void)
{
	struct gsi_port *g = &gsi.port[0];

	memset(&page, 0, sizeof(page));
	memset(&loop, 0, sizeof(loop));
	memset(&gsi, 0, sizeof(gsi));
	memset(&fabrics, 0, sizeof(fabrics));
	page.dev[0].in_use = 1;
	page.dev[0].ib = (struct host_ib){ .host = 1, .hca_port = 1, .lid = 5, .sm_lid = 1,
					   .npkeys = 2, .pkey = { 0x7fff, 0xffff } };
	timer_heap_init(&loop.timers);
	fabrics.loop = &loop;
	fabrics.page = &page;
	fabrics.gsi = &gsi;
	fabrics_init(&fabrics);
	host = calloc(1, sizeof(*host) + sizeof(host->port[0]));
	REQUIRE(host);
	*host = (struct fabric_host){ .fs = &fabrics, .cm = &cm, .nports = 1 };
	host->port[0] = (struct fabric_port){ .host = host, .num = 1 };
	fabrics.port[0] = &host->port[0];
	cm = (struct fabric_cm){ .fs = &fabrics, .host = host };
	list_init(&cm.lookups);
	mad_ports_init(&gsi.mad);
	gsi.page = &page;
	gsi.loop = &loop;
	*g = (struct gsi_port){ .gsi = &gsi, .in_use = true };
	g->port = (struct mad_port){ .ops = &ops, .ctx = &host->port[0], .qps = 1 << GSI_QPN,
				     .num = 1 };
	mad_port_init(&g->port, &gsi.mad);
	memset(paths, 0, sizeof(paths));
	memset(joins, 0, sizeof(joins));
	memset(asked, 0, sizeof(asked));
	memset(in, 0, sizeof(in));
	nsent = 0;
	closed = false;
}

static void leave(size_t i)
{
	if (in[i])
		fabrics_sa_leave(&cm, &joins[i]);
	in[i] = false;
}

static void forget(size_t i)
{
	if (asked[i])
		fabrics_sa_cancel(&cm, &paths[i]);
	asked[i] = false;
}

static void teardown(void)
{
	for (size_t i = 0; i < ASKED; i++) {
		forget(i);
		leave(i);
	}
	fabrics_sa_port_gone(&fabrics, 0);
	REQUIRE(list_empty(&fabrics.groups));
	mad_port_fini(&gsi.port[0].port, loop.now);
	mad_ports_fini(&gsi.mad);
	REQUIRE(timer_next(&loop.timers) == NS_NEVER);
	timer_heap_fini(&loop.timers);
	free(host);
}

static void ask_path(const uint8_t *p, size_t i)
{
	forget(i);
	paths[i] = (struct rdmacm_sa_path){ .timeout_ms = p[2] * 10u, .comp_mask = p[3] };
	ib_sa_unpack_path(p + DATA, &paths[i].path);
	asked[i] = true;
	if (fabrics_sa_path(&cm, &paths[i]))
		asked[i] = false;
}

/* Two multicast groups only, so that members share them. */
static void join(const uint8_t *p, size_t i)
{
	leave(i);
	joins[i] = (struct rdmacm_sa_join){ .comp_mask = (uint64_t)p[3] << 1 | p[2] << 8 };
	sa_unpack_mcmember(p + DATA, &joins[i].rec);
	memset(joins[i].rec.mgid, 0, 16);
	joins[i].rec.mgid[0] = 0xff;
	joins[i].rec.mgid[15] = p[2] & 1;
	in[i] = true;
	if (fabrics_sa_join(&cm, &joins[i]))
		in[i] = false;
}

/* An answer to one of the queries, more or less correct. */
static void answer(const uint8_t *p)
{
	struct mad_addr from = { .qp = GSI_QPN, .qpn = GSI_QPN, .lid = p[3] & 1 ? 7 : 1 };
	uint8_t mad[MAD_LEN];

	memcpy(mad, sent[p[1] % SENT], MAD_LEN);
	mad[MAD_O_METHOD] = (p[2] & 1 ? p[3] : mad[MAD_O_METHOD] == MAD_SET ? MAD_GET :
					       mad[MAD_O_METHOD]) | MAD_RESP;
	if (p[2] & 2)
		put_be16(mad + MAD_O_STATUS, p[3]);
	if (p[2] & 4)
		memcpy(mad + MAD_O_CLASS_SPECIFIC, p + DATA, 8);
	if (p[2] & 8)
		memcpy(mad + SA_HDR_LEN, p + DATA, STEP_LEN - DATA);
	/* With a valid MLID. */
	if (p[2] & 16)
		put_be16(mad + SA_HDR_LEN + 36, (uint16_t)(0xc000 | p[3]));
	if (p[2] & 32)
		mad[MAD_O_TID + 7] ^= p[3];
	mad_input(&gsi.port[0].port, &from, mad, MAD_LEN, loop.now);
}

static void step(const uint8_t *p)
{
	struct mad_addr from = { .qp = GSI_QPN, .qpn = GSI_QPN, .lid = 1 };
	uint8_t mad[MAD_LEN] = { 0 };
	size_t i = p[1] % ASKED;

	switch (p[0] % 9) {
	case 0:
		ask_path(p, i);
		break;
	case 1:
		join(p, i);
		break;
	case 2:
		forget(i);
		break;
	case 3:
		leave(i);
		break;
	case 4:
		memcpy(mad, p + 1, STEP_LEN - 1);
		mad_input(&gsi.port[0].port, &from, mad, MAD_LEN, loop.now);
		break;
	case 5:
		loop.now += p[3] * 10 * NS_MS;
		mad_timer(&gsi.mad, loop.now);
		break;
	case 6:
		if (p[2] & 1)
			fabrics_sa_reset(&fabrics, 0);
		closed = p[2] & 2 && p[2] & 4;
		page.dev[0].ib.sm_lid = p[2] & 8 && p[2] & 16 ? 0 : 1;
		break;
	default:
		answer(p);
		break;
	}
	for (i = 0; i < ASKED && timer_next(&loop.timers) <= loop.now; i++)
		timer_run(&loop.timers, loop.now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	setup();
	for (uint32_t i = 0; i < MAX_STEPS && size >= STEP_LEN; i++, size -= STEP_LEN) {
		step(data);
		data += STEP_LEN;
	}
	teardown();
	return 0;
}
