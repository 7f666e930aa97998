/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The reason for which a key is refused, for each check and for keys that have ended. */
#include "base/testing.h"
#include "core/mw.h"
#include "core/testing.h"
#include "core/why_key.h"

#define RW (IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE)
#define REMOTE_READ IB_UVERBS_ACCESS_REMOTE_READ
#define REMOTE_WRITE IB_UVERBS_ACCESS_REMOTE_WRITE

static char buf[8192] __attribute__((aligned(4096)));
static uint64_t at;
static struct test_dev *td;
static struct pd *pd, *other;
static struct mr *mr;
static ns_t now;

static ns_t virtual_now(void)
{
	return now;
}

static int setup(void **state)
{
	static struct rdev_ops ops;

	at = (uintptr_t)buf;
	td = test_dev_create();
	ops = *td->dev.ops;
	ops.now = virtual_now;
	td->dev.ops = &ops;
	now = NS_S;
	assert_int_equal(pd_create(&td->uctx, &pd), 0);
	assert_int_equal(pd_create(&td->uctx, &other), 0);
	assert_int_equal(mr_create(pd, at, 4096, at, RW | IB_UVERBS_ACCESS_MW_BIND, &mr), 0);
	return 0;
}

static int teardown(void **state)
{
	if (mr)
		assert_int_equal(mr_destroy(mr), 0);
	assert_int_equal(pd_destroy(pd), 0);
	assert_int_equal(pd_destroy(other), 0);
	test_dev_destroy(td);
	return 0;
}

static struct why why_of(const struct pd *p, uint32_t key, uint64_t va, uint64_t len,
			 uint32_t access)
{
	struct why w = { .id = 0xdead };

	key_why(&td->dev, p->id, 5, key, va, len, access, &w);
	return w;
}

#define EXPECT(w, name, a0, a1, a2) \
	do { \
		struct why w_ = (w); \
		assert_int_equal(w_.id, WHY_##name); \
		assert_int_equal(w_.arg[0], a0); \
		assert_int_equal(w_.arg[1], a1); \
		assert_int_equal(w_.arg[2], a2); \
	} while (0)

static void test_checks(void **state)
{
	uint32_t key = mr->rkey;
	struct why w;

	EXPECT(why_of(pd, 0x123400, at, 8, REMOTE_WRITE), KEY_NONE, 0x123400, 0, 0);
	EXPECT(why_of(pd, 0xffffffff, at, 8, REMOTE_WRITE), KEY_NONE, 0xffffffff, 0, 0);
	EXPECT(why_of(pd, 0, at, 8, REMOTE_WRITE), KEY_NONE, 0, 2, 0);
	EXPECT(why_of(pd, __builtin_bswap32(key), at, 8, REMOTE_WRITE), KEY_NONE,
	       __builtin_bswap32(key), 1, 0);
	EXPECT(why_of(pd, key ^ 1, at, 8, REMOTE_WRITE), KEY_OLD, key ^ 1, key, 0);
	EXPECT(why_of(other, key, at, 8, REMOTE_WRITE), KEY_PD, key, pd->id, other->id);
	EXPECT(why_of(pd, key, at, 8, REMOTE_READ), KEY_ACCESS, key,
	       RW | IB_UVERBS_ACCESS_MW_BIND, REMOTE_READ);
	w = why_of(pd, key, at + 4000, 160, REMOTE_WRITE);
	EXPECT(w, KEY_RANGE, at + 4000, 160, at);
	assert_int_equal(w.arg[3], 4096);
	assert_int_equal(w.arg[4], key);
}

static void test_ended(void **state)
{
	uint32_t key = mr->rkey, index = key >> 8;
	struct mr_change c;

	mr_change_init(&c, mr);
	do {	/* the new key is random */
		assert_int_equal(mr_rereg(mr, &c), 0);
	} while (mr->rkey == key);
	now += 3 * NS_MS;
	EXPECT(why_of(pd, key, at, 8, REMOTE_WRITE), KEY_DEAD, key, 3 * NS_MS, 0);
	key = mr->rkey;
	assert_int_equal(mr_destroy(mr), 0);
	mr = NULL;
	now += NS_S;
	EXPECT(why_of(pd, key, at, 8, REMOTE_WRITE), KEY_DEAD, key, NS_S, 0);
	/* It is forgotten after DEV_KEY_HISTORY further keys. */
	for (uint32_t i = 0; i < DEV_KEY_HISTORY; i++)
		key_ended(&td->dev, 0x777700, true);
	EXPECT(why_of(pd, key, at, 8, REMOTE_WRITE), KEY_NONE, key, 0, 0);
	assert_int_not_equal(index, 0x7777);
	EXPECT(why_of(pd, 0x777700, at, 8, REMOTE_WRITE), KEY_INVALIDATED, 0x777700, 0, 0);
}

static void test_window(void **state)
{
	struct mw *mw;

	assert_int_equal(mw_alloc(pd, MW_TYPE_2, &mw), 0);
	EXPECT(why_of(pd, mw->rkey, at, 8, REMOTE_WRITE), KEY_UNBOUND, mw->rkey, 0, 0);
	td->dev.keys[mw->index].qpn = 9;
	EXPECT(why_of(pd, mw->rkey, at, 8, REMOTE_WRITE), KEY_QP, mw->rkey, 9, 5);
	assert_int_equal(mw_dealloc(mw), 0);
}

static struct why why_local(const struct pd *p, bool recv, uint32_t key, uint64_t len,
			    uint32_t access)
{
	struct why w = { .id = 0xdead };

	key_why_local(&td->dev, p->id, 1, recv, key, at, len, access | KEY_LOCAL, &w);
	return w;
}

/* Of a send and of a receive. */
#define EXPECT_LOCAL(name, p, key, len, access, a1, a2) \
	do { \
		EXPECT(why_local((p), false, (key), (len), (access)), LOCAL_##name, 1, a1, a2); \
		EXPECT(why_local((p), true, (key), (len), (access)), RECV_##name, 1, a1, a2); \
	} while (0)

static void test_local(void **state)
{
	uint32_t key = mr->lkey;
	struct mw *mw;

	EXPECT_LOCAL(KEY, pd, 0x123400, 8, 0, 0x123400, at);
	EXPECT_LOCAL(PD, other, key, 8, 0, key, pd->id);
	EXPECT_LOCAL(ACCESS, pd, key, 8, REMOTE_READ, key, RW | IB_UVERBS_ACCESS_MW_BIND);
	EXPECT_LOCAL(RANGE, pd, key, 4097, 0, at, 4097);
	assert_int_equal(why_local(pd, false, key, 4097, 0).arg[5], key);
	/* The key of a window is no local key. */
	assert_int_equal(mw_alloc(pd, MW_TYPE_2, &mw), 0);
	EXPECT_LOCAL(KEY, pd, mw->rkey, 8, 0, mw->rkey, at);
	assert_int_equal(mw_dealloc(mw), 0);
	assert_int_equal(mr_destroy(mr), 0);
	mr = NULL;
	now += 3 * NS_MS;
	EXPECT_LOCAL(DEAD, pd, key, 8, 0, key, at);
	assert_int_equal(why_local(pd, true, key, 8, 0).arg[4], 3 * NS_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_checks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ended, setup, teardown),
		cmocka_unit_test_setup_teardown(test_window, setup, teardown),
		cmocka_unit_test_setup_teardown(test_local, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
