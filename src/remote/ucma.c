/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * /dev/infiniband/rdma_cm.
 *
 * The program's descriptor is one end of a socket pair; rused holds the other. rused thus notices
 * the last close, as release() in the kernel, and makes the descriptor readable while there are
 * events. Events and some answers are in memory that rused shares (ucma_local.c). All other
 * commands go to rused unchanged. This file handles what refers to the program's memory and
 * descriptors: the response, the value of an option, the other file of MIGRATE_ID.
 *
 * File numbers are assigned by rused. A forked child may use the files that it inherited, as with a
 * kernel; it sends the commands over its own connection to rused.
 */
#include <errno.h>
#include <rdma/rdma_user_cm.h>
#include <string.h>
#include "base/sys.h"
#include "core/umem.h"
#include "engine/engine.h"
#include "engine/own.h"
#include "engine/rused.h"
#include "ipc/ucma_msg.h"
#include "remote/remote.h"
#include "remote/ucma_local.h"

/* Maximum length of the response, by command. */
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

/*
 * The address for the response: the first member of every command that has one, except CREATE_ID.
 */
static void *response_of(const struct ucma_cmd *c)
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

/* SET_OPTION: append the value. If it is unreadable, rused answers EFAULT, but only if the id is valid. */
static void take_option(struct ucma_cmd *c)
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

static void take_file(struct ucma_cmd *c)
{
	struct rdma_ucm_migrate_id m;
	void *file = NULL;
	int ret;

	if (c->h.len < sizeof(struct rdma_ucm_cmd_hdr) + sizeof(m))
		return;
	memcpy(&m, c->cmd + sizeof(struct rdma_ucm_cmd_hdr), sizeof(m));
	ret = engine_caller()->ucma_get((int)m.fd, &file, &c->from_ref);
	c->from = ret ? NULL : file;
	c->h.aux = ret ? 0 : c->from->shm->number;
	c->h.aux_error = ret;
	c->from_fd = (int)m.fd;
}

/* Read the command from the program's memory. 0 or -errno. */
static int ucma_cmd_take(struct ucma_cmd *c, const struct ucma_map *map, const void *buf,
			 size_t count)
{
	const struct rdma_ucm_cmd_hdr *hdr = (const void *)c->cmd;

	if (count < sizeof(*hdr))
		return -EINVAL;
	c->h = (struct ipc_ucma){ .file = map->shm->number, .count = count,
				  .len = (uint32_t)min(count, (size_t)IPC_UCMA_CMD) };
	c->opt_len = 0;
	c->from = NULL;
	if (umem_copy(c->cmd, buf, c->h.len)) {
		/* count may exceed the readable memory: read as much as the header says. */
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
 * Is the response's memory writable? Checked before the command takes effect, because rused does
 * not see the program's memory.
 */
static bool ucma_buf_writable(void *p, size_t len)
{
	uint8_t probe[UCMA_ANSWER_MAX];

	return !umem_copy(probe, p, len) && !umem_copy(p, probe, len);
}

static size_t response_room(const struct rdma_ucm_cmd_hdr *hdr)
{
	return hdr->cmd < ARRAY_SIZE(responses) ? min(hdr->out, responses[hdr->cmd]) : 0;
}

static int remote_ucma_call(struct ucma_map *map, struct ucma_cmd *c, int fd, struct ucma_answer *r)
{
	size_t len = sizeof(c->h) + c->h.len + c->opt_len;
	struct why why;
	int ret;

	r->len = sizeof(*r) - offsetof(struct ucma_answer, h);
	ret = rused_ask(IPC_UCMA_WRITE, c, len, -1, &r->h, &r->len, NULL, NULL);
	if (ret == -EDEADLK)
		return ret;
	if (ret || r->len < sizeof(r->h))
		return -EIO;
	r->len -= sizeof(r->h);
	/*
	 * If the command removed the file's last unread events, for example together with their id,
	 * the descriptor must not stay readable.
	 */
	inbox_settle(&map->shm->inbox, fd);
	if (c->from)
		inbox_settle(&c->from->shm->inbox, c->from_fd);
	if (r->h.ret < 0 && r->h.ret > -4096 && r->len == sizeof(why)) {
		memcpy(&why, r->data, sizeof(why));
		remote_ucma_refused(((const struct rdma_ucm_cmd_hdr *)(const void *)c->cmd)->cmd,
				    -r->h.ret, &why);
	}
	return r->h.ret;
}

static ssize_t ucma_cmd_run(struct ucma_map *map, int fd, struct ucma_cmd *c)
{
	const struct rdma_ucm_cmd_hdr *hdr = (const void *)c->cmd;
	void *response = response_of(c);
	struct ucma_answer r;
	size_t room = response_room(hdr);
	int ret;

	if (room && response && !ucma_buf_writable(response, room))
		return -EFAULT;
	r.len = 0;
	if (!ucma_local(map, fd, c, &r, &ret)) {
		ret = remote_ucma_call(map, c, fd, &r);
		ucma_answered(c, ret);
	}
	if (ret)
		return ret;
	return r.len && umem_copy(response, r.data, r.len) ? -EFAULT : 0;
}

ssize_t remote_ucma_write(void *file, int fd, const void *buf, size_t count)
{
	struct ucma_cmd c;
	ssize_t ret;

	c.from = NULL;
	ret = ucma_cmd_take(&c, file, buf, count);

	if (!ret)
		ret = ucma_cmd_run(file, fd, &c);
	if (c.from)
		engine_caller()->ucma_put(c.from_ref);
	return ret ? ret : (ssize_t)min(count, (size_t)MAX_RW_COUNT);
}
