/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The channel: each state change, invalid values that a hostile peer writes into the state words, and
 * many calls to a server thread that alternately watches and sleeps. Every request must run once and every answer arrive.
 */
#include "base/testing.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/sys.h"
#include "ipc/channel.h"
#include "ipc/messages.h"
#include "shared/barrier.h"

#define POSTED 500	/* bytes of a message without an answer */
/* Such messages that fill the queue. */
#define FULL (CHAN_QUEUE / ALIGN_UP(4 + (uint32_t)sizeof(struct ipc_hdr) + POSTED, 8u))

static struct ipc_channel *ch;		/* rused's mapping */
static int memfd, pair[2];
static ns_t ticks;

#define TICK (2 * NS_US)

/* A clock that advances by TICK per reading, so that the length of polling depends on the loops and not on real time. */
static ns_t tick(void)
{
	ticks += TICK;
	return ticks;
}

static int setup(void **state)
{
	memfd = ipc_channel_create(&ch);
	return memfd < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
}

static int teardown(void **state)
{
	ipc_channel_unmap(ch);
	close(memfd);
	close(pair[0]);
	close(pair[1]);
	return 0;
}

static struct ipc_hdr header(uint16_t flags, uint32_t seq)
{
	return (struct ipc_hdr){ .version = IPC_VERSION, .type = IPC_FAULT, .flags = flags,
				 .seq = seq };
}

static void test_steps(void **state)
{
	struct ipc_hdr q = header(0, 1), a = header(IPC_F_REPLY, 1), got;
	char body[CHAN_BODY];
	size_t len = 99;
	bool posted;
	int rc;

	/* rused does not watch the channel: the request must use the socket, and so must its answer. */
	assert_false(ipc_channel_ask(ch, &q, "abc", 3));
	assert_int_equal(ipc_channel_take(ch, &got, body, &len), -EAGAIN);
	assert_false(ipc_channel_put(ch, &a, "answer", 6));
	/* The answer is written once. */
	ipc_channel_watch(ch, true);
	assert_true(ipc_channel_ask(ch, &q, "abc", 3));
	assert_int_equal(ipc_channel_take(ch, &got, body, &len), 0);
	assert_true(ipc_channel_put(ch, &a, "answer", 6));
	assert_false(ipc_channel_put(ch, &a, "again", 5));
	len = sizeof(body);
	assert_true(ipc_channel_answer(ch, tick, ticks, &got, body, &len, &rc, &posted));
	assert_int_equal(rc, 0);
	assert_int_equal(len, 6);
	assert_memory_equal(body, "answer", 6);
	assert_memory_equal(&got, &a, sizeof(a));
	assert_true(ipc_channel_ask(ch, &q, "abc", 3));
	assert_true(ipc_channel_asked(ch));
	assert_false(ipc_channel_put(ch, &a, "early", 5));
	assert_int_equal(ipc_channel_take(ch, &got, body, &len), 0);
	assert_int_equal(len, 3);
	assert_memory_equal(&got, &q, sizeof(q));
	assert_int_equal(ipc_channel_take(ch, &got, body, &len), -EAGAIN);
	assert_true(ipc_channel_put(ch, &a, NULL, 0));
	assert_true(ipc_channel_answer(ch, tick, ticks, &got, NULL, &len, &rc, &posted));
	assert_int_equal(len, 0);
	/* An answer that is longer than the caller's buffer. */
	assert_true(ipc_channel_ask(ch, &q, NULL, 0));
	assert_int_equal(ipc_channel_take(ch, &got, body, &len), 0);
	assert_true(ipc_channel_put(ch, &a, body, 10));
	len = 9;
	assert_true(ipc_channel_answer(ch, tick, ticks, &got, body, &len, &rc, &posted));
	assert_int_equal(rc, -EMSGSIZE);
}

/*
 * A process that stops polling for the answer withdraws its request if rused has not taken it from the channel. If
 * rused has taken it, the answer goes over the socket.
 */
static void test_give_up(void **state)
{
	struct ipc_hdr q = header(0, 1), a = header(IPC_F_REPLY, 1), got;
	char body[CHAN_BODY];
	size_t len = sizeof(body);
	bool posted;
	int rc;

	ipc_channel_watch(ch, true);
	assert_true(ipc_channel_ask(ch, &q, "abc", 3));
	assert_false(ipc_channel_answer(ch, tick, ticks, &got, body, &len, &rc, &posted));
	assert_true(posted);
	assert_int_equal(ipc_channel_take(ch, &got, body, &len), -EAGAIN);
	assert_true(ipc_channel_ask(ch, &q, "abc", 3));
	assert_int_equal(ipc_channel_take(ch, &got, body, &len), 0);
	assert_false(ipc_channel_answer(ch, tick, ticks, &got, body, &len, &rc, &posted));
	assert_false(posted);
	assert_false(ipc_channel_put(ch, &a, "late", 4));
	/* ipc_channel_sent() ends the polling at once. */
	assert_true(ipc_channel_ask(ch, &q, "abc", 3));
	assert_int_equal(ipc_channel_take(ch, &got, body, &len), 0);
	ipc_channel_sent(ch);
	assert_false(ipc_channel_answer(ch, tick, NS_NEVER, &got, body, &len, &rc, &posted));
	assert_false(posted);
	/* A message that is too long uses the socket. */
	assert_false(ipc_channel_ask(ch, &q, body, CHAN_BODY + 1));
	assert_false(ipc_channel_put(ch, &a, body, CHAN_BODY + 1));
}

/*
 * A process polls for an answer for TUNE_ANSWER, then withdraws its request and uses the socket. It does
 * not poll if rused does not watch, or if it may use one CPU only.
 */
static void test_poll(void **state)
{
	struct ipc_conn c = { .fd = pair[0], .chan = ch };
	struct ipc_hdr a = header(IPC_F_REPLY, 0);
	struct ipc_msg m = { .type = IPC_FAULT, .req = "x", .len = 1 };
	ns_t began = ticks;

	for (int i = 0; i < 4; i++) {
		ipc_channel_watch(ch, i & 1);
		c.clock = i & 2 ? tick : NULL;
		a.seq++;
		assert_int_equal(ipc_send(pair[1], &a, NULL, 0, NULL, 0), 0);
		assert_int_equal(ipc_call(&c, &m), 0);
		if (i < 3)
			assert_int_equal(ticks, began);
	}
	assert_in_range(ticks - began, TUNE_ANSWER, TUNE_ANSWER + 3 * TICK);
	/* rused needs more than 1 us for a command; to poll for 1 ms costs more than to sleep. */
	assert_in_range(TUNE_ANSWER, NS_US, NS_MS);
	assert_int_equal(ch->state, CHAN_FREE);
}

static void test_hostile(void **state)
{
	char body[CHAN_BODY];
	struct ipc_hdr got;
	size_t len;
	bool posted;
	int rc;

	ch->request.len = CHAN_BODY + 1;
	ch->state = CHAN_ASKED;
	assert_int_equal(ipc_channel_take(ch, &got, body, &len), -EPROTO);
	ch->answer.len = UINT32_MAX;
	ch->state = CHAN_ANSWERED;
	len = sizeof(body);
	assert_true(ipc_channel_answer(ch, tick, ticks, &got, body, &len, &rc, &posted));
	assert_int_equal(rc, -EPROTO);
	for (uint32_t s = 4; s; s <<= 1) {
		ch->state = s;
		assert_int_equal(ipc_channel_take(ch, &got, body, &len), -EAGAIN);
		assert_false(ipc_channel_put(ch, &got, body, 1));
		assert_false(ipc_channel_answer(ch, tick, ticks, &got, body, &len, &rc, &posted));
	}
	/* The memfd can neither shrink nor be sealed further. */
	assert_int_equal(ftruncate(memfd, 4096), -1);
	assert_int_equal(fcntl(memfd, F_ADD_SEALS, F_SEAL_WRITE), -1);
}

/*
 * The queue keeps the order, ends when it is full, and asks for a wake-up if rused sleeps or is late.
 */
static void test_queue(void **state)
{
	struct shared_ring_end in = ipc_channel_queue(ch), out = in;
	struct ipc_hdr q = header(0, 1), got;
	char body[CHAN_QUEUE_BODY + 1] = { 0 };
	uint32_t n, i, late, len;
	bool wake;

	assert_false(ipc_channel_queued(&out));
	assert_int_equal(shared_ring_get(&out, &got, body, CHAN_QUEUE_BODY, &len), -EAGAIN);
	for (int round = 0; round < 3; round++) {
		ipc_channel_watch(ch, round == 2);
		for (n = late = 0; ipc_channel_push(ch, &in, &q, &n, sizeof(n), &wake); n++) {
			if (!n)
				assert_int_equal(wake, round < 2);
			late += n && wake;
		}
		assert_in_range(n, 200, CHAN_QUEUE / sizeof(q));
		assert_in_range(late, CHAN_QUEUE / CHAN_QUEUE_LATE - 1,
				CHAN_QUEUE / CHAN_QUEUE_LATE);
		assert_true(ipc_channel_queued(&out));
		for (i = 0; shared_ring_get(&out, &got, body, CHAN_QUEUE_BODY, &len) == 0; i++) {
			assert_int_equal(len, sizeof(n));
			assert_memory_equal(body, &i, sizeof(i));
			assert_memory_equal(&got, &q, sizeof(q));
		}
		assert_int_equal(i, n);
	}
	assert_false(ipc_channel_push(ch, &in, &q, body, CHAN_QUEUE_BODY + 1, &wake));
	assert_true(ipc_channel_push(ch, &in, &q, body, CHAN_QUEUE_BODY, &wake));
	assert_int_equal(shared_ring_get(&out, &got, body, CHAN_QUEUE_BODY, &len), 0);
	assert_int_equal(len, CHAN_QUEUE_BODY);
	/* The process writes invalid values: a position more than the queue ahead, then a length over CHAN_QUEUE_BODY. */
	ch->queue.prod = out.at + CHAN_QUEUE + 8;
	assert_int_equal(shared_ring_get(&out, &got, body, CHAN_QUEUE_BODY, &len), -EPROTO);
	n = sizeof(q) + CHAN_QUEUE_BODY + 1;
	ch->queue.prod = out.at + CHAN_QUEUE;
	memcpy(ch->data + out.at % CHAN_QUEUE, &n, sizeof(n));
	assert_int_equal(shared_ring_get(&out, &got, body, CHAN_QUEUE_BODY, &len), -EPROTO);
	/* rused ignores what the process writes to its own position. */
	n = sizeof(q) + 1;
	memcpy(ch->data + out.at % CHAN_QUEUE, &n, sizeof(n));
	ch->queue.cons = out.at + 77;
	assert_int_equal(shared_ring_get(&out, &got, body, CHAN_QUEUE_BODY, &len), 0);
	assert_int_equal(ch->queue.cons, out.at);
}

/*
 * A thread that plays rused. The process numbers its messages; the server checks that each carries the number after that of
 * the previous one. The answer to a request repeats its body.
 */
struct server {
	struct prng rnd;
	uint32_t expected, here, there;
	struct shared_ring_end queue;
	bool dies;		/* the server exits at a random time, possibly with requests pending */
	uint32_t full;		/* times that the process has found the queue full */
	bool opened, stop;
};

static void reply(struct server *s, const struct ipc_hdr *q, const char *body, size_t len)
{
	struct ipc_hdr a = *q;
	uint32_t n;

	assert_int_equal(ipc_check(q, len, 0, false), 0);
	assert_in_range(len, sizeof(n), IPC_MAX);
	memcpy(&n, body, sizeof(n));
	assert_int_equal(n, s->expected++);
	a.flags = IPC_F_REPLY;
	if (prng_below(&s->rnd, 8) == 0)
		sched_yield();
	if (prng_below(&s->rnd, 16) && ipc_channel_put(ch, &a, body, len)) {
		s->here++;
		return;
	}
	assert_int_equal(ipc_send(pair[1], &a, body, len, NULL, 0), 0);
	ipc_channel_sent(ch);
	s->there++;
}

static void count(struct server *s, const char *body, size_t len)
{
	uint32_t n;

	assert_int_equal(len, POSTED);
	memcpy(&n, body, sizeof(n));
	assert_int_equal(n, s->expected++);
}

/* Takes all queued messages. Called before any other message is handled. */
static void drain(struct server *s)
{
	char body[CHAN_QUEUE_BODY];
	struct ipc_hdr h;
	uint32_t len;

	while (shared_ring_get(&s->queue, &h, body, sizeof(body), &len) == 0)
		count(s, body, len);
}

static void answer(struct server *s, struct ipc_hdr *h, const char *body, size_t len)
{
	if (h->type != IPC_CHANNEL) {
		reply(s, h, body, len);
		return;
	}
	h->flags = IPC_F_REPLY;
	h->error = s->opened ? -EBUSY : 0;
	s->full += s->opened;
	if (!s->opened || !ipc_channel_put(ch, h, NULL, 0)) {
		assert_int_equal(ipc_send(pair[1], h, NULL, 0, &memfd, s->opened ? 0 : 1), 0);
		ipc_channel_sent(ch);
	}
	s->opened = true;
}

/* Handles one message. False: there was none. */
static bool serve_one(struct server *s, int flags)
{
	static char body[IPC_MAX];
	size_t len = sizeof(body);
	struct ipc_hdr h;

	if (ipc_channel_take(ch, &h, body, &len) == 0) {
		drain(s);
		answer(s, &h, body, len);
		return true;
	}
	len = sizeof(body);
	if (ipc_recv(pair[1], flags, &h, body, &len, NULL, NULL))
		return false;
	drain(s);
	if (h.type == IPC_UCMA_POST) {
		count(s, body, len);
	} else if (h.type == IPC_WAKE) {
		assert_int_equal(len, 0);
	} else {
		answer(s, &h, body, len);
	}
	return true;
}

static void *serve(void *arg)
{
	struct server *s = arg;

	while (!READ_ONCE(s->stop)) {
		uint32_t looks = prng_below(&s->rnd, 3000);

		ipc_channel_watch(ch, true);
		while (looks--)
			if (!serve_one(s, MSG_DONTWAIT))
				cpu_relax();
		ipc_channel_watch(ch, false);
		if (s->dies && s->expected > 40 && prng_below(&s->rnd, 4) == 0)
			break;
		drain(s);
		if (!ipc_channel_asked(ch))
			serve_one(s, 0);
	}
	shutdown(pair[1], SHUT_RDWR);
	return NULL;
}

static int ask(struct ipc_conn *c, struct prng *rnd, uint32_t n)
{
	static char q[IPC_MAX], a[IPC_MAX];
	size_t len = prng_below(rnd, 20) ? prng_below(rnd, 300) : prng_below(rnd, 9000);
	struct ipc_msg m = { .type = IPC_FAULT, .req = q, .reply = a, .room = sizeof(a) };
	int rc;

	len += sizeof(n);
	m.len = len;
	memset(q, (int)n, len);
	memcpy(q, &n, sizeof(n));
	rc = ipc_call(c, &m);
	if (rc)
		return rc;
	assert_int_equal(m.rlen, len);
	assert_memory_equal(a, q, len);
	return 0;
}

/* Posts a random count of messages with the next numbers, sometimes more than the queue has room for. */
static int post_some(struct ipc_conn *c, struct prng *rnd, uint32_t *n, uint32_t most)
{
	uint32_t some = prng_below(rnd, 50) ? prng_below(rnd, 4) : prng_below(rnd, 2 * FULL);
	char q[POSTED] = { 0 };
	int rc = 0;

	while (!rc && some-- && *n < most) {
		memcpy(q, n, sizeof(*n));
		rc = ipc_post(c, IPC_UCMA_POST, q, sizeof(q));
		*n += !rc;
	}
	return rc;
}

static void calls(uint32_t count, bool dies)
{
	struct ipc_conn c = { .fd = dup(pair[0]) };
	struct server s = { .dies = dies, .queue = ipc_channel_queue(ch) };
	struct prng rnd;
	pthread_t t;
	uint32_t n;
	int rc = 0;

	test_seed(&rnd);
	prng_seed(&s.rnd, prng_u64(&rnd));
	assert_int_equal(pthread_create(&t, NULL, serve, &s), 0);
	assert_int_equal(ipc_channel_open(&c, tick), 0);
	assert_non_null(c.chan);
	for (n = 0; n < count && !rc; n++) {
		/* Poll even on a machine with one CPU. */
		c.clock = tick;
		rc = post_some(&c, &rnd, &n, count - 1);
		if (!rc)
			rc = ask(&c, &rnd, n);
	}
	WRITE_ONCE(s.stop, true);
	ipc_close(&c);
	assert_null(c.chan);
	shutdown(pair[0], SHUT_RDWR);
	pthread_join(t, NULL);
	if (dies) {
		assert_int_equal(rc, -EPIPE);
		return;
	}
	assert_int_equal(rc, 0);
	assert_int_equal(s.expected, count);
	assert_true(s.there > 0);
}

static void test_calls(void **state)
{
	calls(20000, false);
}

/* Reads nothing of the queue before the process asks. */
static void *serve_full(void *arg)
{
	struct server *s = arg;
	struct ipc_hdr h;
	char body[8];
	size_t len;

	do {
		len = sizeof(body);
		assert_int_equal(ipc_recv(pair[1], 0, &h, body, &len, NULL, NULL), 0);
	} while (h.type == IPC_WAKE);
	assert_int_equal(h.type, IPC_CHANNEL);
	drain(s);
	answer(s, &h, body, len);
	return NULL;
}

/* A process that finds the queue full waits until rused has taken all queued messages, and then queues. */
static void test_full(void **state)
{
	struct ipc_conn c = { .fd = pair[0], .chan = ch, .queue = ipc_channel_queue(ch) };
	struct server s = { .opened = true, .queue = ipc_channel_queue(ch) };
	char q[POSTED] = { 0 };
	pthread_t t;

	assert_int_equal(pthread_create(&t, NULL, serve_full, &s), 0);
	for (uint32_t n = 0; n <= FULL; n++) {
		memcpy(q, &n, sizeof(n));
		assert_int_equal(ipc_post(&c, IPC_UCMA_POST, q, sizeof(q)), 0);
	}
	pthread_join(t, NULL);
	assert_int_equal(s.full, 1);
	assert_int_equal(s.expected, FULL);
	assert_false(c.unanswered);
	drain(&s);
	assert_int_equal(s.expected, FULL + 1);
}

static void test_death(void **state)
{
	for (int i = 0; i < 20; i++) {
		calls(UINT32_MAX, true);
		teardown(NULL);
		assert_int_equal(setup(NULL), 0);
	}
}

/* A forked child does not inherit the channel. */
static void test_fork(void **state)
{
	struct ipc_conn c = { .fd = dup(pair[0]) };
	struct server s = { .queue = ipc_channel_queue(ch) };
	unsigned char resident;
	struct prng rnd;
	pthread_t t;
	int status;
	pid_t pid;

	prng_seed(&rnd, 1);
	prng_seed(&s.rnd, 2);
	assert_int_equal(pthread_create(&t, NULL, serve, &s), 0);
	assert_int_equal(ipc_channel_open(&c, tick), 0);
	assert_int_equal(ask(&c, &rnd, 0), 0);
	pid = fork();
	if (!pid)
		_exit(mincore(c.chan, 4096, &resident) == -1 && errno == ENOMEM ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(ask(&c, &rnd, 1), 0);
	WRITE_ONCE(s.stop, true);
	ipc_close(&c);
	shutdown(pair[0], SHUT_RDWR);
	pthread_join(t, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_steps, setup, teardown),
		cmocka_unit_test_setup_teardown(test_give_up, setup, teardown),
		cmocka_unit_test_setup_teardown(test_poll, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile, setup, teardown),
		cmocka_unit_test_setup_teardown(test_queue, setup, teardown),
		cmocka_unit_test_setup_teardown(test_calls, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_death, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fork, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
