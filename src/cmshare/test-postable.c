/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of commands that may be sent without waiting for an answer. */
#include <rdma/rdma_user_cm.h>
#include "cmshare/postable.h"
#include "base/testing.h"
#include "cmshare/ucma_shm.h"

static struct {
	struct rdma_ucm_cmd_hdr hdr;
	union {
		struct rdma_ucm_destroy_id destroy;
		struct rdma_ucm_resolve_route route;
		struct rdma_ucm_connect connect;
		struct rdma_ucm_accept accept;
		struct rdma_ucm_disconnect disconnect;
		struct rdma_ucm_resolve_addr addr;
	};
} c;

/* What the command in c needs; an id that it names must be 7. */
static uint32_t needs(uint32_t cmd, size_t in, size_t len)
{
	uint32_t id = 0, can;

	c.hdr.cmd = cmd;
	c.hdr.in = (uint16_t)in;
	can = cmshare_postable(&c, len, &id);
	if (can)
		assert_int_equal(id, 7);
	return can;
}

/* A whole command; one that is a byte shorter, or longer than what was written, must wait. */
static uint32_t whole(uint32_t cmd, size_t size)
{
	assert_int_equal(needs(cmd, size - 1, sizeof(c.hdr) + size), 0);
	assert_int_equal(needs(cmd, size, sizeof(c.hdr) + size - 1), 0);
	return needs(cmd, size, sizeof(c.hdr) + size);
}

static void test_rows(void **state)
{
	struct rdma_ucm_conn_param *p;

	memset(&c, 0, sizeof(c));
	c.destroy.id = 7;
	assert_int_equal(whole(RDMA_USER_CM_CMD_DESTROY_ID, sizeof(c.destroy)),
			 CMSHARE_CAN_DESTROY);
	memset(&c, 0, sizeof(c));
	c.disconnect.id = 7;
	assert_int_equal(whole(RDMA_USER_CM_CMD_DISCONNECT, sizeof(c.disconnect)),
			 CMSHARE_CAN_DISCONNECT);
	assert_int_equal(whole(RDMA_USER_CM_CMD_RESOLVE_ROUTE, sizeof(c.route)), 0);
	c.route.timeout_ms = 1;
	assert_int_equal(whole(RDMA_USER_CM_CMD_RESOLVE_ROUTE, sizeof(c.route)), CMSHARE_CAN_ROUTE);
	memset(&c, 0, sizeof(c));
	c.addr.id = 7;
	assert_int_equal(whole(RDMA_USER_CM_CMD_RESOLVE_ADDR, sizeof(c.addr)), 0);
	c.addr.dst_size = sizeof(c.addr.dst_addr) + 1;
	assert_int_equal(whole(RDMA_USER_CM_CMD_RESOLVE_ADDR, sizeof(c.addr)), 0);
	c.addr.dst_size = 16;
	assert_int_equal(whole(RDMA_USER_CM_CMD_RESOLVE_ADDR, sizeof(c.addr)), CMSHARE_CAN_RESOLVE);
	c.addr.src_size = 16;
	assert_int_equal(whole(RDMA_USER_CM_CMD_RESOLVE_ADDR, sizeof(c.addr)), 0);
	memset(&c, 0, sizeof(c));
	c.connect.id = 7;
	p = &c.connect.conn_param;
	assert_int_equal(whole(RDMA_USER_CM_CMD_CONNECT, sizeof(c.connect)), 0);
	p->valid = 1;
	p->private_data_len = 56;
	assert_int_equal(whole(RDMA_USER_CM_CMD_CONNECT, sizeof(c.connect)), CMSHARE_CAN_CONNECT);
	p->private_data_len = 57;
	assert_int_equal(whole(RDMA_USER_CM_CMD_CONNECT, sizeof(c.connect)), 0);
	memset(&c, 0, sizeof(c));
	c.accept.id = 7;
	p = &c.accept.conn_param;
	assert_int_equal(whole(RDMA_USER_CM_CMD_ACCEPT, sizeof(c.accept)), CMSHARE_CAN_RTU);
	p->valid = 1;
	p->private_data_len = 196;
	assert_int_equal(whole(RDMA_USER_CM_CMD_ACCEPT, sizeof(c.accept)), CMSHARE_CAN_ACCEPT);
	p->private_data_len = 197;
	assert_int_equal(whole(RDMA_USER_CM_CMD_ACCEPT, sizeof(c.accept)), 0);
}

static void test_others(void **state)
{
	uint32_t id;

	memset(&c, 0, sizeof(c));
	for (uint32_t cmd = 0; cmd < 64; cmd++)
		if (cmd != RDMA_USER_CM_CMD_DESTROY_ID && cmd != RDMA_USER_CM_CMD_ACCEPT &&
		    cmd != RDMA_USER_CM_CMD_DISCONNECT)
			assert_int_equal(needs(cmd, sizeof(c) - sizeof(c.hdr), sizeof(c)), 0);
	assert_int_equal(needs(UINT32_MAX, 8, sizeof(c)), 0);
	assert_int_equal(cmshare_postable(&c, sizeof(c.hdr) - 1, &id), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
