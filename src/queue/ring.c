/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <unistd.h>
#include "queue/ring.h"

/* librxe refuses a completion queue with slots smaller than a cache line. */
#define RING_MIN_ELEM 64u

uint32_t ring_layout(struct ring *r, uint32_t min_entries, uint32_t elem_size)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), bytes;

	*r = (struct ring){ 0 };
	if (min_entries >= 1u << 31 || elem_size > 1u << 31)
		return 0;
	r->log2_elem = ilog2(roundup_pow2(max(elem_size, RING_MIN_ELEM)));
	r->mask = roundup_pow2(min_entries + 1) - 1;
	bytes = ALIGN_UP(sizeof(struct rxe_queue_buf) +
			 (((uint64_t)r->mask + 1) << r->log2_elem), page);
	if (bytes > UINT32_MAX)
		return 0;
	r->buf_size = (uint32_t)bytes;
	return r->buf_size;
}

void ring_init(struct ring *r, void *mem)
{
	r->buf = mem;
	r->index = 0;
	WRITE_ONCE(r->buf->log2_elem_size, r->log2_elem);
	WRITE_ONCE(r->buf->index_mask, r->mask);
}
