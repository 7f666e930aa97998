/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * /dev/infiniband/umadN and issmN.
 *
 * The program's descriptor is one end of a socket pair whose other end rused holds, as for rdma_cm
 * (ucma.c). rused assigns the file numbers. Packets and most MADs are in memory that both share
 * (umad_local.c). Other MADs are sent to rused unchanged. A long MAD is sent in a memfd: write(2)
 * and pread(2) on the memfd copy it from and to the program's memory, and a bad address gives
 * EFAULT.
 */
#include <errno.h>
#include <fcntl.h>
#include <rdma/ib_user_mad.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "base/devnum.h"
#include "base/fds.h"
#include "base/memfd.h"
#include "base/sys.h"
#include "core/umem.h"
#include "engine/engine.h"
#include "engine/own.h"
#include "engine/rused.h"
#include "remote/remote.h"
#include "remote/umad_local.h"
#include "remote/wait.h"

#define ARG_MAX_LEN 64

struct call {
	struct ipc_umad h;
	uint8_t data[IPC_UMAD_INLINE];
};

struct reply {
	struct ipc_umad_reply h;
	uint8_t data[IPC_UMAD_OUT];
	struct why why;		/* WHY_NONE: none */
};

bool remote_has_umad(uint32_t minor)
{
	const char *sysfs = engine_sysfs();
	size_t root = strlen(sysfs), n = minor % ISSM_BASE_MINOR;
	const char *name = minor < ISSM_BASE_MINOR ? "/dev/infiniband/umad" :
						     "/dev/infiniband/issm";
	char path[256];

	/* RUN/sys -> RUN */
	if (minor >= 2 * ISSM_BASE_MINOR || root < 4 || root > sizeof(path) - 40)
		return false;
	root -= 4;
	memcpy(path, sysfs, root);
	strcpy(path + root, name);
	root += strlen(name);
	if (n > 9)
		path[root++] = (char)('0' + n / 10);
	path[root++] = (char)('0' + n % 10);
	path[root] = 0;
	return !sys_call(SYS_faccessat, AT_FDCWD, path, F_OK);
}

/*
 * The datagram from rused carries the result: 0 (the open of issmN succeeds: this file holds the device port), or a
 * positive errno.
 */
static int sm_result(int fd)
{
	char c;
	struct iovec iov = { &c, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	return sys_recvmsg(fd, &m, MSG_PEEK | MSG_DONTWAIT) == 1 ? -c : -EIO;
}

/* issmN: wait for rused's result. 0 or -errno. */
static int wait_sm(int fd)
{
	/* If the thread is cancelled here, the descriptor is closed. */
	int ret = engine_caller()->sock_wait(fd, true);

	return ret ? ret : sm_result(fd);
}

int remote_umad_open(uint32_t minor, bool nonblock, void **file)
{
	struct ipc_umad_open q = { .minor = minor, .nonblock = nonblock };
	int fds[IPC_MAX_FDS], ret, want = minor < ISSM_BASE_MINOR ? 2 : 1;
	struct ipc_umad_opened r;
	struct rused_msg m = { .q = { IPC_REQ(IPC_UMAD_OPEN, &q), IPC_ANSWER(&r),
				      IPC_RFDS(fds) } };

	*file = NULL;
	ret = rused_ask(&m);
	if (ret)
		return ret;
	ret = m.q.nrfds == want && m.q.rlen == sizeof(r) ? 0 : -EPROTO;
	if (!ret)
		ret = want == 2 ? remote_umad_map_open(r.file, fds[1], file) : wait_sm(fds[0]);
	for (int i = 0; i < m.q.nrfds; i++)
		if (ret || i)
			sys_close(fds[i]);
	return ret ? ret : fds[0];
}

/*
 * Ask rused to execute a write, read or ioctl on a umad file. memfd: the data of a write, in place
 * of c->data; -1: none. *got: a memfd with the data of a read, in place of r->data; -1: none. The
 * caller closes both. 0: rused has answered, and r->h has the result. -errno: rused did not execute
 * the request; the file is dead.
 */
static int remote_umad_call(const struct remote_umad_map *map, struct call *c, int memfd,
			    struct reply *r,
			    int *got)
{
	int fds[IPC_MAX_FDS], nfds, ret;
	struct rused_msg m = {
		.q = { .type = IPC_UMAD_CALL, .req = c, .len = sizeof(c->h) + c->h.len,
		       .fds = &memfd, .nfds = memfd >= 0, .reply = r,
		       .room = offsetof(struct reply, why), IPC_RFDS(fds) },
		.of = map->shm->generation,
	};
	size_t rsize, want;

	*got = -1;
	r->why.id = WHY_NONE;
	ret = rused_ask(&m);
	if (ret)
		return ret;
	rsize = m.q.rlen;
	nfds = m.q.nrfds;
	for (int i = 1; i < nfds; i++)
		sys_close(fds[i]);
	if (nfds)
		*got = fds[0];
	want = rsize < sizeof(r->h) ? 0 : sizeof(r->h) + (nfds ? 0 : r->h.len) +
					  (r->h.why ? sizeof(r->why) : 0);
	if (rsize != want && (!nfds || rsize < sizeof(r->h))) {
		if (nfds)
			sys_close(fds[0]);
		return -EIO;
	}
	if (!nfds && r->h.why)
		memcpy(&r->why, r->data + r->h.len, sizeof(r->why));
	return 0;
}

/* A memfd with the program's bytes, or -errno; -EFAULT: they are not readable. */
static int memfd_of(const void *buf, size_t count)
{
	int fd = fds_memory("ruse-umad", MFD_CLOEXEC);
	size_t at = 0;
	int ret = fd < 0 ? 0 : memfd_grow(fd, count);

	if (ret) {
		sys_close(fd);
		return ret;
	}
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

static ssize_t write_mad(struct remote_umad_map *map, const void *buf, size_t count,
			 struct why *why)
{
	struct call c;
	int memfd = -1, got, ret;
	struct reply r;

	c.h = (struct ipc_umad){ .file = map->shm->number, .op = UMAD_OP_WRITE, .count = count };
	if (count > IPC_UMAD_INLINE) {
		memfd = memfd_of(buf, count);
		if (memfd < 0)
			return memfd;
	} else {
		c.h.len = (uint16_t)count;
		/*
		 * If count is less than the header's length, the data are not read, so that a bad
		 * address gives EINVAL and not EFAULT, as in the kernel.
		 */
		if (count >= sizeof(struct ib_user_mad_hdr_old) && umem_copy(c.data, buf, count))
			return -EFAULT;
		if (remote_umad_post(map, c.data, count))
			return (ssize_t)count;
	}
	ret = remote_umad_call(map, &c, memfd, &r, &got);
	if (memfd >= 0)
		sys_close(memfd);
	if (got >= 0)
		sys_close(got);
	if (ret)
		return -EIO;
	*why = r.why;
	return r.h.ret ? r.h.ret : (ssize_t)count;
}

ssize_t remote_umad_write(void *file, const void *buf, size_t count)
{
	struct why why = { .id = WHY_NONE };
	ssize_t ret;

	count = min(count, (size_t)MAX_RW_COUNT);
	ret = write_mad(file, buf, count, &why);
	return ret < 0 ? remote_umad_failed("umad_send", ret, &why) : ret;
}

/*
 * Read a packet that is too long for the ring. -EAGAIN: another thread or process has read it
 * meanwhile.
 */
static ssize_t read_long(struct remote_umad_map *map, void *buf, size_t count, uint32_t seq)
{
	struct call c;
	struct reply r;
	bool there;
	ssize_t ret;
	int got;

	c.h = (struct ipc_umad){ .file = map->shm->number, .op = UMAD_OP_READ, .seq = seq,
				 .count = count };
	if (remote_umad_call(map, &c, -1, &r, &got))
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
	if (!remote_umad_call(map, &c, -1, &r, &got) && got >= 0)
		sys_close(got);
	return ret;
}

ssize_t remote_umad_read(void *file, int fd, void *buf, size_t count)
{
	struct remote_umad_map *map = file;
	struct remote_wait w = { .fd = fd, .held = -1 };
	struct why why = { .id = WHY_NONE };
	uint32_t seq;
	ssize_t ret;

	count = min(count, (size_t)MAX_RW_COUNT);
	engine_process();
	do {
		ret = remote_umad_read_ring(map, buf, count, &seq, &why);
		if (seq)
			ret = read_long(map, buf, count, seq);
		if (ret >= 0 || ret == -EAGAIN)
			remote_umad_settle(map, w.fd, ret >= 0);
		if (ret != -EAGAIN)
			break;
		ret = seq ? 0 : remote_wait(&w);
	} while (!ret);
	own_close(w.held);
	if (ret == -EIO)
		remote_umad_gone_pause(map, fd);
	if (ret < 0)
		return remote_umad_failed("umad_recv", ret, &why);
	if (why.id)
		remote_umad_failed("umad_recv", -ETIMEDOUT, &why);
	return ret;
}

/* The length of the argument; -1: unknown command. */
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

/* The kernel's answer on a file whose device is gone. */
static int dead_ioctl(unsigned long cmd)
{
	return cmd == IB_USER_MAD_UNREGISTER_AGENT ? -EINVAL : -EPIPE;
}

static int umad_ioctl_ask(struct remote_umad_map *map, unsigned long cmd, void *arg,
			  struct why *why)
{
	struct call c;
	int len = arg_len(cmd), got, ret;
	struct reply r;

	if (len < 0 || len > ARG_MAX_LEN)
		return -ENOTTY;
	c.h = (struct ipc_umad){ .file = map->shm->number, .op = UMAD_OP_IOCTL,
				 .cmd = (uint32_t)cmd, .len = (uint16_t)len };
	if (len && umem_copy(c.data, arg, (size_t)len))
		return -EFAULT;
	/*
	 * Check that arg is writable before rused creates the agent. rused does not see the
	 * program's memory, so it cannot check it.
	 */
	if (_IOC_DIR(cmd) & _IOC_READ && umem_copy(arg, c.data, (size_t)len))
		return -EFAULT;
	ret = remote_umad_call(map, &c, -1, &r, &got);
	if (got >= 0)
		sys_close(got);
	if (ret) {
		why_set(why, UMAD_GONE);
		return dead_ioctl(cmd);
	}
	*why = r.why;
	if (r.h.off > (uint32_t)len || r.h.len > (uint32_t)len - r.h.off || got >= 0)
		return -EIO;
	if (r.h.len && umem_copy((char *)arg + r.h.off, r.data, r.h.len))
		return -EFAULT;
	return r.h.ret;
}

int remote_umad_ioctl(void *file, unsigned long cmd, void *arg)
{
	struct why why = { .id = WHY_NONE };
	struct remote_umad_map *map = file;
	int ret = umad_ioctl_ask(map, cmd, arg, &why);

	/* Not a failure: a program ends, and its agents have ended with the device. */
	if (cmd == IB_USER_MAD_UNREGISTER_AGENT &&
	    (why.id == WHY_UMAD_GONE || READ_ONCE(map->shm->dead)))
		return ret;
	return ret ? (int)remote_umad_failed(remote_umad_ioctl_call(cmd), ret, &why) : 0;
}
