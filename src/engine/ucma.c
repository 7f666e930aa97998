/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * /dev/infiniband/rdma_cm. The program's descriptor is one end of a pair whose
 * other end rused holds: rused hears of its last close, as a release() would,
 * and makes it readable while there are events. What is written to it goes to
 * rused as it is; here are only the things that take the program's memory and
 * descriptors: the response, an option's value, the other file of MIGRATE_ID.
 *
 * Numbers of files are rused's: a forked child uses the files it inherited
 * through a connection of its own, as under a kernel.
 */
#include <errno.h>
#include <rdma/rdma_user_cm.h>
#include <string.h>
#include "base/sys.h"
#include "core/umem.h"
#include "engine/engine_internal.h"
#include "ipc/ucma_msg.h"

#define REPLY_MAX 1024
#define WRITE_MAX 0x7ffff000	/* the kernel's MAX_RW_COUNT */

/* A command with what belongs to it, as rused wants it. */
struct call {
	struct ipc_ucma h;
	uint8_t cmd[IPC_UCMA_CMD + IPC_UCMA_OPT];
	uint32_t opt_len;	/* bytes of the option behind the command */
	int from;		/* MIGRATE_ID's descriptor */
};

struct reply {
	struct ipc_ucma_reply h;
	uint8_t data[REPLY_MAX];
};

/* Bytes of response a command has at most, by its number. */
static const uint16_t responses[] = {
	[RDMA_USER_CM_CMD_CREATE_ID] = sizeof(struct rdma_ucm_create_id_resp),
	[RDMA_USER_CM_CMD_DESTROY_ID] = sizeof(struct rdma_ucm_destroy_id_resp),
	[RDMA_USER_CM_CMD_QUERY_ROUTE] = sizeof(struct rdma_ucm_query_route_resp),
	[RDMA_USER_CM_CMD_INIT_QP_ATTR] = sizeof(struct ib_uverbs_qp_attr),
	[RDMA_USER_CM_CMD_GET_EVENT] = sizeof(struct rdma_ucm_event_resp),
	[RDMA_USER_CM_CMD_JOIN_IP_MCAST] = sizeof(struct rdma_ucm_create_id_resp),
	[RDMA_USER_CM_CMD_LEAVE_MCAST] = sizeof(struct rdma_ucm_destroy_id_resp),
	[RDMA_USER_CM_CMD_MIGRATE_ID] = sizeof(struct rdma_ucm_migrate_resp),
	[RDMA_USER_CM_CMD_QUERY] = sizeof(struct rdma_ucm_query_addr_resp),
	[RDMA_USER_CM_CMD_JOIN_MCAST] = sizeof(struct rdma_ucm_create_id_resp),
};

int engine_ucma_open(uint32_t *file)
{
	struct ipc_ucma_open r;
	int fds[IPC_MAX_FDS], nfds = IPC_MAX_FDS, ret;
	size_t rsize = sizeof(r);

	engine_check_fork();
	if (!engine_lock())
		return -EDEADLK;
	ret = rused_call_fds(IPC_UCMA_OPEN, NULL, 0, &r, &rsize, fds, &nfds);
	engine_unlock();
	if (ret)
		return ret;
	for (int i = 1; i < nfds; i++)
		sys_close(fds[i]);
	if (nfds < 1 || rsize != sizeof(r)) {
		if (nfds)
			sys_close(fds[0]);
		return -EPROTO;
	}
	*file = r.file;
	return fds[0];
}

/* Where the response goes: the pointer is the first member of all that have one, but for CREATE_ID. */
static void *response_of(const struct call *c)
{
	const struct rdma_ucm_cmd_hdr *hdr = (const void *)c->cmd;
	size_t off = sizeof(*hdr);
	uint64_t p;

	if (hdr->cmd == RDMA_USER_CM_CMD_CREATE_ID)
		off += offsetof(struct rdma_ucm_create_id, response);
	if (c->h.len < off + sizeof(p))
		return NULL;
	memcpy(&p, c->cmd + off, sizeof(p));
	return (void *)(uintptr_t)p;
}

/* SET_OPTION: the value itself in place of its pointer. A fault is told when the id has been found good. */
static void take_option(struct call *c)
{
	struct rdma_ucm_set_option o;

	if (c->h.len < sizeof(struct rdma_ucm_cmd_hdr) + sizeof(o))
		return;
	memcpy(&o, c->cmd + sizeof(struct rdma_ucm_cmd_hdr), sizeof(o));
	c->h.aux = min(o.optlen, (uint32_t)IPC_UCMA_OPT);
	if (umem_copy(c->cmd + c->h.len, (void *)(uintptr_t)o.optval, c->h.aux)) {
		c->h.aux = 0;
		c->h.aux_error = -EFAULT;
	}
	c->opt_len = c->h.aux;
}

static void take_file(struct call *c)
{
	struct rdma_ucm_migrate_id m;
	int64_t file;

	if (c->h.len < sizeof(struct rdma_ucm_cmd_hdr) + sizeof(m))
		return;
	memcpy(&m, c->cmd + sizeof(struct rdma_ucm_cmd_hdr), sizeof(m));
	file = engine.host->ucma_lookup((int)m.fd);
	c->h.aux = file < 0 ? 0 : (uint32_t)file;
	c->h.aux_error = file < 0 ? (int32_t)file : 0;
	c->from = (int)m.fd;
}

/* Reads the command out of the program's memory. 0 or -errno. */
static int take(struct call *c, uint32_t file, const void *buf, size_t count)
{
	const struct rdma_ucm_cmd_hdr *hdr = (const void *)c->cmd;

	if (count < sizeof(*hdr))
		return -EINVAL;
	c->h = (struct ipc_ucma){ .file = file, .count = count,
				  .len = (uint32_t)min(count, (size_t)IPC_UCMA_CMD) };
	c->opt_len = 0;
	c->from = -1;
	if (umem_copy(c->cmd, buf, c->h.len)) {
		/* A wrong length before memory that is not there: what the header says counts. */
		if (umem_copy(c->cmd, buf, sizeof(*hdr)))
			return -EFAULT;
		c->h.len = sizeof(*hdr);
		if (hdr->in > IPC_UCMA_CMD - sizeof(*hdr) || hdr->in > count - sizeof(*hdr) ||
		    umem_copy(c->cmd, buf, sizeof(*hdr) + hdr->in))
			return -EFAULT;
		c->h.len += hdr->in;
	}
	if (hdr->cmd == RDMA_USER_CM_CMD_SET_OPTION)
		take_option(c);
	else if (hdr->cmd == RDMA_USER_CM_CMD_MIGRATE_ID)
		take_file(c);
	return 0;
}

/*
 * Can the response be written? Asked before the command takes effect, for rused
 * does not see the program's memory.
 */
static bool writable(void *p, size_t len)
{
	uint8_t probe[REPLY_MAX];

	return !umem_copy(probe, p, len) && !umem_copy(p, probe, len);
}

static size_t response_room(const struct rdma_ucm_cmd_hdr *hdr)
{
	return hdr->cmd < ARRAY_SIZE(responses) ? min(hdr->out, responses[hdr->cmd]) : 0;
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

static int call(struct call *c, int fd, struct reply *r, size_t *rsize)
{
	size_t len = sizeof(c->h) + c->h.len + c->opt_len;
	int ret;

	*rsize = sizeof(*r);
	engine_check_fork();
	if (!engine_lock())
		return -EDEADLK;
	ret = rused_call(IPC_UCMA_WRITE, c, len, r, rsize);
	if (!ret && *rsize >= sizeof(r->h)) {
		drain(fd, r->h.taken);
		drain(c->from, r->h.taken_from);
	} else {
		ret = -EIO;
	}
	engine_unlock();
	return ret;
}

/*
 * Until there is an event. Who waits holds the file: another thread that closes
 * the descriptor meanwhile (rping does, at its end) does not end the wait.
 */
static int get_event(struct call *c, int fd, struct reply *r, size_t *rsize)
{
	int held = own_dup(fd), ret;

	if (held == -EBADF)
		return held;
	do {
		ret = call(c, held < 0 ? fd : held, r, rsize);
		if (ret || r->h.ret != -EAGAIN)
			break;
		/* A thread that is cancelled there takes held with it. */
		ret = engine.host->ucma_wait(held < 0 ? fd : held, held >= 0);
	} while (!ret);
	own_close(held);
	return ret;
}

ssize_t engine_ucma_write(uint32_t file, int fd, const void *buf, size_t count)
{
	const struct rdma_ucm_cmd_hdr *hdr;
	struct call c;
	struct reply r;
	size_t rsize, room;
	void *response;
	int ret = take(&c, file, buf, count);

	if (ret)
		return ret;
	hdr = (const void *)c.cmd;
	room = response_room(hdr);
	response = response_of(&c);
	if (room && response && !writable(response, room))
		return -EFAULT;
	ret = hdr->cmd == RDMA_USER_CM_CMD_GET_EVENT ? get_event(&c, fd, &r, &rsize) :
						       call(&c, fd, &r, &rsize);
	if (ret)
		return ret;
	rsize -= sizeof(r.h);
	if (!r.h.ret && rsize && umem_copy(response, r.data, rsize))
		return -EFAULT;
	return r.h.ret ? r.h.ret : (ssize_t)min(count, (size_t)WRITE_MAX);
}
