/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests of STAT_GET and STAT_GET_STATUS. */
#include "abi/netlink/testing_nldev.h"

static void test_stat(void **state)
{
	const struct nlattr *table, *e;
	int n = 0;

	host.stat[2][1] = 12345;
	mnl_attr_put_u32(request(RDMA_NLDEV_CMD_STAT_GET, 0), RDMA_NLDEV_ATTR_DEV_INDEX, 5);
	mnl_attr_put_u32(&req.nlh, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	run();
	table = attr(msg(0), RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
	assert_non_null(table);
	mnl_attr_for_each_nested(e, table) {
		const struct nlattr *a;

		mnl_attr_for_each_nested(a, e) {
			if (mnl_attr_get_type(a) == RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE)
				assert_int_equal(mnl_attr_get_u64(a), n == 1 ? 12345 : 0);
			else if (n == 1)
				assert_string_equal(mnl_attr_get_str(a), "rx_pkts");
		}
		n++;
	}
	assert_int_equal(n, 3);
}

static void ask_stat(uint16_t op, uint16_t flags, uint32_t res)
{
	mnl_attr_put_u32(request(op, flags), RDMA_NLDEV_ATTR_DEV_INDEX, 5);
	if (res)
		mnl_attr_put_u32(&req.nlh, RDMA_NLDEV_ATTR_STAT_RES, res);
}

/* Queries of iproute2's `rdma statistic`; kernel rxe binds no counter to a QP and has none of an MR. */
static void test_stat_objects(void **state)
{
	const struct nlattr *table, *e;
	uint32_t n = 0;

	/* rdma statistic qp: the list of counters of QPs is empty. */
	ask_stat(RDMA_NLDEV_CMD_STAT_GET, NLM_F_DUMP, RDMA_NLDEV_ATTR_RES_QP);
	run();
	assert_int_equal(msg(0)->nlmsg_type, NLMSG_DONE);
	assert_int_equal(*(int32_t *)mnl_nlmsg_get_payload(msg(0)), 0);
	/* Their mode; no counter has an ID. */
	ask_stat(RDMA_NLDEV_CMD_STAT_GET, 0, RDMA_NLDEV_ATTR_RES_QP);
	mnl_attr_put_u32(&req.nlh, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	assert_int_equal(only_error(), -EINVAL);
	mnl_attr_put_u32(&req.nlh, RDMA_NLDEV_ATTR_STAT_MODE, 0);
	run();
	assert_int_equal(mnl_attr_get_u32(attr(msg(0), RDMA_NLDEV_ATTR_STAT_MODE)),
			 RDMA_COUNTER_MODE_NONE);
	mnl_attr_put_u32(&req.nlh, RDMA_NLDEV_ATTR_STAT_COUNTER_ID, 1);
	assert_int_equal(only_error(), -ENOENT);
	/* rdma statistic mode: the names of the counters, of which none is optional. */
	ask_stat(RDMA_NLDEV_CMD_STAT_GET_STATUS, 0, 0);
	mnl_attr_put_u32(&req.nlh, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	run();
	table = attr(msg(0), RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
	assert_non_null(table);
	mnl_attr_for_each_nested(e, table) {
		const struct nlattr *a = mnl_attr_get_payload(e);

		assert_int_equal(mnl_attr_get_type(a), RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME);
		a = mnl_attr_next(a);
		assert_int_equal(mnl_attr_get_type(a), RDMA_NLDEV_ATTR_STAT_HWCOUNTER_INDEX);
		assert_int_equal(mnl_attr_get_u32(a), n++);
	}
	assert_int_equal(n, 3);
	/* Other objects have no counters. */
	ask_stat(RDMA_NLDEV_CMD_STAT_GET, 0, RDMA_NLDEV_ATTR_RES_CQ);
	assert_int_equal(only_error(), -EINVAL);
	ask_stat(RDMA_NLDEV_CMD_STAT_GET, 0, RDMA_NLDEV_ATTR_RES_MR);
	assert_int_equal(only_error(), -EINVAL);
	mnl_attr_put_u32(&req.nlh, RDMA_NLDEV_ATTR_RES_MRN, 77);
	assert_int_equal(only_error(), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_stat, setup),
		cmocka_unit_test_setup(test_stat_objects, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
