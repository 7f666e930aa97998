/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Open files of umadN and issmN. As for rdma_cm (daemon/files/cmfile.c), a file is one end of a SOCK_SEQPACKET
 * pair, and rused sees the hang-up after the last close. Packets for the program are put into
 * shared memory (ring.c) as they arrive, so most read()s need no message.
 *
 * A packet that is too long for a slot of the ring stays in rused. Its slot has only a number for
 * it (u->marked), and later packets wait in rused. The program reads it in two steps. UMAD_OP_READ
 * takes the packet from the queue of the file and copies it to the program. UMAD_OP_TAKE says that
 * the program has received it. If another READ comes first, for example because the buffer of
 * read() was not writable, umad_unread() puts the packet back before it.
 *
 * A program must see POLLERR when its device is removed. A Unix socket has an error if its peer is
 * closed with unread data, so rused's end of each umad file contains one datagram that is never
 * read.
 */
#include <errno.h>
#include <fcntl.h>
#include <rdma/ib_user_mad.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fds.h"
#include "base/log.h"
#include "base/rand.h"
#include "umads/umads_internal.h"
#include "ipc/umad_msg.h"
#include "loop/loop.h"
#include "shared/barrier.h"

#define INDEX_BITS 12
#define WRITE_MAX (64u << 20)	/* bytes of an RMPP message; the kernel is limited by memory */
#define ARG_MAX_LEN 64

_Static_assert(UMAD_MAX_FILES == 1 << INDEX_BITS, "an index of them");

static void umad_fd_queued(void *ctx)
{
	umad_ring_show(ctx);
}

/* The device was removed: tells programs. umad_node_del() closes the file. */
static void umad_fd_dead(void *ctx)
{
	struct umad_fd *u = ctx;

	if (u->shm)
		WRITE_ONCE(u->shm->dead, 1u);
}

static int umad_fd_pid(void *ctx)
{
	return ((struct umad_fd *)ctx)->pid;
}

static const struct umad_file_ops file_ops = { .queued = umad_fd_queued, .dead = umad_fd_dead,
					       .begun = umad_fd_begun, .ended = umad_fd_ended,
					       .pid = umad_fd_pid };

static void umad_fd_say(struct umad_fd *u, int rc)
{
	char c = (char)-rc;

	if (send(u->f.fd, &c, 1, MSG_DONTWAIT | MSG_NOSIGNAL) != 1)
		log_debug("issm%u: cannot reply to the client: %m", u->of->number);
}

static void umad_fd_granted(struct umad_sm *sm, int rc)
{
	umad_fd_say(container_of(sm, struct umad_fd, sm), rc);
}

static void umad_fd_close(struct umad_fd *u)
{
	struct umads *us = u->of->us;

	idtable_remove(&us->ids, u->number & (UMAD_MAX_FILES - 1));
	umad_ring_close(u);
	if (u->file)
		umad_close(u->file, us->loop->now);
	else
		umad_sm_close(&u->sm);
	loop_del(us->loop, &u->f);
	list_add_tail(&u->node, &us->loop->dead);
}

/* MADs that a program posted before it closed a file arrive in the channel of the process. */
static void umad_drain(struct umads *us)
{
	if (us->drain)
		us->drain(us->drain_ctx);
}

static void umad_fd_event(struct loop_fd *f, uint32_t events)
{
	struct umad_fd *u = container_of(f, struct umad_fd, f);

	if (!(events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)))
		return;
	umad_drain(u->of->us);
	umad_fd_close(u);
}

void umad_close_node(struct umad_node *n)
{
	struct umad_fd *u;

	for (uint32_t i = 0; (u = idtable_next(&n->us->ids, &i)); i++)
		if (u->of == n)
			umad_fd_close(u);
}

/* Closes files, except self, whose hang-up was not handled yet. True: there were some. */
static bool umad_fd_sweep(struct umad_fd *self)
{
	struct umads *us = self->of->us;
	struct umad_fd *u;
	bool any = false;

	umad_drain(us);
	for (uint32_t i = 0; (u = idtable_next(&us->ids, &i)); i++)
		if (u != self && loop_hung_up(&u->f)) {
			umad_fd_close(u);
			any = true;
		}
	return any;
}

/* Opens issmN. 0; 1: another file has it open, umad_fd_granted() is called later; -errno. */
static int umad_fd_open_sm(struct umad_fd *u, bool nonblock)
{
	int rc;

	u->sm.granted = umad_fd_granted;
	rc = umad_sm_open(&u->of->port, &u->sm, nonblock);
	if (rc == -EAGAIN && umad_fd_sweep(u))
		rc = umad_sm_open(&u->of->port, &u->sm, nonblock);
	return rc == -EINPROGRESS ? 1 : rc;
}

static int umad_fd_open_umad(struct umad_fd *u, int *fd)
{
	int rc = umad_ring_open(u, fd);

	if (rc)
		return rc;
	rc = umad_open(&u->of->port, &file_ops, u, &u->file);
	if (!rc)
		return 0;
	umad_ring_close(u);
	close(*fd);
	return rc;
}

/*
 * Creates an open file. sv[0], rused's end of the socket pair, belongs to the file, or is closed
 * after an error. *fd: set by umad_ring_open(); unchanged for issmN. 0 or -errno.
 */
static int umad_fd_new(struct umad_node *n, const struct ipc_umad_open *q, int pid,
		       const int sv[2], uint32_t *number, int *fd)
{
	struct umad_fd *u = calloc(1, sizeof(*u));
	struct umads *us = n->us;
	bool sm = q->minor >= UMAD_MAX_NODES;
	int64_t id;
	int rc;

	id = u ? idtable_alloc_cyclic(&us->ids, 1, u) : -ENOMEM; /* from 1 */
	if (id < 0) {
		close(sv[0]);
		free(u);
		return id == -ENOSPC ? -EMFILE : (int)id;
	}
	u->of = n;
	u->pid = pid;
	u->number = rand_u32() << INDEX_BITS | (uint32_t)id;
	u->f.fn = umad_fd_event;
	rc = loop_add(us->loop, &u->f, sv[0], EPOLLRDHUP);
	if (rc)
		close(sv[0]);
	else
		rc = sm ? umad_fd_open_sm(u, q->nonblock) : umad_fd_open_umad(u, fd);
	if (rc < 0) {
		idtable_remove(&us->ids, (uint32_t)id);
		loop_del(us->loop, &u->f);
		list_add_tail(&u->node, &us->loop->dead);
		return rc;
	}
	if (sm && !rc)
		umad_fd_say(u, 0);
	if (!sm && send(sv[1], "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) != 1)
		log_debug("umad%u: send() failed: %m; poll() will not report POLLERR when the device is removed",
			  n->number);
	*number = u->number;
	return 0;
}

void umads_managers(const struct umads *us, const struct umad_view *v,
		    void (*fn)(void *arg, int pid), void *arg)
{
	const struct umad_fd *u;

	for (uint32_t i = 0; (u = idtable_next(&us->ids, &i)); i++)
		if (!u->file && u->of->view == v)
			fn(arg, u->pid);
}

struct umad_node *umad_node_at(const struct umad_view *v, uint32_t minor)
{
	return v && minor < 2 * UMAD_MAX_NODES ? v->node[minor % UMAD_MAX_NODES] : NULL;
}

int umad_open_minor(struct umad_node *n, const struct ipc_umad_open *q, int pid, uint32_t *number,
		    int fds[UMAD_OPEN_FDS])
{
	int sv[2], rc;

	fds[1] = -1;
	rc = fds_pair(SOCK_SEQPACKET | SOCK_CLOEXEC, sv);
	if (rc)
		return rc;
	rc = umad_fd_new(n, q, pid, sv, number, &fds[1]);
	if (rc) {
		close(sv[1]);
		return rc;
	}
	fds[0] = sv[1];
	return 0;
}

/* Creates a memfd with these bytes. fd or -errno. */
static int umad_memfd_of(const void *data, size_t len)
{
	int fd = fds_memory("ruse-umad", MFD_CLOEXEC);
	size_t at = 0;

	if (fd < 0)
		return fd;
	while (at < len) {
		ssize_t n = write(fd, (const char *)data + at, len - at);

		if (n <= 0) {
			close(fd);
			return n ? -errno : -ENOMEM;
		}
		at += (size_t)n;
	}
	return fd;
}

/* Reads a program's memfd. Only memfds have seals, and reading one does not block. 0 or -errno. */
static int umad_memfd_read(int fd, void *to, size_t len)
{
	size_t at = 0;

	if (fcntl(fd, F_GET_SEALS) < 0)
		return -EPROTO;
	while (at < len) {
		ssize_t n = pread(fd, (char *)to + at, len - at, (off_t)at);

		if (n <= 0)
			return -EPROTO;
		at += (size_t)n;
	}
	return 0;
}

/* Executes UMAD_OP_WRITE. 0: reply->ret is the result of write(). -EPROTO: the message is malformed, *reply is not set. */
static int umad_do_write(struct umad_fd *u, const struct ipc_umad *q, const void *body, int fd,
			 struct ipc_umad_reply *reply)
{
	ns_t now = u->of->us->loop->now;
	void *all = NULL;
	ssize_t ret;
	int rc = 0;

	if (fd < 0 ? q->count != q->len : q->len || q->count <= IPC_UMAD_INLINE)
		return -EPROTO;
	if (fd >= 0) {
		all = q->count <= WRITE_MAX ? malloc(q->count) : NULL;
		if (!all) {
			reply->ret = -ENOMEM;
			return 0;
		}
		rc = umad_memfd_read(fd, all, q->count);
	}
	if (!rc) {
		ret = umad_write(u->file, all ? all : body, q->count, now);
		reply->ret = ret < 0 ? (int32_t)ret : 0;
	}
	free(all);
	return rc;
}

/* Result of UMAD_OP_READ if the packet q->seq is not the long packet that the ring is waiting for. Always an error. */
static int32_t umad_nothing_read(struct umad_fd *u, const struct ipc_umad *q, void *out)
{
	size_t copied;

	if (umad_next_len(u->file))
		return -EAGAIN;
	return (int32_t)umad_read(u->file, out, min(q->count, (uint64_t)IPC_UMAD_INLINE), &copied);
}

/* Executes UMAD_OP_READ for the long packet. Up to IPC_UMAD_INLINE bytes are copied to out, more to a new memfd *fd. */
static void umad_do_read(struct umad_fd *u, const struct ipc_umad *q, struct ipc_umad_reply *reply,
			 void *out, int *fd)
{
	size_t count, copied = 0;
	ssize_t ret;
	void *buf;

	if (!u->marked || q->seq != u->seq) {
		reply->ret = umad_nothing_read(u, q, out);
		return;
	}
	/* An earlier READ has copied the packet, but it was not taken: put it back. */
	if (u->held)
		umad_unread(u->file);
	u->held = false;
	count = min((uint64_t)umad_next_len(u->file), q->count);
	buf = count > IPC_UMAD_INLINE ? malloc(count) : out;
	if (!buf) {
		reply->ret = -ENOMEM;
		return;
	}
	ret = umad_read(u->file, buf, count, &copied);
	reply->ret = ret < 0 ? (int32_t)ret : 0;
	u->held = ret >= 0;
	if (copied > IPC_UMAD_INLINE) {
		*fd = umad_memfd_of(buf, copied);
		if (*fd < 0) {
			reply->ret = *fd;
			copied = 0;
		}
	} else if (buf != out) {
		memcpy(out, buf, copied);
	}
	reply->len = (uint32_t)copied;
	if (buf != out)
		free(buf);
}

static void umad_do_take(struct umad_fd *u, const struct ipc_umad *q, struct ipc_umad_reply *reply)
{
	if (!u->held || q->seq != u->seq)
		return;
	u->held = false;
	umad_ring_unmark(u);
	reply->taken = 1;
	umad_ring_show(u);
}

static int umad_do_ioctl(struct umad_fd *u, const struct ipc_umad *q, const void *body,
			 struct ipc_umad_reply *reply, void *out)
{
	ns_t now = u->of->us->loop->now;
	int len = umad_ioctl_len(q->cmd);
	uint8_t arg[ARG_MAX_LEN];
	struct umad_answer a;

	if (len >= 0 && (q->len != len || q->len > sizeof(arg)))
		return -EPROTO;
	memcpy(arg, body, len > 0 ? q->len : 0);
	a = umad_ioctl(u->file, q->cmd, arg, now);
	/*
	 * REGISTER_AGENT fails if another agent has the class and method. That agent may belong to
	 * a file whose close was not handled yet: close such files and try again.
	 */
	if (a.rc == -EINVAL && !a.len && umad_fd_sweep(u)) {
		memcpy(arg, body, len > 0 ? q->len : 0);
		a = umad_ioctl(u->file, q->cmd, arg, now);
	}
	if (!a.rc)
		umad_ring_agents(u, q->cmd, arg);
	reply->ret = a.rc;
	reply->off = a.off;
	reply->len = a.len;
	memcpy(out, arg + a.off, a.len);
	return 0;
}

static struct umad_fd *umad_fd_find(const struct umads *us, uint32_t number)
{
	struct umad_fd *u = idtable_find(&us->ids, number & (UMAD_MAX_FILES - 1));

	return u && u->number == number && u->file ? u : NULL;
}

void umad_posted(struct umads *us, uint32_t file, const void *data, size_t len)
{
	struct umad_fd *u = umad_fd_find(us, file);

	if (!u)
		return;
	if (len)
		umad_ring_send(u, data, len);
	umad_ring_show(u);
}

/* A call has failed: appends the reason to the answer. */
static void umad_fd_why(const struct umad_fd *u, struct ipc_umad_reply *reply, void *out)
{
	struct why *why = &u->of->port.mad->host->why;

	if (!why->id)
		why_set(why, COMMAND, (uint64_t)-reply->ret);
	memcpy((char *)out + reply->len, why, sizeof(*why));
	reply->why = 1;
}

int umad_call(struct umads *us, const struct ipc_umad *q, const void *body, int memfd,
	      struct ipc_umad_reply *reply, void *out, int *fd)
{
	struct umad_fd *u = umad_fd_find(us, q->file);
	int rc = 0;

	*fd = -1;
	if (!u)
		return -EBADF;
	umad_ring_show(u);
	if (q->op >= UMAD_OPS || (memfd >= 0 && q->op != UMAD_OP_WRITE))
		return -EPROTO;
	u->of->port.mad->host->why.id = WHY_NONE;
	switch ((enum ipc_umad_op)q->op) {
	case UMAD_OP_WRITE:
		rc = umad_do_write(u, q, body, memfd, reply);
		break;
	case UMAD_OP_READ:
		umad_do_read(u, q, reply, out, fd);
		break;
	case UMAD_OP_TAKE:
		umad_do_take(u, q, reply);
		break;
	case UMAD_OP_IOCTL:
		rc = umad_do_ioctl(u, q, body, reply, out);
		break;
	case UMAD_OPS:
		break;
	}
	if (!rc && reply->ret < 0 && *fd < 0 && (q->op == UMAD_OP_WRITE || q->op == UMAD_OP_IOCTL))
		umad_fd_why(u, reply, out);
	return rc;
}
