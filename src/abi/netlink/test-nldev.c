/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests of RDMA netlink: requests as by libibverbs and iproute2; replies decoded by libmnl. */
#include "abi/netlink/testing_nldev.h"

static void check_dev(const struct nlmsghdr *nlh)
{
	assert_int_equal(nlh->nlmsg_type, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET));
	assert_int_equal(mnl_attr_get_u32(attr(nlh, RDMA_NLDEV_ATTR_DEV_INDEX)), 5);
	assert_string_equal(mnl_attr_get_str(attr(nlh, RDMA_NLDEV_ATTR_DEV_NAME)), "rxe_0");
	assert_int_equal(mnl_attr_get_u32(attr(nlh, RDMA_NLDEV_ATTR_PORT_INDEX)), 1);
	assert_int_equal(mnl_attr_get_u64(attr(nlh, RDMA_NLDEV_ATTR_NODE_GUID)),
			 0x525400fffe770001);
	assert_int_equal(mnl_attr_get_u8(attr(nlh, RDMA_NLDEV_ATTR_DEV_NODE_TYPE)), 1);
	assert_string_equal(mnl_attr_get_str(attr(nlh, RDMA_NLDEV_ATTR_DEV_PROTOCOL)), "roce");
}

static void test_get_dump(void **state)
{
	const struct nlmsghdr *done;

	request(RDMA_NLDEV_CMD_GET, NLM_F_DUMP | NLM_F_ACK);
	run();
	assert_int_equal(got.n, 2);	/* the list and NLMSG_DONE; a dump gets no ACK */
	assert_int_equal(msg(0)->nlmsg_flags, NLM_F_MULTI);
	check_dev(msg(0));
	done = msg(1);
	assert_int_equal(done->nlmsg_type, NLMSG_DONE);
	assert_int_equal(*(int *)mnl_nlmsg_get_payload(done), 0);
}

static void test_get_dump_many(void **state)
{
	int i, n = 0;
	char name[64];

	for (i = 0; i < HOST_MAX_DEVS; i++) {
		memset(name, 'a' + i % 26, 60);
		name[60] = '\0';
		add_dev(i, 100 + (uint32_t)i, name);
	}
	request(RDMA_NLDEV_CMD_GET, NLM_F_DUMP);
	run();
	assert_true(got.n > 2);
	for (i = 0; i < got.n - 1; i++) {
		const struct nlmsghdr *nlh = (const struct nlmsghdr *)got.buf[i];
		int left = (int)got.len[i];

		for (; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left)) {
			const struct nlattr *a = attr(nlh, RDMA_NLDEV_ATTR_DEV_INDEX);

			assert_int_equal(mnl_attr_get_u32(a), 100 + n++);
		}
		assert_int_equal(left, 0);
	}
	assert_int_equal(n, HOST_MAX_DEVS);
	assert_int_equal(msg(got.n - 1)->nlmsg_type, NLMSG_DONE);
}

static void test_get_doit(void **state)
{
	mnl_attr_put_u32(request(RDMA_NLDEV_CMD_GET, NLM_F_ACK), RDMA_NLDEV_ATTR_DEV_INDEX, 5);
	run();
	assert_int_equal(got.n, 2);
	assert_int_equal(msg(0)->nlmsg_flags, 0);
	check_dev(msg(0));
	assert_int_equal(error_of(1), 0);
	assert_int_equal(msg(1)->nlmsg_flags, NLM_F_CAPPED);
	/* Without NLM_F_ACK, as in requests of libnl, there is only the answer itself. */
	req.nlh.nlmsg_flags = NLM_F_REQUEST;
	run();
	assert_int_equal(got.n, 1);
	request(RDMA_NLDEV_CMD_GET, 0);
	assert_int_equal(only_error(), -EINVAL);
	mnl_attr_put_u32(request(RDMA_NLDEV_CMD_GET, 0), RDMA_NLDEV_ATTR_DEV_INDEX, 1);
	assert_int_equal(only_error(), -EINVAL);
	mnl_attr_put_u8(request(RDMA_NLDEV_CMD_GET, 0), RDMA_NLDEV_ATTR_DEV_INDEX, 5);
	assert_int_equal(only_error(), -EINVAL);
}

static int umad_number(void *arg, int dev)
{
	return dev == 2 ? 17 : -ENODEV;
}

static void test_chardev(void **state)
{
	const struct nlmsghdr *nlh;

	mnl_attr_put_u32(request(RDMA_NLDEV_CMD_GET_CHARDEV, 0), RDMA_NLDEV_ATTR_DEV_INDEX, 5);
	mnl_attr_put_strz(&req.nlh, RDMA_NLDEV_ATTR_CHARDEV_TYPE, "uverbs");
	run();
	assert_int_equal(got.n, 1);
	nlh = msg(0);
	assert_int_equal(mnl_attr_get_u64(attr(nlh, RDMA_NLDEV_ATTR_CHARDEV)), 194 | 231 << 8);
	assert_int_equal(mnl_attr_get_u64(attr(nlh, RDMA_NLDEV_ATTR_CHARDEV_ABI)), 2);
	assert_string_equal(mnl_attr_get_str(attr(nlh, RDMA_NLDEV_ATTR_CHARDEV_NAME)), "uverbs2");
	assert_int_equal(mnl_attr_get_u32(attr(nlh, RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID)), 14);
	/* uverbs belongs to the device, not to a port. */
	mnl_attr_put_u32(&req.nlh, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	assert_int_equal(only_error(), -EINVAL);
	/* rdma_cm: one character device for all RDMA devices. */
	mnl_attr_put_strz(request(RDMA_NLDEV_CMD_GET_CHARDEV, 0), RDMA_NLDEV_ATTR_CHARDEV_TYPE,
			  "rdma_cm");
	run();
	assert_int_equal(got.n, 1);
	nlh = msg(0);
	assert_int_equal(mnl_attr_get_u64(attr(nlh, RDMA_NLDEV_ATTR_CHARDEV)), 124 | 10 << 8);
	assert_int_equal(mnl_attr_get_u64(attr(nlh, RDMA_NLDEV_ATTR_CHARDEV_ABI)), 4);
	assert_string_equal(mnl_attr_get_str(attr(nlh, RDMA_NLDEV_ATTR_CHARDEV_NAME)), "rdma_cm");
	mnl_attr_put_u32(&req.nlh, RDMA_NLDEV_ATTR_DEV_INDEX, 5);
	assert_int_equal(only_error(), -EOPNOTSUPP);
	/* umad belongs to a port. It needs the device, and the device must have one. */
	mnl_attr_put_strz(request(RDMA_NLDEV_CMD_GET_CHARDEV, 0), RDMA_NLDEV_ATTR_CHARDEV_TYPE,
			  "umad");
	assert_int_equal(only_error(), -EOPNOTSUPP);
	mnl_attr_put_u32(&req.nlh, RDMA_NLDEV_ATTR_DEV_INDEX, 5);
	assert_int_equal(only_error(), -EOPNOTSUPP);
	host.umad = umad_number;
	assert_int_equal(only_error(), -EINVAL);
	mnl_attr_put_u32(&req.nlh, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	run();
	assert_int_equal(mnl_attr_get_u64(attr(msg(0), RDMA_NLDEV_ATTR_CHARDEV)), 17 | 231 << 8);
	assert_int_equal(mnl_attr_get_u64(attr(msg(0), RDMA_NLDEV_ATTR_CHARDEV_ABI)), 5);
	assert_string_equal(mnl_attr_get_str(attr(msg(0), RDMA_NLDEV_ATTR_CHARDEV_NAME)), "umad17");
	mnl_attr_put_u32(request(RDMA_NLDEV_CMD_GET_CHARDEV, 0), RDMA_NLDEV_ATTR_DEV_INDEX, 5);
	assert_int_equal(only_error(), -EINVAL);
	/* A string without NUL. */
	mnl_attr_put(&req.nlh, RDMA_NLDEV_ATTR_CHARDEV_TYPE, 6, "uverbs");
	assert_int_equal(only_error(), -EINVAL);
	/* Strict parsing: unknown attributes are refused. */
	mnl_attr_put_strz(request(RDMA_NLDEV_CMD_GET_CHARDEV, 0), RDMA_NLDEV_ATTR_CHARDEV_TYPE,
			  "uverbs");
	mnl_attr_put_u32(&req.nlh, RDMA_NLDEV_ATTR_DEV_INDEX, 5);
	mnl_attr_put_u32(&req.nlh, 999, 5);
	assert_int_equal(only_error(), -EINVAL);
}

static void test_port(void **state)
{
	const struct nlmsghdr *nlh;

	mnl_attr_put_u32(request(RDMA_NLDEV_CMD_PORT_GET, NLM_F_ACK), RDMA_NLDEV_ATTR_DEV_INDEX, 5);
	assert_int_equal(only_error(), -EINVAL);
	mnl_attr_put_u32(&req.nlh, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	run();
	assert_int_equal(got.n, 2);
	nlh = msg(0);
	/* As in the kernel, the answer to PORT_GET has the type of GET. */
	assert_int_equal(nlh->nlmsg_type, RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET));
	assert_int_equal(mnl_attr_get_u8(attr(nlh, RDMA_NLDEV_ATTR_PORT_STATE)), 4);
	assert_int_equal(mnl_attr_get_u8(attr(nlh, RDMA_NLDEV_ATTR_PORT_PHYS_STATE)), 5);
	assert_int_equal(mnl_attr_get_u32(attr(nlh, RDMA_NLDEV_ATTR_NDEV_INDEX)), 7);
	assert_string_equal(mnl_attr_get_str(attr(nlh, RDMA_NLDEV_ATTR_NDEV_NAME)), "eth7");
	assert_null(attr(nlh, RDMA_NLDEV_ATTR_LID));
	mnl_attr_put_u32(request(RDMA_NLDEV_CMD_PORT_GET, 0), RDMA_NLDEV_ATTR_DEV_INDEX, 5);
	mnl_attr_put_u32(&req.nlh, RDMA_NLDEV_ATTR_PORT_INDEX, 2);
	assert_int_equal(only_error(), -EINVAL);
	/* If a dump fails, the errno is in NLMSG_DONE. */
	request(RDMA_NLDEV_CMD_PORT_GET, NLM_F_DUMP);
	run();
	assert_int_equal(got.n, 1);
	assert_int_equal(msg(0)->nlmsg_type, NLMSG_DONE);
	assert_int_equal(*(int *)mnl_nlmsg_get_payload(msg(0)), -EINVAL);
}

/* Adaptive moderation is off: it can be switched off, and not on. */
static void test_dim(void **state)
{
	static const int answers[] = { 0, -EOPNOTSUPP, -EINVAL };

	for (uint8_t on = 0; on < 3; on++) {
		request(RDMA_NLDEV_CMD_SET, NLM_F_ACK);
		mnl_attr_put_u32(&req.nlh, RDMA_NLDEV_ATTR_DEV_INDEX, 5);
		mnl_attr_put_u8(&req.nlh, RDMA_NLDEV_ATTR_DEV_DIM, on);
		assert_int_equal(only_error(), answers[on]);
	}
}

static void test_sys(void **state)
{
	request(RDMA_NLDEV_CMD_SYS_GET, 0);
	run();
	assert_int_equal(got.n, 1);
	assert_int_equal(mnl_attr_get_u8(attr(msg(0), RDMA_NLDEV_SYS_ATTR_NETNS_MODE)), 1);
	assert_int_equal(mnl_attr_get_u8(attr(msg(0), RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK)), 1);
	request(RDMA_NLDEV_CMD_SYS_GET, NLM_F_DUMP);
	assert_int_equal(only_error(), -EINVAL);
}

static void test_res(void **state)
{
	const struct nlattr *e, *n, *table;
	int seen = 0;

	mnl_attr_put_u32(request(RDMA_NLDEV_CMD_RES_GET, 0), RDMA_NLDEV_ATTR_DEV_INDEX, 5);
	run();
	table = attr(msg(0), RDMA_NLDEV_ATTR_RES_SUMMARY);
	assert_non_null(table);
	mnl_attr_for_each_nested(e, table) {
		const char *name = NULL;
		uint64_t v = 99;

		mnl_attr_for_each_nested(n, e) {
			if (mnl_attr_get_type(n) == RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME)
				name = mnl_attr_get_str(n);
			else
				v = mnl_attr_get_u64(n);
		}
		if (!name)
			fail_msg("an entry without a name");
		seen++;
		if (!strcmp(name, "qp"))
			assert_int_equal(v, QPS);
		if (!strcmp(name, "mr") || !strcmp(name, "cm_id"))
			assert_int_equal(v, 0);
	}
	assert_int_equal(seen, 7);
	/* Without objects a list is empty. */
	mnl_attr_put_u32(request(RDMA_NLDEV_CMD_RES_CM_ID_GET, NLM_F_DUMP),
			 RDMA_NLDEV_ATTR_DEV_INDEX, 5);
	run();
	assert_int_equal(got.n, 1);
	assert_int_equal(*(int *)mnl_nlmsg_get_payload(msg(0)), 0);
	none = true;
	mnl_attr_put_u32(request(RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_DUMP),
			 RDMA_NLDEV_ATTR_DEV_INDEX, 5);
	run();
	assert_int_equal(got.n, 1);
	assert_int_equal(*(int *)mnl_nlmsg_get_payload(msg(0)), 0);
	mnl_attr_put_u32(request(RDMA_NLDEV_CMD_RES_SRQ_GET, 0), RDMA_NLDEV_ATTR_DEV_INDEX, 5);
	assert_int_equal(only_error(), -EINVAL);
	mnl_attr_put_u32(&req.nlh, RDMA_NLDEV_ATTR_RES_SRQN, 1);
	assert_int_equal(only_error(), -ENOENT);
}

/* An attribute inside a nested one. Fails the test if it is missing. */
static const struct nlattr *nested(const struct nlattr *nest, uint16_t type)
{
	const struct nlattr *a;

	mnl_attr_for_each_nested(a, nest)
		if (mnl_attr_get_type(a) == type)
			return a;
	fail_msg("no attribute %u", type);
	return nest;
}

static uint32_t nested_u32(const struct nlattr *nest, uint16_t type)
{
	return mnl_attr_get_u32(nested(nest, type));
}

/* A dump of the QPs takes several datagrams and contains each QP once. */
static void test_res_dump(void **state)
{
	const struct nlattr *table, *e;
	uint32_t n = 0;

	mnl_attr_put_u32(request(RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_DUMP),
			 RDMA_NLDEV_ATTR_DEV_INDEX, 5);
	run();
	assert_true(got.n > 2);
	for (int i = 0; i < got.n - 1; i++) {
		table = attr(msg(i), RDMA_NLDEV_ATTR_RES_QP);
		assert_non_null(table);
		assert_string_equal(mnl_attr_get_str(attr(msg(i), RDMA_NLDEV_ATTR_DEV_NAME)),
				    "rxe_0");
		mnl_attr_for_each_nested(e, table) {
			assert_int_equal(nested_u32(e, RDMA_NLDEV_ATTR_RES_LQPN), 0x1003 + n);
			assert_int_equal(nested_u32(e, RDMA_NLDEV_ATTR_RES_RQPN), 0x2003 + n);
			assert_int_equal(nested_u32(e, RDMA_NLDEV_ATTR_RES_PDN), RES_ID(1, 1));
			assert_int_equal(nested_u32(e, RDMA_NLDEV_ATTR_RES_PID), 4711);
			n++;
		}
	}
	assert_int_equal(n, QPS);
	assert_int_equal(msg(got.n - 1)->nlmsg_type, NLMSG_DONE);

	/* RES_QP_GET finds a QP by its number. The answer about its SRQ lists this QP. */
	mnl_attr_put_u32(request(RDMA_NLDEV_CMD_RES_QP_GET, 0), RDMA_NLDEV_ATTR_DEV_INDEX, 5);
	mnl_attr_put_u32(&req.nlh, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	mnl_attr_put_u32(&req.nlh, RDMA_NLDEV_ATTR_RES_LQPN, 0x1003);
	run();
	assert_int_equal(mnl_attr_get_u32(attr(msg(0), RDMA_NLDEV_ATTR_RES_RQPN)), 0x2003);
	mnl_attr_put_u32(request(RDMA_NLDEV_CMD_RES_SRQ_GET, 0), RDMA_NLDEV_ATTR_DEV_INDEX, 5);
	mnl_attr_put_u32(&req.nlh, RDMA_NLDEV_ATTR_RES_SRQN, 9);
	run();
	table = attr(msg(0), RDMA_NLDEV_ATTR_RES_QP);
	assert_non_null(table);
	mnl_attr_for_each_nested(e, table)
		assert_int_equal(nested_u32(e, RDMA_NLDEV_ATTR_RES_LQPN), 0x1003);
}

/* If the request has PORT_INDEX, QPs that have no device port yet are left out. */
static void test_res_port(void **state)
{
	const struct nlattr *e;
	uint32_t n = 0;

	for (uint32_t i = 3 + 2; i < 3 + QPS; i++)
		objs[i].rec.port = 0;
	mnl_attr_put_u32(request(RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_DUMP),
			 RDMA_NLDEV_ATTR_DEV_INDEX, 5);
	mnl_attr_put_u32(&req.nlh, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	run();
	assert_int_equal(got.n, 2);
	mnl_attr_for_each_nested(e, attr(msg(0), RDMA_NLDEV_ATTR_RES_QP))
		assert_int_equal(nested_u32(e, RDMA_NLDEV_ATTR_RES_LQPN), 0x1003 + n++);
	assert_int_equal(n, 2);
	/* If no QP has a device port, the answer has an empty attribute RES_QP. */
	objs[3].rec.port = objs[4].rec.port = 0;
	run();
	assert_int_equal(got.n, 2);
	assert_int_equal(mnl_attr_get_payload_len(attr(msg(0), RDMA_NLDEV_ATTR_RES_QP)), 0);

	/* A request for one QP or CM id must have PORT_INDEX; a request for one PD must not have it. */
	mnl_attr_put_u32(request(RDMA_NLDEV_CMD_RES_QP_GET, 0), RDMA_NLDEV_ATTR_DEV_INDEX, 5);
	mnl_attr_put_u32(&req.nlh, RDMA_NLDEV_ATTR_RES_LQPN, 0x1003);
	assert_int_equal(only_error(), -EINVAL);
	mnl_attr_put_u32(&req.nlh, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	assert_int_equal(only_error(), -EAGAIN);
	mnl_attr_put_u32(request(RDMA_NLDEV_CMD_RES_QP_GET, 0), RDMA_NLDEV_ATTR_DEV_INDEX, 5);
	mnl_attr_put_u32(&req.nlh, RDMA_NLDEV_ATTR_RES_LQPN, 0x1003);
	mnl_attr_put_u32(&req.nlh, RDMA_NLDEV_ATTR_PORT_INDEX, 2);
	assert_int_equal(only_error(), -EINVAL);
	mnl_attr_put_u32(request(RDMA_NLDEV_CMD_RES_CM_ID_GET, 0), RDMA_NLDEV_ATTR_DEV_INDEX, 5);
	mnl_attr_put_u32(&req.nlh, RDMA_NLDEV_ATTR_RES_CM_IDN, 1);
	assert_int_equal(only_error(), -EINVAL);
	mnl_attr_put_u32(&req.nlh, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	assert_int_equal(only_error(), -ENOENT);
	mnl_attr_put_u32(request(RDMA_NLDEV_CMD_RES_PD_GET, 0), RDMA_NLDEV_ATTR_DEV_INDEX, 5);
	mnl_attr_put_u32(&req.nlh, RDMA_NLDEV_ATTR_RES_PDN, RES_ID(1, 1));
	mnl_attr_put_u32(&req.nlh, RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	assert_int_equal(only_error(), -EINVAL);
}

/* An SRQ lists its QPs as ranges, whatever the order of their creation. */
static void test_srq_ranges(void **state)
{
	static const uint32_t want[][2] = {
		{ 0x100, 0x100 }, { 0x2000 - 2 - QPS, 0x2000 - 51 }, { 0x2000 - 49, 0x2000 - 3 },
	};
	const struct nlattr *e, *entry;
	uint32_t n = 0;

	for (uint32_t i = 3; i < 3 + QPS; i++) {
		objs[i].rec.qp.srqn = 9;
		objs[i].rec.qp.lqpn = i == 50 ? 0x100 : 0x2000 - i;
	}
	mnl_attr_put_u32(request(RDMA_NLDEV_CMD_RES_SRQ_GET, NLM_F_DUMP),
			 RDMA_NLDEV_ATTR_DEV_INDEX, 5);
	run();
	assert_int_equal(got.n, 2);
	entry = mnl_attr_get_payload(attr(msg(0), RDMA_NLDEV_ATTR_RES_SRQ));
	mnl_attr_for_each_nested(e, nested(entry, RDMA_NLDEV_ATTR_RES_QP)) {
		assert_true(n < ARRAY_SIZE(want));
		if (want[n][0] == want[n][1]) {
			assert_int_equal(nested_u32(e, RDMA_NLDEV_ATTR_RES_LQPN), want[n][0]);
		} else {
			assert_int_equal(nested_u32(e, RDMA_NLDEV_ATTR_MIN_RANGE), want[n][0]);
			assert_int_equal(nested_u32(e, RDMA_NLDEV_ATTR_MAX_RANGE), want[n][1]);
		}
		n++;
	}
	assert_int_equal(n, ARRAY_SIZE(want));

	/* With gaps between the QP numbers each QP is an entry of its own: too long for a datagram. */
	for (uint32_t i = 3; i < 3 + QPS; i++)
		objs[i].rec.qp.lqpn = 0x1000 + 2 * i;
	run();
	assert_int_equal(got.n, 1);
	assert_int_equal(*(int *)mnl_nlmsg_get_payload(msg(0)), -EMSGSIZE);
	mnl_attr_put_u32(request(RDMA_NLDEV_CMD_RES_SRQ_GET, 0), RDMA_NLDEV_ATTR_DEV_INDEX, 5);
	mnl_attr_put_u32(&req.nlh, RDMA_NLDEV_ATTR_RES_SRQN, 9);
	assert_int_equal(only_error(), -EMSGSIZE);
}

static void test_permission(void **state)
{
	static const int ops[] = { RDMA_NLDEV_CMD_STAT_SET, RDMA_NLDEV_CMD_STAT_DEL,
				   RDMA_NLDEV_CMD_RES_QP_GET_RAW, RDMA_NLDEV_CMD_SYS_SET };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		host.admin = false;
		mnl_attr_put_u32(request(ops[i], NLM_F_ACK), RDMA_NLDEV_ATTR_DEV_INDEX, 5);
		assert_int_equal(only_error(), -EPERM);
		host.admin = true;
		assert_int_equal(only_error(), -EINVAL);	/* what it needs is missing */
	}
	request(0, 0);
	assert_int_equal(only_error(), -EINVAL);
	request(RDMA_NLDEV_NUM_OPS, 0);
	assert_int_equal(only_error(), -EINVAL);
	request(0, 0);
	req.nlh.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_LS, 0);
	assert_int_equal(only_error(), -EINVAL);
}

static void test_framing(void **state)
{
	char twice[512];
	uint32_t len;

	/* A message without NLM_F_REQUEST gets only the ACK that it asks for. NLMSG_NOOP without NLM_F_ACK gets no answer. */
	request(RDMA_NLDEV_CMD_GET, NLM_F_ACK);
	req.nlh.nlmsg_flags = NLM_F_ACK;
	assert_int_equal(only_error(), 0);
	req.nlh.nlmsg_flags = NLM_F_REQUEST;
	req.nlh.nlmsg_type = NLMSG_NOOP;
	run();
	assert_int_equal(got.n, 0);
	/* Two messages in one datagram, at an odd address. */
	mnl_attr_put_u32(request(RDMA_NLDEV_CMD_GET, 0), RDMA_NLDEV_ATTR_DEV_INDEX, 5);
	len = req.nlh.nlmsg_len;
	memcpy(twice + 1, &req, len);
	memcpy(twice + 1 + len, &req, len);
	nldev_input(&host, twice + 1, 2 * len, collect, NULL);
	assert_int_equal(got.n, 2);
	/* If the second message is cut short, only the first one is answered. */
	got.n = 0;
	nldev_input(&host, twice + 1, 2 * len - 1, collect, NULL);
	assert_int_equal(got.n, 1);
	/* An error repeats the request with its attributes. */
	mnl_attr_put_u32(request(RDMA_NLDEV_CMD_GET, 0), RDMA_NLDEV_ATTR_DEV_INDEX, 6);
	assert_int_equal(only_error(), -EINVAL);
	assert_int_equal(got.len[0], 2 * NLMSG_HDRLEN + 4 + 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_get_dump, setup),
		cmocka_unit_test_setup(test_get_dump_many, setup),
		cmocka_unit_test_setup(test_get_doit, setup),
		cmocka_unit_test_setup(test_chardev, setup),
		cmocka_unit_test_setup(test_port, setup),
		cmocka_unit_test_setup(test_dim, setup),
		cmocka_unit_test_setup(test_sys, setup),
		cmocka_unit_test_setup(test_res, setup),
		cmocka_unit_test_setup(test_res_dump, setup),
		cmocka_unit_test_setup(test_res_port, setup),
		cmocka_unit_test_setup(test_srq_ranges, setup),
		cmocka_unit_test_setup(test_permission, setup),
		cmocka_unit_test_setup(test_framing, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
