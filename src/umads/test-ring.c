/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ring.c: the agents and the counts of sends in the memory that programs see. The functions of abi/umad are fakes.
 */
#include <errno.h>
#include <rdma/ib_user_mad.h>
#include "base/testing.h"
#include "umads/umads_internal.h"

static struct umad_fd u;
static struct umad_shm shm;
static struct loop loop;
static struct umads us = { .loop = &loop };
static struct umad_node node = { .us = &us };
static bool begins;
static int result;

ssize_t umad_write(struct umad_file *f, const void *buf, size_t len, ns_t now)
{
	assert_true(u.posted);
	if (begins)
		umad_fd_begun(&u, (const uint8_t *)buf + len - MAD_LEN);
	return result ? result : (ssize_t)len;
}

ssize_t umad_read(struct umad_file *f, void *buf, size_t count, size_t *copied)
{
	return -EAGAIN;
}

size_t umad_next_len(const struct umad_file *f)
{
	return 0;
}

bool umad_next_why(const struct umad_file *f, void *why)
{
	return false;
}

size_t umad_file_hdr_len(const struct umad_file *f)
{
	return sizeof(struct ib_user_mad_hdr);
}

static int setup(void **state)
{
	memset(&shm, 0, sizeof(shm));
	u = (struct umad_fd){ .of = &node, .shm = &shm };
	begins = false;
	result = 0;
	return 0;
}

static void test_agents(void **state)
{
	struct ib_user_mad_reg_req2 r2 = { .id = 3, .qpn = 1, .rmpp_version = 1 };
	struct ib_user_mad_reg_req r = { .id = 0 };
	uint32_t id = 3;

	umad_ring_agents(&u, IB_USER_MAD_REGISTER_AGENT2, &r2);
	assert_int_equal(shm.agent[3], UMAD_AGENT | UMAD_AGENT_QP1 | UMAD_AGENT_RMPP);
	assert_int_equal(shm.hdr_len, sizeof(struct ib_user_mad_hdr));
	umad_ring_agents(&u, IB_USER_MAD_REGISTER_AGENT, &r);
	assert_int_equal(shm.agent[0], UMAD_AGENT);
	r.qpn = 1;
	umad_ring_agents(&u, IB_USER_MAD_REGISTER_AGENT, &r);
	assert_int_equal(shm.agent[0], UMAD_AGENT | UMAD_AGENT_QP1);
	umad_ring_agents(&u, IB_USER_MAD_ENABLE_PKEY, NULL);
	umad_ring_agents(&u, IB_USER_MAD_UNREGISTER_AGENT, &id);
	assert_int_equal(shm.agent[3], 0);
	assert_int_equal(shm.agent[0], UMAD_AGENT | UMAD_AGENT_QP1);
	/* An id beyond the table changes nothing. */
	r.id = UMAD_SHM_AGENTS;
	umad_ring_agents(&u, IB_USER_MAD_REGISTER_AGENT, &r);
	assert_int_equal(shm.agent[UMAD_SHM_AGENTS - 1], 0);
}

/* A posted MAD counts as begun by the program. If its send does not begin here, it counts as ended at once. */
static void test_posted(void **state)
{
	uint8_t buf[sizeof(struct ib_user_mad_hdr) + MAD_LEN + 1] = { 0 };
	const uint8_t *mad = buf + sizeof(struct ib_user_mad_hdr);
	uint32_t tid;

	tid = umad_shm_tid(mad);
	begins = true;
	umad_ring_send(&u, buf, sizeof(buf) - 1);
	assert_int_equal(shm.begun[tid], 0);
	assert_int_equal(shm.ended[tid], 0);
	begins = false;
	result = -EINVAL;
	umad_ring_send(&u, buf, sizeof(buf) - 1);
	assert_int_equal(shm.ended[tid], 1);
	/* Lengths that no program with the library posts. */
	umad_ring_send(&u, buf, MAD_LEN - 1);
	umad_ring_send(&u, buf, sizeof(buf));
	for (uint32_t i = 0; i < UMAD_TIDS; i++)
		assert_int_equal(shm.ended[i], i == tid);
	assert_false(u.posted);
	/* A MAD that is not posted. */
	umad_fd_begun(&u, mad);
	assert_int_equal(shm.begun[tid], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_agents, setup),
		cmocka_unit_test_setup(test_posted, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
