/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What devices are like. The sizes that a driver returns were computed by hand from the rules in the section `create` of
 * data/like.
 */
#include "base/testing.h"
#include "core/like.h"
#include "core/mcast.h"
#include "core/mw.h"
#include "core/testing.h"

static struct test_dev *td;
static struct like like;
static struct pd *pd;
static struct cq *cq;

static struct like as(enum like_driver driver)
{
	struct like l = like_default;

	l.driver = driver;
	l.max_qp_wr = 32768;
	l.max_sge = 30;
	switch (driver) {
	case LIKE_MLX5:
		l.sq_overhead_rc = l.sq_overhead_uc = 192;
		l.sq_overhead_ud = 64;
		l.max_inline_rc = 828;
		l.max_inline_ud = 956;
		break;
	case LIKE_IRDMA:
		l.max_qp_wr = 4063;
		l.max_sge = 13;
		l.max_inline_rc = l.max_inline_ud = 101;
		break;
	case LIKE_BNXT:
		l.max_qp_wr = 4351;
		l.max_sge = 6;
		l.max_inline_rc = l.max_inline_ud = 96;
		break;
	case LIKE_RXE:
	case LIKE_EXACT:
	case LIKE_DRIVERS:
		break;
	}
	return l;
}

static int setup(void **state)
{
	td = test_dev_create();
	like = like_default;
	td->dev.like = &like;
	assert_int_equal(pd_create(&td->uctx, &pd), 0);
	assert_int_equal(cq_create(&td->uctx, 10, 0, NULL, NULL, 0, &cq), 0);
	return 0;
}

static int teardown(void **state)
{
	uint32_t a, b;

	assert_int_equal(cq_destroy(cq, &a, &b), 0);
	assert_int_equal(pd_destroy(pd), 0);
	assert_int_equal(td->rings, 0);
	test_dev_destroy(td);
	return 0;
}

/* Send WRs, SGEs, inline data; receive WRs, SGEs. */
struct sizes {
	uint32_t swr, ssge, data, rwr, rsge;
};

static int make(enum qp_type type, const struct sizes *ask, struct sizes *got)
{
	struct qp_init_attr a = { .send_cq = cq, .recv_cq = cq, .type = (uint8_t)type,
				  .max_send_wr = ask->swr, .max_send_sge = ask->ssge,
				  .max_inline = ask->data, .max_recv_wr = ask->rwr,
				  .max_recv_sge = ask->rsge };
	uint32_t n;
	struct qp *qp;
	int err = qp_create(pd, &a, &qp);

	if (err)
		return err;
	*got = (struct sizes){ a.max_send_wr, a.max_send_sge, a.max_inline, a.max_recv_wr,
			       a.max_recv_sge };
	/* librxe's rings have at least what the program is told. */
	assert_true(ring_capacity(&qp->sq) >= a.max_send_wr);
	assert_true(ring_capacity(&qp->rq) >= a.max_recv_wr);
	assert_true(1u << qp->sq.log2_elem >=
		    sizeof(struct rxe_send_wqe) + max(a.max_send_sge * 16, a.max_inline));
	assert_true(1u << qp->rq.log2_elem >= sizeof(struct rxe_recv_wqe) + a.max_recv_sge * 16);
	assert_int_equal(qp_destroy(qp, &n), 0);
	return 0;
}

static void qp_rounds(void **state)
{
	static const struct {
		enum like_driver driver;
		enum qp_type type;
		struct sizes ask, got;
	} rows[] = {
		{ LIKE_RXE, QPT_RC, { 10, 1, 20, 7, 2 }, { 10, 1, 20, 7, 2 } },
		{ LIKE_RXE, QPT_RC, { 10, 4, 0, 7, 2 }, { 10, 4, 64, 7, 2 } },
		/* 192 + 16 = 208, so 256 a WQE; 128 of these are 32768 bytes. */
		{ LIKE_MLX5, QPT_RC, { 128, 1, 0, 100, 1 }, { 128, 1, 60, 128, 1 } },
		/* 192 + 16 = 208, so 256 a WQE; 100 of these are 25600 bytes, in 32768. */
		{ LIKE_MLX5, QPT_RC, { 100, 1, 0, 1, 3 }, { 128, 1, 60, 1, 4 } },
		/* 192 + 832 = 1024. */
		{ LIKE_MLX5, QPT_RC, { 5, 2, 828, 0, 0 }, { 8, 2, 828, 0, 0 } },
		/* 64 + 16 = 80, so 128 a WQE. Four receive WQEs of 16 bytes fill 64 bytes. */
		{ LIKE_MLX5, QPT_UD, { 3, 1, 0, 1, 1 }, { 4, 1, 60, 4, 1 } },
		/* 192 + 96 = 288, so 320 a WQE, of which 6553 fit into 2 MiB. */
		{ LIKE_MLX5, QPT_RC, { 4063, 6, 96, 0, 0 }, { 6553, 6, 124, 0, 0 } },
		/* Two SGEs: 2 quanta. 256 + 258 = 514, so 1024: (1024 - 258) / 2. Receives: 1 quantum, 101 in 128. */
		{ LIKE_IRDMA, QPT_RC, { 128, 1, 0, 100, 1 }, { 383, 1, 0, 127, 1 } },
		/* 101 bytes: 4 quanta. 1000 * 4 + 258 in 8192: 7934 / 4. Three SGEs: 2 quanta. 129 in 256: 255 / 2. */
		{ LIKE_IRDMA, QPT_RC, { 1000, 2, 101, 64, 3 }, { 1983, 2, 101, 127, 3 } },
		/* 13 SGEs: 8 quanta. 4063 * 8 + 258 in 32768: 32510 / 8. */
		{ LIKE_IRDMA, QPT_UD, { 4063, 13, 0, 1, 1 }, { 4063, 13, 0, 7, 1 } },
		{ LIKE_BNXT, QPT_RC, { 100, 2, 0, 100, 2 }, { 100, 2, 0, 100, 2 } },
		{ LIKE_BNXT, QPT_RC, { 100, 2, 1, 100, 2 }, { 100, 2, 96, 100, 2 } },
		{ LIKE_EXACT, QPT_UD, { 100, 2, 1, 100, 2 }, { 100, 2, 1, 100, 2 } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sizes got;

		like = as(rows[i].driver);
		assert_int_equal(make(rows[i].type, &rows[i].ask, &got), 0);
		assert_memory_equal(&got, &rows[i].got, sizeof(got));
	}
}

/* Each excess gives the errno of its own. */
static void qp_excess(void **state)
{
	static const struct {
		enum like_driver driver;
		enum qp_type type;
		struct sizes ask;
		int err;
	} rows[] = {
		{ LIKE_MLX5, QPT_RC, { 32769, 1, 0, 1, 1 }, -1 },
		/* 256 a WQE: 8192 of these fill 2 MiB. */
		{ LIKE_MLX5, QPT_RC, { 8192, 1, 0, 1, 1 }, 0 },
		{ LIKE_MLX5, QPT_RC, { 8193, 1, 0, 1, 1 }, -1 },
		{ LIKE_MLX5, QPT_RC, { 1, 1, 0, 32769, 1 }, -2 },
		{ LIKE_MLX5, QPT_RC, { 1, 31, 0, 1, 1 }, -3 },
		{ LIKE_MLX5, QPT_RC, { 1, 1, 0, 1, 31 }, -4 },
		{ LIKE_MLX5, QPT_RC, { 1, 1, 829, 1, 1 }, -5 },
		{ LIKE_MLX5, QPT_UD, { 1, 1, 956, 1, 1 }, 0 },
		{ LIKE_MLX5, QPT_UD, { 1, 1, 957, 1, 1 }, -5 },
		{ LIKE_IRDMA, QPT_RC, { 4064, 1, 0, 1, 1 }, -1 },
		{ LIKE_IRDMA, QPT_RC, { 1, 1, 102, 1, 1 }, -5 },
		{ LIKE_BNXT, QPT_RC, { 1, 7, 0, 1, 1 }, -3 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sizes got;

		like = as(rows[i].driver);
		like.e_qp_send_wr = 1;
		like.e_qp_recv_wr = 2;
		like.e_qp_send_sge = 3;
		like.e_qp_recv_sge = 4;
		like.e_qp_inline = 5;
		assert_int_equal(make(rows[i].type, &rows[i].ask, &got), rows[i].err);
	}
}

/* A rule of the driver may refuse what the single limits allow. */
static void qp_excess_of_rule(void **state)
{
	struct sizes got;

	like = as(LIKE_MLX5);
	like.e_qp_recv_sge = 4;
	like.rq_wqe_max = 64;
	assert_int_equal(make(QPT_RC, &(struct sizes){ 1, 1, 0, 1, 5 }, &got), -4);
	assert_int_equal(make(QPT_RC, &(struct sizes){ 1, 1, 0, 0, 5 }, &got), 0);
	like.sq_wqe_max = 512;
	like.e_qp_send_sge = 3;
	like.e_qp_inline = 5;
	assert_int_equal(make(QPT_RC, &(struct sizes){ 1, 20, 0, 1, 1 }, &got), 0);
	assert_int_equal(make(QPT_RC, &(struct sizes){ 1, 21, 0, 1, 1 }, &got), -3);
	assert_int_equal(make(QPT_RC, &(struct sizes){ 1, 1, 317, 1, 1 }, &got), -5);
	like = as(LIKE_IRDMA);
	like.e_qp_recv_wr = 2;
	like.rq_quanta_max = 1024;
	assert_int_equal(make(QPT_RC, &(struct sizes){ 1, 1, 0, 1023, 1 }, &got), 0);
	assert_int_equal(make(QPT_RC, &(struct sizes){ 1, 1, 0, 1024, 1 }, &got), -2);
}

static void cq_sizes(void **state)
{
	static const struct {
		enum like_driver driver;
		uint32_t ask, got;
	} rows[] = {
		{ LIKE_RXE, 10, 15 }, { LIKE_MLX5, 10, 15 }, { LIKE_MLX5, 15, 15 },
		{ LIKE_IRDMA, 10, 10 }, { LIKE_BNXT, 10, 32 }, { LIKE_BNXT, 600, 1001 },
		{ LIKE_EXACT, 10, 10 },
	};
	uint32_t a, b;
	struct ring ring;
	struct cq *c;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		like = as(rows[i].driver);
		like.max_cqe = 1000;
		like.e_cqe = 7;
		assert_int_equal(cq_create(&td->uctx, rows[i].ask, 0, NULL, NULL, 0, &c), 0);
		assert_int_equal(c->cqe, rows[i].got);
		assert_true(ring_capacity(&c->ring) >= c->cqe);
		assert_int_equal(cq_resize_alloc(c, 1001, &ring), -7);
		assert_int_equal(cq_resize_alloc(c, rows[i].ask, &ring), 0);
		cq_resize_commit(c, &ring);
		assert_int_equal(c->cqe, rows[i].got);
		like.missing = 1 << LIKE_NO_RESIZE_CQ;
		like.e_resize_cq = EOPNOTSUPP;
		assert_int_equal(cq_resize_alloc(c, 10, &ring), -EOPNOTSUPP);
		assert_int_equal(cq_destroy(c, &a, &b), 0);
		assert_int_equal(cq_create(&td->uctx, 1001, 0, NULL, NULL, 0, &c), -7);
	}
}

static void srq_sizes(void **state)
{
	static const struct {
		enum like_driver driver;
		uint32_t wr, sge, got_wr, got_sge;
	} rows[] = {
		{ LIKE_RXE, 10, 0, 15, 1 },	  { LIKE_MLX5, 10, 2, 15, 3 },
		{ LIKE_MLX5, 15, 1, 15, 1 },
		{ LIKE_MLX5, 100, 20, 127, 31 }, { LIKE_BNXT, 10, 2, 10, 2 },
	};
	struct ring ring;
	struct srq *srq;
	uint32_t n;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct srq_init_attr a = { .max_wr = rows[i].wr, .max_sge = rows[i].sge };

		like = as(rows[i].driver);
		like.max_srq_wr = 1000;
		like.max_srq_sge = 31;
		like.e_srq_wr = 7;
		like.e_srq_sge = 8;
		assert_int_equal(srq_create(pd, &a, &srq), 0);
		assert_int_equal(a.max_wr, rows[i].got_wr);
		assert_int_equal(a.max_sge, rows[i].got_sge);
		assert_int_equal(srq_resize_alloc(srq, 1001, &ring), -7);
		assert_int_equal(srq_resize_alloc(srq, 700, &ring), 0);
		srq_resize_commit(srq, &ring);
		assert_int_equal(srq->max_wr, rows[i].driver == LIKE_BNXT ? 700 : 1023);
		assert_int_equal(srq_destroy(srq, &n), 0);
		a.max_wr = 1001;
		assert_int_equal(srq_create(pd, &a, &srq), -7);
		a.max_wr = 1;
		a.max_sge = 32;
		assert_int_equal(srq_create(pd, &a, &srq), -8);
		like.missing = 1 << LIKE_NO_SRQ;
		like.e_srqs = EOPNOTSUPP;
		assert_int_equal(srq_create(pd, &a, &srq), -EOPNOTSUPP);
	}
}

/* One more than the device has, of what a process may have. */
static void counts(void **state)
{
	struct ib_uverbs_ah_attr attr = { .is_global = 1, .port_num = 1,
					  .grh.dgid = { 0xfe, 0x80, [15] = 2 } };
	struct srq_init_attr init = { .max_wr = 1 };
	struct sizes one = { 1, 1, 0, 1, 1 }, got;
	struct srq *srq;
	struct pd *p;
	struct cq *c;
	struct ah *ah;
	struct mw *mw;
	struct mr *mr;
	uint64_t at = (uintptr_t)&one;

	like.max_pd = like.max_cq = 1;
	like.e_pds = 1;
	assert_int_equal(pd_create(&td->uctx, &p), -1);
	like.e_cqs = 2;
	assert_int_equal(cq_create(&td->uctx, 1, 0, NULL, NULL, 0, &c), -2);
	like.max_pd = 2;
	assert_int_equal(pd_create(&td->uctx, &p), 0);
	assert_int_equal(pd_destroy(p), 0);
	like.max_qp = 0;
	like.e_qps = 3;
	assert_int_equal(make(QPT_RC, &one, &got), -3);
	like.max_srq = 0;
	like.e_srqs = 4;
	assert_int_equal(srq_create(pd, &init, &srq), -4);
	like.max_ah = 1;
	like.e_ahs = 5;
	assert_int_equal(ah_create(pd, &attr, &ah), 0);
	assert_int_equal(ah_create(pd, &attr, &(struct ah *){ NULL }), -5);
	assert_int_equal(ah_destroy(ah), 0);
	like.max_mw = 0;
	like.e_mws = 6;
	assert_int_equal(mw_alloc(pd, MW_TYPE_1, &mw), -6);
	like.max_mw = 1;
	assert_int_equal(mw_alloc(pd, MW_TYPE_1, &mw), 0);
	assert_int_equal(mw_dealloc(mw), 0);
	like.max_mr = 1;
	like.e_mrs = 7;
	assert_int_equal(mr_create(pd, at, 1, at, 0, &mr), 0);
	assert_int_equal(mr_create(pd, at, 1, at, 0, &(struct mr *){ NULL }), -7);
	assert_int_equal(mr_destroy(mr), 0);
}

static void missing(void **state)
{
	static const uint8_t mgid[16] = { 0xff, 0x0e, [15] = 1 };
	struct qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .type = QPT_UD };
	struct sizes one = { 1, 1, 0, 1, 1 }, got;
	static char memory[4096] __attribute__((aligned(4096)));
	uint64_t at = (uintptr_t)memory;
	struct qp *qp;
	struct mr *mr;
	struct mw *mw;
	uint32_t n;

	like.missing = 1 << LIKE_NO_UC | 1 << LIKE_NO_MW | 1 << LIKE_NO_MCAST;
	assert_int_equal(make(QPT_UC, &one, &got), -EOPNOTSUPP);
	assert_int_equal(make(QPT_RC, &one, &got), 0);
	like.e_mws = EOPNOTSUPP;
	assert_int_equal(mw_alloc(pd, MW_TYPE_1, &mw), -EOPNOTSUPP);
	assert_int_equal(qp_create(pd, &init, &qp), 0);
	like.e_mcast = EOPNOTSUPP;
	assert_int_equal(mcast_attach(qp, mgid, 0), -EOPNOTSUPP);
	like.missing = 0;
	like.max_mcast_grp = 0;
	like.e_mcast = ENOMEM;
	assert_int_equal(mcast_attach(qp, mgid, 0), -ENOMEM);
	assert_int_equal(qp_destroy(qp, &n), 0);

	like.max_mr_size = 4095;
	like.e_mr_size = ENOMEM;
	assert_int_equal(mr_create(pd, at, 4096, at, 0, &mr), -ENOMEM);
	assert_int_equal(mr_create(pd, at, 4095, at, 0, &mr), 0);
	assert_int_equal(mr_destroy(mr), 0);
	like.odp_general = 0;
	assert_int_equal(mr_create(pd, at, 4095, at, IB_UVERBS_ACCESS_ON_DEMAND, &mr), -EINVAL);
}

static void query(void **state)
{
	struct ib_uverbs_ex_query_device_resp r;
	struct ib_uverbs_query_port_resp_ex port;

	like.max_sge = 13;
	like.device_cap_flags_ex = 0x1425321c36;
	like.hca_core_clock = 78125;
	like.gid_tbl_len = 32;
	like.max_msg_sz = 1 << 30;
	rdev_query_ex(&td->dev, &r);
	assert_int_equal(r.base.max_sge, 13);
	assert_int_equal(r.device_cap_flags_ex, 0x1425321c36);
	assert_int_equal(r.hca_core_clock, 78125);
	rdev_query_port(&td->dev, &port);
	assert_int_equal(port.legacy_resp.gid_tbl_len, 32);
	assert_int_equal(port.legacy_resp.max_msg_sz, 1 << 30);
}

/* What comes from another process. */
static void validity(void **state)
{
	struct like l = like_default;

	assert_true(like_valid(&l));
	strcpy(l.name, "e810");
	assert_true(like_valid(&l));
	strcpy(l.name, "e 810");
	assert_false(like_valid(&l));
	memset(l.name, 'x', sizeof(l.name));
	assert_false(like_valid(&l));
	l = like_default;
	l.driver = LIKE_DRIVERS;
	assert_false(like_valid(&l));
	l = like_default;
	l.credits_poll = 2;
	assert_false(like_valid(&l));
	l = like_default;
	l.missing = 1ull << LIKE_NMISSING;
	assert_false(like_valid(&l));
	for (size_t i = 0; i < like_nentries; i++) {
		const struct like_entry *e = &like_entries[i];
		uint64_t *v = (uint64_t *)((char *)&l + e->at);

		l = like_default;
		if (e->high != UINT64_MAX) {
			*v = e->high + 1;
			assert_false(like_valid(&l));
			*v = e->high;
			assert_true(like_valid(&l));
		}
		if (e->low) {
			*v = e->low - 1;
			assert_false(like_valid(&l));
		}
	}
	l = like_default;
	l.e_send_opcode = (uint64_t)-EINVAL;
	assert_true(like_valid(&l));
	assert_int_equal(like_errno(l.e_send_opcode), -EINVAL);
	l.e_send_opcode = (uint64_t)-134;
	assert_false(like_valid(&l));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(qp_rounds, setup, teardown),
		cmocka_unit_test_setup_teardown(qp_excess, setup, teardown),
		cmocka_unit_test_setup_teardown(qp_excess_of_rule, setup, teardown),
		cmocka_unit_test_setup_teardown(cq_sizes, setup, teardown),
		cmocka_unit_test_setup_teardown(srq_sizes, setup, teardown),
		cmocka_unit_test_setup_teardown(counts, setup, teardown),
		cmocka_unit_test_setup_teardown(missing, setup, teardown),
		cmocka_unit_test_setup_teardown(query, setup, teardown),
		cmocka_unit_test(validity),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
