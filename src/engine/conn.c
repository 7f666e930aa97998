/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Calls to rused, and the connection lock.
 *
 * rdma_cm and umad calls hold only the connection lock while they wait for rused, so data
 * paths continue. The connection is replaced or closed only with both the engine lock and the
 * connection lock held. Either lock is therefore enough to read it. A call with the connection lock
 * alone must not close the connection. It therefore uses ipc_trip() or ipc_post(), which leave the
 * connection open after an error, and not ipc_call(), which closes it.
 */
#include <errno.h>
#include <sys/epoll.h>
#include "base/sys.h"
#include "engine/engine_internal.h"
#include "ipc/channel.h"
#include "ipc/ucma_msg.h"

/* Delay before the progress thread first looks for a rused after the connection was lost. */
#define REATTACH_NS (200 * NS_MS)

bool conn_lock(void)
{
	return elock_enter(&engine.conn_lock);
}

void conn_unlock(void)
{
	elock_leave(&engine.conn_lock);
}

void conn_close(void)
{
	if (engine.conn_fd_own >= 0)
		engine.host->own_fd(engine.conn_fd_own, false);
	engine.conn_fd_own = -1;
	ipc_close(&engine.conn);
	engine.conn_generation++;
}

/*
 * Close a dead connection and let the progress thread look for a rused. The caller holds both
 * locks.
 */
static void conn_lost(void)
{
	conn_close();
	engine.reattach_at = engine.started ? engine_now() + REATTACH_NS : NS_NEVER;
}

static void conn_event(struct link_fd *fd, uint32_t events)
{
	char c;
	struct iovec iov = { &c, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	/*
	 * A thread that waits for an answer has the lock; it notices the end of the connection
	 * itself.
	 */
	if (!elock_try(&engine.conn_lock))
		return;
	/*
	 * -EAGAIN: this connection is alive. The event belonged to an earlier connection, which
	 * has been replaced since.
	 */
	if (engine.conn.fd >= 0 &&
	    sys_recvmsg(engine.conn.fd, &m, MSG_PEEK | MSG_DONTWAIT) != -EAGAIN)
		conn_lost();
	conn_unlock();
}

void conn_watch(void)
{
	/*
	 * Not EPOLLIN: rused sends only answers, which the calling thread reads. With EPOLLIN
	 * each answer would also wake the progress thread, which would contend for the lock.
	 */
	struct epoll_event ev = { .events = EPOLLRDHUP, .data.ptr = &engine.conn_fd };

	engine.conn_fd.event = conn_event;
	sys_call(SYS_epoll_ctl, engine.epfd, EPOLL_CTL_ADD, engine.conn.fd, &ev);
}

struct call {
	enum ipc_type type;
	const void *req;
	size_t len;
	int memfd;		/* sent with the request; -1: none */
	void *reply;
	size_t *rsize, room;
	int *fds, *nfds, nroom;
	uint32_t generation;	/* engine.conn_generation at the last attempt */
};

/*
 * Shared memory for messages is asked for at the first command that can use it: only programs that
 * use rdma_cm or umad send many messages.
 */
static int want_channel(enum ipc_type type)
{
	bool uses = type == IPC_UCMA_WRITE || type == IPC_UCMA_POST || type == IPC_UMAD_CALL ||
		    type == IPC_UMAD_POST;

	if (!uses || engine.channel_asked == engine.conn_generation)
		return 0;
	engine.channel_asked = engine.conn_generation;
	return ipc_channel_open(&engine.conn, engine_now);
}

/*
 * One attempt, with the connection lock held. 0: *answer is what rused answered. -errno: the
 * connection is unusable.
 */
static int conn_trip(struct call *c, int *answer)
{
	int ret;

	*c->rsize = c->room;
	if (c->nfds)
		*c->nfds = c->nroom;
	c->generation = engine.conn_generation;
	ret = want_channel(c->type);
	if (!ret)
		ret = ipc_trip(&engine.conn, c->type, c->req, c->len, &c->memfd, c->memfd >= 0,
			       c->reply, c->rsize, c->fds, c->nfds);
	*answer = engine.conn.answer;
	if (ret && c->nfds)
		*c->nfds = 0;
	return ret;
}

/* conn_trip() for a caller that holds the engine lock. -ENOTCONN: there is no connection. */
static int try_locked(struct call *c, int *answer)
{
	int ret;

	if (!conn_lock())
		return -EDEADLK;
	ret = engine.conn.fd < 0 ? -ENOTCONN : conn_trip(c, answer);
	if (ret && engine.conn.fd >= 0)
		conn_lost();
	conn_unlock();
	return ret;
}

int rused_call_fds(enum ipc_type type, const void *req, size_t len, void *reply, size_t *rsize,
		   int *fds, int *nfds)
{
	struct call c = { type, req, len, -1, reply, rsize, *rsize,
			  fds, nfds, nfds ? *nfds : 0, 0 };
	int ret, answer;

	for (int tries = 0; ; tries++) {
		ret = attach_locked();
		if (ret)
			return ret;
		ret = try_locked(&c, &answer);
		if (!ret)
			return answer;
		/* The connection was dead: try once more with a new one. */
		if (ret == -EDEADLK || tries)
			return ret;
	}
}

int rused_call(enum ipc_type type, const void *req, size_t len, void *reply, size_t *rsize)
{
	return rused_call_fds(type, req, len, reply, rsize, NULL, NULL);
}

int rused_tell(enum ipc_type type, const void *req, size_t len)
{
	size_t rsize = 0;
	struct call c = { .type = type, .req = req, .len = len, .memfd = -1, .rsize = &rsize };
	int answer, ret = try_locked(&c, &answer);

	return ret ? ret : answer;
}

/* Take the engine lock and connect. */
static int connect_anew(void)
{
	int ret;

	if (!engine_lock())
		return -EDEADLK;
	ret = attach_locked();
	engine_unlock();
	return ret;
}

/*
 * Close the connection if it is still the one that had this engine.conn_generation, which every
 * conn_close() increments. Called without locks.
 */
static void conn_forget(uint32_t generation)
{
	if (!engine_lock())
		return;
	if (conn_lock()) {
		if (engine.conn.fd >= 0 && engine.conn_generation == generation)
			conn_lost();
		conn_unlock();
	}
	engine_unlock();
}

/* Messages were posted since the last rused_sync(). */
static bool posted;

int rused_post(uint32_t rused, enum ipc_type type, const void *msg, size_t len)
{
	uint32_t generation = 0;
	int ret = 1;

	engine_check_fork();
	if (!conn_lock())
		return -EDEADLK;
	if (engine.attached && engine.conn.fd >= 0 && engine.host_page->generation == rused) {
		generation = engine.conn_generation;
		ret = want_channel(type) || ipc_post(&engine.conn, type, msg, len) ? -EIO : 0;
		WRITE_ONCE(posted, true);
	}
	conn_unlock();
	if (ret == -EIO)
		conn_forget(generation);
	return ret;
}

void rused_sync(void)
{
	struct ipc_ucma none = { 0 };
	size_t rsize = 0;

	if (!READ_ONCE(posted) || engine.conn.fd < 0)
		return;
	WRITE_ONCE(posted, false);
	/*
	 * A command with an invalid file number, which has no effect. rused handles messages in
	 * order, so its answer means that it has handled all posted ones.
	 */
	rused_call(IPC_UCMA_WRITE, &none, sizeof(none), NULL, &rsize);
}

int rused_ask(enum ipc_type type, const void *req, size_t len, int memfd, void *reply,
	      size_t *rsize, int *fds, int *nfds)
{
	struct call c = { type, req, len, memfd, reply, rsize, *rsize,
			  fds, nfds, nfds ? *nfds : 0, 0 };
	int answer, ret, tries = 0;

	engine_check_fork();
	for (;;) {
		if (!conn_lock())
			return -EDEADLK;
		if (engine.attached && engine.conn.fd >= 0) {
			ret = conn_trip(&c, &answer);
			conn_unlock();
			if (!ret)
				return answer;
			conn_forget(c.generation);
			/* The connection was dead: try once more with a new one. */
			if (tries++)
				return ret;
		} else {
			conn_unlock();
			ret = connect_anew();
			if (ret)
				return ret;
		}
	}
}
