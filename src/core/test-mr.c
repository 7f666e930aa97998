/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory regions: access flags, ranges and protections at registration, the checks of an
 * access by key, and the reuse of keys. test-mr-noproc.c runs the same tests without
 * PROCMAP_QUERY.
 */
#include <unistd.h>
#include "arena/arena.h"
#include "arena/testing.h"
#include "base/testing.h"
#include "core/testing.h"
#include "core/umem.h"

#define LW IB_UVERBS_ACCESS_LOCAL_WRITE
#define RW IB_UVERBS_ACCESS_REMOTE_WRITE
#define RR IB_UVERBS_ACCESS_REMOTE_READ
#define RA IB_UVERBS_ACCESS_REMOTE_ATOMIC

static struct test_dev *td;
static struct pd *pd;

static int setup(void **state)
{
	td = test_dev_create();
	return pd_create(&td->uctx, &pd);
}

static int teardown(void **state)
{
	assert_int_equal(td->uctx.nmr, 0);
	assert_int_equal(pd_destroy(pd), 0);
	test_dev_destroy(td);
	return 0;
}

static void *try_map(uint64_t len, int prot)
{
	return mmap(NULL, len, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static uint64_t map(uint64_t len, int prot)
{
	void *m = try_map(len, prot);

	assert_ptr_not_equal(m, MAP_FAILED);
	return (uint64_t)(uintptr_t)m;
}

static void unmap(uint64_t at, uint64_t len)
{
	assert_int_equal(munmap((void *)(uintptr_t)at, len), 0);
}

/* Registers and deregisters. */
static int reg(uint64_t start, uint64_t len, uint64_t iova, uint32_t access)
{
	struct mr *mr;
	int err = mr_create(pd, start, len, iova, access, &mr);

	return err ? err : mr_destroy(mr);
}

static void access_bits(void **state)
{
	uint64_t m = map(PAGE, PROT_READ | PROT_WRITE);

	assert_int_equal(reg(m, PAGE, m, 0), 0);
	assert_int_equal(reg(m, PAGE, m, RR), 0);
	assert_int_equal(reg(m, PAGE, m, LW | RW | RR | RA), 0);
	assert_int_equal(reg(m, PAGE, m, RW), -EINVAL);
	assert_int_equal(reg(m, PAGE, m, RA | RR), -EINVAL);
	/* On-demand paging; the whole address space is allowed with ON_DEMAND only. */
	assert_int_equal(reg(m, PAGE, m, IB_UVERBS_ACCESS_ON_DEMAND), 0);
	assert_int_equal(reg(0, UINT64_MAX, 0, IB_UVERBS_ACCESS_ON_DEMAND), 0);
	assert_int_equal(reg(0, UINT64_MAX, 0, LW), -EINVAL);
	/* FLUSH_GLOBAL is supported, FLUSH_PERSISTENT is not. */
	assert_int_equal(reg(m, PAGE, m, 1 << 8), 0);
	assert_int_equal(reg(m, PAGE, m, 1 << 9), -EINVAL);
	assert_int_equal(reg(m, PAGE, m, 1u << 30), -EINVAL);
	assert_int_equal(reg(m, PAGE, m, LW | IB_UVERBS_ACCESS_RELAXED_ORDERING | 1 << 29), 0);
	assert_int_equal(reg(m, PAGE, m, LW | IB_UVERBS_ACCESS_MW_BIND), 0);
	assert_int_equal(reg(m, PAGE, m, IB_UVERBS_ACCESS_HUGETLB), 0);
	assert_int_equal(reg(m + 8, 8, m + 16, LW), -EINVAL);
	assert_int_equal(reg(m + 8, 8, 8, LW), 0);
	unmap(m, PAGE);
}

static void ranges(void **state)
{
	uint64_t m;

	test_fault_handler();
	m = map(4 * PAGE, PROT_READ | PROT_WRITE);
	assert_int_equal(reg(m, 0, m, LW), -EINVAL);	/* covers no page */
	assert_int_equal(reg(m + 1, 0, m + 1, LW), 0);
	assert_int_equal(reg(m + 4 * PAGE - 1, 1, 4095, LW), 0);
	assert_int_equal(reg(UINT64_MAX, 2, UINT64_MAX, 0), -EINVAL);
	assert_int_equal(reg(UINT64_MAX - 100, 50, UINT64_MAX - 100, 0), -EINVAL);
	assert_int_equal(reg(m, UINT64_MAX, m, 0), -EINVAL);
	assert_int_equal(reg(m, 4 * PAGE, UINT64_MAX - PAGE + 1, LW), -EINVAL);
	assert_int_equal(reg(0, UINT64_MAX - 2 * PAGE, 0, 0), -EINVAL);	/* more than 2^32 pages */
	assert_int_equal(reg(0, 10, 0, 0), -EFAULT);
	assert_int_equal(reg(0x7fffffffe000, 1ull << 40, 0x7fffffffe000, 0), -EFAULT);
	unmap(m + 2 * PAGE, PAGE);
	assert_int_equal(reg(m, 2 * PAGE, m, LW), 0);
	assert_int_equal(reg(m, 2 * PAGE + 1, m, LW), -EFAULT);
	assert_int_equal(reg(m + PAGE, 3 * PAGE, m, LW), -EFAULT);
	assert_int_equal(reg(m + 2 * PAGE, 1, m, 0), -EFAULT);
	assert_int_equal(reg(m + 2 * PAGE + 8, 0, 8, 0), -EFAULT);
	assert_int_equal(reg(m + 3 * PAGE, PAGE, m, LW), 0);
	unmap(m, 4 * PAGE);
}

static void protections(void **state)
{
	uint64_t m;

	test_fault_handler();
	m = map(3 * PAGE, PROT_READ);
	assert_int_equal(reg(m, 3 * PAGE, m, 0), 0);
	assert_int_equal(reg(m, 3 * PAGE, m, RR), 0);
	assert_int_equal(reg(m, 3 * PAGE, m, LW), -EFAULT);
	assert_int_equal(reg(m, 3 * PAGE, m, IB_UVERBS_ACCESS_MW_BIND), -EFAULT);
	mprotect((void *)(uintptr_t)m, PAGE, PROT_READ | PROT_WRITE);
	assert_int_equal(reg(m, 10, m, LW), 0);
	assert_int_equal(reg(m, 2 * PAGE, m, LW), -EFAULT);
	mprotect((void *)(uintptr_t)m, 3 * PAGE, PROT_NONE);
	assert_int_equal(reg(m, 3 * PAGE, m, 0), -EFAULT);
	unmap(m, 3 * PAGE);
}

/* Registration does not make the range resident and keeps its contents. */
static void large(void **state)
{
	uint64_t len = 16ull << 30, m;
	unsigned char resident = 0;
	struct mr *mr;
	void *p;

	/* With vm.overcommit_memory=2 the machine may have less: half of it, down to 64 MiB. */
	while ((p = try_map(len, PROT_READ | PROT_WRITE)) == MAP_FAILED && len > 64ull << 20)
		len /= 2;
	assert_ptr_not_equal(p, MAP_FAILED);
	m = (uint64_t)(uintptr_t)p;
	memset((void *)(uintptr_t)m, 0x5a, 100);
	assert_int_equal(mr_create(pd, m, len, m, LW | RW | RR, &mr), 0);
	assert_int_equal(((uint8_t *)(uintptr_t)m)[0], 0x5a);
	assert_int_equal(mincore((uint8_t *)(uintptr_t)m + len / 2, PAGE, &resident), 0);
	assert_int_equal(resident & 1, 0);
	assert_int_equal(mr_destroy(mr), 0);
	unmap(m, len);
}

static enum mr_status check(uint32_t key, uint64_t va, uint64_t len, uint32_t access)
{
	void *p = NULL;

	return mr_check(&td->dev, pd->id, 0, key, va, len, access, &p);
}

static void checks(void **state)
{
	uint64_t m = map(2 * PAGE, PROT_READ | PROT_WRITE), iova = 0x100000000008ull;
	struct mr *mr, *top;
	void *p = NULL;

	assert_int_equal(mr_create(pd, m + 8, 100, iova, LW | RR, &mr), 0);
	assert_int_equal(mr->rkey, mr->lkey);
	assert_int_equal(mr->lkey >> 8, mr->index);
	assert_int_equal(mr_check(&td->dev, pd->id, 0, mr->lkey, iova + 10, 90, LW, &p), MR_OK);
	assert_int_equal((uintptr_t)p, m + 18);
	assert_int_equal(check(mr->lkey, iova, 100, 0), MR_OK);
	assert_int_equal(check(mr->lkey, iova + 100, 0, 0), MR_OK);
	assert_int_equal(check(mr->lkey, iova, 101, 0), MR_BAD_RANGE);
	assert_int_equal(check(mr->lkey, iova - 1, 1, 0), MR_BAD_RANGE);
	assert_int_equal(check(mr->lkey, iova + 99, 2, 0), MR_BAD_RANGE);
	assert_int_equal(check(mr->lkey, iova + 1, UINT64_MAX, 0), MR_BAD_RANGE);
	assert_int_equal(check(mr->lkey, UINT64_MAX, 2, 0), MR_BAD_RANGE);
	assert_int_equal(check(mr->lkey, 0, iova + 1, 0), MR_BAD_RANGE);
	assert_int_equal(check(mr->lkey, iova, 1, RW), MR_BAD_ACCESS);
	assert_int_equal(check(mr->lkey, iova, 1, RR), MR_OK);
	assert_int_equal(mr_check(&td->dev, pd->id + 1, 0, mr->lkey, iova, 1, 0, &p), MR_BAD_PD);
	assert_int_equal(check(mr->lkey ^ 1, iova, 1, 0), MR_BAD_KEY);
	assert_int_equal(check(mr->lkey ^ 0x100, iova, 1, 0), MR_BAD_KEY);
	assert_int_equal(check(0, iova, 1, 0), MR_BAD_KEY);
	assert_int_equal(check(0xff, iova, 1, 0), MR_BAD_KEY);
	assert_int_equal(check(UINT32_MAX, iova, 1, 0), MR_BAD_KEY);
	assert_int_equal(check((DEV_MAX_KEY_INDEX + 1) << 8, iova, 1, 0), MR_BAD_KEY);
	/* Order of the checks: key, PD, access, range. */
	assert_int_equal(mr_check(&td->dev, 0, 0, mr->lkey, 0, 1, RW, &p), MR_BAD_PD);
	assert_int_equal(check(mr->lkey, 0, 1, RW), MR_BAD_ACCESS);

	/* An iova range up to the last address but one. */
	assert_int_equal(mr_create(pd, m, PAGE - 1, UINT64_MAX - PAGE + 1, LW, &top), 0);
	assert_int_equal(check(top->lkey, UINT64_MAX - 1, 1, 0), MR_OK);
	assert_int_equal(check(top->lkey, UINT64_MAX - 1, 2, 0), MR_BAD_RANGE);
	assert_int_equal(top->rkey, 0);
	assert_int_equal(mr_destroy(top), 0);
	assert_int_equal(mr_destroy(mr), 0);
	unmap(m, 2 * PAGE);
}

/*
 * Deregistration invalidates the key at once and calls rdev_ops.withdrawn, after which the command waits for peers
 * that still access the memory. The next registrations get other indices.
 */
static void keys(void **state)
{
	uint64_t m = map(PAGE, PROT_READ | PROT_WRITE);
	uint32_t last, i, seq;
	struct mr *mr;

	/* No peer has access to the memory. */
	assert_int_equal(reg(m, PAGE, m, LW), 0);
	assert_int_equal(td->withdrawals, 0);
	assert_int_equal(mr_create(pd, m, PAGE, m, LW | RW, &mr), 0);
	last = mr->lkey;
	seq = td->dev.keys[last >> 8].lock.word;
	assert_int_equal(seq & 1, 0);
	assert_int_equal(pd_destroy(pd), -EBUSY);
	mr->usecnt = 1;
	assert_int_equal(mr_destroy(mr), -EINVAL);
	mr->usecnt = 0;
	assert_int_equal(td->withdrawals, 0);
	assert_int_equal(mr_destroy(mr), 0);
	assert_int_equal(td->withdrawals, 1);
	assert_int_equal(td->dev.keys[last >> 8].lock.word, seq + 2);
	assert_int_equal(check(last, m, 1, 0), MR_BAD_KEY);
	for (i = 0; i < 200; i++) {
		assert_int_equal(mr_create(pd, m, PAGE, m, LW, &mr), 0);
		assert_int_equal(mr->index, (last >> 8) + 1 + i);
		assert_int_equal(check(last, m, 1, 0), MR_BAD_KEY);
		assert_int_equal(mr_destroy(mr), 0);
	}
	/* A key index is skipped if its record in rdev.keys is in use by another device of the process. */
	td->dev.keys[td->dev.mrs.next].key = 1;
	last = td->dev.mrs.next;
	assert_int_equal(mr_create(pd, m, PAGE, m, LW, &mr), 0);
	assert_int_equal(mr->index, last + 1);
	assert_int_equal(mr_destroy(mr), 0);
	/* Allocation wraps around to index 1: index 0 is never used. */
	td->dev.mrs.next = DEV_MAX_KEY_INDEX;
	assert_int_equal(mr_create(pd, m, PAGE, m, LW, &mr), 0);
	assert_int_equal(mr->index, DEV_MAX_KEY_INDEX);
	assert_int_equal(check(mr->lkey, m, PAGE, LW), MR_OK);
	assert_int_equal(mr_destroy(mr), 0);
	assert_int_equal(mr_create(pd, m, PAGE, m, LW, &mr), 0);
	assert_int_equal(mr->index, 1);
	assert_int_equal(mr_destroy(mr), 0);
	unmap(m, PAGE);
}

static bool allocated_again(const void *p)
{
	for (int i = 0; i < 300; i++)
		if (arena_alloc(PAGE, PAGE, ARENA_ALIGNED, true) == p)
			return true;
	return false;
}

/*
 * A peer that is stopped within an access goes on there: until it has left the access, the pages are used for nothing
 * else, however many MRs end meanwhile, by DEREG_MR or REREG_MR.
 */
static void stopped_peer(void **state)
{
	uint8_t *p, *other;
	struct mr_change c;
	struct mr *mr;

	assert_true(arena_open(16 << 20, ARENA_WIDE, NULL));
	p = arena_alloc(PAGE, PAGE, ARENA_ALIGNED, true);
	other = arena_alloc(PAGE, PAGE, ARENA_ALIGNED, true);
	assert_int_equal(reg((uintptr_t)p, PAGE, (uintptr_t)p, LW | RW), 0);
	assert_false(arena_pinned(p, PAGE));
	td->quiet_until = td->withdrawals;
	assert_int_equal(mr_create(pd, (uintptr_t)p, PAGE, (uintptr_t)p, LW | RW, &mr), 0);
	mr_change_init(&c, mr);
	c.start = c.iova = (uintptr_t)other;
	assert_int_equal(mr_rereg(mr, &c), 0);
	assert_true(arena_pinned(p, PAGE));
	assert_true(arena_pinned(other, PAGE));
	assert_int_equal(mr_destroy(mr), 0);
	assert_true(arena_pinned(other, PAGE));
	assert_true(arena_free(p));
	assert_false(allocated_again(p));
	/* The access was by the first of the two keys: it keeps the second one's pages too, until it ends. */
	mr_ended_unpin(&td->dev);
	assert_true(arena_pinned(p, PAGE));
	td->quiet_until = 2;
	mr_ended_unpin(&td->dev);
	assert_false(arena_pinned(p, PAGE));
	assert_true(arena_pinned(other, PAGE));
	assert_true(allocated_again(p));
	/* The next DEREG_MR looks, too. */
	td->quiet_until = 3;
	assert_int_equal(reg((uintptr_t)p, PAGE, (uintptr_t)p, LW | RW), 0);
	assert_false(arena_pinned(other, PAGE));
	assert_true(arena_pinned(p, PAGE));
	/* In a forked child there are no pins to end. */
	mr_ended_forget(&td->dev);
	td->quiet_until = UINT64_MAX;
	mr_ended_unpin(&td->dev);
	assert_true(arena_pinned(p, PAGE));
	t_arena_close();
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(access_bits, setup, teardown),
		cmocka_unit_test_setup_teardown(ranges, setup, teardown),
		cmocka_unit_test_setup_teardown(protections, setup, teardown),
		cmocka_unit_test_setup_teardown(large, setup, teardown),
		cmocka_unit_test_setup_teardown(checks, setup, teardown),
		cmocka_unit_test_setup_teardown(keys, setup, teardown),
		cmocka_unit_test_setup_teardown(stopped_peer, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
