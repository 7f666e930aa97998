/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Object tables of processes as rused reads them: valid, during a write, and hostile.
 *
 * test_torn() reads while a thread writes. test_every_step() replaces pread() by one that copies
 * word by word and lets the writer make some stores between two words, at every point.
 * test_hostile() uses random bytes.
 */
#include "base/testing.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi/netlink/nldev.h"
#include "base/rand.h"
#include "core/device.h"
#include "daemon/reports/res.h"
#include "daemon/state/host.h"
#include "daemon/state/process.h"
#include "ipc/res.h"
#include "like/shown.h"
#include "shared/barrier.h"

#define RECS 256u

static struct host host;
static struct processes processes;
static struct host_page page;

struct proc {
	struct process *c;
	struct proc_page *page;
	struct res_rec *rec;
};

static int setup(void **state)
{
	memset(&host, 0, sizeof(host));
	memset(&processes, 0, sizeof(processes));
	memset(&page, 0, sizeof(page));
	page.dev[3].in_use = 1;
	page.dev[3].index = 7;
	host.page = &page;
	host.shown_like = &like_shown_default;
	list_init(&processes.list);
	return 0;
}

static struct proc add_proc(int pid, uint32_t recs)
{
	size_t size = RES_OFFSET + RECS * sizeof(struct res_rec);
	struct proc p = { .c = calloc(1, sizeof(*p.c)) };
	char *at;

	assert_non_null(p.c);
	p.c->pid = pid;
	p.c->page_fd = memfd_create("page", MFD_CLOEXEC);
	assert_int_equal(ftruncate(p.c->page_fd, (off_t)(RES_OFFSET + recs * sizeof(*p.rec))), 0);
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, p.c->page_fd, 0);
	assert_true(at != MAP_FAILED);
	p.page = (struct proc_page *)at;
	p.page->magic = PROC_PAGE_MAGIC;
	p.page->version = 1;
	p.rec = (struct res_rec *)(at + RES_OFFSET);
	list_add_tail(&p.c->node, &processes.list);
	return p;
}

static void del_proc(struct proc *p)
{
	list_del(&p->c->node);
	close(p->c->page_fd);
	free(p->c);
	munmap(p->page, RES_OFFSET + RECS * sizeof(struct res_rec));
}

static struct res_rec a_qp(uint32_t lqpn)
{
	return (struct res_rec){ .kind = RES_QP, .dev_index = 7, .qp.lqpn = lqpn };
}

/* Records are reported in order, without gaps. A process keeps its ids when another one exits. */
static void test_collect(void **state)
{
	struct proc a = add_proc(100, RECS), b = add_proc(200, RECS);
	struct res_rec q = a_qp(5);
	struct nldev_res *all;
	uint32_t id, base;
	size_t n;

	res_rec_write(&a.rec[0], &q);
	q = a_qp(6);
	res_rec_write(&b.rec[1], &q);
	q = a_qp(7);
	res_rec_write(&b.rec[100], &q);
	all = res_collect(&processes, &n);
	assert_int_equal(n, 3);
	assert_int_equal(all[0].pid, 100);
	assert_int_equal(all[1].pid, 200);
	assert_int_equal(all[2].rec.qp.lqpn, 7);
	assert_int_equal(all[2].base, all[1].base);
	assert_int_not_equal(all[0].base, all[1].base);
	id = all[2].id;
	base = all[0].base;
	free(all);

	del_proc(&a);
	all = res_collect(&processes, &n);
	assert_int_equal(n, 2);
	assert_int_equal(all[1].id, id);
	free(all);

	/* The ids of an exited process are not reused at once. */
	a = add_proc(300, RECS);
	res_rec_write(&a.rec[0], &q);
	all = res_collect(&processes, &n);
	assert_int_equal(n, 3);
	assert_int_equal(all[2].pid, 300);
	assert_int_not_equal(all[2].base, base);
	assert_int_not_equal(all[2].base, all[0].base);
	free(all);
	q.kind = RES_FREE;
	res_rec_write(&b.rec[1], &q);
	res_rec_write(&b.rec[100], &q);
	res_rec_write(&a.rec[0], &q);
	all = res_collect(&processes, &n);
	assert_int_equal(n, 0);
	free(all);
	del_proc(&a);
	del_proc(&b);
}

static struct {
	struct res_rec *rec;
	bool stop;
} writer;

static void *write_on(void *arg)
{
	struct res_rec q = a_qp(0);

	for (uint32_t k = 1; !READ_ONCE(writer.stop); k++) {
		q.ctx = q.pd = q.users = k;
		for (size_t i = 0; i < ARRAY_SIZE(q.words); i++)
			q.words[i] = k;
		res_rec_write(writer.rec, &q);
	}
	return NULL;
}

/* A record that is being written is reported consistently or not at all. */
static void test_torn(void **state)
{
	struct proc a = add_proc(100, RECS);
	uint32_t seen = 0, turns = 0;
	pthread_t t;

	writer.rec = &a.rec[0];
	writer.stop = false;
	assert_int_equal(pthread_create(&t, NULL, write_on, NULL), 0);
	/* A writer that never pauses may hide its record for some reads. */
	while (seen < 2000 && turns++ < 2000000) {
		size_t n;
		struct nldev_res *all = res_collect(&processes, &n);

		for (size_t k = 0; k < n; k++) {
			const struct res_rec *q = &all[k].rec;

			assert_int_equal(q->ctx, q->pd);
			assert_int_equal(q->ctx, q->users);
			for (size_t i = 0; i < ARRAY_SIZE(q->words); i++)
				assert_int_equal(q->ctx, q->words[i]);
			seen++;
		}
		free(all);
	}
	WRITE_ONCE(writer.stop, true);
	pthread_join(t, NULL);
	assert_true(seen > 0);
	del_proc(&a);
}

/*
 * Like test_torn(), but deterministic: __wrap_syscall() copies the record word by word, upwards or
 * downwards (`down`), and the writer stores words between the copies. After `from` copied words the
 * writer makes `burst` stores. Then, if `creep` is set, it makes one more store before each further
 * word.
 */
#define WORDS (sizeof(struct res_rec) / sizeof(uint32_t))
#define BODY (offsetof(struct res_rec, ctx) / sizeof(uint32_t))
#define BODY_END (BODY + 3 + ARRAY_SIZE(((struct res_rec *)0)->words))
#define STORES (BODY_END - BODY + 2)	/* stores of one res_rec_write() */

static struct {
	uint32_t *rec;		/* NULL: pread() is not replaced */
	bool down, creep;
	uint32_t from, burst;	/* from: words copied before the first stores; burst: number of these stores */
	uint32_t copied, stored;
} step;

/* Makes the next n stores of an endless series of res_rec_write(). */
static void store(uint32_t n)
{
	for (; n; n--, step.stored++) {
		uint32_t i = step.stored % STORES;

		if (i == 0 || i == STORES - 1)
			step.rec[0]++;
		else
			step.rec[BODY + i - 1] = step.stored / STORES;
	}
}

long __real_syscall(long nr, ...);
long __wrap_syscall(long nr, long fd, void *buf, size_t len, off_t at, long e, long f);

long __wrap_syscall(long nr, long fd, void *buf, size_t len, off_t at, long e, long f)
{
	long n = __real_syscall(nr, fd, buf, len, at, e, f);
	uint32_t *to = buf;

	if (nr != SYS_pread64 || !step.rec || at != (off_t)RES_OFFSET)
		return n;
	n = min(n / (long)sizeof(*to), (long)WORDS);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t k = step.down ? (uint32_t)n - 1 - i : i;

		if (step.copied == step.from)
			store(step.burst);
		else if (step.copied > step.from && step.creep)
			store(1);
		step.copied++;
		to[k] = step.rec[k];
	}
	return n * (long)sizeof(*to);
}

/*
 * Returns the number of records that res_collect() reports. Checks that all words of a record come
 * from one write.
 */
static size_t told_whole(void)
{
	struct nldev_res *all;
	size_t n;

	all = res_collect(&processes, &n);
	for (size_t k = 0; k < n; k++) {
		const uint32_t *w = (const uint32_t *)&all[k].rec;

		for (size_t i = BODY + 1; i < BODY_END; i++)
			assert_int_equal(w[i], w[BODY]);
	}
	free(all);
	return n;
}

static void each_step(struct proc *a, bool down, bool creep, size_t *told)
{
	const struct res_rec q = a_qp(0);

	for (uint32_t from = 0; from < 3 * WORDS; from++)
		for (uint32_t at = 0; at < STORES; at++)
			for (uint32_t burst = 0; burst <= 2 * STORES; burst++) {
				memset(&step, 0, sizeof(step));
				res_rec_write(&a->rec[0], &q);
				step.rec = (uint32_t *)&a->rec[0];
				step.down = down;
				step.creep = creep;
				step.from = from;
				step.burst = burst;
				store(STORES + at);
				*told += told_whole();
				step.rec[0] &= ~1u;
			}
}

static void test_every_step(void **state)
{
	struct proc a = add_proc(100, 1);
	size_t told = 0;

	for (int how = 0; how < 4; how++)
		each_step(&a, how & 1, how & 2, &told);
	memset(&step, 0, sizeof(step));
	assert_true(told > 0);
	del_proc(&a);
}

/* Random bytes: only valid kinds and ids are reported. */
static void test_hostile(void **state)
{
	struct prng rnd;

	test_seed(&rnd);
	for (int turn = 0; turn < 300; turn++) {
		struct proc a = add_proc(100, RECS);
		uint32_t recs = prng_below(&rnd, RECS);
		uint64_t sum[PROC_COUNTERS];
		struct nldev_res *all;
		size_t n;

		for (size_t i = 0; i < RECS * sizeof(*a.rec); i++)
			((uint8_t *)a.rec)[i] = (uint8_t)prng_below(&rnd, turn & 1 ? 256 : 8);
		for (size_t i = 8; i < sizeof(*a.page); i++)
			((uint8_t *)a.page)[i] = (uint8_t)prng_below(&rnd, 256);
		/*
		 * The file may end within a record. It is never shorter than struct proc_page at its start, because
		 * rused refuses such a file (memfd_check()).
		 */
		assert_int_equal(ftruncate(a.c->page_fd, (off_t)(RES_OFFSET + recs * 64u +
								 prng_below(&rnd, 64))), 0);
		all = res_collect(&processes, &n);
		assert_true(n <= recs);
		for (size_t i = 0; i < n; i++) {
			assert_in_range(all[i].rec.kind, RES_CTX, RES_KINDS - 1);
			assert_true(seqlock_pread_ok(&all[i].rec.lock));
			assert_true((all[i].id & (RES_MAX - 1)) < recs);
		}
		free(all);
		res_counters(&host, &processes, 3, sum);
		del_proc(&a);
	}
}

/* A process whose table of objects (ipc/res.h) is huge and empty costs one read. */
static void test_sparse(void **state)
{
	struct proc a = add_proc(100, 0);
	struct nldev_res *all;
	size_t n;

	assert_int_equal(ftruncate(a.c->page_fd, (off_t)1 << 40), 0);
	all = res_collect(&processes, &n);
	assert_int_equal(n, 0);
	free(all);
	del_proc(&a);
	a = add_proc(101, 0);
	assert_int_equal(ftruncate(a.c->page_fd, 0), 0);
	all = res_collect(&processes, &n);
	assert_int_equal(n, 0);
	free(all);
	del_proc(&a);
}

/* Counters of running and exited processes are summed, each once. */
static void test_counters(void **state)
{
	struct proc a = add_proc(100, 0), b = add_proc(200, 0);
	uint64_t sum[PROC_COUNTERS];

	a.page->dev[0].dev_index = 7;
	a.page->dev[0].counter[CNT_SENT_PKTS] = 10;
	a.page->dev[1].dev_index = 8;	/* another device */
	a.page->dev[1].counter[CNT_SENT_PKTS] = 1000;
	b.page->dev[5].dev_index = 7;
	b.page->dev[5].counter[CNT_SENT_PKTS] = 5;
	res_counters(&host, &processes, 3, sum);
	assert_int_equal(sum[CNT_SENT_PKTS], 15);
	res_process_gone(&host, a.c);
	del_proc(&a);
	res_counters(&host, &processes, 3, sum);
	assert_int_equal(sum[CNT_SENT_PKTS], 15);
	b.page->dev[5].counter[CNT_SENT_PKTS] = 6;
	res_counters(&host, &processes, 3, sum);
	assert_int_equal(sum[CNT_SENT_PKTS], 16);
	/* An invalid page is not counted. */
	b.page->magic = 0;
	res_counters(&host, &processes, 3, sum);
	assert_int_equal(sum[CNT_SENT_PKTS], 10);
	del_proc(&b);
}

/* What an adapter shows does not go back when a process ends, but for the objects that it has. */
static void test_values(void **state)
{
	static const char *const hw[] = { "tx_pkts", "tx_bytes", "active_qps", "rx_roce_errors" };
	struct proc a = add_proc(100, 0), b = add_proc(200, 0);
	static struct like_shown shown;
	uint64_t value[LIKE_MAX_SHOWN];

	shown.dir[LIKE_HW_COUNTERS].n = ARRAY_SIZE(hw);
	for (size_t i = 0; i < ARRAY_SIZE(hw); i++) {
		shown.dir[LIKE_HW_COUNTERS].name[i] = hw[i];
		shown.dir[LIKE_HW_COUNTERS].of[i] = like_counter_find(LIKE_HW_COUNTERS, hw[i]);
	}
	shown.dir[LIKE_COUNTERS].n = 1;
	shown.dir[LIKE_COUNTERS].of[0] = like_counter_find(LIKE_COUNTERS, "port_xmit_data");
	host.shown_like = &shown;
	for (int i = 0; i < 2; i++) {
		struct proc_page *page = i ? b.page : a.page;

		page->dev[0].dev_index = 7;
		page->dev[0].counter[CNT_PORT(0, 0, 0)] = 10;
		page->dev[0].counter[CNT_PORT(0, 0, 0) + 1] = 40000;
		page->dev[0].counter[CNT_PORT(0, 1, 0)] = 1;
		page->dev[0].counter[CNT_PORT(0, 1, 0) + 1] = 400;
		page->wire[WIRE_BAD_ICRC] = 2;
		page->ctx[3] = (struct proc_ctx){ .dev_index = 7, .nqp = 5 };
		page->ctx[4] = (struct proc_ctx){ .dev_index = 8, .nqp = 50 };
	}
	for (int i = 0; i < 2; i++) {
		res_values(&host, &processes, 3, LIKE_HW_COUNTERS, value);
		assert_int_equal(value[0], 22);
		assert_int_equal(value[1], 80800);
		assert_int_equal(value[2], i ? 5 : 10);
		assert_int_equal(value[3], 4);
		res_values(&host, &processes, 3, LIKE_COUNTERS, value);
		assert_int_equal(value[0], 20200);
		if (i)
			break;
		res_process_gone(&host, a.c);
		del_proc(&a);
	}
	del_proc(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_collect, setup),
		cmocka_unit_test_setup(test_torn, setup),
		cmocka_unit_test_setup(test_every_step, setup),
		cmocka_unit_test_setup(test_hostile, setup),
		cmocka_unit_test_setup(test_sparse, setup),
		cmocka_unit_test_setup(test_counters, setup),
		cmocka_unit_test_setup(test_values, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
