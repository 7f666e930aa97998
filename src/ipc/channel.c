/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>
#include <sys/mman.h>

#include "base/cpus.h"
#include "base/memfd.h"
#include "base/sys.h"
#include "ipc/channel.h"
#include "ipc/ipc_internal.h"
#include "queue/barrier.h"

void ipc_channel_unmap(struct ipc_channel *ch)
{
	memfd_unmap(ch, sizeof(*ch));
}

int ipc_channel_open(struct ipc_conn *c, ns_t (*clock)(void))
{
	int fds[IPC_MAX_FDS], nfds = IPC_MAX_FDS, rc;
	struct ipc_channel *ch = NULL;
	size_t rsize = 0;

	rc = ipc_trip(c, IPC_CHANNEL, NULL, 0, NULL, 0, NULL, &rsize, fds, &nfds);
	if (rc || c->answer)
		return rc;
	if (nfds == 1)
		ch = memfd_map(fds[0], sizeof(*ch), true);
	ipc_close_fds(fds, nfds);
	/* A forked child must not use the parent's channel; it opens its own connection. */
	if (ch && sys_call(SYS_madvise, ch, sizeof(*ch), MADV_DONTFORK)) {
		ipc_channel_unmap(ch);
		ch = NULL;
	}
	c->chan = ch;
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

bool ipc_channel_post(struct ipc_channel *ch, const struct ipc_hdr *hdr, const void *body,
		      size_t len)
{
	if (len > CHAN_BODY || !READ_ONCE(ch->watched))
		return false;
	chan_msg_fill(&ch->request, hdr, body, len);
	smp_store_mb(&ch->state, CHAN_POSTED);
	/* rused may have stopped watching before it saw the request. If it has taken the request, it answers. */
	return READ_ONCE(ch->watched) || !atomic_cmpxchg(&ch->state, CHAN_POSTED, CHAN_FREE);
}

/* Ends the wait. *posted: rused had not taken the request, and it is withdrawn. False: the answer has arrived in the meantime. */
static bool give_up(struct ipc_channel *ch, bool *posted)
{
	*posted = atomic_cmpxchg(&ch->state, CHAN_POSTED, CHAN_FREE);
	return *posted || atomic_cmpxchg(&ch->state, CHAN_AWAITED, CHAN_FREE) ||
	       smp_load_acquire(&ch->state) != CHAN_ANSWERED;
}

bool ipc_channel_answer(struct ipc_channel *ch, ns_t (*clock)(void), ns_t until,
			struct ipc_hdr *hdr, void *body, size_t *len, int *rc, bool *posted)
{
	uint32_t state, n;

	*posted = false;
	for (;;) {
		state = smp_load_acquire(&ch->state);
		if (state != CHAN_POSTED && state != CHAN_AWAITED)
			break;
		if (clock() >= until)
			break;
		/* rused may need this CPU. */
		sys_call(SYS_sched_yield);
	}
	if (state != CHAN_ANSWERED && give_up(ch, posted))
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
	return fd;
}

void ipc_channel_watch(struct ipc_channel *ch, bool on)
{
	smp_store_mb(&ch->watched, on);
}

bool ipc_channel_posted(const struct ipc_channel *ch)
{
	return READ_ONCE(ch->state) == CHAN_POSTED;
}

int ipc_channel_take(struct ipc_channel *ch, struct ipc_hdr *hdr, void *body, size_t *len)
{
	uint32_t n;

	if (!ipc_channel_posted(ch) || !atomic_cmpxchg(&ch->state, CHAN_POSTED, CHAN_AWAITED))
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
