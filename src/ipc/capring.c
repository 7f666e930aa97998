/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/memfd.h"
#include "base/sys.h"
#include "ipc/capring.h"
#include "queue/barrier.h"

_Static_assert((CAPRING_DATA & (CAPRING_DATA - 1)) == 0, "positions are masked");
_Static_assert(sizeof(struct caprec) % 8 == 0, "records stay aligned");

/*
 * Every record size is a multiple of this. If a record does not fit before the end of the ring, at least this many bytes
 * are left there, so the mark CAPREC_SKIP fits.
 */
#define SKIP_LEN 8u

static uint64_t record_size(uint32_t caplen)
{
	return ALIGN_UP(sizeof(struct caprec) + (uint64_t)caplen, 8ull);
}

struct capring *capring_new(int *fd)
{
	struct capring *r = memfd_new("ruse-capture", CAPRING_SIZE, fd);

	if (!r)
		return NULL;
	sys_call(SYS_madvise, r, CAPRING_SIZE, MADV_DONTFORK);
	r->magic = CAPRING_MAGIC;
	r->size = CAPRING_DATA;
	return r;
}

struct capring *capring_map(int fd)
{
	struct capring *r = memfd_map(fd, CAPRING_SIZE, true);

	if (r && r->magic == CAPRING_MAGIC && r->size == CAPRING_DATA)
		return r;
	memfd_unmap(r, CAPRING_SIZE);
	return NULL;
}

void capring_lost(struct capring *r)
{
	WRITE_ONCE(r->lost, r->lost + 1);
}

uint64_t capring_nlost(const struct capring *r)
{
	return READ_ONCE(r->lost);
}

bool capring_put(struct capring_writer *w, const struct caprec *rec, const void *frame)
{
	struct capring *r = w->ring;
	uint64_t prod = w->prod, size = record_size(rec->caplen);
	uint64_t at = prod & (CAPRING_DATA - 1), skip = 0;
	uint64_t used = prod - smp_load_acquire(&r->cons);

	if (CAPRING_DATA - at < size)
		skip = CAPRING_DATA - at;
	/* cons is written by the consumer and may have any value: check before writing. */
	if (rec->caplen > CAPRING_FRAME_MAX || used > CAPRING_DATA ||
	    CAPRING_DATA - used < skip + size) {
		capring_lost(r);
		return false;
	}
	if (skip) {
		*(uint32_t *)(r->data + at) = CAPREC_SKIP;
		at = 0;
	}
	memcpy(r->data + at, rec, sizeof(*rec));
	memcpy(r->data + at + sizeof(*rec), frame, rec->caplen);
	w->prod = prod + skip + size;
	smp_store_release(&r->prod, w->prod);
	return true;
}

int capring_get(struct capring_reader *rd, struct caprec *rec, void *frame)
{
	struct capring *r = rd->ring;
	uint64_t there = smp_load_acquire(&r->prod) - rd->cons;
	uint64_t at = rd->cons & (CAPRING_DATA - 1);

	if (!there)
		return 0;
	if (there > CAPRING_DATA || there % SKIP_LEN)
		return -EPROTO;
	if (READ_ONCE(*(uint32_t *)(r->data + at)) == CAPREC_SKIP) {
		if (there <= CAPRING_DATA - at)
			return -EPROTO;
		rd->cons += CAPRING_DATA - at;
		there -= CAPRING_DATA - at;
		at = 0;
	}
	if (there < sizeof(*rec) || CAPRING_DATA - at < sizeof(*rec))
		return -EPROTO;
	memcpy(rec, r->data + at, sizeof(*rec));
	if (rec->caplen > CAPRING_FRAME_MAX || record_size(rec->caplen) > there ||
	    record_size(rec->caplen) > CAPRING_DATA - at)
		return -EPROTO;
	memcpy(frame, r->data + at + sizeof(*rec), rec->caplen);
	rec->dev[sizeof(rec->dev) - 1] = 0;
	rec->note[sizeof(rec->note) - 1] = 0;
	rec->len = max(rec->len, rec->caplen);
	rd->cons += record_size(rec->caplen);
	smp_store_release(&r->cons, rd->cons);
	return 1;
}
