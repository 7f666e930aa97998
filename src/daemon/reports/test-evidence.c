/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Copies of what a process is writing. __wrap_syscall() copies in two parts, in both orders, and the process writes in
 * between. The parts meet in the middle of a record, at each of its words.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/testing.h"
#include "daemon/reports/evidence.h"

static struct {
	void (*write)(void);	/* NULL: pread() is not changed */
	off_t cut;		/* in the file */
	bool upper_first;
	unsigned int call, at;	/* the process writes during this call of those that read both sides of the cut */
} torn;
static struct why_log *test_log;
static struct stuck_table *test_table;
static uint32_t test_n;

long __real_syscall(long nr, ...);
long __wrap_syscall(long nr, long fd, char *buf, size_t len, off_t at);

long __wrap_syscall(long nr, long fd, char *buf, size_t len, off_t at)
{
	size_t cut = torn.cut - at, first, nfirst, second;

	if (nr != SYS_pread64 || !torn.write || torn.cut < at || cut > len ||
	    torn.call++ != torn.at)
		return __real_syscall(nr, fd, buf, len, at);
	first = torn.upper_first ? cut : 0;
	second = torn.upper_first ? 0 : cut;
	nfirst = torn.upper_first ? len - cut : cut;
	__real_syscall(nr, fd, buf + first, nfirst, at + (off_t)first);
	torn.write();
	__real_syscall(nr, fd, buf + second, len - nfirst, at + (off_t)second);
	return (long)len;
}

/* All values of a record are the same number. */
static void put_log(void)
{
	struct why_rec r = { .status = 1, .why.id = WHY_KEY_PD };

	for (uint32_t i = 0; i < WHY_RECS; i++) {
		r.wr_id = r.last = r.qpn = r.peer_qpn = ++test_n;
		for (int k = 0; k < WHY_ARGS; k++)
			r.why.arg[k] = test_n;
		assert_true(why_log_put(test_log, &r));
	}
}

static struct seqlock *half;

/* Begins a new record. end_half() ends it. */
static void put_half(void)
{
	struct why_slot *s = &test_log->slot[test_log->head % WHY_RECS];

	half = &s->lock;
	seqlock_write_begin(&s->lock);
	s->r.why.arg[0] = s->r.qpn = 0xffffffff;
}

static void end_half(void)
{
	if (half)
		seqlock_write_end(half);
	half = NULL;
}

static uint32_t look_log(int fd, struct why_log *copy)
{
	uint32_t head, pos, n = 0;
	struct why_rec r;

	assert_true(evidence_log(fd, copy));
	for (pos = why_log_from(copy, &head); pos != head; pos++) {
		if (!why_log_get(copy, pos, &r))
			continue;
		n++;
		assert_int_equal(r.wr_id, r.qpn);
		assert_int_equal(r.wr_id, r.peer_qpn);
		assert_int_equal(r.wr_id, r.last);
		assert_int_equal(r.wr_id, r.first);
		for (int k = 0; k < WHY_ARGS; k++)
			assert_int_equal(r.wr_id, r.why.arg[k]);
	}
	return n;
}

static void *map_page(int *fd)
{
	size_t size = STUCK_OFFSET + sizeof(struct stuck_table);
	char *page;

	*fd = memfd_create("page", 0);
	assert_true(*fd >= 0 && !ftruncate(*fd, (off_t)size));
	page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	test_log = (void *)(page + WHY_OFFSET);
	test_table = (void *)(page + STUCK_OFFSET);
	return page;
}

static void test_torn_log(void **state)
{
	static void (*const writes[])(void) = { put_log, put_half };
	size_t slot = WHY_OFFSET + offsetof(struct why_log, slot) + 3 * sizeof(struct why_slot);
	struct why_log *copy = malloc(sizeof(*copy));
	int fd;

	assert_non_null(copy);
	map_page(&fd);
	put_log();
	assert_int_equal(look_log(fd, copy), WHY_RECS);
	for (size_t i = 0; i < ARRAY_SIZE(writes); i++) {
		for (size_t at = 0; at <= sizeof(struct why_slot); at += 4) {
			for (unsigned int how = 0; how < 10; how++) {
				put_log();
				torn.upper_first = how & 1;
				torn.at = how >> 1;
				torn.call = 0;
				torn.cut = (off_t)(slot + at);
				torn.write = writes[i];
				look_log(fd, copy);
				torn.write = NULL;
				end_half();
			}
		}
	}
	put_log();
	assert_int_equal(look_log(fd, copy), WHY_RECS);
	free(copy);
	close(fd);
}

static uint32_t stop;

/* Puts records whose values are all the same number. */
static void *put_on(void *arg)
{
	struct why_rec r = { .status = 1, .why.id = WHY_KEY_PD };

	for (uint32_t n = 0; !READ_ONCE(stop); n++) {
		r.wr_id = r.last = r.qpn = r.peer_qpn = n;
		for (int k = 0; k < WHY_ARGS; k++)
			r.why.arg[k] = n;
		why_log_put(test_log, &r);
	}
	return NULL;
}

/* Two threads that put records all the time. */
static void test_writers(void **state)
{
	struct why_log *copy = malloc(sizeof(*copy));
	pthread_t t[2];
	uint32_t n = 0;
	int fd;

	assert_non_null(copy);
	map_page(&fd);
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		assert_int_equal(pthread_create(&t[i], NULL, put_on, NULL), 0);
	for (int i = 0; i < 200 || n < 1000; i++)
		n += look_log(fd, copy);
	WRITE_ONCE(stop, 1u);
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		pthread_join(t[i], NULL);
	/* How many of the latest records they have taken from each other is not known, but no lock is left. */
	put_log();
	assert_int_equal(look_log(fd, copy), WHY_RECS);
	free(copy);
	close(fd);
}

static void put_table(void)
{
	test_n++;
	seqlock_write_begin(&test_table->lock);
	test_table->n = 1 + test_n % STUCK_MAX;
	for (uint32_t i = 0; i < STUCK_MAX; i++)
		test_table->rec[i].wr_id = test_n;
	seqlock_write_end(&test_table->lock);
}

static void test_torn_table(void **state)
{
	static struct stuck_table t;
	int fd;

	map_page(&fd);
	put_table();
	assert_true(evidence_stuck(fd, &t));
	for (size_t cut = 0; cut < sizeof(t); cut += 4) {
		for (unsigned int how = 0; how < 10; how++) {
			torn.upper_first = how & 1;
			torn.at = how >> 1;
			torn.call = 0;
			torn.cut = (off_t)(STUCK_OFFSET + cut);
			torn.write = put_table;
			if (evidence_stuck(fd, &t)) {
				assert_int_equal(t.n, 1 + t.rec[0].wr_id % STUCK_MAX);
				assert_int_equal(t.rec[0].wr_id, t.rec[STUCK_MAX - 1].wr_id);
			}
			torn.write = NULL;
		}
	}
	seqlock_write_begin(&test_table->lock);
	assert_false(evidence_stuck(fd, &t));
	seqlock_write_end(&test_table->lock);
	assert_true(evidence_stuck(fd, &t));
	test_table->n = STUCK_MAX + 1;
	assert_false(evidence_stuck(fd, &t));
	assert_false(evidence_stuck(-1, &t));
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_torn_log),
		cmocka_unit_test(test_torn_table),
		cmocka_unit_test(test_writers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
