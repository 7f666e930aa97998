/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sequence lock: a record with one writer at a time and readers that write nothing. The word is odd during a write, and
 * differs after it. A reader copies the record and keeps the copy if the word was even before and is unchanged after.
 * Zeroed memory is a lock that was never written.
 *
 * The writer may be another process, which may be stopped or killed in the middle of a write, or be hostile. So a reader
 * makes a limited number of attempts, and checks what it has read as it checks all data of that process. A writer that
 * takes over the record of a killed one begins with seqlock_write_begin(), too.
 *
 *	writer				reader in mapped memory		reader of a file
 *	seqlock_write_begin()		seqlock_read(), or:		seqlock_pread()
 *	stores				seqlock_read_begin()
 *	seqlock_write_end()		READ_ONCE() of each field
 *	or seqlock_write()		seqlock_read_end()
 *
 * Other locks of shared memory: a QP card (queue/card.h) has two writers, which wait for each other.
 */
#ifndef RUSE_SHARED_SEQLOCK_H
#define RUSE_SHARED_SEQLOCK_H

#include "base/util.h"
#include "shared/barrier.h"

struct seqlock {
	uint32_t word;
};

/* For the writer. */

/* Begins a write. The caller is the only writer. */
static inline void seqlock_write_begin(struct seqlock *s)
{
	WRITE_ONCE(s->word, READ_ONCE(s->word) | 1);
	smp_wmb();
}

/* The same if several threads may write. False: another thread is writing; the caller must leave the record as it is. */
static inline bool seqlock_write_try(struct seqlock *s)
{
	uint32_t was = READ_ONCE(s->word);

	if ((was & 1) || !atomic_cmpxchg(&s->word, was, was | 1))
		return false;
	smp_wmb();
	return true;
}

/* Ends a write. */
static inline void seqlock_write_end(struct seqlock *s)
{
	smp_store_release(&s->word, (READ_ONCE(s->word) | 1) + 1);
}

/* For readers. */

/* Begins a read. False: the record is being written. *was is for seqlock_read_end(). */
static inline bool seqlock_read_begin(const struct seqlock *s, uint32_t *was)
{
	*was = smp_load_acquire(&s->word);
	return likely(!(*was & 1));
}

/* Ends a read. True: what was read since seqlock_read_begin() is of one write. */
static inline bool seqlock_read_end(const struct seqlock *s, uint32_t was)
{
	smp_rmb();
	return READ_ONCE(s->word) == was;
}

/*
 * Copies len bytes, a multiple of 4, word by word: the copy of a record of which a part is shared. Other parts of the
 * record may be copied by themselves. to and from are aligned to 4 bytes.
 */
void seqlock_copy(void *to, const void *from, size_t len);
/* Writes a record of len bytes, as seqlock_copy(), between seqlock_write_begin() and seqlock_write_end(). */
void seqlock_write(struct seqlock *s, void *to, const void *from, size_t len);
/*
 * Copies a record of len bytes, as seqlock_copy(). False: a write was in progress in each of `tries` attempts; *to is then
 * of several writes.
 */
bool seqlock_read(const struct seqlock *s, void *to, const void *from, size_t len, uint32_t tries);

/*
 * Copies n records of `size` bytes each, which begin with their struct seqlock, from offset `at` of a file, which need not
 * be mapped. Returns the number of records that were read: less than n at the end of the file or on an error. A copy is
 * of one write if seqlock_pread_ok() says so; else the record was being written in each of `tries` attempts.
 *
 * pread() copies in an unspecified order. A word that is copied together with its record says nothing about the record,
 * so each word is read by another pread() before and after.
 */
uint32_t seqlock_pread(int fd, uint64_t at, void *to, size_t size, uint32_t n, uint32_t tries);

static inline bool seqlock_pread_ok(const struct seqlock *copy)
{
	return !(copy->word & 1);
}

#endif
