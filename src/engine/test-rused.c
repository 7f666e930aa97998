/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages to rused: which locks a caller may hold, and what happens to the connection. The test is at the other end of the
 * connection; a thread answers one request. No rused is started: the engine looks for one in a directory without.
 */
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/sys.h"
#include "base/testing.h"
#include "engine/engine_internal.h"

#define GENERATION 4711u

static int peer, owned;		/* owned: descriptors that the engine has registered */

static void count_own(int fd, bool own)
{
	owned += own ? 1 : -1;
}

/* Gives the engine a new connection. */
static void connected(void)
{
	const struct timeval most = { .tv_sec = 10 };
	int sv[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(setsockopt(sv[i], SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most)),
				 0);
	engine.conn = (struct ipc_conn){ .fd = own_fd(sv[0]), .seconds = 20 };
	engine.channel_asked = engine.conn_generation;
	peer = sv[1];
}

static int setup(void **state)
{
	static const struct engine_ops host = { .own_fd = count_own };
	static struct host_page page;

	owned = 0;
	engine_setup(&host);
	setenv("RUSE_DIR", "/nowhere/ruse", 1);
	page.generation = GENERATION;
	engine.host_page = &page;
	engine.attached = true;
	connected();
	return 0;
}

static int teardown(void **state)
{
	assert_int_equal(engine.lock.word, 0);
	assert_int_equal(engine.conn_lock.word, 0);
	if (engine.conn.fd >= 0)
		conn_close();
	assert_int_equal(owned, 0);
	close(peer);
	memset(&engine, 0, sizeof(engine));
	return 0;
}

static void *answer_one(void *arg)
{
	struct ipc_hdr h;
	size_t len = 0;

	if (ipc_recv(peer, 0, &h, NULL, &len, NULL, NULL))
		return NULL;
	h.flags = IPC_F_REPLY;
	h.error = *(int *)arg;
	ipc_send(peer, &h, NULL, 0, NULL, 0);
	return NULL;
}

static int answered(int (*say)(struct rused_msg *m), struct rused_msg *m, int error)
{
	pthread_t t;
	int ret;

	assert_int_equal(pthread_create(&t, NULL, answer_one, &error), 0);
	ret = say(m);
	pthread_join(t, NULL);
	return ret;
}

static struct rused_msg counters(uint32_t of, bool locked)
{
	return (struct rused_msg){ .q.type = IPC_COUNTERS, .of = of, .locked = locked };
}

/* The caller holds the engine lock or does not. */
static void test_locks(void **state)
{
	for (int locked = 0; locked < 2; locked++) {
		struct rused_msg m = counters(0, locked);

		if (locked)
			assert_true(engine_lock());
		assert_int_equal(answered(rused_ask, &m, 0), 0);
		assert_int_equal(answered(rused_ask, &m, -ENOSPC), -ENOSPC);
		/* The answer's, not that of the connection. */
		assert_int_equal(answered(rused_ask, &m, -ENOTCONN), -ENOTCONN);
		assert_int_equal(answered(rused_tell, &m, -EINVAL), -EINVAL);
		m.of = GENERATION;
		assert_int_equal(answered(rused_ask, &m, 0), 0);
		assert_true(engine.conn.fd >= 0);
		if (locked)
			engine_unlock();
	}
}

/* A connection that turns out to be dead is closed. Nothing is started for a tell, nor for an ask of one rused. */
static void test_dead(void **state)
{
	for (int locked = 0; locked < 2; locked++) {
		struct rused_msg m = counters(0, locked);

		if (locked)
			assert_true(engine_lock());
		close(peer);
		assert_int_equal(rused_tell(&m), -EPIPE);
		assert_int_equal(engine.conn.fd, -1);
		assert_int_equal(rused_tell(&m), -ENOTCONN);
		m.of = GENERATION;
		assert_int_equal(rused_ask(&m), -ENOENT);
		connected();
		close(peer);
		assert_int_equal(rused_ask(&m), -ENOENT);
		assert_int_equal(engine.conn.fd, -1);
		connected();
		if (locked)
			engine_unlock();
	}
}

/* Messages for another rused than the one that runs are not sent. */
static void test_other_rused(void **state)
{
	struct rused_msg m = counters(GENERATION + 1, false);
	struct ipc_hdr h;

	assert_int_equal(rused_ask(&m), -ESTALE);
	assert_int_equal(rused_post(&m), 1);
	assert_true(engine.conn.fd >= 0);
	assert_int_equal(ipc_recv(peer, MSG_DONTWAIT, &h, NULL, NULL, NULL, NULL), -EAGAIN);
}

static void test_post(void **state)
{
	struct rused_msg m = { .q.type = IPC_WAKE, .of = GENERATION };
	struct ipc_hdr h;

	assert_int_equal(rused_post(&m), 0);
	assert_int_equal(ipc_recv(peer, MSG_DONTWAIT, &h, NULL, NULL, NULL, NULL), 0);
	assert_int_equal(h.type, IPC_WAKE);
	close(peer);
	assert_int_equal(rused_post(&m), -EIO);
	assert_int_equal(engine.conn.fd, -1);
	assert_int_equal(rused_post(&m), 1);
	peer = -1;
}

/* In a signal handler that has interrupted a call to rused. */
static void test_in_call(void **state)
{
	struct rused_msg m = counters(0, false);

	assert_true(conn_lock());
	assert_int_equal(rused_ask(&m), -EDEADLK);
	assert_int_equal(rused_tell(&m), -EDEADLK);
	assert_int_equal(rused_post(&m), -EDEADLK);
	conn_unlock();
}

/* In a signal handler that has interrupted the engine: the connection may be used, but neither closed nor replaced. */
static void test_in_engine(void **state)
{
	struct rused_msg m = counters(0, false);
	int fd = engine.conn.fd;

	assert_true(engine_lock());
	assert_int_equal(answered(rused_ask, &m, 0), 0);
	close(peer);
	peer = -1;
	assert_int_equal(rused_ask(&m), -EPIPE);
	assert_int_equal(engine.conn.fd, fd);
	conn_close();
	assert_int_equal(rused_ask(&m), -EDEADLK);
	WRITE_ONCE(engine.lock.again, 0u);
	elock_leave(&engine.lock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_locks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dead, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_rused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_post, setup, teardown),
		cmocka_unit_test_setup_teardown(test_in_call, setup, teardown),
		cmocka_unit_test_setup_teardown(test_in_engine, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
