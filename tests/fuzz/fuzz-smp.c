/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes SMPs and performance MADs on two switches and three hosts. The input is a series of
 * steps: a byte that chooses the action, and a MAD or a few numbers. No MAD may be routed outside
 * of the tables, and MADs and events may reach only port 1 of a host.
 */
#include <stdlib.h>
#include <string.h>
#include "fabric/fabric.h"
#include "wire/testing_smp.h"
#include "fuzz.h"

#define HOSTS 3
#define STEP_LEN 48
#define MAX_STEPS 64

/* Two cables between the switches, so that tables can form loops. The hosts are nodes 1 to 3. */
static const char text[] = "Switch 4 \"S1\"\n[1] \"H1\"[1]\n[2] \"H2\"[1]\n"
			   "[3] \"S2\"[3]\n[4] \"S2\"[4]\n\nCa 1 \"H1\"\n\nCa 1 \"H2\"\n\n"
			   "Ca 1 \"H3\"\n\nSwitch 4 \"S2\"\n[1] \"H3\"[1]\n";

static void check_host(struct fabric *const *f, uint32_t node, uint8_t port)
{
	if (fabric_node_type(*f, node) == NODE_SWITCH || port != 1)
		abort();
}

static void on_mad(void *ctx, uint32_t node, uint8_t port, const struct mad_addr *from,
		   const uint8_t *mad)
{
	check_host(ctx, node, port);
}

static void on_event(void *ctx, uint32_t node, uint8_t port, enum fabric_event e)
{
	check_host(ctx, node, port);
}

static void on_data(void *ctx, uint32_t node, uint8_t port)
{
	check_host(ctx, node, port);
}

static const struct fabric_ops ops = { on_mad, on_event };

/* The first bytes of a step fill the header, the others the attribute or the path. */
static void send_mad(struct fabric *f, const uint8_t *d, ns_t now)
{
	struct mad_addr to = {
		.qp = d[1] & 1, .qpn = d[1] & 1, .sl = d[2], .lid = get_be16(d + 3),
	};
	uint8_t mad[MAD_LEN];
	uint8_t cls = d[1] & 1 ? MAD_CLASS_PERF : d[1] & 2 ? MAD_CLASS_SUBN_DR : MAD_CLASS_SUBN_LID;

	ib_smp_init(mad, d[1] & 4 ? d[2] : cls, d[5], d[6], get_be32(d + 7), d[2]);
	if (d[1] & 2)
		t_smp_path(mad, d + 32, 15);
	mad[SMP_O_HOP_COUNT] = d[11];
	mad[SMP_O_HOP_POINTER] = d[12];
	mad[MAD_O_STATUS] = d[13];
	memcpy(mad + SMP_O_MKEY, d + 14, 2);
	memcpy(mad + SMP_O_RETURN_PATH, d + 16, 16);
	if (d[1] & 8)
		put_be16(mad + SMP_O_DR_SLID, d[14]);
	if (d[1] & 16)
		put_be16(mad + SMP_O_DR_DLID, d[15]);
	memcpy(mad + SMP_O_DATA + d[2] % 32, d + 16, 32);
	fabric_send(f, 1 + d[0] / 16 % HOSTS, 1, &to, mad, now);
}

static void step(struct fabric *f, const uint8_t *d, ns_t *now)
{
	struct fabric_pkt pkt = {
		.slid = d[2], .dlid = get_be16(d + 3), .sl = d[5], .pkey = get_be16(d + 6),
		.packets = d[8] + 1u, .words = d[9], .mtu = get_be16(d + 10),
	};
	uint8_t out[MAD_LEN], mad[MAD_LEN] = { 0 };

	switch (d[0] % 16) {
	case 0:
		fabric_link(f, d[1] % 8, d[2] % 8, d[3] & 1, *now);
		break;
	case 1:
		fabric_power(f, d[1] % 8, d[3] & 1, *now);
		break;
	case 2:
		fabric_set_sm(f, d[1] % 8, d[2] % 4, d[3] & 1, *now);
		break;
	case 3:
		*now += d[1] * NS_S;
		fabric_timer(f, *now);
		break;
	case 4:
		fabric_data(f, 1 + d[1] % HOSTS, 1, &pkt, on_data, &f, *now);
		break;
	case 5:
		memcpy(mad, d + 1, STEP_LEN - 1);
		fabric_process(f, 1 + d[0] / 16 % HOSTS, 1, mad, out, *now);
		break;
	default:
		send_mad(f, d, *now);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fabric *f = NULL;
	struct topo t, now_is;
	struct topo_err err;
	ns_t now = 0;

	topo_init(&t);
	topo_init(&now_is);
	if (topo_parse(&t, text, sizeof(text) - 1, &err) || fabric_create(&t, &ops, &f, &f))
		abort();
	for (uint32_t i = 0; i < MAX_STEPS && size >= STEP_LEN; i++, size -= STEP_LEN) {
		step(f, data, &now);
		data += STEP_LEN;
	}
	if (fabric_topo(f, &now_is))
		abort();
	fabric_destroy(f);
	topo_fini(&t);
	topo_fini(&now_is);
	return 0;
}
