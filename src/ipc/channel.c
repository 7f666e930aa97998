/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>
#include <sys/mman.h>

#include "base/cpus.h"
#include "base/memfd.h"
#include "base/sys.h"
#include "ipc/channel.h"
#include "ipc/ipc_internal.h"

void ipc_channel_unmap(struct ipc_channel *ch)
{
	memfd_unmap(ch, sizeof(*ch));
}

int ipc_channel_open(struct ipc_conn *c, ns_t (*clock)(void))
{
	int fds[IPC_MAX_FDS], rc;
	struct ipc_msg m = { .type = IPC_CHANNEL, IPC_RFDS(fds) };
	struct ipc_channel *ch = NULL;

	rc = ipc_call(c, &m);
	if (rc)
		return c->failed ? rc : 0;
	if (m.nrfds == 1)
		ch = memfd_map(fds[0], sizeof(*ch), true);
	ipc_close_fds(fds, m.nrfds);
	/* A forked child must not use the parent's channel; it opens its own connection. */
	if (ch && sys_call(SYS_madvise, ch, sizeof(*ch), MADV_DONTFORK)) {
		ipc_channel_unmap(ch);
		ch = NULL;
	}
	c->chan = ch;
	if (ch)
		c->queue = ipc_channel_queue(ch);
	/* Polling pays only if the process and rused can run on different CPUs. */
	if (cpus_usable() > 1)
		c->clock = clock;
	return 0;
}

static void chan_msg_fill(struct ipc_chan_msg *m, const struct ipc_hdr *hdr, const void *body,
			  size_t len)
{
	m->hdr = *hdr;
	m->len = (uint32_t)len;
	if (len)
		memcpy(m->body, body, len);
}

bool ipc_channel_ask(struct ipc_channel *ch, const struct ipc_hdr *hdr, const void *body,
		     size_t len)
{
	if (len > CHAN_BODY || bell_wanted(&ch->wake))
		return false;
	chan_msg_fill(&ch->request, hdr, body, len);
	smp_store_mb(&ch->state, CHAN_ASKED);
	/* rused may have stopped polling before it saw the request. If it has taken the request, it answers. */
	return !bell_wanted(&ch->wake) || !atomic_cmpxchg(&ch->state, CHAN_ASKED, CHAN_FREE);
}

/*
 * Ends the wait. *withdrawn: rused had not taken the request, and it is taken back. False: the answer has arrived in the
 * meantime.
 */
static bool give_up(struct ipc_channel *ch, bool *withdrawn)
{
	*withdrawn = atomic_cmpxchg(&ch->state, CHAN_ASKED, CHAN_FREE);
	return *withdrawn || atomic_cmpxchg(&ch->state, CHAN_AWAITED, CHAN_FREE) ||
	       smp_load_acquire(&ch->state) != CHAN_ANSWERED;
}

bool ipc_channel_answer(struct ipc_channel *ch, ns_t (*clock)(void), ns_t until,
			struct ipc_hdr *hdr, void *body, size_t *len, int *rc, bool *withdrawn)
{
	uint32_t state, n;

	*withdrawn = false;
	for (;;) {
		state = smp_load_acquire(&ch->state);
		if (state != CHAN_ASKED && state != CHAN_AWAITED)
			break;
		if (clock() >= until)
			break;
		/* rused may need this CPU. */
		sys_call(SYS_sched_yield);
	}
	if (state != CHAN_ANSWERED && give_up(ch, withdrawn))
		return false;
	*hdr = ch->answer.hdr;
	n = READ_ONCE(ch->answer.len);
	*rc = n > CHAN_BODY ? -EPROTO : n > *len ? -EMSGSIZE : 0;
	if (!*rc && n)
		memcpy(body, ch->answer.body, n);
	*len = *rc ? 0 : n;
	smp_store_release(&ch->state, CHAN_FREE);
	return true;
}

int ipc_channel_create(struct ipc_channel **ch)
{
	int fd;

	*ch = memfd_new("ruse-chan", sizeof(**ch), &fd);
	if (*ch)
		bell_want(&(*ch)->wake, 1);
	return fd;
}

void ipc_channel_watch(struct ipc_channel *ch, bool on)
{
	if (on)
		bell_hush(&ch->wake);
	else
		bell_want(&ch->wake, 1);
}

bool ipc_channel_asked(const struct ipc_channel *ch)
{
	return READ_ONCE(ch->state) == CHAN_ASKED;
}

int ipc_channel_take(struct ipc_channel *ch, struct ipc_hdr *hdr, void *body, size_t *len)
{
	uint32_t n;

	if (!ipc_channel_asked(ch) || !atomic_cmpxchg(&ch->state, CHAN_ASKED, CHAN_AWAITED))
		return -EAGAIN;
	n = READ_ONCE(ch->request.len);
	if (n > CHAN_BODY)
		return -EPROTO;
	*hdr = ch->request.hdr;
	memcpy(body, ch->request.body, n);
	*len = n;
	return 0;
}

bool ipc_channel_put(struct ipc_channel *ch, const struct ipc_hdr *hdr, const void *body,
		     size_t len)
{
	if (len > CHAN_BODY || READ_ONCE(ch->state) != CHAN_AWAITED)
		return false;
	chan_msg_fill(&ch->answer, hdr, body, len);
	return atomic_cmpxchg(&ch->state, CHAN_AWAITED, CHAN_ANSWERED);
}

void ipc_channel_sent(struct ipc_channel *ch)
{
	if (READ_ONCE(ch->state) == CHAN_AWAITED)
		atomic_cmpxchg(&ch->state, CHAN_AWAITED, CHAN_FREE);
}

bool ipc_channel_push(struct ipc_channel *ch, struct shared_ring_end *queue,
		      const struct ipc_hdr *hdr, const void *body, size_t len, bool *wake)
{
	uint32_t at = queue->at, before;

	if (len > CHAN_QUEUE_BODY || !shared_ring_put(queue, hdr, body, (uint32_t)len, &before))
		return false;
	*wake = bell_take(&ch->wake) ||
		before / CHAN_QUEUE_LATE != (before + queue->at - at) / CHAN_QUEUE_LATE;
	return true;
}
