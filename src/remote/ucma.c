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
#include "core/acks.h"
#include "core/umem.h"
#include "engine/engine.h"
#include "engine/own.h"
#include "engine/rused.h"
#include "engine/shakes.h"
#include "ipc/ucma_msg.h"
#include "cmshare/ucma_response.h"
#include "shared/barrier.h"
#include "remote/remote.h"
#include "remote/ucma_local.h"

/* SET_OPTION: append the value. If it is unreadable, rused answers EFAULT, but only if the id is valid. */
static void take_option(struct remote_ucma_cmd *c)
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

static void take_file(struct remote_ucma_cmd *c)
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

/* A command that sends a message of the CM: `ruse run --shake` may let it be late. */
static void take_shaken(struct remote_ucma_cmd *c)
{
	const struct rdma_ucm_cmd_hdr *hdr = (const void *)c->cmd;
	enum shake_message message = SHAKE_REQ;
	struct rdma_ucm_accept a;
	bool twice;

	if (hdr->cmd == RDMA_USER_CM_CMD_DISCONNECT) {
		message = SHAKE_DREQ;
	} else if (hdr->cmd == RDMA_USER_CM_CMD_ACCEPT) {
		if (c->h.len < sizeof(*hdr) + offsetof(struct rdma_ucm_accept, ece))
			return;
		memcpy(&a, c->cmd + sizeof(*hdr), offsetof(struct rdma_ucm_accept, ece));
		message = a.conn_param.valid ? SHAKE_REP : SHAKE_RTU;
	}
	c->h.aux = (uint32_t)(engine_shake_cm(message, &twice) / NS_US);
	c->h.aux |= twice ? IPC_UCMA_TWICE : 0;
}

/* Read the command from the program's memory. 0 or -errno. */
static int remote_ucma_take(struct remote_ucma_cmd *c, const struct remote_ucma_map *map,
			    const void *buf,
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
	switch (hdr->cmd) {
	case RDMA_USER_CM_CMD_SET_OPTION:
		take_option(c);
		break;
	case RDMA_USER_CM_CMD_MIGRATE_ID:
		take_file(c);
		break;
	case RDMA_USER_CM_CMD_CONNECT:
	case RDMA_USER_CM_CMD_ACCEPT:
	case RDMA_USER_CM_CMD_DISCONNECT:
		take_shaken(c);
		break;
	}
	return 0;
}

/*
 * Is the response's memory writable? Checked before the command takes effect, because rused does
 * not see the program's memory.
 */
static bool remote_ucma_writable(void *p, size_t len)
{
	uint8_t probe[REMOTE_UCMA_ANSWER_MAX];

	return !umem_copy(probe, p, len) && !umem_copy(p, probe, len);
}

static int remote_ucma_ask(struct remote_ucma_map *map, struct remote_ucma_cmd *c, int fd,
			   struct remote_ucma_answer *r)
{
	struct rused_msg m = {
		.q = { .type = IPC_UCMA_WRITE, .req = c, .len =
		       sizeof(c->h) + c->h.len + c->opt_len, .reply = &r->h, .room =
		       	sizeof(*r) - offsetof(struct remote_ucma_answer, h) },
		.of = map->shm->generation,
	};
	struct why why;
	int ret;

	ret = rused_ask(&m);
	if (ret == -EDEADLK)
		return ret;
	if (ret || m.q.rlen < sizeof(r->h))
		return -EIO;
	r->len = m.q.rlen - sizeof(r->h);
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

/* The address of the id in the program, if the command destroys or migrates it; 0: not known. */
static uint64_t remote_ucma_uid(const struct remote_ucma_map *map, const struct remote_ucma_cmd *c,
				enum acks_kind *kind)
{
	const struct rdma_ucm_cmd_hdr *hdr = (const void *)c->cmd;
	struct rdma_ucm_destroy_id d;	/* MIGRATE_ID has its id in the same place */

	*kind = hdr->cmd == RDMA_USER_CM_CMD_MIGRATE_ID ? ACKS_CM_MIGRATE : ACKS_CM_ID;
	if (*kind == ACKS_CM_MIGRATE)
		map = c->from;
	else if (hdr->cmd != RDMA_USER_CM_CMD_DESTROY_ID)
		return 0;
	if (!map || c->h.len < sizeof(*hdr) + sizeof(d))
		return 0;
	memcpy(&d, c->cmd + sizeof(*hdr), sizeof(d));
	return d.id < CMSHARE_RECS && map->recs ? READ_ONCE(map->recs[d.id].uid) : 0;
}

_Static_assert(offsetof(struct rdma_ucm_migrate_id, id) ==
		       offsetof(struct rdma_ucm_destroy_id, id) &&
	       sizeof(struct rdma_ucm_migrate_resp) == sizeof(struct rdma_ucm_destroy_id_resp),
	       "MIGRATE_ID has the id and the number of events where DESTROY_ID has them");

static ssize_t remote_ucma_run(struct remote_ucma_map *map, int fd, struct remote_ucma_cmd *c)
{
	size_t room;
	void *response = (void *)(uintptr_t)cmshare_response(c->cmd, c->h.len, &room);
	struct rdma_ucm_destroy_id_resp destroyed;
	struct remote_ucma_answer r;
	enum acks_kind kind;
	uint64_t uid;
	int ret;

	if (room && response && !remote_ucma_writable(response, room))
		return -EFAULT;
	r.len = 0;
	uid = remote_ucma_uid(map, c, &kind);
	if (!remote_ucma_local(map, fd, c, &r, &ret)) {
		ret = remote_ucma_ask(map, c, fd, &r);
		remote_ucma_answered(c, ret);
	}
	if (ret)
		return ret;
	if (uid && r.len >= sizeof(destroyed)) {
		memcpy(&destroyed, r.data, sizeof(destroyed));
		acks_note(kind, uid, destroyed.events_reported, 0);
	}
	return r.len && umem_copy(response, r.data, r.len) ? -EFAULT : 0;
}

ssize_t remote_ucma_write(void *file, int fd, const void *buf, size_t count)
{
	struct remote_ucma_cmd c;
	ssize_t ret;

	c.from = NULL;
	ret = remote_ucma_take(&c, file, buf, count);

	if (!ret)
		ret = remote_ucma_run(file, fd, &c);
	if (c.from)
		engine_caller()->ucma_put(c.from_ref);
	return ret ? ret : (ssize_t)min(count, (size_t)MAX_RW_COUNT);
}
