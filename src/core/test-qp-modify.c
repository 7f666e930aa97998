/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * MODIFY_QP apart from the state table (test-qp-state.c): attribute values and the order of
 * their checks, CUR_STATE, draining, the links that it connects, and the values stored.
 * modify() checks that a refused call changes nothing.
 */
#include "base/testing.h"
#include "core/testing.h"

#define M_INIT (IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS)
#define M_RTR                                                                  \
	(IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN | \
	 IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER)
#define M_RTS                                                                  \
	(IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |     \
	 IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC)

static struct test_dev *td;
static struct pd *pd;
static struct cq *cq;
static struct qp *qp;
static struct link *const link_a = (struct link *)0x1000, *const link_b = (struct link *)0x2000;

static const struct qp_attr good = {
	.path_mtu = 1024, .qkey = 0x11, .rq_psn = 0xff123456, .sq_psn = 0xabcdef,
	.dest_qpn = 0x01004005, .access = 7, .port = 1, .timeout = 14, .retry_cnt = 7,
	.rnr_retry = 7, .min_rnr_timer = 12, .max_rd_atomic = 5, .max_dest_rd_atomic = 16,
	.ah = { .port_num = 1, .is_global = 1,
		.grh = { .dgid = { [10] = 0xff, 0xff, 10, 0, 0, 2 }, .sgid_index = 1 } },
	.alt_ah = { .port_num = 1, .is_global = 1, .grh.sgid_index = 1 }, .alt_port = 1,
};

static int setup(void **state)
{
	struct qp_init_attr init = { .type = QPT_RC, .max_send_wr = 4, .max_recv_wr = 4,
				     .max_send_sge = 1, .max_recv_sge = 1 };

	td = test_dev_create();
	td->link = link_a;
	assert_int_equal(pd_create(&td->uctx, &pd), 0);
	assert_int_equal(cq_create(&td->uctx, 10, 0, NULL, NULL, 0, &cq), 0);
	init.send_cq = init.recv_cq = cq;
	if (*state)
		init.type = QPT_UD;
	assert_int_equal(qp_create(pd, &init, &qp), 0);
	return 0;
}

static int teardown(void **state)
{
	uint32_t a, b;

	assert_int_equal(qp_destroy(qp, &a), 0);
	assert_int_equal(cq_destroy(cq, &a, &b), 0);
	assert_int_equal(pd_destroy(pd), 0);
	assert_int_equal(td->rings, 0);
	test_dev_destroy(td);
	return 0;
}

static int modify(uint32_t mask, const struct qp_attr *attr, enum qp_state to)
{
	enum qp_state old = QPS_COUNT, new = QPS_COUNT, before = (enum qp_state)qp->state;
	struct qp_attr had = qp->attr;
	int err = qp_modify(qp, mask, attr, 0, to, &old, &new);

	if (err) {
		assert_int_equal(qp->state, before);
		assert_memory_equal(&qp->attr, &had, sizeof(had));
		return err;
	}
	assert_int_equal(old, before);
	assert_int_equal(new, mask & IB_QP_STATE ? to : before);
	assert_int_equal(qp->state, new);
	return 0;
}

static void to_rts(void)
{
	assert_int_equal(modify(M_INIT, &good, QPS_INIT), 0);
	assert_int_equal(modify(M_RTR, &good, QPS_RTR), 0);
	assert_int_equal(modify(M_RTS, &good, QPS_RTS), 0);
}

static void stored(void **state)
{
	to_rts();
	assert_int_equal(td->connects, 1);
	assert_ptr_equal(qp->link, link_a);
	assert_int_equal(qp->attr.path_mtu, 1024);
	assert_int_equal(qp->attr.rq_psn, 0x123456);
	assert_int_equal(qp->attr.sq_psn, 0xabcdef);
	assert_int_equal(qp->attr.dest_qpn, 0x004005);
	assert_int_equal(qp->peer_block, 1);
	assert_int_equal(qp->attr.max_rd_atomic, 8);
	assert_int_equal(qp->attr.max_dest_rd_atomic, 16);
	assert_int_equal(qp->attr.qkey, 0);	/* IB_QP_QKEY was in no mask */
	assert_int_equal(qp->attr_set, M_INIT | M_RTR | M_RTS);
	/* RESET keeps the link, so that the transport can revoke segments; a new path drops it. */
	assert_int_equal(modify(IB_QP_STATE, &good, QPS_RESET), 0);
	assert_int_equal(td->disconnects, 0);
	assert_int_equal(modify(M_INIT, &good, QPS_INIT), 0);
	td->link = link_b;
	assert_int_equal(modify(M_RTR, &good, QPS_RTR), 0);
	assert_int_equal(td->disconnects, 1);
	assert_ptr_equal(qp->link, link_b);
}

#define REFUSED(mask, to, err, field, value)                                   \
	do {                                                                   \
		struct qp_attr _a = good;                                      \
		_a.field = (value);                                            \
		assert_int_equal(modify(mask, &_a, to), err);                  \
	} while (0)

static void values(void **state)
{
	REFUSED(M_INIT, QPS_INIT, -EINVAL, port, 0);
	REFUSED(M_INIT, QPS_INIT, -EINVAL, port, 2);
	REFUSED(M_INIT, QPS_INIT, -EINVAL, pkey_index, 1);
	REFUSED(M_INIT | 1u << 21, QPS_INIT, -EOPNOTSUPP, port, 1);
	REFUSED(M_INIT | IB_QP_CAP, QPS_INIT, -EINVAL, port, 1);
	assert_int_equal(modify(M_INIT, &good, QPS_INIT), 0);
	REFUSED(M_RTR, QPS_RTR, -EINVAL, path_mtu, 0);
	REFUSED(M_RTR, QPS_RTR, -EINVAL, path_mtu, 128);
	REFUSED(M_RTR, QPS_RTR, -EINVAL, path_mtu, 1500);
	REFUSED(M_RTR, QPS_RTR, -EINVAL, path_mtu, 8192);
	REFUSED(M_RTR, QPS_RTR, -EINVAL, ah.is_global, 0);
	REFUSED(M_RTR, QPS_RTR, -EINVAL, ah.port_num, 2);
	REFUSED(M_RTR, QPS_RTR, -ENODATA, ah.grh.sgid_index, 5);
	REFUSED(M_RTR, QPS_RTR, -EINVAL, max_dest_rd_atomic, 129);
	REFUSED(M_RTR | IB_QP_ALT_PATH, QPS_RTR, -EINVAL, port, 1);
	REFUSED(M_RTR, QPS_RTR, -EINVAL, ah.grh.sgid_index, 0);
	REFUSED(M_RTR, QPS_RTR, -EINVAL, ah.grh.dgid[10], 0);
	REFUSED(M_RTR, QPS_RTS, -EINVAL, ah.grh.sgid_index, 0);
	/* The address vector is checked before the state transition. */
	REFUSED(M_RTR, QPS_RTS, -ENODATA, ah.grh.sgid_index, 5);
	assert_int_equal(td->connects, 0);
	td->connect_err = -ENETUNREACH;
	assert_int_equal(modify(M_RTR, &good, QPS_RTR), -ENETUNREACH);
	assert_null(qp->link);
	td->connect_err = 0;
	assert_int_equal(modify(M_RTR, &good, QPS_RTR), 0);
	REFUSED(M_RTS, QPS_RTS, -EINVAL, timeout, 32);
	REFUSED(M_RTS, QPS_RTS, -EINVAL, max_rd_atomic, 129);
	REFUSED(M_RTS, QPS_RTS, 0, max_rd_atomic, 128);
	assert_int_equal(qp->attr.max_rd_atomic, 128);
}

/* RoCE has no alternate paths: ib_core refuses them, kernel rxe stores any migration state. */
static void path_migration_roce(void **state)
{
	REFUSED(M_INIT | IB_QP_ALT_PATH, QPS_INIT, -EINVAL, port, 1);
	REFUSED(M_INIT | IB_QP_ALT_PATH, QPS_INIT, -EINVAL, alt_ah.port_num, 2);
	to_rts();
	REFUSED(IB_QP_ALT_PATH, QPS_RTS, -EINVAL, port, 1);
	REFUSED(IB_QP_ALT_PATH | IB_QP_PATH_MIG_STATE, QPS_RTS, -EINVAL, path_mig_state, 1);
	REFUSED(IB_QP_ALT_PATH, QPS_RTS, -ENODATA, alt_ah.grh.sgid_index, 5);
	for (uint8_t mig = 0; mig < 4; mig++) {
		REFUSED(IB_QP_PATH_MIG_STATE, QPS_RTS, 0, path_mig_state, mig);
		assert_int_equal(qp->attr.path_mig_state, mig);
	}
}

/* InfiniBand ports have alternate paths, which ruse does not support: EOPNOTSUPP. */
static void path_migration_ib(void **state)
{
	struct qp_attr alt = good;

	td->dev.port.ib = true;
	to_rts();
	REFUSED(IB_QP_ALT_PATH, QPS_RTS, -EOPNOTSUPP, port, 1);
	REFUSED(IB_QP_ALT_PATH, QPS_RTS, -ENODATA, alt_ah.grh.sgid_index, 5);
	alt.alt_ah.is_global = 0;
	assert_int_equal(modify(IB_QP_ALT_PATH, &alt, QPS_RTS), -EINVAL);	/* no GRH and no DLID */
	alt.alt_ah.dlid = 9;
	assert_int_equal(modify(IB_QP_ALT_PATH, &alt, QPS_RTS), -EOPNOTSUPP);
	REFUSED(IB_QP_PATH_MIG_STATE, QPS_RTS, 0, path_mig_state, 0);		/* Migrated */
	REFUSED(IB_QP_PATH_MIG_STATE, QPS_RTS, -EOPNOTSUPP, path_mig_state, 1);	/* Rearm */
	REFUSED(IB_QP_PATH_MIG_STATE, QPS_RTS, -EOPNOTSUPP, path_mig_state, 2);	/* Armed */
	REFUSED(IB_QP_PATH_MIG_STATE, QPS_RTS, -EINVAL, path_mig_state, 3);
	/* A transition that does not allow the attribute is refused first. */
	REFUSED(IB_QP_STATE | IB_QP_PATH_MIG_STATE, QPS_SQD, -EINVAL, path_mig_state, 1);
	assert_int_equal(qp->attr.path_mig_state, 0);
}

static void cur_state(void **state)
{
	enum qp_state old, new;

	to_rts();
	assert_int_equal(qp_modify(qp, IB_QP_STATE | IB_QP_CUR_STATE, &good, QPS_RTS, QPS_RTS,
				   &old, &new), 0);
	/* SQD to RTS is a valid transition, but the QP is not in SQD. */
	assert_int_equal(qp_modify(qp, IB_QP_STATE | IB_QP_CUR_STATE, &good, QPS_SQD, QPS_RTS,
				   &old, &new), -EINVAL);
	assert_int_equal(qp_modify(qp, IB_QP_STATE | IB_QP_CUR_STATE, &good, 99, QPS_RTS,
				   &old, &new), -EINVAL);
	assert_int_equal(qp_modify(qp, IB_QP_STATE, &good, 99, 99, &old, &new), -EINVAL);
	assert_int_equal(modify(IB_QP_STATE, &good, QPS_RESET), 0);
	assert_int_equal(qp_modify(qp, IB_QP_STATE | IB_QP_CUR_STATE, &good, QPS_SQD, QPS_RTS,
				   &old, &new), -EINVAL);
	assert_int_equal(qp->state, QPS_RESET);
}

static void draining(void **state)
{
	to_rts();
	assert_int_equal(modify(IB_QP_STATE, &good, QPS_SQD), 0);
	assert_true(qp->sq_draining);
	assert_int_equal(modify(IB_QP_STATE, &good, QPS_RTS), -EINVAL);
	assert_int_equal(modify(IB_QP_STATE, &good, QPS_SQD), -EINVAL);
	assert_int_equal(modify(IB_QP_STATE, &good, QPS_RESET), -EINVAL);
	assert_int_equal(modify(IB_QP_AV, &good, QPS_SQD), -EINVAL);
	assert_int_equal(modify(IB_QP_RETRY_CNT, &good, QPS_SQD), 0);
	assert_true(qp->sq_draining);
	qp->sq_draining = false;	/* as the transport does when it raises SQ_DRAINED */
	assert_int_equal(modify(IB_QP_STATE | IB_QP_RETRY_CNT, &good, QPS_SQD), 0);
	assert_false(qp->sq_draining);

	/* A new path in SQD; if it cannot be connected, the old one stays. */
	td->link = link_b;
	td->connect_err = -EHOSTUNREACH;
	assert_int_equal(modify(IB_QP_AV, &good, QPS_SQD), -EHOSTUNREACH);
	assert_ptr_equal(qp->link, link_a);
	assert_int_equal(td->disconnects, 0);
	td->connect_err = 0;
	assert_int_equal(modify(IB_QP_AV, &good, QPS_SQD), 0);
	assert_ptr_equal(qp->link, link_b);
	assert_int_equal(td->disconnects, 1);
	assert_int_equal(modify(IB_QP_STATE, &good, QPS_RTS), 0);
	assert_int_equal(modify(IB_QP_STATE, &good, QPS_SQD), 0);
	assert_int_equal(modify(IB_QP_STATE, &good, QPS_ERR), 0);
	assert_false(qp->sq_draining);
}

static void ud(void **state)
{
	assert_int_equal(modify(IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY, &good,
				QPS_INIT), 0);
	assert_int_equal(modify(IB_QP_STATE, &good, QPS_RTR), 0);
	assert_int_equal(modify(IB_QP_STATE | IB_QP_SQ_PSN, &good, QPS_RTS), 0);
	assert_int_equal(qp->attr.qkey, 0x11);
	assert_int_equal(td->connects, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(stored, setup, teardown),
		cmocka_unit_test_setup_teardown(values, setup, teardown),
		cmocka_unit_test_setup_teardown(path_migration_roce, setup, teardown),
		cmocka_unit_test_setup_teardown(path_migration_ib, setup, teardown),
		cmocka_unit_test_setup_teardown(cur_state, setup, teardown),
		cmocka_unit_test_setup_teardown(draining, setup, teardown),
		cmocka_unit_test_prestate_setup_teardown(ud, setup, teardown, (void *)1),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
