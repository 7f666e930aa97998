/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes RMPP: two agents exchange long messages, and the input decides which MADs are lost,
 * changed, repeated or forged. Each send must complete exactly once, a received message must have
 * all of its bytes, and nothing may be left when the agents are gone.
 */
#include <stdlib.h>
#include "fuzz.h"
#include "mad/mad.h"

#define STEP_LEN 8
#define QUEUE 64
#define MAX_LEN (SA_HDR_LEN + 80 * (MAD_LEN - SA_HDR_LEN))

struct end {
	struct mad_port port;
	struct mad_agent *agent;
	uint32_t open_sends;
	uint8_t queue[QUEUE][MAD_LEN];	/* sent, not yet delivered */
	uint32_t head, tail;
};

static struct mad_ports host;
static struct end ends[2];
static ns_t now;

static int send(void *ctx, const struct mad_addr *a, const void *mad, size_t len)
{
	struct end *e = ctx;

	REQUIRE(len == MAD_LEN);
	if (e->head - e->tail < QUEUE)
		memcpy(e->queue[e->head++ % QUEUE], mad, MAD_LEN);
	return 0;
}

static const struct mad_ops ops = { .send = send };

static void send_message(struct end *e, uint8_t method, uint32_t tid, uint32_t len,
			 uint32_t timeout_ms)
{
	static uint8_t mad[MAX_LEN];
	struct mad_send s = { .addr = { .qp = 1, .qpn = 1, .lid = 1 }, .mad = mad,
			      .len = SA_HDR_LEN + len % (MAX_LEN - SA_HDR_LEN),
			      .timeout_ms = timeout_ms, .retries = 2 };
	struct mad_agent *a = method & MAD_RESP ? ends[e == ends].agent : e->agent;

	mad[MAD_O_BASE_VERSION] = 1;
	mad[MAD_O_CLASS] = MAD_CLASS_SUBN_ADM;
	mad[MAD_O_CLASS_VERSION] = 2;
	mad[MAD_O_METHOD] = method;
	put_be64(mad + MAD_O_TID, (uint64_t)mad_agent_hi_tid(a) << 32 | tid);
	mad[RMPP_O_RTIME_FLAGS] = RMPP_F_ACTIVE;
	e->open_sends++;
	if (mad_send(e->agent, &s, now))
		e->open_sends--;
}

static void got(void *ctx, const struct mad_recv *r, ns_t at)
{
	uint8_t sum = 0;

	for (uint32_t i = 0; i < r->len; i++)
		sum ^= r->mad[i];
	if (!mad_is_response(r->mad) && sum & 1)
		send_message(ctx, r->mad[MAD_O_METHOD] | MAD_RESP, (uint32_t)mad_tid(r->mad),
			     r->len, 0);
}

static void done(void *ctx, void *cookie, enum mad_send_status st, uint8_t rmpp_status, ns_t at)
{
	struct end *e = ctx;

	REQUIRE(e->open_sends > 0);
	e->open_sends--;
}

static const struct mad_agent_ops agent_ops = { got, done };

static void arrive(struct end *to, const uint8_t *mad)
{
	struct mad_addr from = { .qp = 1, .qpn = 1, .lid = 1 };

	mad_input(&to->port, &from, mad, MAD_LEN, now);
}

/*
 * One step. p[0] selects the end and the action; the other bytes are the action's arguments:
 * lengths and times, the byte to change in a MAD, or the header of a forged MAD.
 */
static void step(const uint8_t *p)
{
	struct end *e = &ends[p[0] & 1], *to = &ends[~p[0] & 1];
	uint8_t *mad = e->queue[e->tail % QUEUE], own[MAD_LEN] = { 0 };

	switch (p[0] >> 1 & 7) {
	case 0:
		send_message(e, p[1] & 0x7f, p[2] & 3, p[3] * 64u, p[4] * 100u);
		return;
	case 1:
		now += (p[1] << 8 | p[2]) * NS_MS;
		mad_timer(&host, now);
		return;
	case 2:	/* forged */
		own[MAD_O_BASE_VERSION] = 1;
		own[MAD_O_CLASS] = MAD_CLASS_SUBN_ADM;
		own[MAD_O_CLASS_VERSION] = 2;
		own[MAD_O_METHOD] = p[1];
		put_be64(own + MAD_O_TID, (uint64_t)mad_agent_hi_tid(to->agent) << 32 | (p[2] & 3));
		own[RMPP_O_VERSION] = p[2] & 0x80 ? p[2] : 1;
		own[RMPP_O_TYPE] = p[3] & 7;
		own[RMPP_O_RTIME_FLAGS] = p[3] >> 4;
		own[RMPP_O_STATUS] = p[4];
		put_be32(own + RMPP_O_SEG, p[5] == 0xff ? 0xffffffff : p[5]);
		put_be32(own + RMPP_O_LEN_WIN, (uint32_t)(p[6] << 8 | p[7]));
		arrive(to, own);
		return;
	}
	if (e->tail == e->head)
		return;
	switch (p[0] >> 1 & 7) {
	case 3:	/* lost */
		e->tail++;
		return;
	case 4:	/* changed */
		mad[p[1] % SA_HDR_LEN] ^= p[2];
		return;
	case 5:	/* duplicated */
		memcpy(own, mad, MAD_LEN);
		arrive(to, own);
		return;
	}
	for (uint32_t n = p[0] >> 4; n-- + 1 && e->tail != e->head;) {
		memcpy(own, e->queue[e->tail++ % QUEUE], MAD_LEN);
		arrive(to, own);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct mad_reg reg = {
		.qp = 1, .mgmt_class = MAD_CLASS_SUBN_ADM, .class_version = 2, .rmpp_version = 1,
		.methods = { ~0ull, ~0ull },
	};

	now = 0;
	mad_ports_init(&host);
	for (struct end *e = ends; e < ends + 2; e++) {
		memset(e, 0, sizeof(*e));
		e->port = (struct mad_port){ .ops = &ops, .ctx = e, .qps = 2 };
		mad_port_init(&e->port, &host);
		REQUIRE(!mad_agent_create(&e->port, &reg, &agent_ops, e, &e->agent));
	}
	for (; size >= STEP_LEN; data += STEP_LEN, size -= STEP_LEN)
		step(data);
	for (struct end *e = ends; e < ends + 2; e++) {
		mad_port_fini(&e->port, now);
		REQUIRE(e->open_sends == 0);
	}
	REQUIRE(mad_wake(&host) == NS_NEVER);
	mad_ports_fini(&host);
	return 0;
}
