/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The strictest adapter is nowhere looser than another one: for each limit, and for the sizes of queues. */
#include <stdio.h>
#include <string.h>
#include "base/testing.h"
#include "core/common.h"
#include "core/qp.h"
#include "core/srq.h"
#include "like/load.h"

static struct like strictest, one;
static struct like_origin origin;
static char failure[300];

static int setup(void **state)
{
	return like_strictest(&strictest, &origin, failure, sizeof(failure));
}

/* Reads adapter i. known may be NULL. */
static void read_one(size_t i, bool *known)
{
	char path[PATH_MAX + LIKE_NAME];

	snprintf(path, sizeof(path), "%s%s.json", origin.names.dir, origin.names.name[i]);
	assert_int_equal(like_read_known(path, &one, known, failure, sizeof(failure)), 0);
}

/* A limit of 0, which says that the adapter lacks it, is not taken: the set would be empty. */
static void limits(void **state)
{
	size_t checked = 0;

	assert_true(origin.names.n >= 6);
	for (size_t i = 0; i < origin.names.n; i++) {
		bool known[LIKE_VALUES] = { false };

		read_one(i, known);
		for (size_t k = 0; k < like_nentries; k++) {
			const struct like_entry *e = &like_entries[k];

			if (e->kind != LIKE_LIMIT || !known[k] || !like_value(&one, e))
				continue;
			checked++;
			if (like_value(&strictest, e) > like_value(&one, e))
				fail_msg("%s: %s is %llu", origin.names.name[i], e->name,
					 (unsigned long long)like_value(&one, e));
		}
		assert_true(strictest.credits_poll >= one.credits_poll);
	}
	assert_true(checked > 100);
}

/* Nor is it stricter: the adapter that it names has this limit. */
static void named(void **state)
{
	for (size_t k = 0; k < like_nentries; k++) {
		if (like_entries[k].kind != LIKE_LIMIT)
			continue;
		if (origin.of[k] < 0)
			fail_msg("no adapter has %s", like_entries[k].name);
		read_one((size_t)origin.of[k], NULL);
		assert_int_equal(like_value(&strictest, &like_entries[k]),
				 like_value(&one, &like_entries[k]));
	}
}

/* What the strictest grants, each adapter grants, and as much of it. */
static void qp_case(struct qp_init_attr a)
{
	struct qp_init_attr s = a, b = a;
	struct like_excess x;

	if (!like_qp(&strictest, &s, &x))
		return;
	assert_memory_equal(&s, &a, sizeof(s));
	if (!like_qp(&one, &b, &x))
		fail_msg("%s: wr %u %u sge %u %u inline %u: limit %u of %llu", one.name, a.max_send_wr,
			 a.max_recv_wr, a.max_send_sge, a.max_recv_sge, a.max_inline, x.limit,
			 (unsigned long long)x.max);
	assert_true(b.max_send_wr >= s.max_send_wr && b.max_recv_wr >= s.max_recv_wr);
	assert_true(b.max_send_sge >= s.max_send_sge && b.max_recv_sge >= s.max_recv_sge);
	assert_true(b.max_inline >= s.max_inline);
}

static uint32_t pick(uint64_t most, uint32_t step, uint32_t steps)
{
	return (uint32_t)(step == 0 ? 1 : step == steps ? most + 1 : most * step / (steps - 1));
}

static void qp_sizes(void **state)
{
	for (size_t i = 0; i < origin.names.n; i++) {
		read_one(i, NULL);
		for (uint32_t n = 0; n < 5 * 5 * 5 * 5 * 5 * 2; n++)
			qp_case((struct qp_init_attr){
				.type = n % 2 ? QPT_UD : QPT_RC,
				.max_send_wr = pick(strictest.max_qp_wr, n / 2 % 5, 4),
				.max_recv_wr = pick(strictest.max_qp_wr, n / 10 % 5, 4),
				.max_send_sge = pick(strictest.max_sge, n / 50 % 5, 4),
				.max_recv_sge = pick(strictest.max_sge, n / 250 % 5, 4),
				.max_inline = pick(strictest.max_inline_rc, n / 1250 % 5, 4) });
	}
}

static void other_sizes(void **state)
{
	for (size_t i = 0; i < origin.names.n; i++) {
		bool known[LIKE_VALUES] = { false };

		read_one(i, known);
		assert_true(like_max_cqe(&strictest) <= like_max_cqe(&one));
		for (uint32_t cqe = 1; cqe <= like_max_cqe(&strictest); cqe = 3 * cqe / 2 + 1) {
			assert_int_equal(like_cqe(&strictest, cqe), cqe);
			assert_true(like_cqe(&one, cqe) >= cqe);
		}
		for (uint32_t wr = 1; wr <= strictest.max_srq_wr; wr = 3 * wr / 2 + 1) {
			struct srq_init_attr s = { .max_wr = wr }, b;

			s.max_sge = (uint32_t)strictest.max_srq_sge;
			b = s;

			like_srq(&strictest, &s);
			like_srq(&one, &b);
			assert_true(s.max_wr == wr && s.max_sge == strictest.max_srq_sge);
			assert_true(b.max_wr >= s.max_wr && b.max_sge >= s.max_sge);
		}
	}
}

/* What libruse.so takes for the limits of all adapters. */
static void common(void **state)
{
	assert_int_equal(COMMON_QP_WR, strictest.max_qp_wr);
	assert_int_equal(COMMON_SGE, strictest.max_sge);
	assert_int_equal(COMMON_INLINE, min(strictest.max_inline_rc, strictest.max_inline_ud));
	assert_int_equal(COMMON_CQE, like_max_cqe(&strictest));
	assert_int_equal(COMMON_SRQ_WR, strictest.max_srq_wr);
	assert_int_equal(COMMON_SRQ_SGE, strictest.max_srq_sge);
	assert_int_equal(COMMON_RD_ATOMIC,
			 min(strictest.max_qp_rd_atom, strictest.max_qp_init_rd_atom));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits),
		cmocka_unit_test(named),
		cmocka_unit_test(qp_sizes),
		cmocka_unit_test(other_sizes),
		cmocka_unit_test(common),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
