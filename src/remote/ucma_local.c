/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rdma_cm commands that need no answer of rused, by the memory that rused shares (cmshare/ucma_shm.h).
 *
 * GET_EVENT reads the event ring. Each id has a record (struct cmshare_rec), on which rused keeps the current answers of
 * QUERY and INIT_QP_ATTR and says which commands would succeed. QUERY and INIT_QP_ATTR read the record. A command that
 * would succeed is posted, that is, sent to rused without waiting for an answer: it returns 0 at once, and rused
 * executes posted commands in order while the program continues. Which commands may be posted, and what the record must
 * say, is in cmshare/postable.c. All others are left to rused, which also finds their errors.
 */
#include <errno.h>
#include <fcntl.h>
#include <rdma/rdma_user_cm.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include "cmshare/postable.h"
#include "base/memfd.h"
#include "base/sys.h"
#include "engine/engine.h"
#include "engine/own.h"
#include "engine/rused.h"
#include "ipc/channel.h"
#include "remote/remote.h"
#include "remote/ucma_local.h"
#include "remote/wait.h"

#define EVENT_MIN (sizeof(struct rdma_ucm_event_resp) - 12)	/* without reserved and ECE */
#define RESOLVED_NS NS_S	/* as long as rused uses the kernel's last answer about a route */
#define RECS_SIZE (CMSHARE_RECS * sizeof(struct cmshare_rec))

/*
 * The id records (struct cmshare_rec: state of an rdma_cm id, written by rused) of all files of a rused are in one memfd,
 * which is mapped once. Files of a former rused keep the mapping of its records. The pointer is published without a
 * lock, and what it points to never changes.
 */
struct mapped {
	uint32_t generation;
	const struct cmshare_rec *recs;
};
static struct mapped *mapped;

/*
 * The destination of this thread's last RESOLVE_ADDR that rused has answered with 0. A route exists, so the next
 * RESOLVE_ADDR to it is posted. If it fails after all, the program gets ADDR_ERROR.
 */
static __thread struct {
	ns_t until;	/* 0: none */
	uint16_t size;
	struct __kernel_sockaddr_storage dst;
} resolved __attribute__((tls_model("initial-exec")));

/* The id records written by the rused with this generation; NULL: *m has those of another rused. */
static const struct cmshare_rec *recs_in(const struct mapped *m, uint32_t generation)
{
	return m && m->generation == generation ? m->recs : NULL;
}

static const struct cmshare_rec *map_recs(uint32_t generation, int fd)
{
	struct mapped *before = smp_load_acquire(&mapped), *m;

	if (recs_in(before, generation))
		return before->recs;
	m = malloc(sizeof(*m));
	if (!m)
		return NULL;
	m->generation = generation;
	m->recs = memfd_map(fd, RECS_SIZE, false);
	if (m->recs && atomic_cmpxchg(&mapped, before, m))
		return m->recs;
	/* m is not used: there was no memory for the mapping, or another thread has published its own. */
	if (m->recs)
		munmap((void *)m->recs, RECS_SIZE);
	free(m);
	return recs_in(smp_load_acquire(&mapped), generation);
}

static int map_file(struct remote_ucma_map *map, int shm_fd, int recs_fd)
{
	map->shm = memfd_map(shm_fd, sizeof(*map->shm), true);
	if (!map->shm)
		return -ENOMEM;
	map->recs = map_recs(map->shm->generation, recs_fd);
	if (map->recs)
		return 0;
	munmap(map->shm, sizeof(*map->shm));
	return -ENOMEM;
}

static int open_file(struct remote_ucma_map *map)
{
	int fds[IPC_MAX_FDS], ret;
	struct ipc_ucma_open r;
	struct rused_msg m = { .q = { .type = IPC_UCMA_OPEN, IPC_ANSWER(&r), IPC_RFDS(fds) } };

	ret = rused_ask(&m);
	if (ret)
		return ret;
	ret = m.q.nrfds == 3 && m.q.rlen == sizeof(r) ? map_file(map, fds[1], fds[2]) : -EPROTO;
	for (int i = ret ? 0 : 1; i < m.q.nrfds; i++)
		sys_close(fds[i]);
	return ret ? ret : fds[0];
}

int remote_ucma_open(void **file)
{
	struct remote_ucma_map *map = malloc(sizeof(*map));
	int fd;

	if (!map)
		return -ENOMEM;
	fd = open_file(map);
	if (fd < 0)
		free(map);
	*file = map;
	return fd;
}

void remote_ucma_release(void *file)
{
	struct remote_ucma_map *map = file;

	munmap(map->shm, sizeof(*map->shm));
	free(map);
}

static int remote_ucma_post(const struct remote_ucma_map *map, const void *msg, size_t len)
{
	struct rused_msg m = { .q = { .type = IPC_UCMA_POST, .req = msg, .len = len },
			       .of = map->shm->generation };

	return rused_post(&m);
}

/* Tell rused that an event was read, if it has to know. */
static void remote_ucma_tell_read(struct remote_ucma_map *map)
{
	struct ipc_ucma h = { .file = map->shm->number };

	if (inbox_must_tell(&map->shm->inbox))
		remote_ucma_post(map, &h, sizeof(h));
}

/* A descriptor that never becomes readable, for a call whose descriptor was closed meanwhile. */
static int remote_ucma_fd_nowhere(void)
{
	return own_fd((int)sys_call(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
}

static int remote_ucma_get_event(struct remote_ucma_map *map, int fd,
				 struct rdma_ucm_event_resp *ev)
{
	struct remote_wait w = { .fd = fd, .held = -1 };
	struct why why;
	int ret = 0;

	while (!ret && !cmshare_take_event(map->shm, ev, &why)) {
		inbox_settle(&map->shm->inbox, w.fd);
		ret = remote_wait(&w);
		/* Another thread has closed the descriptor (rping at its end): the call waits nevertheless. */
		if (ret == -EBADF && w.held == -EBADF) {
			w.fd = w.held = remote_ucma_fd_nowhere();
			ret = w.fd < 0 ? w.fd : 0;
		}
	}
	if (!ret) {
		inbox_settle(&map->shm->inbox, w.fd);
		remote_ucma_tell_read(map);
		remote_ucma_event(ev, &why);
	}
	own_close(w.held);
	return ret;
}

static bool remote_ucma_known(const struct remote_ucma_map *map, uint32_t id, uint32_t has,
			      size_t off,
			      void *to, size_t len)
{
	return id < CMSHARE_RECS && cmshare_rec_read(&map->recs[id], map->shm, id, has, off, to,
						     len);
}

#define ANSWER(member) offsetof(struct cmshare_answers, member), r->data, \
		       sizeof(((struct cmshare_answers *)0)->member)

static bool remote_ucma_query(const struct remote_ucma_map *map, const struct rdma_ucm_query *q,
			      uint16_t out, struct remote_ucma_answer *r)
{
	struct {
		uint32_t len;
		uint8_t path[sizeof(((struct cmshare_answers *)0)->path)];
	} p;

	switch (q->option) {
	case RDMA_USER_CM_QUERY_ADDR:
		r->len = sizeof(struct rdma_ucm_query_addr_resp);
		return out >= r->len && remote_ucma_known(map, q->id, CMSHARE_HAS_ADDR,
							  ANSWER(addr));
	case RDMA_USER_CM_QUERY_GID:
		r->len = sizeof(struct rdma_ucm_query_addr_resp);
		return out >= r->len && remote_ucma_known(map, q->id, CMSHARE_HAS_GID, ANSWER(gid));
	case RDMA_USER_CM_QUERY_PATH:
		if (!remote_ucma_known(map, q->id, CMSHARE_HAS_PATH,
				       offsetof(struct cmshare_answers, path_len), &p, sizeof(p)) ||
		    p.len > sizeof(p.path) || out < p.len)
			return false;
		r->len = p.len;
		memcpy(r->data, p.path, p.len);
		return true;
	}
	return false;
}

static bool remote_ucma_init_qp_attr(const struct remote_ucma_map *map,
				     const struct rdma_ucm_init_qp_attr *q,
				     uint16_t out, struct remote_ucma_answer *r)
{
	uint32_t i = q->qp_state - 1;	/* enum ib_qp_state: INIT is 1 */
	size_t one = sizeof(struct ib_uverbs_qp_attr);

	r->len = one;
	return i < 3 && out >= one &&
	       remote_ucma_known(map, q->id, CMSHARE_HAS_ATTR << i,
				 offsetof(struct cmshare_answers, attr) + i * one, r->data, one);
}

/* The command, if it is a RESOLVE_ADDR that may be posted. */
static const struct rdma_ucm_resolve_addr *remote_ucma_resolves(const struct remote_ucma_cmd *c)
{
	uint32_t id;

	return cmshare_postable(c->cmd, c->h.len, &id) == CMSHARE_CAN_RESOLVE ?
		       (const void *)(c->cmd + sizeof(struct rdma_ucm_cmd_hdr)) : NULL;
}

void remote_ucma_answered(const struct remote_ucma_cmd *c, int ret)
{
	const struct rdma_ucm_resolve_addr *q = remote_ucma_resolves(c);

	if (!q)
		return;
	resolved.until = ret ? 0 : engine_now() + RESOLVED_NS;
	resolved.size = q->dst_size;
	memcpy(&resolved.dst, &q->dst_addr, sizeof(resolved.dst));
}

/* False: RESOLVE_ADDR to a destination for which there may be no route. */
static bool remote_ucma_route_likely(const struct remote_ucma_cmd *c)
{
	const struct rdma_ucm_resolve_addr *q = remote_ucma_resolves(c);

	return !q || (engine_now() < resolved.until && q->dst_size == resolved.size &&
		      !memcmp(&q->dst_addr, &resolved.dst, resolved.size));
}

static bool remote_ucma_try_post(const struct remote_ucma_map *map, const struct remote_ucma_cmd *c,
				 int *ret)
{
	uint32_t id, has = cmshare_postable(c->cmd, c->h.len, &id);

	if (!has || c->h.count != c->h.len || !remote_ucma_route_likely(c) ||
	    !remote_ucma_known(map, id, has, 0, NULL, 0))
		return false;
	/*
	 * Count the command before it is sent to rused: from now on, until rused has executed it, the id's record (struct
	 * cmshare_rec) counts as outdated.
	 */
	atomic_add(&map->shm->posted[id], 1u);
	*ret = remote_ucma_post(map, c, sizeof(c->h) + c->h.len);
	if (*ret <= 0)
		return true;
	atomic_add(&map->shm->posted[id], (uint32_t)-1);
	return false;
}

/*
 * DESTROY_ID answers the number of the id's events that were read. Unread events are dropped here,
 * and later ones are ignored.
 */
static bool remote_ucma_destroy(struct remote_ucma_map *map, int fd,
				const struct remote_ucma_cmd *c,
				struct remote_ucma_answer *r, int *ret)
{
	const struct rdma_ucm_cmd_hdr *hdr = (const void *)c->cmd;
	struct rdma_ucm_destroy_id_resp resp;
	uint32_t id;

	if (!cmshare_postable(c->cmd, c->h.len, &id) || hdr->out < sizeof(resp) ||
	    c->h.count != c->h.len || id >= CMSHARE_RECS ||
	    !cmshare_rec_destroy(&map->recs[id], map->shm, id, &resp.events_reported))
		return false;
	inbox_settle(&map->shm->inbox, fd);
	*ret = remote_ucma_post(map, c, sizeof(c->h) + c->h.len);
	if (*ret > 0) {
		cmshare_rec_keep(map->shm, id);
		return false;
	}
	r->len = sizeof(resp);
	memcpy(r->data, &resp, sizeof(resp));
	return true;
}

bool remote_ucma_local(struct remote_ucma_map *map, int fd, const struct remote_ucma_cmd *c,
		       struct remote_ucma_answer *r,
		       int *ret)
{
	const struct rdma_ucm_cmd_hdr *hdr = (const void *)c->cmd;
	const void *payload = c->cmd + sizeof(*hdr);
	size_t avail = c->h.len - sizeof(*hdr);

	*ret = 0;
	if (hdr->in > avail)
		return false;
	switch (hdr->cmd) {
	case RDMA_USER_CM_CMD_GET_EVENT:
		if (hdr->out < EVENT_MIN || avail < sizeof(struct rdma_ucm_get_event))
			return false;
		*ret = remote_ucma_get_event(map, fd, (struct rdma_ucm_event_resp *)r->data);
		r->len = *ret ? 0 : min((size_t)hdr->out, sizeof(struct rdma_ucm_event_resp));
		return true;
	case RDMA_USER_CM_CMD_DESTROY_ID:
		return remote_ucma_destroy(map, fd, c, r, ret);
	case RDMA_USER_CM_CMD_QUERY:
		return avail >= sizeof(struct rdma_ucm_query) &&
		       remote_ucma_query(map, payload, hdr->out, r);
	case RDMA_USER_CM_CMD_INIT_QP_ATTR:
		return avail >= sizeof(struct rdma_ucm_init_qp_attr) &&
		       remote_ucma_init_qp_attr(map, payload, hdr->out, r);
	}
	return remote_ucma_try_post(map, c, ret);
}
