/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A record in the area: its length without padding (32 bits), head, body, padding to a multiple of 8. It is not split. If
 * it does not fit before the end of the area, RING_SKIP takes the place of its length, and it is at the start.
 */
#include <errno.h>
#include <string.h>
#include "shared/ring.h"

#define RING_ALIGN 8u
#define RING_SKIP UINT32_MAX

static uint32_t ring_record(uint32_t len)
{
	return ALIGN_UP(len + (uint32_t)sizeof(len), RING_ALIGN);
}

bool shared_ring_put(struct shared_ring_end *p, const void *head, const void *body, uint32_t len,
		     uint32_t *before)
{
	uint32_t used = p->at - smp_load_acquire(&p->ring->cons), at = p->at & (p->size - 1);
	uint32_t whole = p->head + len, skip = 0, size;

	if (len > p->size || used > p->size)
		return false;
	size = ring_record(whole);
	if (p->size - at < size)
		skip = p->size - at;
	if (p->size - used < size || p->size - used - size < skip)
		return false;
	if (skip) {
		*(uint32_t *)(p->data + at) = RING_SKIP;
		at = 0;
	}
	memcpy(p->data + at, &whole, sizeof(whole));
	memcpy(p->data + at + sizeof(whole), head, p->head);
	if (len)
		memcpy(p->data + at + sizeof(whole) + p->head, body, len);
	p->at += skip + size;
	smp_store_mb(&p->ring->prod, p->at);
	if (before)
		*before = used;
	return true;
}

int shared_ring_get(struct shared_ring_end *c, void *head, void *body, uint32_t most, uint32_t *len)
{
	uint32_t there = shared_ring_there(c) - c->at, at = c->at & (c->size - 1), skip = 0, whole;

	if (!there)
		return -EAGAIN;
	if (there > c->size || there % RING_ALIGN)
		return -EPROTO;
	whole = READ_ONCE(*(uint32_t *)(c->data + at));
	if (whole == RING_SKIP) {
		skip = c->size - at;
		if (there <= skip)
			return -EPROTO;
		at = 0;
		whole = READ_ONCE(*(uint32_t *)c->data);
	}
	if (whole < c->head || whole - c->head > most || ring_record(whole) > there - skip ||
	    ring_record(whole) > c->size - at)
		return -EPROTO;
	memcpy(head, c->data + at + sizeof(whole), c->head);
	*len = whole - c->head;
	if (*len)
		memcpy(body, c->data + at + sizeof(whole) + c->head, *len);
	c->at += skip + ring_record(whole);
	smp_store_release(&c->ring->cons, c->at);
	return 0;
}
