/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests of the ioctls of umadN, and of issmN: numbers and sizes of the commands, agent ids, header
 * format, errno in the kernel's order, and the queue of issmN.
 */
#include "abi/umad/testing.h"

#define IOCTL(f, cmd, arg) umad_ioctl(f, IB_USER_MAD_##cmd, arg, net.now)

static void test_numbers(void **state)
{
	assert_int_equal(IB_USER_MAD_REGISTER_AGENT, 0xc01c1b01);
	assert_int_equal(IB_USER_MAD_UNREGISTER_AGENT, 0x40041b02);
	assert_int_equal(IB_USER_MAD_ENABLE_PKEY, 0x1b03);
	assert_int_equal(IB_USER_MAD_REGISTER_AGENT2, 0xc0281b04);
	assert_int_equal(umad_ioctl_len(IB_USER_MAD_REGISTER_AGENT), 28);
	assert_int_equal(umad_ioctl_len(IB_USER_MAD_UNREGISTER_AGENT), 4);
	assert_int_equal(umad_ioctl_len(IB_USER_MAD_ENABLE_PKEY), 0);
	assert_int_equal(umad_ioctl_len(IB_USER_MAD_REGISTER_AGENT2), 40);
	assert_int_equal(umad_ioctl_len(0x1b05), -1);
	setup_ports(false);
	assert_int_equal(umad_ioctl(t[0].f, 0x1b05, NULL, 0).rc, -ENOTTY);
	teardown_ports();
}

/*
 * The lowest free id is returned. The 33rd agent gets ENOMEM. An id can be used again after its
 * agent has ended.
 */
static void test_ids(void **state)
{
	struct ib_user_mad_reg_req2 r2 = { .qpn = 1 };
	struct ib_user_mad_reg_req r = { .qpn = 1 };
	struct umad_answer a;
	uint32_t id = 5;

	setup_ports(false);
	for (int i = 0; i < UMAD_MAX_AGENTS; i += 2) {
		r.id = r2.id = 99;
		a = IOCTL(t[0].f, REGISTER_AGENT, &r);
		assert_int_equal(a.rc, 0);
		assert_int_equal(a.off, 0);
		assert_int_equal(a.len, 4);
		assert_int_equal(r.id, i);
		a = IOCTL(t[0].f, REGISTER_AGENT2, &r2);
		assert_int_equal(a.rc, 0);
		assert_int_equal(a.off, 0);
		assert_int_equal(a.len, 4);
		assert_int_equal(r2.id, i + 1);
	}
	a = IOCTL(t[0].f, REGISTER_AGENT, &r);
	assert_int_equal(a.rc, -ENOMEM);
	assert_int_equal(a.len, 0);
	assert_int_equal(IOCTL(t[0].f, REGISTER_AGENT2, &r2).rc, -ENOMEM);
	r2.flags = 2;
	assert_int_equal(IOCTL(t[0].f, REGISTER_AGENT2, &r2).rc, -EINVAL);
	assert_int_equal(IOCTL(t[0].f, UNREGISTER_AGENT, &id).rc, 0);
	assert_int_equal(IOCTL(t[0].f, UNREGISTER_AGENT, &id).rc, -EINVAL);
	assert_int_equal(IOCTL(t[0].f, REGISTER_AGENT, &r).rc, 0);
	assert_int_equal(r.id, 5);
	id = 32;
	assert_int_equal(IOCTL(t[0].f, UNREGISTER_AGENT, &id).rc, -EINVAL);
	id = 0xffffffff;
	assert_int_equal(IOCTL(t[0].f, UNREGISTER_AGENT, &id).rc, -EINVAL);
	teardown_ports();
}

static void test_enable_pkey(void **state)
{
	struct ib_user_mad_reg_req r = { .qpn = 1 };
	uint32_t id = 0;

	setup_ports(false);
	assert_int_equal(umad_hdr_len(t[0].f), 56);
	assert_int_equal(IOCTL(t[0].f, ENABLE_PKEY, NULL).rc, 0);
	assert_int_equal(IOCTL(t[0].f, ENABLE_PKEY, NULL).rc, 0);
	assert_int_equal(umad_hdr_len(t[0].f), 64);
	assert_int_equal(IOCTL(t[0].f, REGISTER_AGENT, &r).rc, 0);
	assert_int_equal(IOCTL(t[0].f, ENABLE_PKEY, NULL).rc, -EINVAL);
	assert_int_equal(umad_hdr_len(t[0].f), 64);
	/*
	 * ENABLE_PKEY fails on a file that had an agent, and REGISTER_AGENT2 does not change its
	 * header.
	 */
	assert_int_equal(IOCTL(t[1].f, REGISTER_AGENT, &r).rc, 0);
	assert_int_equal(IOCTL(t[1].f, UNREGISTER_AGENT, &id).rc, 0);
	assert_int_equal(IOCTL(t[1].f, ENABLE_PKEY, NULL).rc, -EINVAL);
	assert_int_equal(reg2(1, 0, 0, 0, 0), 0);
	assert_int_equal(umad_hdr_len(t[1].f), 56);
	teardown_ports();
	/* If the first agent is made by REGISTER_AGENT2, headers have 64 bytes. If the command fails they keep 56. */
	setup_ports(false);
	assert_int_equal(reg2(0, 0, 0, 2, 0), -EINVAL);
	assert_int_equal(umad_hdr_len(t[0].f), 56);
	assert_int_equal(reg2(0, 0, 0, 0, 0), 0);
	assert_int_equal(umad_hdr_len(t[0].f), 64);
	teardown_ports();
}

static void test_errors(void **state)
{
	struct ib_user_mad_reg_req2 r2 = { .qpn = 2 };
	struct ib_user_mad_reg_req r = { .qpn = 2 };
	struct umad_answer a;

	setup_ports(true);
	assert_int_equal(IOCTL(t[0].f, REGISTER_AGENT, &r).rc, -EINVAL);
	assert_int_equal(IOCTL(t[0].f, REGISTER_AGENT2, &r2).rc, -EINVAL);
	r2.qpn = 256 + 1;	/* all 32 bits count */
	assert_int_equal(IOCTL(t[0].f, REGISTER_AGENT2, &r2).rc, -EINVAL);
	/* RoCE has no QP 0. */
	r.qpn = r2.qpn = 0;
	assert_int_equal(IOCTL(t[0].f, REGISTER_AGENT, &r).rc, -EPROTONOSUPPORT);
	assert_int_equal(IOCTL(t[0].f, REGISTER_AGENT2, &r2).rc, -EPROTONOSUPPORT);
	r2.qpn = 1;
	/* Unknown flags: the answer names the known ones. */
	r2.flags = 0xfffffffe;
	a = IOCTL(t[0].f, REGISTER_AGENT2, &r2);
	assert_int_equal(a.rc, -EINVAL);
	assert_int_equal(a.off, 12);
	assert_int_equal(a.len, 4);
	assert_int_equal(r2.flags, 1);
	/* USER_RMPP needs a class. */
	assert_int_equal(IOCTL(t[0].f, REGISTER_AGENT2, &r2).rc, -EINVAL);
	r2.flags = 0;
	r2.mgmt_class = 0x32;
	r2.oui = 0x01000001;
	assert_int_equal(IOCTL(t[0].f, REGISTER_AGENT2, &r2).rc, -EINVAL);
	r2.oui = 0;
	assert_int_equal(IOCTL(t[0].f, REGISTER_AGENT2, &r2).rc, -EINVAL);
	r2.oui = 0x123456;
	r2.method_mask[0] = 2;
	assert_int_equal(IOCTL(t[0].f, REGISTER_AGENT2, &r2).rc, 0);
	/* The class is registered with this OUI by REGISTER_AGENT2; another OUI is free. */
	r = (struct ib_user_mad_reg_req){ .qpn = 1, .mgmt_class = 0x32, .oui = { 0x12, 0x34, 0x56 },
					  .method_mask = { 2 } };
	assert_int_equal(IOCTL(t[0].f, REGISTER_AGENT, &r).rc, -EINVAL);
	r.oui[2] = 0x57;
	assert_int_equal(IOCTL(t[0].f, REGISTER_AGENT, &r).rc, 0);
	r.mgmt_class = MAD_CLASS_PERF;
	r.rmpp_version = 1;
	assert_int_equal(IOCTL(t[0].f, REGISTER_AGENT, &r).rc, -EINVAL);
	r.rmpp_version = 0;
	r.mgmt_class_version = 0x83;
	assert_int_equal(IOCTL(t[0].f, REGISTER_AGENT, &r).rc, -EINVAL);
	teardown_ports();
}

/* Agents end with their file, and their classes are free again. */
static void test_close(void **state)
{
	setup_ports(false);
	assert_int_equal(reg2(0, MAD_CLASS_PERF, 1, 0, 0), 0);
	assert_int_equal(reg2(0, MAD_CLASS_PERF, 1, 0, 0), -EINVAL);
	packet(0, 1, MAD_CLASS_PERF, 1, MAD_GET, 1);
	((struct ib_user_mad_hdr *)buf)->timeout_ms = 100;
	assert_true(write_packet(0, MAD_LEN) > 0);
	umad_close(t[0].f, net.now);
	assert_int_equal(t[0].queued, 0);
	assert_int_equal(umad_open(&t[0].port, &file_ops, &t[0], &t[0].f), 0);
	assert_int_equal(reg2(0, MAD_CLASS_PERF, 1, 0, 0), 0);
	/* The response to a request of the closed file is dropped. */
	net_run(&net, NS_S);
	assert_int_equal(t[0].f->npackets, 0);
	teardown_ports();
}

static int granted_rc;
static struct umad_sm *granted_to;

static void granted(struct umad_sm *sm, int rc)
{
	granted_to = sm;
	granted_rc = rc;
}

static void test_issm(void **state)
{
	struct umad_sm a = { .granted = granted }, b = a, c = a;

	setup_ports(false);
	granted_to = NULL;
	assert_int_equal(umad_sm_open(&t[0].port, &a, true), 0);
	assert_int_equal(t[0].sm, 1);
	assert_int_equal(umad_sm_open(&t[0].port, &b, true), -EAGAIN);
	assert_int_equal(umad_sm_open(&t[1].port, &b, true), 0);	/* issm1, of another device port */
	umad_sm_close(&b);
	assert_int_equal(t[1].sm, 0);
	assert_int_equal(umad_sm_open(&t[0].port, &b, false), -EINPROGRESS);
	assert_int_equal(umad_sm_open(&t[0].port, &c, false), -EINPROGRESS);
	umad_sm_close(&b);	/* b gives up waiting, as after a signal */
	assert_null(granted_to);
	umad_sm_close(&a);
	assert_ptr_equal(granted_to, &c);
	assert_int_equal(granted_rc, 0);
	assert_int_equal(t[0].sm, 1);
	umad_sm_close(&a);	/* a has released the device port already: no effect */
	assert_int_equal(t[0].sm, 1);
	umad_sm_close(&c);
	assert_int_equal(t[0].sm, 0);
	teardown_ports();
}

static void test_issm_errors(void **state)
{
	struct umad_sm a = { .granted = granted }, b = a;

	setup_ports(false);
	t[0].sm_rc = -EOPNOTSUPP;
	assert_int_equal(umad_sm_open(&t[0].port, &a, true), -EOPNOTSUPP);
	t[0].sm_rc = 0;
	assert_int_equal(umad_sm_open(&t[0].port, &a, true), 0);
	assert_int_equal(umad_sm_open(&t[0].port, &b, false), -EINPROGRESS);
	t[0].sm_rc = -EIO;
	umad_sm_close(&a);
	assert_ptr_equal(granted_to, &b);
	assert_int_equal(granted_rc, -EIO);
	t[0].sm_rc = 0;
	assert_int_equal(umad_sm_open(&t[0].port, &a, true), 0);
	assert_int_equal(umad_sm_open(&t[0].port, &b, false), -EINPROGRESS);
	umad_port_remove(&t[0].port, 0);
	assert_ptr_equal(granted_to, &b);
	assert_int_equal(granted_rc, -ENXIO);
	assert_int_equal(umad_sm_open(&t[0].port, &b, true), -ENXIO);
	umad_sm_close(&a);
	umad_sm_close(&b);
	teardown_ports();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),	    cmocka_unit_test(test_ids),
		cmocka_unit_test(test_enable_pkey), cmocka_unit_test(test_errors),
		cmocka_unit_test(test_close),	    cmocka_unit_test(test_issm),
		cmocka_unit_test(test_issm_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
