/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The channel's queue of messages without an answer, written by the process, taken by rused. The
 * socket only wakes rused: `watched` says that no wake-up is needed, `bell` that one was sent.
 */
#include <errno.h>
#include <string.h>

#include "ipc/channel.h"
#include "queue/barrier.h"

bool ipc_channel_push(struct ipc_channel *ch, const struct ipc_hdr *hdr, const void *body,
		      size_t len, bool *wake)
{
	uint32_t head = READ_ONCE(ch->head), before = head - smp_load_acquire(&ch->tail);
	struct ipc_chan_item *item = &ch->queue[head % CHAN_QUEUE];

	if (len > CHAN_QUEUE_BODY || before >= CHAN_QUEUE)
		return false;
	item->hdr = *hdr;
	item->len = (uint32_t)len;
	memcpy(item->body, body, len);
	smp_store_mb(&ch->head, head + 1);
	*wake = (before + 1) % CHAN_QUEUE_LATE == 0 ||
		(!READ_ONCE(ch->watched) && !atomic_xchg(&ch->bell, 1u));
	return true;
}

bool ipc_channel_queued(const struct ipc_channel *ch, uint32_t tail)
{
	return READ_ONCE(ch->head) != tail;
}

uint32_t ipc_channel_head(const struct ipc_channel *ch)
{
	return smp_load_acquire(&ch->head);
}

void ipc_channel_heard(struct ipc_channel *ch)
{
	if (READ_ONCE(ch->bell))
		smp_store_mb(&ch->bell, 0u);
}

int ipc_channel_pop(struct ipc_channel *ch, uint32_t *tail, struct ipc_hdr *hdr, void *body,
		    size_t *len)
{
	const struct ipc_chan_item *item = &ch->queue[*tail % CHAN_QUEUE];
	uint32_t there = smp_load_acquire(&ch->head) - *tail, n;

	if (!there)
		return -EAGAIN;
	n = READ_ONCE(item->len);
	if (there > CHAN_QUEUE || n > CHAN_QUEUE_BODY)
		return -EPROTO;
	*hdr = item->hdr;
	memcpy(body, item->body, n);
	*len = n;
	smp_store_release(&ch->tail, ++*tail);
	return 0;
}
