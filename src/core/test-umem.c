/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Guarded copies: all sizes and alignments, faults at both ends of a page, truncated files,
 * iovec lists against a model, atomics, and copies with CRC. The placement order is tested by
 * a second thread that polls the last byte. by_moves repeats tests without the string
 * instruction.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include "base/testing.h"
#include "core/testing.h"
#include "core/umem.h"
#include "shared/barrier.h"
#include "wire/crc.h"

static void fill(uint8_t *p, size_t n, uint8_t seed)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(seed + i * 7 + (i >> 8));
}

/* Checks that a copy writes every byte of the range and none outside. */
static void check_copy(uint8_t *dst, uint8_t *src, size_t da, size_t sa, size_t n)
{
	size_t i;

	memset(dst, 0xee, n + 64);
	assert_int_equal(umem_copy(dst + da, src + sa, n), 0);
	if (memcmp(dst + da, src + sa, n))
		fail_msg("size %zu, alignment %zu <- %zu", n, da, sa);
	for (i = 0; i < da; i++)
		assert_int_equal(dst[i], 0xee);
	for (i = da + n; i < n + 64; i++)
		assert_int_equal(dst[i], 0xee);
}

static void sizes(void **state)
{
	static const size_t large[] = { 511, 512, 1023, 1024, 1025, 1031,
					1040, 4095, 4096, 4097, 65537 };
	uint8_t *src = aligned_alloc(64, 1 << 17), *dst = aligned_alloc(64, 1 << 17);
	size_t n, da, sa;

	fill(src, 1 << 17, 3);
	for (n = 0; n <= 300; n++)
		for (da = 0; da < 16; da++)
			for (sa = 0; sa < 16; sa += 3)
				check_copy(dst, src, da, sa, n);
	for (n = 0; n < ARRAY_SIZE(large); n++)
		for (da = 0; da < 9; da++)
			check_copy(dst, src, da, 8 - da, large[n]);
	for (n = 1; n < 40; n++)
		for (da = 40; da < 64; da++)
			assert_int_equal(umem_copy(dst + da, src, n), 0);
	free(src);
	free(dst);
}

/* Maps two pages and unmaps the second (below: the first). Returns the address between them. */
static uint8_t *half_mapped(bool below)
{
	uint8_t *m = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(m, MAP_FAILED);
	memset(m, 0x11, 2 * PAGE);
	munmap(m + (below ? 0 : PAGE), PAGE);
	return m + PAGE;
}

static void faults(void **state)
{
	uint8_t *up = half_mapped(false), *down = half_mapped(true), buf[2048], bad[2048];
	size_t n, k;

	test_fault_handler();
	memset(buf, 0x22, sizeof(buf));
	for (n = 1; n <= 300; n += n < 80 ? 1 : 37)
		for (k = 0; k < n; k++) {
			assert_int_equal(umem_copy(bad, up - k, n), -EFAULT);
			assert_int_equal(umem_copy(up - k, buf, n), -EFAULT);
			assert_int_equal(umem_copy(bad, down - (n - k), n), -EFAULT);
			assert_int_equal(umem_copy(down - (n - k), buf, n), -EFAULT);
		}
	for (k = 0; k < 2000; k += 123) {
		assert_int_equal(umem_copy(bad, up - k, 2048), -EFAULT);
		assert_int_equal(umem_copy(up - k, buf, 2048), -EFAULT);
	}
	/* Bytes before the range are unchanged, and copies to the mapped page still work. */
	for (k = PAGE; k > 2048; k--)
		assert_int_equal(up[-(long)k], 0x11);
	assert_int_equal(umem_copy(up - 300, buf, 300), 0);
	assert_int_equal(umem_copy(NULL, buf, 8), -EFAULT);
	assert_int_equal(umem_copy(buf, (void *)0xdead000000000000ull, 8), -EFAULT);
	assert_int_equal(umem_copy(NULL, NULL, 0), 0);
	munmap(up - PAGE, PAGE);
	munmap(down, PAGE);
}

static void truncated_file(void **state)
{
	uint8_t buf[2048] = { 0 }, *m;
	int fd = memfd_create("test", 0);
	size_t n;

	test_fault_handler();
	assert_int_equal(ftruncate(fd, 2 * PAGE), 0);
	m = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(m, MAP_FAILED);
	assert_int_equal(ftruncate(fd, PAGE), 0);
	for (n = 1; n <= 2048; n *= 2) {
		assert_int_equal(umem_copy(m + PAGE - n / 2, buf, n), -EFAULT);
		assert_int_equal(umem_copy(buf, m + PAGE - n / 2, n), -EFAULT);
		assert_int_equal(umem_copy(m + PAGE - n, buf, n), 0);
	}
	munmap(m, 2 * PAGE);
	close(fd);
}

static int random_list(struct prng *p, uint8_t *base, size_t size, struct iovec *iov, int max)
{
	int i, n = 1 + (int)prng_below(p, (uint32_t)max);
	size_t at = 0;

	for (i = 0; i < n; i++) {
		size_t len = prng_below(p, 5) ? prng_below(p, 60) : 0;

		if (at + len > size)
			len = size - at;
		iov[i] = (struct iovec){ base + at, len };
		at += len + prng_below(p, 3);
		if (at > size)
			at = size;
	}
	return n;
}

static size_t list_len(const struct iovec *iov, int n)
{
	size_t len = 0;

	while (n--)
		len += iov[n].iov_len;
	return len;
}

static uint8_t *list_byte(const struct iovec *iov, size_t off)
{
	while (off >= iov->iov_len)
		off -= iov++->iov_len;
	return (uint8_t *)iov->iov_base + off;
}

static void iovs(void **state)
{
	uint8_t src[1024], dst[1024], model[1024];
	struct iovec s[12], d[12];
	struct prng p;
	int round, ns, nd, err;
	uint64_t i;

	test_fault_handler();
	test_seed(&p);
	fill(src, sizeof(src), 9);
	for (round = 0; round < 20000; round++) {
		uint64_t off, doff, len, sl, dl;

		ns = random_list(&p, src, sizeof(src), s, 12);
		nd = random_list(&p, dst, sizeof(dst), d, 12);
		sl = list_len(s, ns);
		dl = list_len(d, nd);
		off = prng_below(&p, (uint32_t)sl + 2);
		doff = prng_below(&p, (uint32_t)dl + 2);
		len = prng_below(&p, (uint32_t)min(sl, dl) + 2);
		memset(dst, 0, sizeof(dst));
		memset(model, 0, sizeof(model));
		err = umem_copy_iov(d, nd, doff, s, ns, off, len);
		if (len && (off + len > sl || doff + len > dl)) {
			assert_int_equal(err, -EINVAL);
			continue;
		}
		assert_int_equal(err, 0);
		for (i = 0; i < len; i++)
			model[list_byte(d, doff + i) - dst] = *list_byte(s, off + i);
		assert_memory_equal(dst, model, sizeof(dst));
	}
	d[0] = (struct iovec){ NULL, 100 };
	assert_int_equal(umem_copy_iov(d, 1, 0, s, 1, 0, 0), 0);
	s[0] = (struct iovec){ src, 100 };
	assert_int_equal(umem_copy_iov(d, 1, 50, s, 1, 0, 50), -EFAULT);
}

static void atomics(void **state)
{
	uint8_t *up = half_mapped(false);
	uint64_t word[2] = { 5, 77 }, orig = 0;

	test_fault_handler();
	assert_int_equal(umem_cmp_swp(word, 4, 9, &orig), 0);
	assert_int_equal(orig, 5);
	assert_int_equal(word[0], 5);
	assert_int_equal(umem_cmp_swp(word, 5, 9, &orig), 0);
	assert_int_equal(orig, 5);
	assert_int_equal(word[0], 9);
	assert_int_equal(umem_fetch_add(word, UINT64_MAX, &orig), 0);
	assert_int_equal(orig, 9);
	assert_int_equal(word[0], 8);
	assert_int_equal(word[1], 77);
	assert_int_equal(umem_store64(word, ~0ull), 0);
	assert_true(word[0] == ~0ull && word[1] == 77);

	orig = 42;
	assert_int_equal(umem_cmp_swp((uint64_t *)up, 0, 1, &orig), -EFAULT);
	assert_int_equal(umem_fetch_add((uint64_t *)up, 1, &orig), -EFAULT);
	assert_int_equal(umem_store64((uint64_t *)up, 1), -EFAULT);
	assert_int_equal(umem_fetch_add((uint64_t *)((char *)word + 4), 1, &orig), -EFAULT);
	assert_int_equal(umem_cmp_swp((uint64_t *)((char *)word + 1), 0, 1, &orig), -EFAULT);
	mprotect(up - PAGE, PAGE, PROT_READ);
	assert_int_equal(umem_fetch_add((uint64_t *)(up - 8), 0, &orig), -EFAULT);
	assert_int_equal(umem_store64((uint64_t *)(up - 8), 0), -EFAULT);
	assert_int_equal(orig, 42);
	munmap(up - PAGE, PAGE);
}

/* A second thread polls the last byte, and then compares all the others. */
struct poll {
	uint8_t *buf;
	size_t len;
	uint32_t rounds, done, torn;
};

static void *poller(void *arg)
{
	struct poll *p = arg;
	uint32_t i, spins;
	size_t j;

	for (i = 1; i <= READ_ONCE(p->rounds); i++) {
		uint8_t want = (uint8_t)(i % 251 + 1);

		for (spins = 0; smp_load_acquire(&p->buf[p->len - 1]) != want; spins++)
			if (spins > 2000)
				sched_yield();
		for (j = p->len; j--;)
			if (READ_ONCE(p->buf[j]) != want) {
				p->torn++;
				break;
			}
		smp_store_release(&p->done, i);
	}
	return NULL;
}

/* How often the threads of this process have given up a processor. */
static long switches(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_nvcsw + u.ru_nivcsw;
}

/* On a busy machine a round takes the time slices of other processes: after some of them, few rounds suffice. */
static void placement(void **state)
{
	static const size_t lens[] = { 2, 5, 7, 8, 12, 16, 24,
				       60, 100, 256, 900, 1100, 9000, 65536 };
	static const size_t aligns[] = { 0, 1, 4, 56, 59, 63 };
	uint8_t *area = aligned_alloc(64, 1 << 17), *src = malloc(65536);
	size_t i, a;

	for (i = 0; i < ARRAY_SIZE(lens); i++)
		for (a = 0; a < ARRAY_SIZE(aligns); a++) {
			struct poll p = { .buf = area + aligns[a], .len = lens[i] };
			long before = switches();
			uint32_t r, spins;
			pthread_t t;

			p.rounds = lens[i] > 2000 ? 100 : 500;
			memset(area, 0, 1 << 17);
			assert_int_equal(pthread_create(&t, NULL, poller, &p), 0);
			for (r = 1; r <= p.rounds; r++) {
				if (r >= 20 && switches() - before > 40)
					WRITE_ONCE(p.rounds, r);
				memset(src, (int)(r % 251 + 1), p.len);
				assert_int_equal(umem_copy(p.buf, src, p.len), 0);
				for (spins = 0; smp_load_acquire(&p.done) != r; spins++)
					if (spins > 2000)
						sched_yield();
			}
			pthread_join(t, NULL);
			if (p.torn)
				fail_msg("%zu bytes at %zu: %u of %u torn", lens[i], aligns[a],
					 p.torn, p.rounds);
		}
	free(area);
	free(src);
}

static void *one_word(void *arg)
{
	uint64_t *w = arg, v;

	while ((v = READ_ONCE(*w)) != ~0ull)
		if (v != (v & 0xff) * 0x0101010101010101ull)
			return w;
	return NULL;
}

/* No other thread sees a part of an aligned 8-byte copy, or of a longer copy's last word. */
static void words(void **state)
{
	uint64_t area[8] __attribute__((aligned(64))) = { 0 }, v[8];
	void *torn;
	pthread_t t;
	uint32_t i;

	assert_int_equal(pthread_create(&t, NULL, one_word, &area[7]), 0);
	for (i = 0; i < 200000; i++) {
		memset(v, (int)(i % 255), sizeof(v));
		if (i & 1)
			assert_int_equal(umem_copy(area, v, sizeof(v)), 0);
		else
			assert_int_equal(umem_copy(&area[7], v, 8), 0);
	}
	assert_int_equal(umem_store64(&area[7], ~0ull), 0);
	pthread_join(t, &torn);
	assert_null(torn);
}

/* The result equals a copy followed by a CRC. Faults are found at any offset. */
static void copies_with_crc(void **state)
{
	static const size_t lens[] = { 0, 1, 3, 16, 255, 511, 512, 513, 767, 768, 1000,
				       4096, 9001 };
	uint8_t *src = malloc(16384), *dst = malloc(16384), *m;
	uint32_t crc;

	fill(src, 16384, 5);
	for (size_t i = 0; i < ARRAY_SIZE(lens); i++)
		for (size_t at = 0; at < 3; at++) {
			memset(dst, 0xee, 16384);
			crc = 77;
			assert_int_equal(umem_copy_crc(dst + 1, src + at, lens[i], &crc), 0);
			assert_int_equal(crc, crc32_add(77, src + at, lens[i]));
			assert_memory_equal(dst + 1, src + at, lens[i]);
			assert_int_equal(dst[0], 0xee);
			assert_int_equal(dst[1 + lens[i]], 0xee);
		}
	test_fault_handler();
	m = half_mapped(false);
	for (size_t n = 1; n <= 1024; n += 31) {
		assert_int_equal(umem_copy_crc(dst, m - n, n, &crc), 0);
		assert_int_equal(umem_copy_crc(dst, m - n, n + 1, &crc), -EFAULT);
		assert_int_equal(umem_copy_crc(dst, m - n, 1200, &crc), -EFAULT);
	}
	munmap(m - PAGE, PAGE);
	m = half_mapped(true);
	assert_int_equal(umem_copy_crc(dst, m - 1, 1024, &crc), -EFAULT);
	munmap(m, PAGE);
	free(src);
	free(dst);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes), cmocka_unit_test(faults), cmocka_unit_test(truncated_file),
		cmocka_unit_test(iovs), cmocka_unit_test(atomics), cmocka_unit_test(placement),
		cmocka_unit_test(words), cmocka_unit_test(copies_with_crc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
