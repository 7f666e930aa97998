/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests of hostile peers: random writes to the rings, and invalid messages to the listener. Nothing
 * may crash or be read out of bounds (run under ASan), and other peers must still be able to
 * connect. Also two endpoints that connect to each other at once.
 */
#include "link/testing.h"
#include <fcntl.h>
#include <sys/un.h>
#include "base/sys.h"

struct duo {
	struct node a, b;
	struct link *l;		/* a's end of the link; b's end is the first entry of b's list of links */
};

static struct shm_link *b_link(struct duo *d)
{
	return list_first_entry(&d->b.ep->links, struct shm_link, list);
}

static void duo_open(struct duo *d)
{
	node_open(&d->a, 1, false);
	node_open(&d->b, 2, false);
	node_start(&d->b);
	shm_ep_thread_start(d->a.ep);
	assert_int_equal(shm_connect(d->a.ep, 2, shm_ep_sock(d->b.ep), getpid(), NS_S, &d->l), 0);
	/*
	 * The end of a thread would count as the death of its endpoint. Both endpoints continue in
	 * this thread, without a robust list.
	 */
	node_stop(&d->b);
	d->b.ep->pub->alive = d->a.ep->pub->alive;
}

static void duo_close(struct duo *d)
{
	link_put(d->l);
	node_close(&d->a);
	node_close(&d->b);
}

static void fill(struct prng *r, void *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		((uint8_t *)p)[i] = (uint8_t)prng_u64(r);
}

/* Any content of a ring slot, in any lap of the ring, is delivered or dropped. */
static void test_random_slots(void **state)
{
	struct duo d;
	struct prng r;
	struct shm_rx *rx;

	test_seed(&r);
	duo_open(&d);
	rx = &b_link(&d)->rx;
	fill(&r, rx->h->data, 8192);
	for (uint32_t i = 0; i < 30000; i++) {
		struct shm_slot *s = &rx->h->slot[rx->pos % SHM_SLOTS];

		fill(&r, s, sizeof(*s));
		/* Mostly valid fields, so that later checks are reached. */
		if (i % 4) {
			s->kind = (uint8_t)prng_below(&r, 6);
			s->service = (uint8_t)prng_below(&r, 4);
			s->type = (uint8_t)prng_below(&r, SEG_NTYPES + 1);
			s->flags &= 0xf;
			s->niov &= 0x3f;
			s->path_mtu = (uint16_t)(256 << prng_below(&r, 6));
			s->dqpn &= 0xffffff;
			s->sqpn &= 0xffffff;
			s->psn &= 0xffffff;
			s->len >>= prng_below(&r, 32);
			s->npkts = seg_pkts(s->len, s->path_mtu);
			s->off >>= prng_below(&r, 32);
		}
		rx->h->ref[rx->pos % SHM_SLOTS] = REF_POSTED;
		s->tag = shm_tag(rx->pos);
		shm_poll(d.b.ep, 64);
	}
	assert_true(b_link(&d)->bad > 0);
	assert_true(d.b.nseg > 0);
	duo_close(&d);
}

/*
 * Payload may end exactly at the end of the data area, and may be exactly SHM_MAX_SEG bytes long. A
 * ring slot with one byte more is dropped.
 */
static void test_edges(void **state)
{
	static const struct {
		uint32_t off, len;
		bool ok;
	} row[] = {
		{ 0, 4096, true },
		{ SHM_DATA - 4096, 4096, true },
		{ SHM_DATA - 4095, 4096, false },
		{ SHM_DATA, 65, false },
		{ UINT32_MAX, 4096, false },
		{ UINT32_MAX - 100, 4096, false },
		{ 0, SHM_MAX_SEG, true },
		{ 0, SHM_MAX_SEG + 1, false },
		{ 0, UINT32_MAX, false },
	};
	struct duo d;
	struct shm_rx *rx;

	duo_open(&d);
	rx = &b_link(&d)->rx;
	for (uint32_t i = 0; i < ARRAY_SIZE(row); i++) {
		struct shm_slot *s = &rx->h->slot[rx->pos % SHM_SLOTS];
		uint32_t before = d.b.nseg;

		memset(s, 0, sizeof(*s));
		s->kind = SLOT_COPY;
		s->path_mtu = 4096;
		s->len = row[i].len;
		s->npkts = seg_pkts(s->len, 4096);
		s->off = row[i].off;
		smp_store_release(&s->tag, shm_tag(rx->pos));
		shm_poll(d.b.ep, 64);
		assert_int_equal(d.b.nseg - before, row[i].ok);
	}
	duo_close(&d);
}

/*
 * Writes random words to the ring while it is in use. The data race is intended: TSan must not
 * report it.
 */
__attribute__((no_sanitize("thread"))) static void *scribble(void *arg)
{
	struct duo *d = arg;
	struct shm_half *h = b_link(d)->half;
	struct prng r;

	prng_seed(&r, 1);
	while (!smp_load_acquire(&d->b.stop)) {
		uint32_t *w = (uint32_t *)h;
		uint32_t at = prng_below(&r, 2 * sizeof(*h) / 4);
		/* At least seven of eight writes hit the indices and slots of the first ring, not its data area. */
		uint32_t near = prng_below(&r, offsetof(struct shm_half, data) / 4);

		WRITE_ONCE(w[prng_below(&r, 8) ? near : at],
			   prng_below(&r, 2) ? prng_below(&r, 9) : (uint32_t)prng_u64(&r));
	}
	return NULL;
}

/* Random writes to the rings while both ends work. */
static void test_scribble(void **state)
{
	uint8_t *mem = calloc(1, 65536);
	struct iovec iov[3] = { { mem, 40 }, { mem, 3000 }, { mem, 30000 } };
	struct duo d;
	pthread_t t;

	duo_open(&d);
	d.b.stop = false;
	assert_int_equal(pthread_create(&t, NULL, scribble, &d), 0);
	for (uint32_t i = 0; i < 60000; i++) {
		struct seg s = t_seg(SEG_WRITE, &iov[i % 3], 1, i);

		d.l->ops->send(d.l, &s);
		b_link(&d)->l.ops->send(&b_link(&d)->l, &s);
		shm_poll(d.a.ep, 8);
		shm_poll(d.b.ep, 8);
		if (i % 100 == 0)
			d.l->ops->revoke(d.l, s.sqpn);
		d.l->ops->peer_behind(d.l);
	}
	smp_store_release(&d.b.stop, true);
	pthread_join(t, NULL);
	duo_close(&d);
	free(mem);
}

static int dial_raw(const char *name)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	memcpy(sa.sun_path + 1, name, strlen(name));
	assert_int_equal(connect(fd, (struct sockaddr *)&sa,
				 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
					     strlen(name))), 0);
	return fd;
}

/* Send a hello of this length with these descriptors. The endpoint must close the connection. */
static void refuse(struct node *n, const void *msg, size_t len, const int *fds, int nfds)
{
	char ctl[CMSG_SPACE(sizeof(int) * 8)] = { 0 };
	struct iovec iov = { (void *)(uintptr_t)msg, len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;
	int fd = dial_raw(shm_ep_sock(n->ep));
	char b;

	if (nfds) {
		m.msg_control = ctl;
		m.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)nfds);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)nfds);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * (size_t)nfds);
	}
	assert_int_equal(sendmsg(fd, &m, 0), len);
	for (int i = 0; i < 20; i++)
		node_turn(n, 1);
	assert_int_equal(recv(fd, &b, 1, MSG_DONTWAIT), 0);
	assert_true(list_empty(&n->ep->links));
	close(fd);
}

static int count_fds(void)
{
	int n = 0;

	for (int i = 0; i < 1024; i++)
		n += fcntl(i, F_GETFD) >= 0;
	return n;
}

static void test_bad_hello(void **state)
{
	struct node n, other;
	struct shm_hello h, bad;
	int good[4], fds[8], end[2], before, null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int loose = memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	node_open(&n, 1, false);
	node_open(&other, 2, false);
	h = other.ep->hello;
	good[0] = other.ep->pub_fd;
	good[1] = other.ep->exp_fd;
	good[2] = other.ep->evfd;
	good[3] = memfd_sealed("ring", 2 * sizeof(struct shm_half));
	assert_int_equal(ftruncate(loose, 1 << 24), 0);
	before = count_fds();

	refuse(&n, "x", 1, NULL, 0);
	refuse(&n, &h, sizeof(h), NULL, 0);
	refuse(&n, &h, sizeof(h) - 1, good, 4);
	refuse(&n, &h, sizeof(h), good, 3);
	for (int i = 0; i < 8; i++)
		fds[i] = null;
	refuse(&n, &h, sizeof(h), fds, 8);
	for (int i = 0; i < 4; i++) {
		memcpy(fds, good, sizeof(good));
		fds[i] = null;	/* the wrong type for a memfd; a blocking file for the eventfd */
		refuse(&n, &h, sizeof(h), fds, 4);
		/* Large enough, but not sealed: its owner could shrink it. */
		fds[i] = loose;
		refuse(&n, &h, sizeof(h), fds, 4);
	}
	/* A pipe without a reader does not block either, but raises SIGPIPE. */
	assert_int_equal(pipe2(end, O_NONBLOCK | O_CLOEXEC), 0);
	close(end[0]);
	memcpy(fds, good, sizeof(good));
	fds[HELLO_EVENT] = end[1];
	refuse(&n, &h, sizeof(h), fds, 4);
	close(end[1]);
	bad = h;	/* tables larger than the memory behind them */
	bad.nkeys = 1u << 23;
	refuse(&n, &bad, sizeof(bad), good, 4);
	bad = h;
	bad.ncards = SHM_MAX_CARDS;
	refuse(&n, &bad, sizeof(bad), good, 4);
	bad.ncards = SHM_MAX_CARDS + 1;
	refuse(&n, &bad, sizeof(bad), good, 4);
	bad = h;
	bad.version++;
	refuse(&n, &bad, sizeof(bad), good, 4);
	bad = h;
	bad.proc = 1;	/* the endpoint's own number */
	refuse(&n, &bad, sizeof(bad), good, 4);
	bad = h;
	memset(bad.sock, 'a', sizeof(bad.sock));
	refuse(&n, &bad, sizeof(bad), good, 4);
	/* All received descriptors were closed. */
	assert_int_equal(count_fds(), before);
	close(null);
	close(loose);
	close(good[HELLO_RING]);
	node_close(&n);
	node_close(&other);
}

/* Connections without a hello do not keep others out. */
static void test_silent_strangers(void **state)
{
	struct duo d;
	int fd[100];

	node_open(&d.a, 1, false);
	node_open(&d.b, 2, false);
	node_start(&d.b);
	for (int i = 0; i < 100; i++)
		fd[i] = dial_raw(shm_ep_sock(d.b.ep));
	assert_int_equal(shm_connect(d.a.ep, 2, shm_ep_sock(d.b.ep), 0, NS_S, &d.l), 0);
	node_stop(&d.b);
	assert_true(d.b.ep->npending <= SHM_MAX_PENDING);
	for (int i = 0; i < 100; i++)
		close(fd[i]);
	duo_close(&d);
}

static void test_connect_errors(void **state)
{
	struct duo d;
	struct link *again;

	node_open(&d.a, 1, false);
	node_open(&d.b, 2, false);
	assert_int_equal(shm_connect(d.a.ep, 2, "ruse-unused", 0, NS_S, &d.l), -ECONNREFUSED);
	/* No process serves the listener: -ETIMEDOUT after a second. */
	assert_int_equal(shm_connect(d.a.ep, 2, shm_ep_sock(d.b.ep), 0, NS_S, &d.l), -ETIMEDOUT);
	node_start(&d.b);
	/* The listener belongs to another process than rused named. */
	assert_int_equal(shm_connect(d.a.ep, 7, shm_ep_sock(d.b.ep), 0, NS_S, &d.l), -ECONNREFUSED);
	assert_int_equal(shm_connect(d.a.ep, 2, shm_ep_sock(d.b.ep), 0, NS_S, &d.l), 0);
	assert_int_equal(shm_connect(d.a.ep, 2, shm_ep_sock(d.b.ep), 0, NS_S, &again), 0);
	assert_ptr_equal(d.l, again);
	link_put(again);
	assert_true(shm_alive(d.l));
	node_stop(&d.b);
	/*
	 * The serving thread has ended; its robust futex shows this, though the link is not dead
	 * yet.
	 */
	assert_false(shm_alive(d.l));
	duo_close(&d);
}

struct meeting {
	struct node *me, *other;
	pthread_barrier_t *start;
	uint32_t *done;
	struct link *l;
	int rc;
};

/* One endpoint, in a thread of its own: connects to the other one, then serves the other's connection. */
static void *meet(void *arg)
{
	struct meeting *m = arg;
	const char *sock = shm_ep_sock(m->other->ep);

	pthread_barrier_wait(m->start);
	m->rc = shm_connect(m->me->ep, m->other->ep->hello.proc, sock, 0, NS_S, &m->l);
	atomic_add(m->done, 1);
	while (smp_load_acquire(m->done) < 2)
		node_turn(m->me, 1);
	return NULL;
}

/* Both connect while neither serves its listener: no deadlock, and traffic in both directions. */
static void test_simultaneous(void **state)
{
	for (int round = 0; round < 20; round++) {
		struct node a, b;
		pthread_barrier_t start;
		uint32_t done = 0;
		struct meeting m[2] = { { &a, &b, &start, &done, NULL, -1 },
					{ &b, &a, &start, &done, NULL, -1 } };
		struct seg s = t_seg(SEG_SEND, NULL, 0, 1);
		pthread_t t;

		node_open(&a, 1, false);
		node_open(&b, 2, false);
		pthread_barrier_init(&start, NULL, 2);
		pthread_create(&t, NULL, meet, &m[0]);
		meet(&m[1]);
		pthread_join(t, NULL);
		assert_int_equal(m[0].rc, 0);
		assert_int_equal(m[1].rc, 0);
		for (int i = 0; i < 2; i++) {
			struct link *again;

			assert_int_equal(shm_connect(m[i].me->ep, m[i].other->ep->hello.proc,
						     shm_ep_sock(m[i].other->ep), 0, 0, &again), 0);
			assert_ptr_equal(again, m[i].l);
			link_put(again);
		}
		assert_int_equal(m[0].l->ops->send(m[0].l, &s), 0);
		assert_int_equal(m[1].l->ops->send(m[1].l, &s), 0);
		NODE_UNTIL(&a, a.nseg == 1);
		NODE_UNTIL(&b, b.nseg == 1);
		link_put(m[0].l);
		link_put(m[1].l);
		node_close(&a);
		node_close(&b);
		pthread_barrier_destroy(&start);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_slots),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_scribble),
		cmocka_unit_test(test_bad_hello),
		cmocka_unit_test(test_silent_strangers),
		cmocka_unit_test(test_connect_errors),
		cmocka_unit_test(test_simultaneous),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
