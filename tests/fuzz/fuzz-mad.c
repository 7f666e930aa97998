/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes MAD agents: MADs from the network, sends from programs, time and cancellations in any
 * order, with an agent of each kind on one device port. Each accepted send must complete exactly once,
 * received messages must have all bytes of their length, and nothing may be left when the agents
 * are gone.
 */
#include <stdlib.h>
#include "fuzz.h"
#include "mad/mad.h"

#define STEP_HDR 4	/* bytes: action; agent, QP; flags; time */
#define STEP_LEN (STEP_HDR + 64)

static struct mad_ports host;
static struct mad_port port;
static struct mad_agent *agents[6];
static uint32_t open_sends;
static uint8_t verdict;

static const struct mad_reg regs[] = {
	{ .qp = 1, .mgmt_class = MAD_CLASS_SUBN_ADM, .class_version = 2, .rmpp_version = 1,
	  .methods = { ~0ull, ~0ull } },
	{ .qp = 1, .mgmt_class = 0x32, .class_version = 1, .oui = { 0, 0, 1 }, .rmpp_version = 1,
	  .flags = MAD_REG_USER_RMPP, .methods = { ~0ull, ~0ull } },
	{ .qp = 1, .mgmt_class = MAD_CLASS_PERF, .class_version = 1, .methods = { 0xff } },
	{ .qp = 0, .mgmt_class = MAD_CLASS_SUBN_DR, .class_version = 1, .methods = { 0xff } },
	{ .qp = 1, .mgmt_class = MAD_CLASS_CM, .class_version = 2, .methods = { 0xff } },
	{ .qp = 1, .rmpp_version = 1 },
};

_Static_assert(ARRAY_SIZE(regs) == ARRAY_SIZE(agents), "one of each");

static int send(void *ctx, const struct mad_addr *a, const void *mad, size_t len)
{
	REQUIRE(len == MAD_LEN && a->qp <= 1);
	return verdict & 0x80 ? -1 : 0;
}

static int query_gid(void *ctx, uint8_t index, uint8_t gid[16])
{
	memset(gid, index, 16);
	return 0;
}

static enum mad_verdict process(void *ctx, const struct mad_addr *from, const uint8_t *mad,
				uint8_t *out)
{
	memcpy(out, mad, MAD_LEN);
	out[MAD_O_METHOD] |= MAD_RESP;
	out[MAD_O_STATUS] |= 0x80;
	return (enum mad_verdict)((verdict & 7) % (MAD_DISCARD + 1));
}

static const struct mad_ops ops = { .send = send, .gid = query_gid, .process = process };

static void got(void *ctx, const struct mad_recv *r, ns_t now)
{
	uint8_t sum = 0;

	for (uint32_t i = 0; i < r->len; i++)
		sum ^= r->mad[i];
	if (verdict & 0x40 && sum & 1) {
		struct mad_agent **a = ctx;

		mad_agent_destroy(*a, now);
		*a = NULL;
	}
}

static void done(void *ctx, void *cookie, enum mad_send_status st, uint8_t rmpp_status, ns_t now)
{
	REQUIRE(open_sends > 0);
	open_sends--;
}

static const struct mad_agent_ops agent_ops = { got, done };

static void step(const uint8_t *p, ns_t *now)
{
	struct mad_addr addr = { 0 };
	struct mad_send s = { .len = MAD_LEN };
	struct mad_agent *a = agents[p[1] % ARRAY_SIZE(agents)];
	uint8_t mad[MAD_LEN] = { 0 };
	char line[200];

	addr.qp = p[1] & 1;
	addr.qpn = p[1] >> 1 & 1;
	addr.grh = p[2] & 1;
	addr.sgid_index = p[2] >> 1 & 1;
	addr.lid = p[2] >> 2 & 3;
	memcpy(mad, p + STEP_HDR, STEP_LEN - STEP_HDR);
	s.addr = addr;
	s.mad = mad;
	s.timeout_ms = p[3] * 100u;
	s.retries = p[2] >> 4;
	s.cookie = (void *)(uintptr_t)(p[2] & 7);
	switch (p[0] % 5) {
	case 0:
		/*
		 * Half of the MADs carry an agent's half of the TID, so that a response among them
		 * reaches the agent.
		 */
		if (p[2] & 0x80 && a)
			put_be32(mad + MAD_O_TID, mad_agent_hi_tid(a));
		mad_print(mad, sizeof(mad), line, sizeof(line));
		mad_input(&port, &addr, mad, MAD_LEN, *now);
		break;
	case 1:
		open_sends++;
		if (!a || mad_send(a, &s, *now))
			open_sends--;
		break;
	case 2:
		*now += p[3] * 256 * NS_MS;
		mad_timer(&host, *now);
		break;
	case 3:
		if (a)
			mad_cancel(a, s.cookie, *now);
		break;
	case 4:
		verdict = p[2];
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	ns_t now = 0;

	open_sends = 0;
	verdict = 0;
	mad_ports_init(&host);
	port = (struct mad_port){ .ops = &ops, .qps = 3, .lmc = 1, .num = 1 };
	mad_port_init(&port, &host);
	for (size_t i = 0; i < ARRAY_SIZE(regs); i++)
		REQUIRE(!mad_agent_create(&port, &regs[i], &agent_ops, &agents[i], &agents[i]));
	for (; size >= STEP_LEN; data += STEP_LEN, size -= STEP_LEN)
		step(data, &now);
	mad_port_fini(&port, now);
	REQUIRE(open_sends == 0);
	REQUIRE(mad_wake(&host) == NS_NEVER);
	mad_ports_fini(&host);
	return 0;
}
