/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages to a rused without a run directory: the effect of each, and rejection of hostile ones.
 *
 * feed() passes a message to client_message(); answer() receives the answer at the other end of the
 * client's socket. For the channel the test writes into the shared memory as a process does and
 * calls the functions of struct loop_memory.
 */
#include "base/testing.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/qp.h"
#include "daemon/daemon.h"
#include "ipc/messages.h"
#include "ipc/ucma_msg.h"
#include "ipc/umad_msg.h"

static struct rused r;
static struct host_page page;
static struct client *c;
static int peer;

static void no_event(struct loop_fd *f, uint32_t events)
{
}

static int setup(void **state)
{
	int sv[2];

	memset(&r, 0, sizeof(r));
	memset(&page, 0, sizeof(page));
	page.dev[0] = (struct host_dev){ .in_use = 1, .index = 1 };
	strcpy(page.dev[0].name, "rxe_0");
	r.host = (struct host){ .page = &page, .page_fd = memfd_create("page", MFD_CLOEXEC),
				.like = &like_default, .shown_like = &r.devices.shown };
	r.place.netns = 99;
	strcpy(r.place.rundir, "/nowhere");
	list_init(&r.processes.list);
	explain_init(&r.explain);
	runs_init(&r.runs);
	orphans_init(&r.orphans, &r.loop, &r.leases, &r.port);
	port_init(&r.port, &r.loop, &r.leases, &r.gsi, NULL);
	lease_init(&r.leases, 0, NULL, NULL);
	if (loop_init(&r.loop) || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv))
		return -1;
	list_init(&r.ucma.woken);
	channels_init(&r.channels, &r.loop, &r.processes, &r.ucma);
	rused_connect(&r);
	c = calloc(1, sizeof(*c));
	c->r = &r;
	c->p.pid = 4711;
	c->p.page_fd = c->notify_fd = c->pidfd.fd = -1;
	c->sock.fn = no_event;
	nlsock_owner_init(&c->netlink, &c->p);
	fabric_client_init(&c->fabric, &r.fabrics);
	c->p.fabric = &c->fabric;
	list_add_tail(&c->p.node, &r.processes.list);
	r.processes.count = 1;
	peer = sv[1];
	return loop_add(&r.loop, &c->sock, sv[0], EPOLLIN);
}

static int teardown(void **state)
{
	client_kill(c, "test over");
	clients_reap(&r.loop);
	umads_fini(&r.umads);
	explain_fini(&r.explain);
	runs_fini(&r.runs);
	blame_fini(&r.blame);
	loop_fini(&r.loop);
	close(peer);
	close(r.host.page_fd);
	return 0;
}

static int feed(uint16_t type, const void *body, size_t len, int fd)
{
	struct ipc_hdr h = { .version = IPC_VERSION, .type = type, .seq = 3 };
	int fds[IPC_MAX_FDS] = { fd };

	return client_message(c, &h, body, len, fds, fd >= 0);
}

/* Receives an answer. Returns its error; body and descriptor if requested. */
static int answer(void *body, size_t *len, int *fd)
{
	int fds[IPC_MAX_FDS], n = IPC_MAX_FDS;
	char scratch[IPC_MAX];
	size_t l = sizeof(scratch);
	struct ipc_hdr h;

	assert_int_equal(ipc_recv(peer, MSG_DONTWAIT, &h, scratch, &l, fds, &n), 0);
	assert_int_equal(ipc_check(&h, l, n, true), 0);
	assert_int_equal(h.seq, 3);
	if (len) {
		assert_true(l <= *len);
		memcpy(body, scratch, l);
		*len = l;
	}
	if (fd)
		*fd = n ? fds[0] : -1;
	else if (h.type == IPC_LEASE)
		/*
		 * The UDP socket of the block of QP numbers and both ends of the park, a socket
		 * pair (daemon/state/port.h); none if the UDP port is in use.
		 */
		assert_true(n == 3 || !n);
	else
		assert_int_equal(n, 0);
	for (int i = fd ? 1 : 0; i < n; i++)
		close(fds[i]);
	return h.error;
}

static int memfd(size_t size, int seals)
{
	int fd = memfd_create("proc", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	if (seals)
		assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

/* Says HELLO as a process that had number wanted (0: none) from an earlier rused. Returns the number that it gets. */
static uint32_t hello_as(uint32_t wanted)
{
	struct ipc_hello q = { .netns = 99, .proc = wanted, .comm = "a b\n", .sock = "s" };
	struct ipc_hello_reply rep;
	size_t len = sizeof(rep);
	int fd;

	fd = memfd(sizeof(struct proc_page), F_SEAL_SHRINK);
	assert_int_equal(feed(IPC_HELLO, &q, sizeof(q), fd), 0);
	assert_int_equal(answer(&rep, &len, &fd), 0);
	assert_true(fd >= 0);
	close(fd);
	assert_int_not_equal(rep.proc, 0);
	assert_string_equal(rep.rundir, "/nowhere");
	return rep.proc;
}

static void hello(void)
{
	hello_as(0);
}

static void test_proc(void **state)
{
	assert_int_equal(hello_as(4711), 4711);
}

/*
 * A process that locks a peer's QP card (struct qp_card) writes its process number there. CARD_OWNER stands for the
 * card's owner, so rused must not give any process this number.
 */
static void test_proc_card_owner(void **state)
{
	r.processes.next_proc = CARD_OWNER - 1;
	assert_int_equal(hello_as(CARD_OWNER), 1);
}

static void test_hello(void **state)
{
	struct ipc_hello q = { .netns = 99 };

	hello();
	assert_string_equal(c->p.comm, "a?b?");	/* unprintable characters are replaced */
	assert_int_equal(feed(IPC_HELLO, &q, sizeof(q), -1), -EPROTO);
}

static void test_hello_bad(void **state)
{
	struct ipc_hello q = { .netns = 99 };
	size_t size = sizeof(struct proc_page);
	int fd;

	assert_int_equal(feed(IPC_HELLO, &q, sizeof(q), memfd(size, 0)), -EPROTO);
	assert_int_equal(feed(IPC_HELLO, &q, sizeof(q), memfd(size - 1, F_SEAL_SHRINK)), -EPROTO);
	assert_int_equal(feed(IPC_HELLO, &q, sizeof(q), dup(peer)), -EPROTO);
	memset(q.comm, 'x', sizeof(q.comm));
	assert_int_equal(feed(IPC_HELLO, &q, sizeof(q), -1), -EPROTO);
	memset(&q, 0, sizeof(q));
	memset(q.sock, 'x', sizeof(q.sock));
	assert_int_equal(feed(IPC_HELLO, &q, sizeof(q), -1), -EPROTO);
	memset(&q, 0, sizeof(q));
	q.netns = 98;
	assert_int_equal(feed(IPC_HELLO, &q, sizeof(q), memfd(size, F_SEAL_SHRINK)), 0);
	assert_int_equal(answer(NULL, NULL, &fd), -EXDEV);
	assert_false(c->hello);
}

static void test_lease_and_peer(void **state)
{
	struct ipc_lease l = { 0 };
	struct ipc_peer p = { 0 };
	size_t len = sizeof(l);

	hello();
	assert_int_equal(feed(IPC_LEASE, &l, sizeof(l), -1), 0);
	assert_int_equal(answer(&l, &len, NULL), 0);
	assert_in_range(l.block, 1, LEASE_BLOCKS - 1);
	p.block = l.block;
	len = sizeof(p);
	assert_int_equal(feed(IPC_PEER, &p, sizeof(p), -1), 0);
	assert_int_equal(answer(&p, &len, NULL), 0);
	assert_int_equal(p.pid, 4711);
	assert_string_equal(p.sock, "s");
	p.block = l.block == 5 ? 6 : 5;
	assert_int_equal(feed(IPC_PEER, &p, sizeof(p), -1), 0);
	assert_int_equal(answer(NULL, NULL, NULL), -ENOENT);
	/* The block of QP numbers is leased to a process that an earlier rused knew and that has not reconnected. */
	lease_orphan(&r.leases, p.block, getpid(), 0);
	assert_int_equal(feed(IPC_PEER, &p, sizeof(p), -1), 0);
	assert_int_equal(answer(NULL, NULL, NULL), -EAGAIN);
	lease_orphan_died(&r.leases, p.block, 0);
	assert_int_equal(feed(IPC_PEER, &p, sizeof(p), -1), 0);
	assert_int_equal(answer(NULL, NULL, NULL), -ENOENT);
	p.block = UINT32_MAX;
	assert_int_equal(feed(IPC_PEER, &p, sizeof(p), -1), 0);
	assert_int_equal(answer(NULL, NULL, NULL), -ENOENT);
	l.block = UINT32_MAX;
	assert_int_equal(feed(IPC_LEASE, &l, sizeof(l), -1), 0);
	assert_int_equal(answer(NULL, NULL, NULL), -EINVAL);
}

static void test_context(void **state)
{
	struct ipc_context q = { .dev_index = 1, .opened = 1 };

	hello();
	assert_int_equal(feed(IPC_CONTEXT, &q, sizeof(q), -1), 0);
	assert_int_equal(answer(NULL, NULL, NULL), 0);
	q.opened = 0;
	assert_int_equal(feed(IPC_CONTEXT, &q, sizeof(q), -1), 0);
	assert_int_equal(answer(NULL, NULL, NULL), 0);
	assert_int_equal(feed(IPC_CONTEXT, &q, sizeof(q), -1), 0);
	assert_int_equal(answer(NULL, NULL, NULL), -EINVAL);
	q.dev_index = 2;
	assert_int_equal(feed(IPC_CONTEXT, &q, sizeof(q), -1), 0);
	assert_int_equal(answer(NULL, NULL, NULL), -ENODEV);
	q.opened = 2;
	assert_int_equal(feed(IPC_CONTEXT, &q, sizeof(q), -1), -EPROTO);
}

static void test_netlink(void **state)
{
	int fd, i;

	hello();
	for (i = 0; i < 64; i++) {
		assert_int_equal(feed(IPC_NETLINK, NULL, 0, -1), 0);
		assert_int_equal(answer(NULL, NULL, &fd), 0);
		close(fd);
	}
	assert_int_equal(feed(IPC_NETLINK, NULL, 0, -1), 0);
	assert_int_equal(answer(NULL, NULL, NULL), -EMFILE);
}

static void test_status(void **state)
{
	char text[8192];
	size_t len = sizeof(text) - 1;

	hello();
	assert_int_equal(feed(IPC_STATUS, NULL, 0, -1), 0);
	assert_int_equal(answer(text, &len, NULL), 0);
	text[len] = '\0';
	assert_non_null(strstr(text, "\"pid\":4711"));
	assert_non_null(strstr(text, "\"rxe_0\""));
	assert_null(c->out);
}

static void test_shutdown(void **state)
{
	struct ipc_shutdown s = { .now = 1 };

	hello();
	assert_int_equal(feed(IPC_SHUTDOWN, NULL, 0, -1), 0);
	assert_int_equal(answer(NULL, NULL, NULL), 0);
	assert_true(r.drain);
	assert_false(r.loop.stop);
	assert_int_equal(feed(IPC_SHUTDOWN, &s, sizeof(s), -1), 0);
	assert_true(r.loop.stop);
}

/* umad files that do not exist, and malformed messages about them. */
static void test_umad(void **state)
{
	struct ipc_umad_open o = { .minor = 0 };
	struct {
		struct ipc_umad h;
		uint8_t data[64];
	} q = { .h = { .file = 0x1001, .op = UMAD_OP_READ, .count = 320 } };

	hello();
	assert_int_equal(feed(IPC_UMAD_OPEN, &o, sizeof(o), -1), 0);
	assert_int_equal(answer(NULL, NULL, NULL), -ENXIO);
	for (o.minor = 0; o.minor < 200; o.minor++) {
		assert_int_equal(feed(IPC_UMAD_OPEN, &o, sizeof(o), -1), 0);
		assert_int_equal(answer(NULL, NULL, NULL), -ENXIO);
	}
	assert_int_equal(feed(IPC_UMAD_CALL, &q, sizeof(q.h), -1), 0);
	assert_int_equal(answer(NULL, NULL, NULL), -EBADF);
	/* A length that does not match. */
	assert_int_equal(feed(IPC_UMAD_CALL, &q, sizeof(q.h) + 1, -1), -EPROTO);
}

static void open_channel(void)
{
	int fd;

	hello();
	assert_int_equal(feed(IPC_CHANNEL, NULL, 0, -1), 0);
	assert_int_equal(answer(NULL, NULL, &fd), 0);
	assert_int_equal(fcntl(fd, F_GET_SEALS), F_SEAL_SHRINK | F_SEAL_GROW);
	close(fd);
	assert_int_equal(feed(IPC_CHANNEL, NULL, 0, -1), 0);
	assert_int_equal(answer(NULL, NULL, NULL), -EBUSY);
}

/* Posts a request into the channel. */
static void post(uint16_t type, const void *body, uint32_t len)
{
	struct ipc_channel *ch = c->channel.map;

	ch->request.hdr = (struct ipc_hdr){ .version = IPC_VERSION, .type = type, .seq = 4 };
	ch->request.len = len;
	memcpy(ch->request.body, body, min(len, 64u));
	ch->state = CHAN_ASKED;
}

static struct shared_ring_end producer;

/* Queues a message in the channel. */
static void enqueue(uint16_t type, const void *body, uint32_t len)
{
	struct ipc_hdr h = { .version = IPC_VERSION, .type = type, .seq = 4 };

	producer = ipc_channel_queue(c->channel.map);
	producer.at = producer.ring->prod;
	assert_true(shared_ring_put(&producer, &h, body, len, NULL));
}

/* All queued messages are taken. */
static bool dequeued(void)
{
	return c->channel.map->queue.cons == producer.at;
}

static void test_channel_queue(void **state)
{
	const struct loop_memory *m = r.loop.memory;
	struct ipc_peer p = { .block = 3 };
	struct ipc_umad_post mad = { .file = 0x1001 };
	struct ipc_ucma none = { 0 };

	open_channel();
	m->watch(r.loop.memory_ctx, true);
	/* Commands for an unknown rdma_cm file are taken and ignored. */
	for (int i = 0; i < 3; i++)
		enqueue(IPC_UCMA_POST, &none, sizeof(none));
	assert_true(m->there(r.loop.memory_ctx));
	m->take(r.loop.memory_ctx);
	assert_false(m->there(r.loop.memory_ctx));
	assert_true(dequeued());
	/* Queued messages are handled before one from the socket. */
	enqueue(IPC_UCMA_POST, &none, sizeof(none));
	assert_int_equal(feed(IPC_PEER, &p, sizeof(p), -1), 0);
	assert_true(dequeued());
	assert_int_equal(answer(NULL, NULL, NULL), -ENOENT);
	/* channels_drain() takes them too. */
	assert_false(channels_drain(&r.channels));
	enqueue(IPC_UCMA_POST, &none, sizeof(none));
	assert_true(channels_drain(&r.channels));
	assert_true(dequeued());
	enqueue(IPC_UMAD_POST, &mad, sizeof(mad));
	assert_true(channels_drain(&r.channels) && !c->dead);
	/* A message that needs an answer is not allowed in the queue. */
	enqueue(IPC_COUNTERS, "", 0);
	m->take(r.loop.memory_ctx);
	assert_true(c->dead);
}

static void test_channel(void **state)
{
	const struct loop_memory *m = r.loop.memory;
	struct ipc_peer p = { .block = 3 };
	struct ipc_channel *ch;

	assert_int_equal(feed(IPC_CHANNEL, NULL, 0, -1), -EPROTO);
	open_channel();
	ch = c->channel.map;
	assert_true(m->watch(r.loop.memory_ctx, true));
	assert_int_equal(bell_wanted(&ch->wake), 0);
	assert_false(m->there(r.loop.memory_ctx));
	post(IPC_PEER, &p, sizeof(p));
	assert_true(m->there(r.loop.memory_ctx));
	m->take(r.loop.memory_ctx);
	assert_int_equal(ch->state, CHAN_ANSWERED);
	assert_int_equal(ch->answer.hdr.error, -ENOENT);
	assert_int_equal(ch->answer.hdr.seq, 4);
	/* A process that does not poll gets the answer over the socket. */
	ch->state = CHAN_FREE;
	assert_int_equal(feed(IPC_PEER, &p, sizeof(p), -1), 0);
	assert_int_equal(answer(NULL, NULL, NULL), -ENOENT);
	/* rused answers in the channel whenever its state says that the process polls. */
	ch->state = CHAN_AWAITED;
	assert_int_equal(feed(IPC_PEER, &p, sizeof(p), -1), 0);
	assert_int_equal(ch->state, CHAN_ANSWERED);
	/*
	 * An answer that carries descriptors or is long goes over the socket. rused then sets
	 * CHAN_FREE, so the process stops polling the channel.
	 */
	ch->state = CHAN_AWAITED;
	assert_int_equal(feed(IPC_NETLINK, NULL, 0, -1), 0);
	assert_int_equal(ch->state, CHAN_FREE);
	/* After rused has slept, the channel of a client without messages is not polled. */
	m->watch(r.loop.memory_ctx, false);
	assert_int_equal(bell_wanted(&ch->wake), 1);
	assert_true(list_empty(&r.channels.list));
	assert_false(m->watch(r.loop.memory_ctx, true));
	/* rused stops polling: a request that the process writes to the channel before it sees this is still found. */
	channel_used(c);
	post(IPC_PEER, &p, sizeof(p));
	r.loop.now += NS_S;
	m->watch(r.loop.memory_ctx, false);
	assert_true(m->there(r.loop.memory_ctx));
}

static int feed_fds(uint16_t type, size_t len, int nfds)
{
	struct ipc_hdr h = { .version = IPC_VERSION, .type = type, .seq = 3 };
	static const char zeros[IPC_MAX];
	int fds[IPC_MAX_FDS + 1], rc;

	for (int i = 0; i < nfds; i++)
		fds[i] = dup(peer);
	rc = client_message(c, &h, zeros, len, fds, nfds);
	for (int i = 0; i < nfds; i++)
		if (fds[i] >= 0)
			assert_int_equal(fcntl(fds[i], F_GETFD), -1);
	return rc;
}

/* A message that its row of messages.def does not allow closes the client, without an answer. */
static void refused(uint16_t type, size_t len, int nfds)
{
	struct ipc_hdr h;

	assert_int_equal(feed_fds(type, len, nfds), -EPROTO);
	assert_int_equal(ipc_recv(peer, MSG_DONTWAIT, &h, NULL, NULL, NULL, NULL), -EAGAIN);
}

static bool needs_devices(uint16_t type)
{
	return type == IPC_LEASE || type == IPC_CHANNEL || type == IPC_UCMA_OPEN ||
	       type == IPC_UMAD_OPEN;
}

static void test_rows_first(void **state)
{
	for (uint16_t type = IPC_HELLO + 1; type < IPC_NTYPES; type++)
		refused(type, ipc_rows[type].request.size, 0);
	refused(IPC_HELLO, sizeof(struct ipc_hello) - 1, 0);
	refused(IPC_HELLO, sizeof(struct ipc_hello) + 1, 0);
	refused(IPC_HELLO, sizeof(struct ipc_hello), 2);
	refused(IPC_HELLO, sizeof(struct ipc_hello), 4);
	assert_false(c->hello);
}

static void test_rows(void **state)
{
	hello();
	refused(0, 0, 0);
	refused(IPC_NTYPES, 0, 0);
	refused(UINT16_MAX, 0, 0);
	for (uint16_t type = IPC_HELLO + 1; type < IPC_NTYPES; type++) {
		const struct ipc_row *row = &ipc_rows[type];

		if (row->request.size)
			refused(type, row->request.size - 1, 0);
		refused(type, IPC_MAX, 0);
		if (row->request.form != IPC_HEAD)
			refused(type, row->request.size + 1, 0);
		refused(type, row->request.size, row->takes + 1);
	}
	assert_false(c->dead);
}

/* A client without devices: `ruse`. */
static void test_rows_devices(void **state)
{
	struct ipc_hello q = { .netns = 99 };

	assert_int_equal(feed(IPC_HELLO, &q, sizeof(q), -1), 0);
	assert_int_equal(answer(NULL, NULL, &(int){ 0 }), 0);
	for (uint16_t type = IPC_HELLO + 1; type < IPC_NTYPES; type++) {
		if (!needs_devices(type))
			continue;
		assert_int_equal(feed_fds(type, ipc_rows[type].request.size, 0), 0);
		assert_int_equal(answer(NULL, NULL, NULL), -EPERM);
	}
}

/* A second request before the first answer was read. */
static void test_rows_text(void **state)
{
	hello();
	c->out = strdup("the rest of an answer");
	for (uint16_t type = IPC_HELLO + 1; type < IPC_NTYPES; type++)
		if (ipc_rows[type].answer.form == IPC_TEXT)
			refused(type, ipc_rows[type].request.size, 0);
}

/* Only messages without an answer may be in the queue of a channel. */
static void test_rows_queued(void **state)
{
	static const char zeros[CHAN_QUEUE_BODY];
	int kept = 0;

	for (uint16_t type = 0; type <= IPC_NTYPES; type++) {
		bool row = type && type < IPC_NTYPES;
		bool posted = row && ipc_rows[type].answer.form == IPC_POSTED;

		teardown(NULL);
		assert_int_equal(setup(NULL), 0);
		open_channel();
		enqueue(type, zeros, row ? ipc_rows[type].request.size : 0);
		assert_true(channels_drain(&r.channels));
		assert_int_equal(c->dead, !posted);
		kept += posted;
	}
	assert_int_equal(kept, 2);
}

static void hostile(uint16_t type, uint32_t len)
{
	char body[64] = "";

	open_channel();
	post(type, body, len);
	channel_used(c);
	r.loop.memory->take(r.loop.memory_ctx);
	assert_true(c->dead);
	assert_null(c->channel.map);
	assert_true(list_empty(&r.channels.list));
}

static void test_channel_too_long(void **state)
{
	hostile(IPC_PEER, CHAN_BODY + 1);
}

static void test_channel_no_message(void **state)
{
	hostile(IPC_PEER, 1);
}

static void test_channel_no_type(void **state)
{
	hostile(IPC_NTYPES, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_hello, setup, teardown),
		cmocka_unit_test_setup_teardown(test_proc, setup, teardown),
		cmocka_unit_test_setup_teardown(test_proc_card_owner, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hello_bad, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lease_and_peer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_context, setup, teardown),
		cmocka_unit_test_setup_teardown(test_netlink, setup, teardown),
		cmocka_unit_test_setup_teardown(test_status, setup, teardown),
		cmocka_unit_test_setup_teardown(test_shutdown, setup, teardown),
		cmocka_unit_test_setup_teardown(test_umad, setup, teardown),
		cmocka_unit_test_setup_teardown(test_channel_queue, setup, teardown),
		cmocka_unit_test_setup_teardown(test_channel, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rows_first, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rows, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rows_devices, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rows_text, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rows_queued, setup, teardown),
		cmocka_unit_test_setup_teardown(test_channel_too_long, setup, teardown),
		cmocka_unit_test_setup_teardown(test_channel_no_message, setup, teardown),
		cmocka_unit_test_setup_teardown(test_channel_no_type, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
