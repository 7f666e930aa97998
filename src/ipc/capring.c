/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <sys/mman.h>

#include "base/memfd.h"
#include "base/sys.h"
#include "ipc/capring.h"

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

struct capring_side capring_side(struct capring *ring)
{
	struct capring_side side = { .ring = ring };

	if (ring)
		side.end = (struct shared_ring_end){ .ring = &ring->ring, .data = ring->data,
						     .size = CAPRING_DATA,
						     .head = sizeof(struct caprec) };
	return side;
}

bool capring_put(struct capring_side *w, const struct caprec *rec, const void *frame)
{
	if (rec->caplen <= CAPRING_FRAME_MAX &&
	    shared_ring_put(&w->end, rec, frame, rec->caplen, NULL))
		return true;
	capring_lost(w->ring);
	return false;
}

int capring_get(struct capring_side *rd, struct caprec *rec, void *frame)
{
	uint32_t len;
	int rc = shared_ring_get(&rd->end, rec, frame, CAPRING_FRAME_MAX, &len);

	if (rc)
		return rc == -EAGAIN ? 0 : rc;
	if (rec->caplen != len)
		return -EPROTO;
	rec->dev[sizeof(rec->dev) - 1] = 0;
	rec->note[sizeof(rec->note) - 1] = 0;
	rec->len = max(rec->len, rec->caplen);
	return 1;
}
