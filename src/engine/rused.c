/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages to rused, and the connection lock.
 *
 * conn_send() holds the connection lock while a message is sent and answered. Data paths continue meanwhile, unless the
 * caller holds the engine lock. The connection is replaced or closed only with both locks held, so either lock is enough
 * to read it. Code that holds the connection lock never takes the engine lock: conn_send() releases it before it closes
 * a connection that has failed, and finds by engine.conn_generation whether another thread has replaced it meanwhile.
 */
#include <errno.h>
#include <sys/epoll.h>
#include "base/log.h"
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
	if (engine.conn.fd >= 0)
		engine.host->own_fd(engine.conn.fd, false);
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
 * Closes the connection if it is still the one that had this engine.conn_generation, which every conn_close()
 * increments. Called without the connection lock. False: not possible in this signal handler.
 */
static bool conn_forget(uint32_t generation)
{
	if (!engine_lock())
		return false;
	if (conn_lock()) {
		if (engine.conn.fd >= 0 && engine.conn_generation == generation)
			conn_lost();
		conn_unlock();
	}
	engine_unlock();
	return true;
}

/* With the connection lock held. 0; -ENOTCONN: there is no connection; -ESTALE: it is not that of m->of. */
static int conn_there(const struct rused_msg *m)
{
	if (!engine.attached || engine.conn.fd < 0)
		return -ENOTCONN;
	return m->of && engine.host_page->generation != m->of ? -ESTALE : 0;
}

/* Messages were posted since the last rused_sync(). */
static bool posted;

/* With the connection lock held. 0, the answer's -errno, or that of the connection: then engine.conn.failed is set. */
static int conn_trip(struct rused_msg *m, bool post)
{
	int ret = want_channel(m->q.type);

	if (ret)
		return ret;
	if (!post)
		return ipc_call(&engine.conn, &m->q);
	WRITE_ONCE(posted, true);
	return ipc_post(&engine.conn, m->q.type, m->q.req, m->q.len);
}

/*
 * Every message to rused but those of attach.c. One attempt over the present connection, which is closed if it
 * fails. *ret: 0, the answer's -errno, -ESTALE as conn_there(), -EDEADLK, or why it failed. True: a new connection
 * may help, as there was none (-ENOTCONN) or it has failed.
 */
static bool conn_send(struct rused_msg *m, bool post, int *ret)
{
	bool absent, failed = false;
	uint32_t generation;

	if (!m->locked)
		engine_check_fork();
	BUG_ON(m->locked && !elock_mine(&engine.lock));
	if (!conn_lock()) {
		*ret = -EDEADLK;
		return false;
	}
	generation = engine.conn_generation;
	*ret = conn_there(m);
	absent = *ret == -ENOTCONN;
	if (!*ret) {
		*ret = conn_trip(m, post);
		failed = engine.conn.failed;
		if (failed && m->locked)
			conn_lost();
	}
	conn_unlock();
	return failed ? m->locked || conn_forget(generation) : absent;
}

/* Connects, if there is no connection. m->of: starts no rused, as another one is of no use. */
static int conn_anew(const struct rused_msg *m)
{
	int ret;

	if (!m->locked && !engine_lock())
		return -EDEADLK;
	ret = m->of ? attach_running() : attach_locked();
	if (!m->locked)
		engine_unlock();
	return ret;
}

int rused_ask(struct rused_msg *m)
{
	bool again = false;
	int ret;

	while (conn_send(m, false, &ret)) {
		/* A connection that turns out to be dead is replaced once. */
		if (ret != -ENOTCONN && again)
			break;
		again |= ret != -ENOTCONN;
		ret = conn_anew(m);
		if (ret)
			break;
	}
	return ret;
}

int rused_tell(struct rused_msg *m)
{
	int ret;

	conn_send(m, false, &ret);
	return ret;
}

int rused_post(struct rused_msg *m)
{
	int ret;

	conn_send(m, true, &ret);
	if (ret == -ENOTCONN || ret == -ESTALE)
		return 1;
	return ret && ret != -EDEADLK ? -EIO : ret;
}

void rused_sync(void)
{
	struct ipc_ucma none = { 0 };
	struct rused_msg m = { .q = { IPC_REQ(IPC_UCMA_WRITE, &none) }, .locked = true };

	if (!READ_ONCE(posted) || engine.conn.fd < 0)
		return;
	WRITE_ONCE(posted, false);
	/*
	 * A command with an invalid file number, which has no effect. rused handles messages in
	 * order, so its answer means that it has handled all posted ones.
	 */
	rused_tell(&m);
}
