/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sequence locks: each kind of reader against a writer that writes all the time. All words of a record are the same
 * number, so a copy of two writes shows.
 *
 * __wrap_syscall() copies in two parts, in both orders, and the writer writes in between: a pread() that is interrupted
 * at each word of a record.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/testing.h"
#include "shared/seqlock.h"

#define READS 20000u
#define CHANGES 20u

struct rec {
	struct seqlock lock;
	uint32_t word[15];
};

static struct rec rec;
static uint32_t stop;

static struct {
	void (*write)(void);	/* NULL: pread() is not changed */
	size_t cut;
	bool upper_first;
	unsigned int call, at;	/* the write is in this call */
} torn;

long __real_syscall(long nr, ...);
long __wrap_syscall(long nr, long fd, char *buf, size_t len, long at);

long __wrap_syscall(long nr, long fd, char *buf, size_t len, long at)
{
	size_t cut = min(torn.cut, len);
	size_t first = torn.upper_first ? cut : 0, second = torn.upper_first ? 0 : cut;
	size_t nfirst = torn.upper_first ? len - cut : cut;

	if (nr != SYS_pread64 || !torn.write || torn.call++ != torn.at)
		return __real_syscall(nr, fd, buf, len, at);
	__real_syscall(nr, fd, buf + first, nfirst, at + (long)first);
	torn.write();
	__real_syscall(nr, fd, buf + second, len - nfirst, at + (long)second);
	return (long)len;
}

static void rec_set(struct rec *r, uint32_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(r->word); i++)
		WRITE_ONCE(r->word[i], n);
}

static void assert_whole(const struct rec *r)
{
	for (size_t i = 1; i < ARRAY_SIZE(r->word); i++)
		assert_int_equal(r->word[i], r->word[0]);
}

static uint32_t writers, together;

/* One of several writers. `together` counts writers that have met in the record. */
static void *write_shared(void *arg)
{
	for (uint32_t n = 0; !READ_ONCE(stop); n += 2) {
		if (!seqlock_write_try(&rec.lock))
			continue;
		if (atomic_add(&writers, 1u))
			atomic_add(&together, 1u);
		rec_set(&rec, n + (arg != NULL));
		atomic_add(&writers, -1u);
		seqlock_write_end(&rec.lock);
	}
	return NULL;
}

static void *write_alone(void *arg)
{
	struct rec *r = arg;
	uint32_t word[ARRAY_SIZE(r->word)];

	for (uint32_t n = 0; !READ_ONCE(stop); n++) {
		for (size_t i = 0; i < ARRAY_SIZE(word); i++)
			word[i] = n;
		if (n & 1) {
			seqlock_write(&r->lock, r->word, word, sizeof(word));
			continue;
		}
		seqlock_write_begin(&r->lock);
		rec_set(r, n);
		seqlock_write_end(&r->lock);
	}
	return NULL;
}

/* Field by field, as a reader of a part does. */
static bool read_fields(struct rec *to)
{
	uint32_t was;

	if (!seqlock_read_begin(&rec.lock, &was))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(to->word); i++)
		to->word[i] = READ_ONCE(rec.word[i]);
	return seqlock_read_end(&rec.lock, was);
}

/* Until enough copies were accepted, and of several writes. Most attempts fail, as the writer does not pause. */
static void read_mapped(void)
{
	uint32_t last = 0, changes = 0;
	struct rec copy;

	for (uint32_t good = 0; good < READS || changes < CHANGES;) {
		bool ok = good & 1 ? read_fields(&copy) :
			  seqlock_read(&rec.lock, copy.word, rec.word, sizeof(copy.word), 3);

		if (!ok)
			continue;
		assert_whole(&copy);
		changes += copy.word[0] != last;
		last = copy.word[0];
		good++;
	}
}

static void test_mapped(void **state)
{
	pthread_t t;

	memset(&rec, 0, sizeof(rec));
	WRITE_ONCE(stop, 0u);
	assert_int_equal(pthread_create(&t, NULL, write_alone, &rec), 0);
	read_mapped();
	WRITE_ONCE(stop, 1u);
	pthread_join(t, NULL);
}

static void test_several_writers(void **state)
{
	pthread_t t[2];

	memset(&rec, 0, sizeof(rec));
	WRITE_ONCE(stop, 0u);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&t[i], NULL, write_shared, i ? &rec : NULL), 0);
	read_mapped();
	WRITE_ONCE(stop, 1u);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	assert_int_equal(together, 0);
}

static void *map_file(int *fd, size_t size)
{
	void *p;

	*fd = memfd_create("records", 0);
	assert_true(*fd >= 0 && !ftruncate(*fd, (off_t)size));
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

/* The writer's record is one of many: a reader of all of them gets it whole or not at all, and the others always. */
static void test_file(void **state)
{
	static struct rec copy[100];
	int fd;
	struct rec *all = map_file(&fd, sizeof(copy));
	uint32_t last = 0, changes = 0;
	pthread_t t;

	WRITE_ONCE(stop, 0u);
	assert_int_equal(pthread_create(&t, NULL, write_alone, &all[70]), 0);
	for (uint32_t reads = 0; reads < READS / 4 || changes < CHANGES; reads++) {
		assert_int_equal(seqlock_pread(fd, 0, copy, sizeof(copy[0]), 100, 2), 100);
		assert_true(seqlock_pread_ok(&copy[69].lock) && seqlock_pread_ok(&copy[71].lock));
		if (!seqlock_pread_ok(&copy[70].lock))
			continue;
		assert_whole(&copy[70]);
		changes += copy[70].word[0] != last;
		last = copy[70].word[0];
	}
	WRITE_ONCE(stop, 1u);
	pthread_join(t, NULL);
	munmap(all, sizeof(copy));
	close(fd);
}

#define LARGE 9001u	/* words; a record that needs several pages */

static uint32_t *torn_rec;
static size_t torn_words;

static void torn_write(void)
{
	seqlock_write_begin((struct seqlock *)torn_rec);
	for (size_t i = 1; i < torn_words; i++)
		torn_rec[i]++;
	seqlock_write_end((struct seqlock *)torn_rec);
}

/* Begins and does not end, as a writer does that is killed. */
static void torn_half(void)
{
	seqlock_write_begin((struct seqlock *)torn_rec);
	torn_rec[torn_words - 1]++;
}

static void torn_read(int fd, uint32_t *copy, size_t words, size_t step, uint32_t tries)
{
	static void (*const writes[])(void) = { torn_write, torn_half };

	torn_words = words;
	memset(torn_rec, 0, 2 * words * sizeof(*copy));
	for (size_t cut = 0; cut <= words; cut += step) {
		for (unsigned int how = 0; how < 24; how++) {
			torn.upper_first = how & 1;
			torn.at = how >> 2;
			torn.call = 0;
			torn.cut = cut * sizeof(*copy);
			torn.write = writes[how >> 1 & 1];
			assert_int_equal(seqlock_pread(fd, 0, copy, 4 * words, 2, tries), 2);
			torn.write = NULL;
			for (size_t i = 2; i < words; i++) {
				assert_true((copy[0] & 1) || copy[i] == copy[1]);
				assert_int_equal(copy[words + i], copy[words + 1]);
			}
			memset(torn_rec + 1, 0, (words - 1) * sizeof(*copy));
			torn_write();
		}
	}
}

static void test_torn(void **state)
{
	static uint32_t copy[2 * LARGE];
	int fd;

	torn_rec = map_file(&fd, sizeof(copy));
	torn_read(fd, copy, 16, 1, 1);
	torn_read(fd, copy, 16, 1, 3);
	torn_read(fd, copy, LARGE, LARGE / 9, 1);
	torn_read(fd, copy, LARGE, LARGE / 9, 3);
	munmap(torn_rec, sizeof(copy));
	close(fd);
}

/* A writer that was stopped or killed in the middle of a write. */
static void test_stopped(void **state)
{
	struct rec copy[2];
	int fd;
	struct rec *r = map_file(&fd, sizeof(copy));
	uint32_t was;

	seqlock_write_begin(&r->lock);
	r->word[3] = 1;
	assert_false(seqlock_read_begin(&r->lock, &was));
	assert_false(seqlock_read(&r->lock, copy, r->word, sizeof(r->word), 100));
	assert_false(seqlock_read(&r->lock, copy, r->word, sizeof(r->word), 0));
	assert_false(seqlock_write_try(&r->lock));
	assert_int_equal(seqlock_pread(fd, 0, copy, sizeof(*r), 2, 100), 2);
	assert_false(seqlock_pread_ok(&copy[0].lock));
	assert_true(seqlock_pread_ok(&copy[1].lock));
	/* Another writer takes over. */
	seqlock_write_begin(&r->lock);
	assert_false(seqlock_read_begin(&r->lock, &was));
	rec_set(r, 5);
	seqlock_write_end(&r->lock);
	assert_true(seqlock_read_begin(&r->lock, &was) && seqlock_read_end(&r->lock, was));
	assert_true(seqlock_write_try(&r->lock));
	assert_false(seqlock_read_end(&r->lock, was));
	seqlock_write_end(&r->lock);
	assert_int_equal(seqlock_pread(fd, 0, copy, sizeof(*r), 2, 1), 2);
	assert_true(seqlock_pread_ok(&copy[0].lock));
	assert_int_equal(copy[0].word[14], 5);
	munmap(r, sizeof(copy));
	close(fd);
}

/* Files that end early, and no file. */
static void test_short(void **state)
{
	static struct rec copy[200];
	int fd;
	struct rec *r = map_file(&fd, 100 * sizeof(copy[0]) + 4);

	assert_int_equal(seqlock_pread(fd, 0, copy, sizeof(copy[0]), 200, 3), 100);
	assert_int_equal(seqlock_pread(fd, 99 * sizeof(copy[0]), copy, sizeof(copy[0]), 1, 3), 1);
	assert_int_equal(seqlock_pread(fd, 100 * sizeof(copy[0]), copy, sizeof(copy[0]), 1, 3), 0);
	assert_int_equal(seqlock_pread(fd, 0, copy, sizeof(copy), 1, 3), 0);
	assert_int_equal(seqlock_pread(-1, 0, copy, sizeof(copy[0]), 1, 3), 0);
	munmap(r, 100 * sizeof(copy[0]) + 4);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mapped),
		cmocka_unit_test(test_several_writers),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_torn),
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
