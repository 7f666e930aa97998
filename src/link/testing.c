/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/pool.h"
#include "link/testing.h"

/* Tests have several endpoints in threads of one process, and no engine lock. So their blocks come from malloc(). */
void *pool_alloc(size_t size)
{
	return aligned_alloc(64, ALIGN_UP(size, (size_t)64));
}

void *pool_zalloc(size_t size)
{
	void *p = pool_alloc(size);

	return p ? memset(p, 0, size) : NULL;
}

void pool_free(void *p, size_t size)
{
	(void)size;
	free(p);
}

int t_copy(void *dst, const void *src, size_t len)
{
	struct iovec lv = { .iov_base = dst, .iov_len = len };
	struct iovec rv = { .iov_base = (void *)(uintptr_t)src, .iov_len = len };
	ssize_t n = process_vm_readv(getpid(), &lv, 1, &rv, 1, 0);

	/* qemu-user has no process_vm_readv(). */
	if (n < 0 && errno == ENOSYS) {
		memcpy(dst, src, len);
		n = (ssize_t)len;
	}
	return n == (ssize_t)len ? 0 : -EFAULT;
}

int t_copy_iov(const struct iovec *dst, int ndst, uint64_t doff,
	       const struct iovec *src, int nsrc, uint64_t off, uint64_t len)
{
	int d = 0, s = 0, rc;

	while (len) {
		uint64_t n = len;

		for (; d < ndst && doff >= dst[d].iov_len; d++)
			doff -= dst[d].iov_len;
		for (; s < nsrc && off >= src[s].iov_len; s++)
			off -= src[s].iov_len;
		if (d == ndst || s == nsrc)
			return -EINVAL;
		n = min(n, dst[d].iov_len - doff);
		n = min(n, src[s].iov_len - off);
		rc = t_copy((char *)dst[d].iov_base + doff, (char *)src[s].iov_base + off, n);
		if (rc)
			return rc;
		doff += n;
		off += n;
		len -= n;
	}
	return 0;
}

static void t_input(struct link *l, const struct seg *seg)
{
	struct node *n = l->host_arg;
	struct iovec dst = { .iov_base = n->buf, .iov_len = NODE_BUF };

	n->last = *seg;
	if (seg->net)
		n->net = *seg->net;
	n->last_pull = seg->pull;
	n->last_rc = 0;
	if (seg->pull)
		n->last_rc = seg->pull->copy(seg, 0, &dst, 1, seg->len);
	else if (seg->len)
		n->last_rc = t_copy_iov(&dst, 1, 0, seg->iov, seg->niov, 0, seg->len);
	n->nseg++;
	if (n->on_input)
		n->on_input(n, l, seg);
}

static void t_writable(struct link *l)
{
	((struct node *)l->host_arg)->nwritable++;
}

static void t_down(struct link *l)
{
	((struct node *)l->host_arg)->ndown++;
}

const struct link_user_ops t_host = {
	.input = t_input,
	.writable = t_writable,
	.down = t_down,
	.copy = t_copy,
	.copy_iov = t_copy_iov,
};

void node_open(struct node *n, uint32_t proc, bool no_cma)
{
	struct shm_cfg cfg = { .host = &t_host, .host_arg = n, .nkeys = 16384, .ncards = 128,
			       .no_cma = no_cma };

	memset(n, 0, sizeof(*n));
	n->buf = malloc(NODE_BUF);
	n->epfd = cfg.epfd = epoll_create1(EPOLL_CLOEXEC);
	assert_int_equal(shm_ep_create(&cfg, &n->ep), 0);
	shm_ep_set_proc(n->ep, proc);
}

void node_close(struct node *n)
{
	shm_ep_destroy(n->ep);
	close(n->epfd);
	free(n->buf);
}

int node_turn(struct node *n, int ms)
{
	struct epoll_event ev[16];
	int got = shm_poll(n->ep, 64), k;

	if (got)
		ms = 0;
	else if (ms && !shm_want_wakeup(n->ep))
		ms = 0;
	k = epoll_wait(n->epfd, ev, 16, ms);
	n->ntimeouts += ms && !k;
	for (int i = 0; i < k; i++) {
		struct link_fd *fd = ev[i].data.ptr;

		fd->event(fd, ev[i].events);
	}
	shm_polling(n->ep);
	got += shm_poll(n->ep, 64);
	shm_round_done(n->ep);
	return got;
}

static void *node_serve(void *arg)
{
	struct node *n = arg;

	shm_ep_thread_start(n->ep);
	while (!smp_load_acquire(&n->stop))
		node_turn(n, 10);
	return NULL;
}

void node_start(struct node *n)
{
	n->stop = false;
	assert_int_equal(pthread_create(&n->thread, NULL, node_serve, n), 0);
}

void node_stop(struct node *n)
{
	smp_store_release(&n->stop, true);
	pthread_join(n->thread, NULL);
}

void rig_open(struct rig *r, const struct qp_card *card, const struct key_card *key)
{
	node_open(&r->a, 1, false);
	node_open(&r->b, 2, false);
	r->card = &shm_ep_add_block(r->b.ep, card->qpn >> 14)[card->qpn & 0x3fff];
	*r->card = *card;
	assert_true(shm_ep_key_room(r->b.ep, key->key >> 8) > key->key >> 8);
	r->key = &shm_ep_keys(r->b.ep)[key->key >> 8];
	*r->key = *key;
	/* The thread keeps running: its end would count as the death of the endpoint. */
	node_start(&r->b);
	shm_ep_thread_start(r->a.ep);
	assert_int_equal(shm_connect(r->a.ep, 2, shm_ep_sock(r->b.ep), getpid(), NS_S, &r->l), 0);
	while (!shm_held(((struct shm_link *)r->l)->pub))
		usleep(100);
}

void rig_close(struct rig *r)
{
	link_put(r->l);
	node_close(&r->a);
	node_stop(&r->b);
	node_close(&r->b);
}

struct seg t_seg(enum seg_type type, const struct iovec *iov, int niov, uint32_t psn)
{
	struct seg s = { .service = SEG_RC, .type = (uint8_t)type,
			 .flags = SEG_F_START | SEG_F_END | SEG_F_ACKREQ, .pkey = 0xffff,
			 .path_mtu = 1024, .dqpn = 0x4011, .sqpn = 0x8012, .psn = psn,
			 .iov = iov, .niov = niov };

	for (int i = 0; i < niov; i++)
		s.len += (uint32_t)iov[i].iov_len;
	s.npkts = seg_pkts(s.len, s.path_mtu);
	return s;
}
