/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of a sequence lock that are no inline functions: copies of whole records, and the reader of a file. */
#include "base/sys.h"
#include "shared/seqlock.h"

void seqlock_copy(void *to, const void *from, size_t len)
{
	const uint32_t *f = from;
	uint32_t *t = to;

	for (size_t i = 0; i < len / sizeof(*t); i++)
		WRITE_ONCE(t[i], READ_ONCE(f[i]));
}

void seqlock_write(struct seqlock *s, void *to, const void *from, size_t len)
{
	seqlock_write_begin(s);
	seqlock_copy(to, from, len);
	seqlock_write_end(s);
}

bool seqlock_read(const struct seqlock *s, void *to, const void *from, size_t len, uint32_t tries)
{
	uint32_t was;

	for (; tries; tries--) {
		if (seqlock_read_begin(s, &was)) {
			seqlock_copy(to, from, len);
			if (seqlock_read_end(s, was))
				return true;
		}
		cpu_relax();
	}
	return false;
}

#define SEQLOCK_BLOCK 4096u	/* bytes whose words one call reads */
#define SEQLOCK_RECS 64u	/* most records of a block */

/* Barriers: what is read here lies between what is read before and after. Returns the number of bytes. */
static size_t seqlock_file_read(int fd, uint64_t at, void *to, size_t len)
{
	long n;

	smp_rmb();
	n = sys_call(SYS_pread64, fd, to, len, at);
	smp_rmb();
	return n < 0 ? 0 : (size_t)n;
}

static struct seqlock *seqlock_of(void *records, size_t size, uint32_t i)
{
	return (struct seqlock *)((char *)records + i * size);
}

/* Reads the words of k records. Returns the number of records that begin before the end of the file. */
static uint32_t seqlock_words(int fd, uint64_t at, uint32_t *word, size_t size, uint32_t k)
{
	uint32_t buf[SEQLOCK_BLOCK / sizeof(uint32_t)], i;
	size_t n = seqlock_file_read(fd, at, buf, (k - 1) * size + sizeof(*word));

	for (i = 0; i < k && i * size + sizeof(*word) <= n; i++)
		word[i] = seqlock_of(buf, size, i)->word;
	return i;
}

/* One attempt for k records. A copy that is of several writes gets an odd word. Returns the number of records. */
static uint32_t seqlock_block(int fd, uint64_t at, void *to, size_t size, uint32_t k)
{
	uint32_t before[SEQLOCK_RECS] = { 0 }, after[SEQLOCK_RECS] = { 0 };

	k = seqlock_words(fd, at, before, size, k);
	k = min(k, (uint32_t)(seqlock_file_read(fd, at, to, k * size) / size));
	k = k ? min(k, seqlock_words(fd, at, after, size, k)) : 0;
	for (uint32_t i = 0; i < k; i++)
		seqlock_of(to, size, i)->word = before[i] == after[i] ? after[i] : 1;
	return k;
}

uint32_t seqlock_pread(int fd, uint64_t at, void *to, size_t size, uint32_t n, uint32_t tries)
{
	uint32_t most = max(min((uint32_t)(SEQLOCK_BLOCK / size), SEQLOCK_RECS), 1u);
	uint32_t done = 0, end, k = 0, got = 0;

	while (got == k && done < n) {
		k = min(n - done, most);
		got = seqlock_block(fd, at + done * size, seqlock_of(to, size, done), size, k);
		for (end = done + got; done < end; done++)
			for (uint32_t t = 1; t < tries; t++)
				if (seqlock_pread_ok(seqlock_of(to, size, done)) ||
				    !seqlock_block(fd, at + done * size, seqlock_of(to, size, done),
						   size, 1))
					break;
	}
	return done;
}
