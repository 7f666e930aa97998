/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the allocator and system calls on memory tell a program (harmless.c): faults, statistics, settings of malloc(), and
 * what the kernel says of pages.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "harmless.h"
#include "verbs.h"

static uint8_t *volatile after;

static int write_after(void *arg)
{
	(void)arg;
	after[0] = 1;
	after[MB / 2] = 1;
	return 7;
}

/* Large blocks go back to the kernel: a later write is a fault, here and in a child. */
static void use_after_free(void)
{
	for (enum source s = 0; s < SOURCES; s++) {
		unsigned char seen[1];
		int rc;

		after = h_filled(s, 4 * MB, 1);
		h_put(s, after, 4 * MB);
		rc = mincore((void *)(((uintptr_t)after + 2 * PG) & ~(PG - 1)), PG, seen);
		say("%s: mincore %d %s", sources[s], rc, rc ? strerrorname_np(errno) : "");
		rc = write(-1, after, 1) < 0 ? errno : 0;
		say("%s: a child ends with %d", sources[s], h_in_child(write_after, NULL));
	}
}

static size_t pages_over(void *p, size_t len)
{
	size_t usable = malloc_usable_size(p);

	return (usable - len) / PG;
}

/* The fields that follow from the program's own calls; the numbers that other threads may move are left out. */
static void show_info(const char *when, const struct mallinfo2 *was)
{
	struct mallinfo2 m = mallinfo2();

	say("%s: %+zd mapped blocks, %+zd KiB of them, %+zd times 64 KiB used", when, m.hblks - was->hblks,
	    (ssize_t)(m.hblkhd - was->hblkhd) / 1024,
	    ((ssize_t)(m.uordblks - was->uordblks) + (32 << 10)) >> 16);
}

static void statistics(void)
{
	static const size_t sizes[] = { 1, 24, 1000, PG, 100000, 200000, MB, 9 * MB };
	uint8_t *p[SOURCES][sizeof(sizes) / sizeof(*sizes)];
	struct mallinfo2 was;

	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	h_put(BY_MALLOC, h_filled(BY_MALLOC, 60000, 1), 60000);
	was = mallinfo2();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (enum source s = 0; s < SEEN; s++) {
			if (s == BY_MMAP)
				continue;
			p[s][i] = h_filled(s, sizes[i], 1);
			say("%s of %zu: %zu pages more are usable", sources[s], sizes[i], pages_over(p[s][i], sizes[i]));
		}
	show_info("after malloc", &was);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (enum source s = 0; s < SEEN; s++) {
			if (s != BY_MMAP)
				h_put(s, p[s][i], sizes[i]);
		}
	show_info("after free", &was);
	/* Its result depends on what other threads have freed. */
	malloc_trim(0);
	p[0][0] = h_get(BY_MALLOC, 200000);
	show_info("200000 bytes", &was);
	free(p[0][0]);
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	p[0][0] = h_get(BY_MALLOC, 200000);
	show_info("200000 bytes below the threshold", &was);
	free(p[0][0]);
}

/* mallopt(M_PERTURB) and MALLOC_PERTURB_: what new memory contains, and what is left of old. */
static void perturb(void)
{
	for (enum source s = 0; s < SEEN; s++)
		for (size_t len = 64; len <= 4 * MB; len *= 16) {
			uint8_t *p;
			int b[3];

			if (s == BY_MMAP)
				continue;
			mallopt(M_PERTURB, 0x5a);
			p = h_get(s, len);
			b[0] = p[32], b[1] = p[len - 1];
			p = realloc(p, 2 * len);
			b[2] = p[32];
			free(p);
			mallopt(M_PERTURB, 0);
			say("%s of %zu: %02x %02x, realloc %02x", sources[s], len, b[0], b[1], b[2]);
		}
	mallopt(M_PERTURB, 0x5a);
	after = calloc(1, MB);
	say("calloc: %s", h_holds(after, 0, MB) ? "zero" : "not zero");
	free(after);
}

static void show_pages(const char *what, enum source s, uint8_t *a, int rc)
{
	unsigned char in[8];
	char bits[9] = "", bytes[9] = "";
	int e = errno;

	if (!mincore(a, 8 * PG, in))
		for (int i = 0; i < 8; i++)
			bits[i] = in[i] & 1 ? '1' : '0';
	for (int i = 0; i < 8; i++) {
		uint8_t b = 0;
		struct iovec l = { &b, 1 }, r = { a + (size_t)i * PG, 1 };
		ssize_t n = bits[i] == '1' ? process_vm_readv(getpid(), &l, 1, &r, 1, 0) : 0;

		bytes[i] = n == 1 ? "0123456789abcdef"[b & 15] : n ? '!' : '.';
	}
	say("%s of %s: %d %s, in core %s, bytes %s", what, sources[s], rc, rc ? strerrorname_np(e) : "", bits, bytes);
}

#define STEP(x) (errno = 0, show_pages(#x, s, a, (x)))

static int read_page(void *arg)
{
	return *(volatile uint8_t *)arg;
}

static int write_page(void *arg)
{
	*(volatile uint8_t *)arg = 9;
	return 7;
}

/* Results of system calls on the pages of a large block, and what is in the pages then. */
static void page_calls(void)
{
	for (enum source s = 0; s < SOURCES; s++) {
		uint8_t *p = h_get(s, 4 * MB), *a = (uint8_t *)(((uintptr_t)p + MB) & ~(PG - 1));

		STEP(0);
		for (size_t i = 0; i < 4; i++)
			a[i * PG] = (uint8_t)(i + 1);
		STEP(0);
		STEP(mprotect(a, 8 * PG, PROT_READ));
		say("write: %d", h_in_child(write_page, a));
		STEP(mprotect(a, 8 * PG, PROT_NONE));
		say("read: %d", h_in_child(read_page, a));
		STEP(mprotect(a, 8 * PG, RW));
		say("read: %d, write: %d", h_in_child(read_page, a), h_in_child(write_page, a));
		STEP(madvise(a, PG, MADV_DONTNEED));
		STEP(madvise(a, PG, MADV_WILLNEED));
		STEP(madvise(a, PG, MADV_REMOVE));
		/* The bytes may be there or not, until a write. */
		say("MADV_FREE: %d", madvise(a + PG, PG, MADV_FREE));
		a[PG] = 5;
		STEP(0);
		STEP(madvise(a + 1, PG, MADV_DONTNEED));
		STEP(madvise(a, PG, 9999));
		STEP(madvise(a + 4 * PG, PG, MADV_POPULATE_READ));
		STEP(madvise(a + 5 * PG, PG, MADV_POPULATE_WRITE));
		STEP(madvise(a, PG, MADV_MERGEABLE));
		STEP(madvise(a, PG, MADV_UNMERGEABLE));
		STEP(msync(a, PG, MS_SYNC));
		STEP(mlock(a + 6 * PG, PG));
		STEP(madvise(a + 6 * PG, PG, MADV_DONTNEED));
		STEP(madvise(a + 5 * PG, 2 * PG, MADV_DONTNEED));
		STEP(munlock(a + 6 * PG, PG));
		STEP(madvise(a + 6 * PG, PG, MADV_DONTNEED));
		STEP(madvise(a + PG, PG, MADV_DONTFORK));
		say("read: %d", h_in_child(read_page, a + PG));
		STEP(madvise(a + PG, PG, MADV_DOFORK));
		say("read: %d", h_in_child(read_page, a + PG));
		STEP(madvise(a + PG, PG, MADV_WIPEONFORK));
		say("read: %d", h_in_child(read_page, a + PG));
		STEP(madvise(a + PG, PG, MADV_KEEPONFORK));
		h_put(s, p, 4 * MB);
	}
}

/* What smaps says of the mapping at p: a bit for each piece of advice that it keeps, and 16 for a protection key. */
static int kept_advice(void *p)
{
	static const char *const names[] = { " rr", " sr", " nh", " dd" };
	unsigned long start, end, key;
	FILE *f = fopen("/proc/self/smaps", "r");
	bool here = false;
	char line[512];
	int bits = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			here = (uintptr_t)p >= start && (uintptr_t)p < end;
		for (int i = 0; i < 4 && here && !strncmp(line, "VmFlags:", 8); i++)
			bits |= !!strstr(line, names[i]) << i;
		if (here && sscanf(line, "ProtectionKey: %lu", &key) == 1 && key)
			bits |= 16;
	}
	if (f)
		fclose(f);
	return bits;
}

/* Advice for four pages, of which the child does not have the second: what the last has then; 32: the call has failed. */
static int advice_over_hole(void *p)
{
	int rc = madvise(p, 4 * PG, MADV_RANDOM);

	return kept_advice((uint8_t *)p + 3 * PG) + (rc ? 32 : 0);
}

/* Advice and protection keys hold until they are taken back: here, in a child, and where the page is moved to. */
static void page_advice(void)
{
	static const int advice[] = {
		MADV_RANDOM,   MADV_SEQUENTIAL, MADV_NORMAL, MADV_NOHUGEPAGE,
		MADV_DONTDUMP, MADV_RANDOM,     MADV_DODUMP, MADV_DONTDUMP,
	};
	uint8_t *place = mmap(NULL, PG, PROT_NONE, ANON, -1, 0);
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0);

	for (enum source s = 0; s < SOURCES; s++) {
		uint8_t *p = h_filled(s, 4 * MB, 1), *a = h_page(p + MB);
		int key = pkey_alloc(0, 0); /* -1: the processor has none */
		struct iovec part = { a + 4 * PG, 2 * PG };

		for (size_t i = 0; i < sizeof(advice) / sizeof(*advice); i++) {
			say("%s: advice %d: %d", sources[s], advice[i], madvise(a, 3 * PG, advice[i]));
			say("kept: %d, before it %d, child %d", kept_advice(a), kept_advice(a - PG),
			    h_in_child(kept_advice, a));
		}
		say("key: %d", pkey_mprotect(a + PG, PG, RW, key));
		say("kept: %d, child %d", kept_advice(a + PG), h_in_child(kept_advice, a + PG));
		if (mremap(a + PG, PG, PG, MREMAP_MAYMOVE | MREMAP_FIXED, place) != place)
			die("mremap: %s", strerror(errno));
		say("moved: %d, child %d", kept_advice(place), h_in_child(kept_advice, place));
		if (mremap(place, PG, PG, MREMAP_MAYMOVE | MREMAP_FIXED, a + PG) != a + PG)
			die("mremap: %s", strerror(errno));
		say("and back: %d, child %d", kept_advice(a + PG), h_in_child(kept_advice, a + PG));
		if (mmap(place, PG, PROT_NONE, ANON | MAP_FIXED, -1, 0) != place)
			die("mmap: %s", strerror(errno));
		say("%d", madvise(a + PG, PG, MADV_DONTFORK));
		say("over a hole: %d", h_in_child(advice_over_hole, a));
		say("%d", pkey_mprotect(a + 2 * PG, PG, PROT_NONE, key));
		say("%d", key < 0 ? 0 : pkey_free(key));
		say("read, without the key: %d", h_in_child(read_page, a + 2 * PG));
		say("of a process: %zd", process_madvise(self, &part, 1, MADV_DONTDUMP, 0));
		say("kept: %d, child %d", kept_advice(a + 5 * PG), h_in_child(kept_advice, a + 5 * PG));
		h_put(s, p, 4 * MB);
	}
	munmap(place, PG);
	close(self);
}

/* In pieces of 8 MiB, as the kernel's counters lag behind. */
static long pieces_since(const char *name, long was)
{
	return (h_proc("status", name) - was + 4096) >> 13;
}

/* Resident memory is counted where it was. */
static void counted(void)
{
	for (enum source s = 0; s < SEEN; s++) {
		long anon = h_proc("status", "RssAnon:"), shm = h_proc("status", "RssShmem:");
		uint8_t *p = h_filled(s, 64 * MB, 1);

		say("%s: private %+ld, shared %+ld", sources[s], pieces_since("RssAnon:", anon),
		    pieces_since("RssShmem:", shm));
		h_put(s, p, 64 * MB);
		say("%s: private %+ld, shared %+ld", sources[s], pieces_since("RssAnon:", anon),
		    pieces_since("RssShmem:", shm));
	}
}

static void *give_back(void *arg)
{
	free(arg);
	return NULL;
}

/* Blocks of every size and alignment, returned by other threads and by realloc(). */
static void shapes(void)
{
	int bad = 0;

	for (size_t align = 8; align <= 2 * MB; align *= 2)
		for (size_t len = 1; len < 3 * MB; len = len * 7 + 3) {
			uint8_t *p = memalign(align, len);
			pthread_t t;

			bad += !p || (uintptr_t)p & (align - 1) || malloc_usable_size(p) < len;
			memset(p, 3, len);
			p = realloc(p, len * 2 + 7);
			bad += !p || !h_holds(p, 3, len);
			p = realloc(p, len / 2 + 1);
			bad += !p || !h_holds(p, 3, len / 2 + 1);
			if (pthread_create(&t, NULL, give_back, p) || pthread_join(t, NULL))
				die("no thread");
		}
	say("%d bad blocks", bad);
	for (enum source s = 0; s < SOURCES; s++) {
		uint8_t *p = h_get(s, (size_t)1 << 60);

		say("%s: %s", sources[s], p ? "memory" : strerrorname_np(errno));
		p = h_get(s, 9 * MB);
		say("%s: new memory is %s", sources[s], h_holds(p, 0, 9 * MB) ? "zero" : "used");
		h_put(s, p, 9 * MB);
	}
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Times, for harmless.inc to print and not to compare. */
static void times(void)
{
	for (enum source s = 0; s < SOURCES; s++) {
		double t = seconds(), first;
		uint8_t *p;
		int n;

		for (n = 0; n < 40; n++) {
			size_t len = 4 * MB + (size_t)(n * 37 % 40) * (MB / 2);

			h_put(s, h_filled(s, len, 1), len);
		}
		t = seconds() - t;
		p = h_get(s, 128 * MB);
		first = seconds();
		for (size_t i = 0; i < 128 * MB; i += PG)
			p[i] = 1;
		first = seconds() - first;
		say("time %s-varied %.6f", sources[s], t);
		say("time %s-first-touch %.6f", sources[s], first);
		t = seconds();
		n = h_in_child(read_page, p);
		say("time %s-fork %.6f", sources[s], seconds() - t);
		h_put(s, p, 128 * MB);
		if (n != 1)
			say("fork: %d", n);
	}
}

const struct hcase memory_cases[] = {
	{ "use-after-free", use_after_free },
	{ "statistics", statistics },
	{ "statistics-loaded", statistics },
	{ "perturb", perturb },
	{ "perturb-loaded", perturb },
	{ "page-calls", page_calls },
	{ "page-advice", page_advice },
	{ "counted", counted },
	{ "counted-loaded", counted },
	{ "shapes", shapes },
	{ "times", times },
	{ 0 },
};
