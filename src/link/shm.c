/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The shm endpoint: what a process shows to its peers, and the set of its links. shm_conn.c creates
 * links, shm_link.c runs them, shm_wake.c wakes peers that sleep, shm_direct.c executes WRITEs and
 * READs in the peer's memory without the peer's help.
 *
 * Death: the progress thread owns a robust futex word (shm_pub.alive), by which peers see whether this process lives.
 * The kernel marks the word when the thread ends, by death of the process or by exec, even if other processes keep
 * its descriptors open. Peers also watch the pidfd and the socket. The list entry of the word is in private memory of
 * the thread and reaches the word by futex_offset, so the kernel follows no pointer that a peer can write.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include "arena/arena.h"
#include "base/fds.h"
#include "base/log.h"
#include "base/pool.h"
#include "base/rand.h"
#include "base/sys.h"
#include "link/shm_int.h"

static __thread struct {
	struct robust_list_head head;
	struct robust_list node;
} robust;

int shm_own(struct shm_ep *ep, int fd)
{
	return fd >= 0 && ep->cfg.own_fd ? ep->cfg.own_fd(fd) : fd;
}

void shm_close(struct shm_ep *ep, int fd)
{
	if (fd < 0)
		return;
	if (ep->cfg.own_close)
		ep->cfg.own_close(fd);
	else
		sys_close(fd);
}

struct shm_watch *shm_watch(struct shm_ep *ep, int fd, uint32_t events, void *owner,
			    void (*fn)(struct link_fd *, uint32_t))
{
	struct epoll_event ev = { .events = events };
	struct shm_watch *w;

	for (w = ep->watches; w && w->owner; w = w->next)
		;
	if (!w) {
		w = pool_zalloc(sizeof(*w));
		if (!w)
			return NULL;
		w->next = ep->watches;
		ep->watches = w;
	}
	w->fd.event = fn;
	w->watched = fd;
	ev.data.ptr = &w->fd;
	if (sys_call(SYS_epoll_ctl, ep->cfg.epfd, EPOLL_CTL_ADD, fd, &ev) < 0)
		return NULL;
	w->owner = owner;
	return w;
}

void shm_unwatch(struct shm_ep *ep, struct shm_watch *w)
{
	if (!w)
		return;
	/*
	 * Remove the descriptor from the epoll set here: while a forked child has the file open,
	 * close() does not remove it.
	 */
	sys_call(SYS_epoll_ctl, ep->cfg.epfd, EPOLL_CTL_DEL, w->watched, NULL);
	w->owner = NULL;
	w->watched = -1;
}

static void shm_woken(struct link_fd *fd, uint32_t events)
{
	struct shm_ep *ep = container_of(fd, struct shm_watch, fd)->owner;

	if (ep)
		bell_heard(ep->evfd);
}

/* Create and map the two memfds, and create the eventfd. */
static int shm_ep_export(struct shm_ep *ep)
{
	size_t pub = shm_pub_size(ep->cfg.nkeys), exp = shm_exp_size(ep->cfg.ncards);
	int rc;

	ep->pub_fd = rc = shm_own(ep, memfd_sealed("ruse-keys", pub));
	if (rc < 0)
		return rc;
	ep->exp_fd = rc = shm_own(ep, memfd_sealed("ruse-cards", exp));
	if (rc < 0)
		return rc;
	rc = shm_own(ep, fds_event(0, EFD_CLOEXEC | EFD_NONBLOCK));
	ep->evfd = rc;
	if (rc < 0)
		return rc;
	if (memfd_table_map(&ep->keys, ep->pub_fd, 0, pub, true) ||
	    memfd_table_map(&ep->cards, ep->exp_fd, 0, exp, true) ||
	    memfd_table_open(&ep->keys, sizeof(*ep->pub)) ||
	    memfd_table_open(&ep->cards, sizeof(*ep->exp)))
		return -ENOMEM;
	ep->pub = ep->keys.at;
	ep->exp = ep->cards.at;
	/* This mapping stays writable; no other writable mapping can be made. */
	rc = sys_fcntl(ep->pub_fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
	if (rc < 0)
		return rc;
	ep->wevent = shm_watch(ep, ep->evfd, EPOLLIN, ep, shm_woken);
	return ep->wevent ? 0 : -ENOMEM;
}

int shm_ep_create(const struct shm_cfg *cfg, struct shm_ep **out)
{
	struct shm_ep *ep;
	int rc;

	if (!cfg->nkeys || cfg->nkeys > SHM_MAX_KEYS || !cfg->ncards ||
	    cfg->ncards > SHM_MAX_CARDS)
		return -EINVAL;
	ep = pool_zalloc(sizeof(*ep));
	if (!ep)
		return -ENOMEM;
	ep->cfg = *cfg;
	ep->uid = (uid_t)sys_call(SYS_geteuid);
	ep->pub_fd = ep->exp_fd = ep->evfd = ep->listener = -1;
	list_init(&ep->links);
	list_init(&ep->pending);
	rc = shm_ep_export(ep);
	if (!rc)
		rc = shm_listen(ep);
	if (rc) {
		shm_ep_destroy(ep);
		return rc;
	}
	ep->hello.magic = ep->pub->magic = SHM_MAGIC;
	ep->hello.version = ep->pub->version = SHM_VERSION;
	ep->hello.nkeys = cfg->nkeys;
	ep->hello.ncards = cfg->ncards;
	rand_bytes(ep->hello.nonce, sizeof(ep->hello.nonce));
	ep->hello.nonce_addr = (uintptr_t)ep->hello.nonce;
	if (!cfg->no_cma)
		shm_allow_ptrace();
	card_set_breaker(shm_card_breaker, ep);
	*out = ep;
	return 0;
}

void shm_ep_destroy(struct shm_ep *ep)
{
	struct shm_link *l, *n;
	struct shm_watch *w;

	ep->closing = true;
	card_set_breaker(NULL, NULL);
	shm_unlisten(ep);
	if (ep->pub && ep->robust && shm_held(ep->pub))
		ep->robust->list.next = &ep->robust->list;
	if (ep->pub)
		smp_store_release(&ep->pub->alive, FUTEX_OWNER_DIED);
	list_for_each_entry_safe(l, n, &ep->links, list) {
		BUG_ON(l->l.refs > 1);
		shm_link_bury(l);
	}
	shm_unwatch(ep, ep->wevent);
	shm_close(ep, ep->pub_fd);
	shm_close(ep, ep->exp_fd);
	shm_close(ep, ep->evfd);
	if (ep->pub)
		arena_uncount_holes(&ep->pub->mem_holes);
	memfd_table_unmap(&ep->keys);
	memfd_table_unmap(&ep->cards);
	while ((w = ep->watches)) {
		ep->watches = w->next;
		pool_free(w, sizeof(*w));
	}
	pool_free(ep, sizeof(*ep));
}

const char *shm_ep_sock(const struct shm_ep *ep)
{
	return ep->hello.sock;
}

struct key_card *shm_ep_keys(struct shm_ep *ep)
{
	return ep->pub->key;
}

uint32_t shm_ep_key_room(struct shm_ep *ep, uint32_t index)
{
	uint32_t n = min(max(index + 1, SHM_KEYS_OPEN), ep->cfg.nkeys);

	memfd_table_open(&ep->keys, shm_pub_size(n));
	return (uint32_t)((ep->keys.open - sizeof(*ep->pub)) / sizeof(ep->pub->key[0]));
}

struct qp_card *shm_ep_add_block(struct shm_ep *ep, uint32_t block)
{
	uint32_t i = ep->pub->nblocks;

	if (i == SHM_MAX_BLOCKS ||
	    memfd_table_open(&ep->cards, shm_cards_size(ep->cfg.ncards, i + 1)))
		return NULL;
	WRITE_ONCE(ep->pub->block[i], block);
	smp_store_release(&ep->pub->nblocks, i + 1);
	return &ep->exp->card[(size_t)i * ep->cfg.ncards];
}

void shm_ep_thread_start(struct shm_ep *ep)
{
	uint32_t tid = (uint32_t)sys_call(SYS_gettid);

	robust.head.list.next = &robust.node;
	robust.node.next = &robust.head.list;
	robust.head.list_op_pending = NULL;
	robust.head.futex_offset = (long)((uintptr_t)&ep->pub->alive - (uintptr_t)&robust.node);
	if (sys_call(SYS_set_robust_list, &robust.head, sizeof(robust.head)) < 0) {
		log_warn("shm: cannot register a robust list: cross-memory copies are disabled");
		return;
	}
	ep->robust = &robust.head;
	smp_store_release(&ep->pub->alive, tid);
}

static noinline void bury_doomed(struct shm_ep *ep)
{
	struct shm_link *l, *n;

	ep->ndoomed = 0;
	list_for_each_entry_safe(l, n, &ep->links, list)
		if (l->doomed)
			shm_link_bury(l);
}

HOT int shm_poll(struct shm_ep *ep, int budget)
{
	struct shm_link *l;
	int n = 0;

	list_for_each_entry(l, &ep->links, list) {
		if (shm_rx_ready(&l->rx))
			n += shm_link_poll(l, budget - n);
		if (unlikely(shm_link_waits(l)))
			shm_link_service(l);
		if (unlikely(n >= budget)) {
			/* Move the list head behind this link: the next shm_poll() starts with the link after it. */
			list_del(&ep->links);
			list_add(&ep->links, &l->list);
			break;
		}
	}
	if (unlikely(ep->ndoomed))
		bury_doomed(ep);
	return n;
}

void shm_round_done(struct shm_ep *ep)
{
	if (ep->pub->in_round)
		smp_store_release(&ep->pub->in_round, 0);
}

void shm_for_each(struct shm_ep *ep,
		  void (*fn)(struct link *l, uint32_t proc, uint32_t flags, void *arg), void *arg)
{
	struct shm_link *l;

	list_for_each_entry(l, &ep->links, list) {
		uint32_t flags = (l->doomed ? 1 : 0) | (l->can_pull ? 2 : 0) |
				 (l->l.caps & LINK_CAP_DIRECT ? 4 : 0);

		fn(&l->l, l->hello.proc, flags, arg);
	}
}
