/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests of STAT_GET, STAT_GET_STATUS, and of commands that change something. */
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

#define ATTR(name) RDMA_NLDEV_ATTR_##name
#define QPN 0x1003	/* of an object */

#define PORT { ATTR(PORT_INDEX), 1 }
#define MODE(m) { ATTR(STAT_MODE), RDMA_COUNTER_MODE_##m }
#define OF_QPS { ATTR(STAT_RES), ATTR(RES_QP) }
#define COUNTER { ATTR(STAT_COUNTER_ID), 1 }
#define OF_QP(n) { ATTR(RES_LQPN), n }
#define SET(err, ...) { RDMA_NLDEV_CMD_STAT_SET, { __VA_ARGS__ }, err }
#define DEL(err, ...) { RDMA_NLDEV_CMD_STAT_DEL, { __VA_ARGS__ }, err }
#define RAW(kind, err, ...) { RDMA_NLDEV_CMD_RES_##kind##_GET_RAW, { __VA_ARGS__ }, err }

/* Requests that change something, each with the device: attributes of 32 bits, and the answer of kernel rxe, but for EOPNOTSUPP. */
static const struct change {
	uint16_t op;
	struct {
		uint16_t type;
		uint32_t value;
	} attr[6];
	int err;
} changes[] = {
	SET(-EINVAL, MODE(AUTO), OF_QPS),
	SET(-EINVAL, PORT),
	SET(-EINVAL, PORT, MODE(AUTO)),
	SET(-EINVAL, { ATTR(PORT_INDEX), 2 }, MODE(AUTO), OF_QPS),
	SET(-EINVAL, PORT, MODE(AUTO), { ATTR(STAT_RES), ATTR(RES_MR) }),
	SET(0, PORT, MODE(AUTO), OF_QPS),
	SET(-EOPNOTSUPP, PORT, MODE(AUTO), OF_QPS, { ATTR(STAT_AUTO_MODE_MASK), 1 }),
	SET(-EINVAL, PORT, MODE(MANUAL), OF_QPS),
	SET(-ENOENT, PORT, MODE(MANUAL), OF_QPS, OF_QP(3)),
	SET(-ENOMEM, PORT, MODE(MANUAL), OF_QPS, OF_QP(QPN)),
	SET(-ENOENT, PORT, MODE(MANUAL), OF_QPS, OF_QP(QPN), COUNTER),
	DEL(-EINVAL, PORT, OF_QPS),
	DEL(-ENOENT, PORT, OF_QPS, COUNTER, OF_QP(3)),
	DEL(-EINVAL, PORT, OF_QPS, COUNTER, OF_QP(QPN)),
	RAW(QP, -EINVAL, PORT),
	RAW(QP, -EINVAL, OF_QP(3)),
	RAW(QP, -ENOENT, PORT, OF_QP(3)),
	RAW(QP, -EINVAL, PORT, OF_QP(QPN)),
	RAW(MR, -ENOENT, { ATTR(RES_MRN), 77 }),
};

static void test_changes(void **state)
{
	host.admin = true;
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		const struct change *c = &changes[i];

		mnl_attr_put_u32(request(c->op, NLM_F_ACK), RDMA_NLDEV_ATTR_DEV_INDEX, 5);
		for (size_t k = 0; k < ARRAY_SIZE(c->attr) && c->attr[k].type; k++)
			mnl_attr_put_u32(&req.nlh, c->attr[k].type, c->attr[k].value);
		if (c->err) {
			assert_int_equal(only_error(), c->err);
			continue;
		}
		run();
		assert_int_equal(mnl_attr_get_u32(attr(msg(0), RDMA_NLDEV_ATTR_PORT_INDEX)), 1);
	}
}

/* The system is in the shared mode of network namespaces, and privileged Q_Keys need a privilege: to ask for that is no change. */
static void test_sys_set(void **state)
{
	host.admin = true;
	request(RDMA_NLDEV_CMD_SYS_SET, NLM_F_ACK);
	assert_int_equal(only_error(), -EINVAL);
	for (uint8_t v = 0; v < 3; v++) {
		mnl_attr_put_u8(request(RDMA_NLDEV_CMD_SYS_SET, NLM_F_ACK),
				RDMA_NLDEV_SYS_ATTR_NETNS_MODE, v);
		assert_int_equal(only_error(), v == 1 ? 0 : v ? -EINVAL : -EOPNOTSUPP);
		mnl_attr_put_u8(request(RDMA_NLDEV_CMD_SYS_SET, NLM_F_ACK), 96, v);
		assert_int_equal(only_error(), v == 0 ? 0 : v > 1 ? -EINVAL : -EOPNOTSUPP);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_stat, setup),
		cmocka_unit_test_setup(test_stat_objects, setup),
		cmocka_unit_test_setup(test_changes, setup),
		cmocka_unit_test_setup(test_sys_set, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
