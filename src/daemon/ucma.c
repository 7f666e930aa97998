/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Open rdma_cm files. A program's descriptor is one end of a SOCK_SEQPACKET
 * pair, ours the other: while there are events there is something to read in
 * it, a datagram an event, up to SHOWN_MAX; and when the last copy of it is
 * closed we hear of that, whatever became of the process that opened it.
 *
 * A file that was closed before somebody asked for what it had must be gone by
 * then, as under a kernel, although the news come over different sockets: so a
 * port that is in use is looked at twice.
 */
#include <errno.h>
#include <malloc.h>
#include <rdma/rdma_user_cm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "abi/netlink/nldev.h"
#include "abi/ucma/ucma.h"
#include "base/log.h"
#include "base/rand.h"
#include "daemon/daemon.h"
#include "daemon/fabric_cm.h"
#include "ipc/ucma_msg.h"

#define SHOWN_MAX 64u
#define INDEX_BITS 12
#define TRIM_AFTER (3 * NS_S)	/* timewait is over by then */
#define CAP_NET_BIND_SERVICE 10
#define WRITE_MAX (sizeof(struct rdma_ucm_cmd_hdr) + UINT16_MAX)

_Static_assert(UCMA_MAX_FILES == 1 << INDEX_BITS, "an index of them");

struct ucma_fd {
	struct list_head node;	/* only when it is freed */
	struct rused *r;
	struct loop_fd f;
	struct ucma_file *file;
	struct fabric_cm *cm;	/* of the fabric's host; NULL: the machine's */
	uint32_t number;
	uint32_t shown;		/* datagrams in the pair */
	int pid;		/* who opened it */
};

/* Makes as many datagrams readable as there are events, or takes back: returns how many the library is to take. */
static uint32_t show(struct ucma_fd *u)
{
	uint32_t want = min(ucma_file_events(u->file), SHOWN_MAX), taken = 0;

	while (u->shown < want && send(u->f.fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1)
		u->shown++;
	if (u->shown > want) {
		taken = u->shown - want;
		u->shown = want;
	}
	return taken;
}

static void wake(void *ctx, void *host, unsigned int n)
{
	struct ucma_fd *u = host;

	/* While it is being opened there is no file yet, and no event either. */
	if (u->file)
		show(u);
}

const struct ucma_ops ucma_fd_ops = { .wake = wake };

/* Thousands of connections have left holes: what is free goes back to the kernel. */
void ucma_trim(struct timer *t, ns_t now)
{
	malloc_trim(0);
}

static void file_close(struct ucma_fd *u)
{
	struct rused *r = u->r;

	idtable_remove(&r->ucma.ids, u->number & (UCMA_MAX_FILES - 1));
	ucma_file_close(u->file);
	if (u->cm)
		fabric_cm_put(u->cm);
	loop_del(&r->loop, &u->f);
	/* Without a timer it stays as it is, no more. */
	timer_set(&r->loop.timers, &r->ucma.trim, r->loop.now + TRIM_AFTER);
	list_add_tail(&u->node, &r->loop.dead);
}

_Static_assert(offsetof(struct ucma_fd, node) == 0, "freed by its node");

/* Nobody says anything there: what a program puts into it by other ways than write() is forgotten. */
static void fd_event(struct loop_fd *f, uint32_t events)
{
	struct ucma_fd *u = container_of(f, struct ucma_fd, f);
	char c;

	if (recv(f->fd, &c, sizeof(c), MSG_DONTWAIT | MSG_TRUNC) > 0)
		return;
	if (events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP))
		file_close(u);
}

int ucma_pid(const void *host)
{
	return host ? ((const struct ucma_fd *)host)->pid : 0;
}

void ucma_close_all(struct rused *r)
{
	struct ucma_fd *u;

	for (uint32_t i = 0; (u = idtable_next(&r->ucma.ids, &i)); i++)
		file_close(u);
}

/* Closes the files whose end we have not heard of yet. True: there were some. */
static bool sweep(struct rused *r)
{
	struct ucma_fd *u;
	bool any = false;

	for (uint32_t i = 0; (u = idtable_next(&r->ucma.ids, &i)); i++) {
		char c;

		if (!recv(u->f.fd, &c, sizeof(c), MSG_PEEK | MSG_DONTWAIT)) {
			file_close(u);
			any = true;
		}
	}
	return any;
}

/* Root of this host may have ports below 1024, and whoever was given that. */
static bool may_bind(pid_t pid)
{
	unsigned long long caps = 0;
	char path[40], line[128];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	if (!f)
		return geteuid() == 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "CapEff: %llx", &caps) == 1)
			break;
	fclose(f);
	return caps >> CAP_NET_BIND_SERVICE & 1;
}

/* Takes fd, our end. 0 or -errno: then it is still the caller's. */
static int file_new(struct client *c, int fd, uint32_t *number)
{
	struct ucma_fd *u = calloc(1, sizeof(*u));
	struct rused *r = c->r;
	int64_t id;
	int rc;

	if (!u)
		return -ENOMEM;
	/* From 1: no file has number 0. */
	id = idtable_alloc_cyclic(&r->ucma.ids, 1, u);
	if (id < 0) {
		free(u);
		return id == -ENOSPC ? -EMFILE : (int)id;
	}
	u->r = r;
	u->pid = c->pid;
	u->number = rand_u32() << INDEX_BITS | (uint32_t)id;
	u->f.fn = fd_event;
	u->cm = c->fabric_host ? c->fabric_host->cm : NULL;
	u->file = ucma_file_open(u->cm ? u->cm->ucma : r->ucma.ucma, u, may_bind(c->pid));
	rc = u->file ? loop_add(&r->loop, &u->f, fd, EPOLLIN | EPOLLRDHUP) : -ENOMEM;
	if (rc) {
		if (u->file)
			ucma_file_close(u->file);
		idtable_remove(&r->ucma.ids, (uint32_t)id);
		free(u);
		return rc;
	}
	if (u->cm)
		fabric_cm_get(u->cm);
	*number = u->number;
	return 0;
}

int ucma_open(struct client *c, uint32_t *number)
{
	int sv[2], rc = 0;

	/* The fabric is gone, and with it the host. */
	if (c->host && !c->fabric_host)
		return -ENODEV;
	/* Without a wire there are still the connections of this host to itself. */
	if (!c->fabric_host)
		rc = port_want(c->r);
	if (rc)
		log_info("UDP port 4791 cannot be had: %s; connections within this host go on",
			 strerror(-rc));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv))
		return -errno;
	rc = file_new(c, sv[0], number);
	if (rc) {
		close(sv[0]);
		close(sv[1]);
		return rc;
	}
	return sv[1];
}

/* The command that the bytes are; one that does not exist if they are too few. */
static uint32_t command(const void *body, size_t len)
{
	struct rdma_ucm_cmd_hdr hdr = { .cmd = UINT32_MAX };

	if (len >= sizeof(hdr))
		memcpy(&hdr, body, sizeof(hdr));
	return hdr.cmd;
}

static struct ucma_fd *find(struct rused *r, uint32_t number)
{
	struct ucma_fd *u = idtable_find(&r->ucma.ids, number & (UCMA_MAX_FILES - 1));

	return u && u->number == number ? u : NULL;
}

int ucma_call(struct rused *r, const struct ipc_ucma *q, const void *body, size_t opt,
	      struct ipc_ucma_reply *reply, void *response, size_t *rlen)
{
	static uint8_t longest[WRITE_MAX];	/* what is not there reads as 0: it is refused for its size */
	struct ucma_fd *u = find(r, q->file), *from = NULL;
	struct ucma_cmd cmd = { .buf = body, .len = q->len, .from_err = q->aux_error };
	uint32_t nr = command(body, q->len);
	struct ucma_reply ans;
	ssize_t ret;

	if (!u)
		return -EBADF;
	if (q->count > q->len) {
		memset(longest, 0, sizeof(longest));
		memcpy(longest, body, q->len);
		cmd.buf = longest;
		cmd.len = min(q->count, WRITE_MAX);
	}
	if (!q->aux_error && nr == RDMA_USER_CM_CMD_SET_OPTION) {
		cmd.opt = (const uint8_t *)body + q->len;
		cmd.opt_len = opt;
	}
	if (!q->aux_error && nr == RDMA_USER_CM_CMD_MIGRATE_ID) {
		from = find(r, q->aux);
		/* Ids do not go from host to host. */
		if (from && from->cm != u->cm)
			from = NULL;
		cmd.from = from ? from->file : NULL;
		cmd.from_err = from ? 0 : -EINVAL;
	}
	ret = ucma_write(u->file, &cmd, &ans);
	if ((ret == -EADDRINUSE || ret == -EADDRNOTAVAIL) && sweep(r))
		ret = ucma_write(u->file, &cmd, &ans);
	reply->ret = ret < 0 ? (int32_t)ret : 0;
	reply->taken_from = from && from != u ? show(from) : 0;
	reply->taken = show(u);
	*rlen = ret < 0 ? 0 : min(ans.len, (uint32_t)sizeof(ans.data));
	memcpy(response, ans.data, *rlen);
	return 0;
}
