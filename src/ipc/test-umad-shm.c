/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The memory of a umad file: which MADs may be posted.
 */
#include <rdma/ib_user_mad.h>
#include <stdlib.h>
#include <string.h>
#include "base/testing.h"
#include "ipc/umad_shm.h"
#include "wire/mad.h"

static struct umad_shm *s;
static uint32_t posted[UMAD_TIDS];

static int setup(void **state)
{
	s = calloc(1, sizeof(*s));
	memset(posted, 0, sizeof(posted));
	return s ? 0 : -1;
}

static int teardown(void **state)
{
	free(s);
	return 0;
}

static uint8_t packet[IPC_UMAD_SHOWN] __attribute__((aligned(8)));

/* A SubnGet of agent 3 by a directed route of one hop out of port 1. */
static uint8_t *build(void)
{
	struct ib_user_mad_hdr *h = (void *)packet;
	uint8_t *mad = packet + sizeof(*h);

	memset(packet, 0, sizeof(packet));
	h->id = 3;
	mad[MAD_O_CLASS] = MAD_CLASS_SUBN_DR;
	mad[MAD_O_METHOD] = MAD_GET;
	mad[MAD_O_CLASS_SPECIFIC + 1] = 1;
	mad[SMP_O_INITIAL_PATH + 1] = 1;
	put_be64(mad + MAD_O_TID, 77);
	s->hdr_len = sizeof(*h);
	s->port = 1;
	s->agent[3] = UMAD_AGENT;
	return mad;
}

static bool sendable(void)
{
	return umad_shm_sendable(s, posted, packet, s->hdr_len + MAD_LEN);
}

static void routes(void **state)
{
	uint8_t *mad = build();

	assert_true(sendable());
	mad[SMP_O_INITIAL_PATH + 1] = 2;
	assert_false(sendable());
	mad = build();
	mad[MAD_O_CLASS_SPECIFIC] = 1;
	assert_false(sendable());
	mad = build();
	mad[MAD_O_CLASS_SPECIFIC + 1] = 0;
	assert_false(sendable());
	mad[MAD_O_CLASS_SPECIFIC + 1] = 64;
	assert_false(sendable());
	mad = build();
	put_be16(mad + MAD_O_STATUS, SMP_DIRECTION);
	assert_false(sendable());
	build()[MAD_O_CLASS] = MAD_CLASS_SUBN_LID;
	assert_true(sendable());
}

static void who_may(void **state)
{
	struct ib_user_mad_hdr *h = (void *)packet;

	build();
	h->id = 4;
	assert_false(sendable());
	h->id = UINT32_MAX;
	assert_false(sendable());
	build();
	h->grh_present = 1;
	assert_false(sendable());
	build();
	h->pkey_index = 1;
	assert_false(sendable());
	build();
	s->dead = 1;
	assert_false(sendable());
	s->dead = 0;
	s->port = 0;
	assert_false(sendable());
	build();
	assert_false(umad_shm_sendable(s, posted, packet, sizeof(packet) - 1));
	assert_false(umad_shm_sendable(s, posted, packet, sizeof(packet) + 1));
	/* Header lengths that no umad file has. */
	for (s->hdr_len = 0; s->hdr_len < 400; s->hdr_len++)
		assert_true(s->hdr_len == 56 || s->hdr_len == 64 || !sendable());
	/* SMPs use QP 0, all other classes QP 1. */
	build();
	s->agent[3] = UMAD_AGENT | UMAD_AGENT_QP1;
	assert_false(sendable());
	build()[MAD_O_CLASS] = MAD_CLASS_PERF;
	assert_false(sendable());
	s->agent[3] |= UMAD_AGENT_QP1;
	assert_true(sendable());
	/* A class without RMPP from an agent with RMPP fails with EINVAL, which rused reports. */
	s->agent[3] |= UMAD_AGENT_RMPP;
	assert_false(sendable());
	build()[MAD_O_CLASS] = MAD_CLASS_SUBN_ADM;
	s->agent[3] = UMAD_AGENT | UMAD_AGENT_QP1;
	assert_true(sendable());
	packet[sizeof(*h) + RMPP_O_RTIME_FLAGS] = RMPP_F_ACTIVE;
	assert_false(sendable());
}

/* A MAD is not sendable while a send with the same hash is in progress, whether that one was posted or sent by request. */
static void transactions(void **state)
{
	uint8_t *mad = build();
	uint32_t tid = umad_shm_tid(mad);

	posted[tid]++;
	assert_false(sendable());
	put_be64(mad + MAD_O_TID, 78);
	assert_true(sendable());
	put_be64(mad + MAD_O_TID, 77);
	s->ended[tid]++;
	assert_true(sendable());
	s->begun[tid]++;
	assert_false(sendable());
	s->ended[tid]++;
	assert_true(sendable());
	/* The upper 32 bits of the TID belong to the agent. */
	put_be64(mad + MAD_O_TID, 5ull << 32 | 77);
	assert_int_equal(umad_shm_tid(mad), tid);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(routes), TEST(who_may), TEST(transactions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
