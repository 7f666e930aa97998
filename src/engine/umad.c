/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * /dev/infiniband/umadN and issmN. The program's descriptor is one end of a pair whose other end
 * rused holds, as for rdma_cm (ucma.c); numbers of files are rused's. What is to be read comes
 * through that pair. Bytes cross as they are, many of them in a memfd, which the kernel fills from
 * and copies into the program's memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <rdma/ib_user_mad.h>
#include <string.h>
#include <sys/mman.h>
#include "base/sys.h"
#include "core/umem.h"
#include "engine/engine_internal.h"
#include "ipc/umad_msg.h"

#define COUNT_MAX 0x7ffff000	/* the kernel's MAX_RW_COUNT */
#define ISSM_BASE_MINOR 64
#define ARG_MAX_LEN 64

struct call {
	struct ipc_umad h;
	uint8_t data[IPC_UMAD_INLINE];
};

struct reply {
	struct ipc_umad_reply h;
	uint8_t data[IPC_UMAD_INLINE];
};

bool engine_has_umad(uint32_t minor)
{
	size_t root = strlen(engine.sysfs), n = minor % ISSM_BASE_MINOR;
	const char *name = minor < ISSM_BASE_MINOR ? "/dev/infiniband/umad" :
						     "/dev/infiniband/issm";
	char path[sizeof(engine.sysfs) + 40];

	/* RUN/sys -> RUN */
	if (minor >= 2 * ISSM_BASE_MINOR || root < 4)
		return false;
	root -= 4;
	memcpy(path, engine.sysfs, root);
	strcpy(path + root, name);
	root += strlen(name);
	if (n > 9)
		path[root++] = (char)('0' + n / 10);
	path[root++] = (char)('0' + n % 10);
	path[root] = 0;
	return !sys_call(SYS_faccessat, AT_FDCWD, path, F_OK);
}

/* Ours now, or why not: the datagram says so. */
static int sm_result(int fd)
{
	char c;
	struct iovec iov = { &c, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	return sys_recvmsg(fd, &m, MSG_PEEK | MSG_DONTWAIT) == 1 ? -c : -EIO;
}

int engine_umad_open(uint32_t minor, bool nonblock, uint32_t *file)
{
	struct ipc_umad_open q = { .minor = minor, .nonblock = nonblock };
	int fds[IPC_MAX_FDS], nfds = IPC_MAX_FDS, ret;
	struct ipc_umad_opened r;
	size_t rsize = sizeof(r);

	engine_check_fork();
	ret = rused_ask(IPC_UMAD_OPEN, &q, sizeof(q), -1, &r, &rsize, fds, &nfds);
	if (ret)
		return ret;
	for (int i = 1; i < nfds; i++)
		sys_close(fds[i]);
	if (nfds < 1)
		return -EPROTO;
	ret = rsize == sizeof(r) ? 0 : -EPROTO;
	if (!ret && minor >= ISSM_BASE_MINOR) {
		/* A thread that is cancelled there takes the descriptor with it. */
		ret = engine.host->ucma_wait(fds[0], true);
		if (!ret)
			ret = sm_result(fds[0]);
	}
	if (ret) {
		sys_close(fds[0]);
		return ret;
	}
	*file = r.file;
	return fds[0];
}

static void drain(int fd, uint32_t n)
{
	char c;
	struct iovec iov = { &c, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	while (n--)
		if (sys_recvmsg(fd, &m, MSG_DONTWAIT) <= 0)
			return;
}

/*
 * memfd: what is written, instead of data; *got: what was read, instead of data, the caller's,
 * or -1. What the file's call returned is in r->h. 0, or -errno: there was no call, the file is dead.
 */
static int call(struct call *c, int fd, int memfd, struct reply *r, int *got)
{
	int fds[IPC_MAX_FDS], nfds = IPC_MAX_FDS, ret;
	size_t rsize = sizeof(*r), len = sizeof(c->h) + c->h.len;

	*got = -1;
	engine_check_fork();
	ret = rused_ask(IPC_UMAD_CALL, c, len, memfd, r, &rsize, fds, &nfds);
	/* Not between another thread's look at a datagram and its taking it. */
	if (!ret && rsize >= sizeof(r->h) && r->h.taken &&
	    elock_enter(&engine.umad_reading)) {
		drain(fd, r->h.taken);
		elock_leave(&engine.umad_reading);
	}
	if (ret)
		return ret;
	for (int i = 1; i < nfds; i++)
		sys_close(fds[i]);
	if (nfds)
		*got = fds[0];
	if (rsize < sizeof(r->h) || (!nfds && rsize != sizeof(r->h) + r->h.len)) {
		if (nfds)
			sys_close(fds[0]);
		return -EIO;
	}
	return 0;
}

/* A memfd with the program's bytes, or -errno: -EFAULT, they are not there. */
static int memfd_of(const void *buf, size_t count)
{
	int fd = (int)sys_call(SYS_memfd_create, "ruse-umad", MFD_CLOEXEC);
	size_t at = 0;

	while (fd >= 0 && at < count) {
		ssize_t n = sys_write(fd, (const char *)buf + at, count - at);

		if (n == -EINTR)
			continue;
		if (n <= 0) {
			sys_close(fd);
			return n ? (int)n : -ENOMEM;
		}
		at += (size_t)n;
	}
	return fd;
}

static bool memfd_to(int fd, void *buf, size_t len)
{
	size_t at = 0;

	while (at < len) {
		ssize_t n = sys_call(SYS_pread64, fd, (char *)buf + at, len - at, at);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return false;
		at += (size_t)n;
	}
	return true;
}

ssize_t engine_umad_write(uint32_t file, int fd, const void *buf, size_t count)
{
	struct call c = { .h = { .file = file, .op = UMAD_OP_WRITE } };
	int memfd = -1, got, ret;
	struct reply r;

	count = min(count, (size_t)COUNT_MAX);
	c.h.count = count;
	if (count > IPC_UMAD_INLINE) {
		memfd = memfd_of(buf, count);
		if (memfd < 0)
			return memfd;
	} else {
		c.h.len = (uint16_t)count;
		/* Too short for a header is told before memory that is not there. */
		if (count >= sizeof(struct ib_user_mad_hdr_old) && umem_copy(c.data, buf, count))
			return -EFAULT;
	}
	ret = call(&c, fd, memfd, &r, &got);
	if (memfd >= 0)
		sys_close(memfd);
	if (got >= 0)
		sys_close(got);
	if (ret)
		return -EIO;
	return r.h.ret ? r.h.ret : (ssize_t)count;
}

/* Until a packet is there. Who waits holds the file. */
static int wait_packet(int fd)
{
	int held = own_dup(fd), ret;

	if (held == -EBADF)
		return held;
	ret = engine.host->ucma_wait(held < 0 ? fd : held, held >= 0);
	own_close(held);
	return ret == -ECONNRESET ? -EIO : ret;
}

struct shown {
	struct ipc_umad_shown h;
	uint8_t data[IPC_UMAD_SHOWN];
};

static ssize_t next_shown(int fd, struct shown *d, int flags)
{
	struct iovec iov = { d, sizeof(*d) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n = sys_recvmsg(fd, &m, flags | MSG_DONTWAIT);

	if (n == -EAGAIN)
		return n;
	return n < (ssize_t)sizeof(d->h) ? -EIO : n - (ssize_t)sizeof(d->h);
}

/*
 * The packet that is in the socket: bytes or -errno; -EAGAIN there is none; *seq: a long one, which
 * is rused's. It is taken out once the program has it, under a lock of its own: the connection's may
 * be another thread's that waits for rused, and opensm writes in one thread, reads in the other.
 */
static ssize_t read_shown(int fd, void *buf, size_t count, uint32_t *seq)
{
	struct shown d;
	ssize_t len = next_shown(fd, &d, MSG_PEEK);

	*seq = 0;
	if (len < 0)
		return len;
	*seq = d.h.seq;
	if (*seq)
		return 0;
	if (count < (size_t)len)
		return -EINVAL;
	if (umem_copy(buf, d.data, (size_t)len))
		return -EFAULT;
	next_shown(fd, &d, 0);
	return len;
}

/* A long packet. -EAGAIN: another process has read it meanwhile, or, seq 0, there is none. */
static ssize_t read_long(uint32_t file, int fd, void *buf, size_t count, uint32_t seq)
{
	struct call c = { .h = { .file = file, .op = UMAD_OP_READ, .seq = seq, .count = count } };
	struct reply r;
	bool there;
	ssize_t ret;
	int got;

	if (call(&c, fd, -1, &r, &got))
		return -EIO;
	if (r.h.len > count)
		there = false;
	else if (got >= 0)
		there = memfd_to(got, buf, r.h.len);
	else
		there = !umem_copy(buf, r.data, r.h.len);
	if (got >= 0)
		sys_close(got);
	if (!there)
		return -EFAULT;
	ret = r.h.ret ? r.h.ret : (ssize_t)r.h.len;
	if (ret < 0)
		return ret;
	c.h.op = UMAD_OP_TAKE;
	if (!call(&c, fd, -1, &r, &got) && got >= 0)
		sys_close(got);
	return ret;
}

ssize_t engine_umad_read(uint32_t file, int fd, void *buf, size_t count)
{
	uint32_t seq;
	ssize_t ret;

	count = min(count, (size_t)COUNT_MAX);
	for (;;) {
		engine_check_fork();
		if (!elock_enter(&engine.umad_reading))
			return -EDEADLK;
		ret = read_shown(fd, buf, count, &seq);
		elock_leave(&engine.umad_reading);
		if (!seq && ret != -EAGAIN)
			return ret;
		/* rused knows how long the header is. */
		if (seq || count < sizeof(struct ib_user_mad_hdr))
			ret = read_long(file, fd, buf, count, seq);
		if (ret != -EAGAIN)
			return ret;
		ret = seq ? 0 : wait_packet(fd);
		if (ret)
			return ret;
	}
}

/* The argument's length; -1: no such command. */
static int arg_len(unsigned long cmd)
{
	switch (cmd) {
	case IB_USER_MAD_REGISTER_AGENT:
	case IB_USER_MAD_UNREGISTER_AGENT:
	case IB_USER_MAD_ENABLE_PKEY:
	case IB_USER_MAD_REGISTER_AGENT2:
		return (int)_IOC_SIZE(cmd);
	}
	return -1;
}

/* What the kernel says of a file whose device is gone. */
static int dead_ioctl(unsigned long cmd)
{
	return cmd == IB_USER_MAD_UNREGISTER_AGENT ? -EINVAL : -EPIPE;
}

int engine_umad_ioctl(uint32_t file, int fd, unsigned long cmd, void *arg)
{
	struct call c = { .h = { .file = file, .op = UMAD_OP_IOCTL, .cmd = (uint32_t)cmd } };
	int len = arg_len(cmd), got, ret;
	struct reply r;

	if (len < 0 || len > ARG_MAX_LEN)
		return -ENOTTY;
	c.h.len = (uint16_t)len;
	if (len && umem_copy(c.data, arg, (size_t)len))
		return -EFAULT;
	/* Asked before the agent is there, for rused does not see the program's memory. */
	if (_IOC_DIR(cmd) & _IOC_READ && umem_copy(arg, c.data, (size_t)len))
		return -EFAULT;
	ret = call(&c, fd, -1, &r, &got);
	if (got >= 0)
		sys_close(got);
	if (ret)
		return dead_ioctl(cmd);
	if (r.h.off > (uint32_t)len || r.h.len > (uint32_t)len - r.h.off || got >= 0)
		return -EIO;
	if (r.h.len && umem_copy((char *)arg + r.h.off, r.data, r.h.len))
		return -EFAULT;
	return r.h.ret;
}
