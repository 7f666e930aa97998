/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One shm link: transfer of payload, and the end of a link.
 *
 * Payload of up to SHM_INLINE bytes is in the slot (ring entry, struct shm_slot). Larger payload is
 * copied into the ring's data area. RC request payload of TUNE_PULL bytes or more is referenced
 * instead if the peer can read this process's memory: the slot holds addresses, and the peer copies
 * into its receive buffer. This is limited to RC requests, because only for these the transport
 * keeps the memory until an ACK.
 *
 * If the peer cannot read a referenced payload (the memory is not resident, or cross-memory attach
 * refuses its kind), the segment is lost like a packet, and the peer sets the slot's state word to
 * REF_FAILED. When the sending process sees that, its link gives the local requester the NAK (PSN
 * sequence error) that the peer's responder would send on the next packet. The requester repeats the
 * message, and the link now copies the payload into the ring (copy_only). If the memory is bad,
 * send() fails with -EFAULT in that copy.
 *
 * When the peer has died, the segments that it left in the ring are delivered before the link
 * becomes dead. They may be ACKs: a process puts its ACK into the ring before its program sees the
 * completion and can exit.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <poll.h>
#include "arena/arena.h"
#include "base/log.h"
#include "base/pool.h"
#include "base/sys.h"
#include "link/lost.h"
#include "link/shm_int.h"
#include "wire/pkey.h"

static struct shm_link *to_shm_link(struct link *l)
{
	return container_of(l, struct shm_link, l);
}

noinline __cold void shm_link_doom(struct shm_link *l)
{
	if (l->doomed || !l->ep)
		return;
	l->doomed = true;
	l->ep->ndoomed++;
}

static struct shm_copy_only *shm_copy_only_find(struct shm_link *l, uint32_t sqpn)
{
	for (uint32_t i = 0; i < l->ncopy_only; i++)
		if (l->copy_only[i].sqpn == sqpn)
			return &l->copy_only[i];
	return NULL;
}

/* The peer could not read a reference. */
static void shm_ref_failed(void *arg, const struct shm_rec *r)
{
	struct shm_link *l = arg;
	struct shm_copy_only *c = shm_copy_only_find(l, r->sqpn);

	if (!c) {
		c = &l->copy_only[l->copy_next++ % ARRAY_SIZE(l->copy_only)];
		l->ncopy_only = min(l->copy_next, (uint32_t)ARRAY_SIZE(l->copy_only));
	}
	*c = (struct shm_copy_only){ .sqpn = r->sqpn, .left = TUNE_RARELY };
	/* If lost[] is full, the requester gets no NAK and repeats the message after its ACK timeout. */
	if (l->nlost < ARRAY_SIZE(l->lost))
		l->lost[l->nlost++] = *r;
}

/* The kind of a reference. */
static enum slot_kind shm_ref_kind(const struct seg *seg)
{
	for (int i = 0; i < seg->niov; i++)
		if (seg->iov[i].iov_len && !arena_pinned(seg->iov[i].iov_base, seg->iov[i].iov_len))
			return SLOT_REF;
	return SLOT_REF_ARENA;
}

static enum slot_kind shm_choose(struct shm_link *l, const struct seg *seg)
{
	struct shm_copy_only *c;

	if (seg->len <= (seg->service == SEG_UD ? SHM_INLINE_UD : SHM_INLINE))
		return SLOT_INLINE;
	if (seg->len < TUNE_PULL || seg->service != SEG_RC || seg->type == SEG_READ_RESP ||
	    l->ep->cfg.no_cma || !READ_ONCE(l->tx.h->can_pull) || !shm_held(l->ep->pub))
		return SLOT_COPY;
	if (likely(!l->ncopy_only))
		return shm_ref_kind(seg);
	c = shm_copy_only_find(l, seg->sqpn);
	if (!c || !c->left)
		return shm_ref_kind(seg);
	if (seg->flags & SEG_F_END)
		c->left--;
	return SLOT_COPY;
}

HOT __flatten static int shm_send(struct link *link, const struct seg *seg)
{
	struct shm_link *l = to_shm_link(link);
	enum slot_kind how;
	int rc;

	if (unlikely(link->dead)) {
		l->swallowed++;
		return 0;
	}
	if (BUG_ON(seg->niov < 0 || seg->niov > SEG_MAX_IOV || seg->len > SHM_MAX_SEG))
		return -EFAULT;
	/*
	 * Reap before shm_choose(), which must know of references that failed. This costs little
	 * compared with the copy of such a payload.
	 */
	if (seg->len > SHM_INLINE)
		shm_tx_reap(&l->tx, shm_ref_failed, l);
	how = shm_choose(l, seg);
	rc = shm_tx_send(&l->tx, seg, how, link->host);
	if (unlikely(rc == -EAGAIN)) {
		bell_want(&l->tx.h->room, 1);
		shm_tx_reap(&l->tx, shm_ref_failed, l);
		rc = shm_tx_send(&l->tx, seg, how, link->host);
		if (rc == -EAGAIN)
			l->want_room = true;
		else if (!l->want_room)
			bell_hush(&l->tx.h->room);
	}
	if (unlikely(rc))
		return rc;
	link->tx_segs++;
	link->tx_bytes += seg->len;
	shm_link_wake(l);
	return 0;
}

static void shm_revoke(struct link *link, uint32_t sqpn)
{
	struct shm_link *l = to_shm_link(link);

	shm_tx_revoke(&l->tx, sqpn);
	for (uint32_t i = l->nlost; i > 0; i--)
		if (l->lost[i - 1].sqpn == sqpn)
			l->lost[i - 1] = l->lost[--l->nlost];
}

static bool shm_peer_behind(struct link *link)
{
	struct shm_link *l = to_shm_link(link);

	if (link->dead || l->doomed)
		return false;
	if (READ_ONCE(l->pub->alive) & FUTEX_OWNER_DIED) {
		shm_link_doom(l);
		return false;
	}
	shm_tx_reap(&l->tx, shm_ref_failed, l);
	/*
	 * The robust futex word (shm_pub.alive) is 0 if the peer's progress thread has not run yet. Then only
	 * the pidfd tells of the peer's death. Without a pidfd the peer does not count as living.
	 */
	if (!shm_held(l->pub) && l->pidfd < 0)
		return false;
	if (l->tx.cons != l->tx.prod)
		return true;
	/*
	 * The peer has taken all segments off the ring, but it may still be sending the answers; then
	 * its in_round is set. If in_round is 0, all its answers are in the ring.
	 */
	smp_rmb();
	return READ_ONCE(l->pub->in_round) || shm_rx_ready(&l->rx);
}

/* Finds the payload in the mapping of the peer's arena. XFER_DENIED: it cannot be mapped. */
static enum xfer shm_pull_find(struct shm_link *l, const struct seg *seg, struct iovec *src)
{
	for (int i = 0; i < seg->niov; i++) {
		uint64_t at = (uintptr_t)seg->iov[i].iov_base - READ_ONCE(l->pub->mem_base);

		src[i] = (struct iovec){ NULL, seg->iov[i].iov_len };
		if (!src[i].iov_len)
			continue;
		src[i].iov_base = shm_map_at(l, at, src[i].iov_len);
		if (!src[i].iov_base)
			return XFER_DENIED;
		if (!shm_map_resident(l, at, src[i].iov_len))
			return XFER_ABSENT;
	}
	return XFER_OK;
}

/* Copies from the peer's arena. XFER_DENIED: the reference is not to it, or it cannot be mapped. */
static enum xfer shm_pull_mapped(struct shm_link *l, const struct seg *seg, uint64_t off,
				 const struct iovec *dst, int ndst, uint64_t len)
{
	struct iovec src[SEG_MAX_IOV];

	if (l->rx.local.kind != SLOT_REF_ARENA || !l->can_pull)
		return XFER_DENIED;
	/* An extent that grows may move others, in which an earlier part was found. */
	for (int i = 0; i <= seg->niov; i++) {
		uint32_t moves = l->map_moves;
		enum xfer x = shm_pull_find(l, seg, src);

		if (x != XFER_OK)
			return x;
		if (moves == l->map_moves)
			return l->l.host->copy_iov(dst, ndst, 0, src, seg->niov, off, len) ?
				       XFER_DENIED : XFER_OK;
	}
	return XFER_DENIED;
}

static enum xfer shm_pull_xfer(struct shm_link *l, const struct seg *seg, uint64_t off,
			       const struct iovec *dst, int ndst, uint64_t len)
{
	struct mem_pos local = { .v = dst, .n = ndst };
	struct mem_pos remote = { .v = seg->iov, .n = seg->niov, .off = off };
	enum xfer x = shm_pull_mapped(l, seg, off, dst, ndst, len);

	if (x != XFER_DENIED || !l->can_pull)
		return x;
	return shm_xfer(l, false, local, remote, len);
}

/* seg_pull.copy: copy from the peer's memory. */
static int shm_pull_copy(const struct seg *seg, uint64_t off, const struct iovec *dst, int ndst,
			 uint64_t len)
{
	struct shm_link *l = seg->pull_arg;
	uint32_t *ref = l->rx.ref;
	enum xfer x;

	if (!len)
		return 0;
	if (!ref || off > seg->len || len > seg->len - off)
		return -EIO;
	if (!atomic_cmpxchg(ref, (uint32_t)REF_POSTED, (uint32_t)REF_BUSY))
		return -EIO;
	x = shm_pull_xfer(l, seg, off, dst, ndst, len);
	if (x == XFER_OK || x == XFER_LOCAL) {
		/* If the producer revoked the reference during the copy, the data may be newer than the message: discard it. */
		if (!atomic_cmpxchg(ref, (uint32_t)REF_BUSY, (uint32_t)REF_POSTED))
			return -EIO;
		return x == XFER_OK ? 0 : -EFAULT;
	}
	if (x == XFER_GONE)
		shm_link_doom(l);
	if (x == XFER_DENIED) {
		l->can_pull = false;
		WRITE_ONCE(l->rx.h->can_pull, 0);
	}
	atomic_cmpxchg(ref, (uint32_t)REF_BUSY, (uint32_t)REF_FAILED);
	l->pull_failed = true;
	return -EIO;
}

static const struct seg_pull shm_pull = { .copy = shm_pull_copy };

static noinline __cold void shm_bad_slot(struct shm_link *l)
{
	if (!l->bad++)
		log_warn("shm: process %d (pid %d) sent an invalid slot",
			 (int)l->hello.proc, l->pid);
}

HOT __flatten noinline int shm_link_poll(struct shm_link *l, int budget)
{
	struct seg seg;
	int n = 0;

	if (!shm_rx_ready(&l->rx))
		budget = 0;
	else if (!l->ep->pub->in_round)
		WRITE_ONCE(l->ep->pub->in_round, 1);
	while (n < budget) {
		enum rx_result r = shm_rx_get(&l->rx, &seg);

		if (r == RX_EMPTY)
			break;
		n++;
		if (r == RX_SEG || r == RX_REF) {
			if (r == RX_REF) {
				seg.pull = &shm_pull;
				seg.pull_arg = l;
			}
			l->l.rx_segs++;
			l->l.rx_bytes += seg.len;
			l->l.more = n < budget && shm_rx_more(&l->rx);
			l->l.host->input(&l->l, &seg);
			l->rx.ref = NULL;
		} else if (r == RX_BAD) {
			shm_bad_slot(l);
		}
		shm_rx_next(&l->rx);
		/* Ring slots are released in batches, but early enough for the producer to continue. */
		if (l->rx.pos - l->rx.released >= SHM_SLOTS / 8 && shm_rx_release(&l->rx))
			shm_link_wake(l);
	}
	if (shm_rx_release(&l->rx) || l->pull_failed) {
		l->pull_failed = false;
		shm_link_wake(l);
	}
	return n;
}

noinline void shm_link_service(struct shm_link *l)
{
	shm_tx_reap(&l->tx, shm_ref_failed, l);
	/* Oldest first: a NAK makes its QP restart at that PSN, and acknowledges the packets before it. */
	while (l->nlost) {
		struct shm_rec r = l->lost[0];

		memmove(l->lost, l->lost + 1, sizeof(r) * --l->nlost);
		link_tell_lost(&l->l, r.sqpn, r.dqpn, r.psn, PKEY_NONE);
	}
	if (l->want_room && l->tx.prod - l->tx.cons <= SHM_SLOTS / 2 &&
	    l->tx.dhead - l->tx.dtail <= SHM_DATA / 2) {
		l->want_room = false;
		bell_hush(&l->tx.h->room);
		l->l.host->writable(&l->l);
	}
}

static int shm_link_poll_op(struct link *link, int budget)
{
	struct shm_link *l = to_shm_link(link);

	return link->dead ? 0 : shm_link_poll(l, budget);
}

/* Epoll event of the peer's socket or pidfd: check both. */
static void shm_link_event(struct link_fd *fd, uint32_t events)
{
	struct shm_link *l = container_of(fd, struct shm_watch, fd)->owner;
	struct timespec ts = { 0, 0 };
	struct pollfd p[2];

	if (!l)
		return;
	p[0] = (struct pollfd){ .fd = l->sock, .events = POLLIN | POLLRDHUP };
	p[1] = (struct pollfd){ .fd = l->pidfd, .events = POLLIN };
	if (sys_call(SYS_ppoll, p, 2L, &ts, NULL, 0L) <= 0)
		return;
	/* The peer sends nothing after the handshake, so data ends the link as a hang-up does. */
	if (p[0].revents || p[1].revents)
		shm_link_bury(l);
}

void shm_link_bury(struct shm_link *l)
{
	struct shm_ep *ep = l->ep;

	if (!ep)
		return;
	shm_unwatch(ep, l->wsock);
	shm_unwatch(ep, l->wpid);
	l->wsock = l->wpid = NULL;
	if (!ep->closing)
		shm_link_poll(l, SHM_SLOTS);
	shm_direct_cleanup(l);
	shm_map_close(l);
	list_del(&l->list);
	l->ep = NULL;
	l->l.dead = true;
	l->l.caps = 0;
	shm_close(ep, l->sock);
	shm_close(ep, l->pidfd);
	shm_close(ep, l->evfd);
	shm_close(ep, l->pagemap);
	l->sock = l->pidfd = l->evfd = l->pagemap = -1;
	if (!ep->closing) {
		l->l.host->down(&l->l);
		/* QPs that wait for room can send now; the link loses what they send. */
		if (l->want_room)
			l->l.host->writable(&l->l);
	}
	link_put(&l->l);
}

static void shm_destroy(struct link *link)
{
	struct shm_link *l = to_shm_link(link);

	shm_map_close(l);
	memfd_table_unmap(&l->keys);
	memfd_table_unmap(&l->cards);
	memfd_unmap(l->half, 2 * sizeof(struct shm_half));
	pool_free(l, sizeof(*l));
}

static const struct link_ops shm_ops = {
	.name = "shm",
	.send = shm_send,
	.revoke = shm_revoke,
	.peer_behind = shm_peer_behind,
	.direct = shm_direct,
	.direct_end = shm_direct_end,
	.peer_qp = shm_peer_qp,
	.poll = shm_link_poll_op,
	.destroy = shm_destroy,
};

/* Check the seals of the peer's memfds and map them. 0 or -errno. */
static int shm_link_map(struct shm_link *l, const int *fds)
{
	size_t pub = shm_pub_size(l->hello.nkeys), exp = shm_exp_size(l->hello.ncards);
	size_t ring = 2 * sizeof(struct shm_half);

	if (memfd_check(fds[HELLO_PUB], pub) || memfd_check(fds[HELLO_EXPORT], exp) ||
	    memfd_check(fds[HELLO_RING], ring))
		return -EPROTO;
	if (memfd_table_map(&l->keys, fds[HELLO_PUB], 0, pub, false) ||
	    memfd_table_map(&l->cards, fds[HELLO_EXPORT], 0, exp, true) ||
	    memfd_table_open(&l->keys, sizeof(*l->pub)) ||
	    memfd_table_open(&l->cards, sizeof(*l->exp)))
		return -ENOMEM;
	l->pub = l->keys.at;
	l->exp = l->cards.at;
	l->half = memfd_map(fds[HELLO_RING], ring, true);
	return l->half ? 0 : -ENOMEM;
}

bool shm_link_key_open(struct shm_link *l, uint32_t index)
{
	uint32_t n = min(max(index + 1, SHM_KEYS_OPEN), l->hello.nkeys);

	if (index >= n || memfd_table_open(&l->keys, shm_pub_size(n)))
		return false;
	l->nkeys = (uint32_t)((l->keys.open - sizeof(*l->pub)) / sizeof(l->pub->key[0]));
	return true;
}

bool shm_link_block_open(struct shm_link *l, uint32_t i)
{
	if (memfd_table_open(&l->cards, shm_cards_size(l->hello.ncards, i + 1)))
		return false;
	l->nblocks = i + 1;
	return true;
}

static int shm_link_watch(struct shm_link *l)
{
	l->wsock = shm_watch(l->ep, l->sock, EPOLLIN | EPOLLRDHUP, l, shm_link_event);
	if (!l->wsock)
		return -ENOMEM;
	if (l->pid > 0)
		l->pidfd = shm_own(l->ep, (int)sys_call(SYS_pidfd_open, l->pid, 0L));
	if (l->pidfd < 0)
		return l->pidfd == -ESRCH ? -ESRCH : 0;
	l->wpid = shm_watch(l->ep, l->pidfd, EPOLLIN, l, shm_link_event);
	return l->wpid ? 0 : -ENOMEM;
}

static void shm_link_init(struct shm_link *l, bool connector)
{
	struct shm_cfg *cfg = &l->ep->cfg;

	l->l.ops = &shm_ops;
	l->l.kind = LINK_SHM;
	l->l.host = cfg->host;
	l->l.host_arg = cfg->host_arg;
	l->l.max_seg = SHM_MAX_SEG;
	l->l.max_copy_seg = SHM_MAX_COPY;
	l->l.max_pkts = 1u << 16;
	l->quiet_at = l->ep->withdrawn;
	l->tx.h = &l->half[connector ? 0 : 1];
	l->rx.h = &l->half[connector ? 1 : 0];
	if (l->pid > 0 && !cfg->no_cma)
		l->pagemap = shm_own(l->ep, shm_pagemap_open(l->pid));
	l->can_pull = !cfg->no_cma && shm_nonce_ok(l);
	if (!l->can_pull) {
		l->l.max_seg = SHM_MAX_COPY;
	} else {
		WRITE_ONCE(l->rx.h->can_pull, 1);
		if (!cfg->no_direct)
			l->l.caps |= LINK_CAP_DIRECT;
	}
}

int shm_link_create(struct shm_ep *ep, const struct shm_hello *peer, int pid, int sock,
		    const int *fds, bool connector, struct shm_link **out)
{
	struct shm_link *l = pool_zalloc(sizeof(*l));
	int rc = -ENOMEM, evfd = shm_own(ep, fds[HELLO_EVENT]);

	if (l) {
		l->ep = ep;
		l->hello = *peer;
		l->pid = pid;
		l->sock = sock;
		l->pidfd = l->pagemap = -1;
		l->evfd = evfd;
		l->l.refs = 1;
		list_init(&l->list);
		rc = shm_link_map(l, fds);
	}
	if (!rc)
		rc = shm_link_watch(l);
	sys_close(fds[HELLO_PUB]);
	sys_close(fds[HELLO_EXPORT]);
	sys_close(fds[HELLO_RING]);
	if (!rc) {
		shm_link_init(l, connector);
		list_add_tail(&l->list, &ep->links);
		if (l->l.host->created)
			l->l.host->created(&l->l);
		*out = l;
		return 0;
	}
	shm_close(ep, sock);
	shm_close(ep, evfd);
	if (l) {
		shm_unwatch(ep, l->wsock);
		shm_unwatch(ep, l->wpid);
		shm_close(ep, l->pidfd);
		shm_destroy(&l->l);
	}
	return rc;
}
