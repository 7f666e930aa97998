/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RDMA netlink sockets of programs. A socket is one end of a SOCK_SEQPACKET pair: it keeps message
 * boundaries, like netlink, and unlike SOCK_DGRAM it reports the close of the other end.
 *
 * As in the kernel, the answer to a request that adds, removes or renames a device comes when that is done: the answers
 * are held back until all processes have applied the change (state/holds.h). The socket is not read meanwhile.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "abi/netlink/nldev.h"
#include "base/fds.h"
#include "base/log.h"
#include "daemon/files/nlsock.h"
#include "daemon/files/cmfile.h"
#include "daemon/reports/res.h"
#include "daemon/state/devices.h"
#include "daemon/state/holds.h"
#include "daemon/state/host.h"
#include "daemon/state/process.h"
#include "fabrics/client.h"
#include "gsi/gsi.h"
#include "loop/loop.h"
#include "umads/umads.h"

#define MAX_PER_PROCESS 64	/* iproute2 opens one per request and does not close it */
#define DGRAM_MAX 16384
#define HELD_MAX 65536		/* bytes of answers that are held back */

struct nlsock {
	struct list_head node;
	struct nlsocks *all;
	struct nlsock_owner *owner;
	struct loop_fd f;
	uint32_t changes;	/* host_page.changes before the request */
	struct hold hold;
	struct list_head held;	/* struct nlsock_answer */
	size_t held_bytes;
};

struct nlsock_answer {
	struct list_head node;
	size_t len;
	uint8_t dgram[];
};

static void nlsock_send(const struct nlsock *n, const void *dgram, size_t len)
{
	/* Like netlink (ENOBUFS): answers that do not fit are lost. */
	if (send(n->f.fd, dgram, len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		log_debug("pid %d: cannot send a netlink reply: %m", n->owner->p->pid);
}

/* Ends the wait; sends the answers, or drops them. */
static void nlsock_release(struct nlsock *n, bool answers)
{
	hold_cancel(&n->hold);
	while (!list_empty(&n->held)) {
		struct nlsock_answer *a = list_first_entry(&n->held, struct nlsock_answer, node);

		if (answers)
			nlsock_send(n, a->dgram, a->len);
		list_del(&a->node);
		free(a);
	}
	n->held_bytes = 0;
}

static void nlsock_hold_done(struct hold *h, const struct hold_late *late, uint32_t nlate)
{
	struct nlsock *n = container_of(h, struct nlsock, hold);

	nlsock_release(n, true);
	loop_mod(n->all->loop, &n->f, EPOLLIN);
}

static void nlsock_free(struct nlsock *n)
{
	nlsock_release(n, false);
	list_del(&n->node);
	n->owner->n--;
	loop_del(n->all->loop, &n->f);
	/* Freed after the event loop's round, as an event for it may be pending. */
	list_add_tail(&n->node, &n->all->loop->dead);
}

/* Objects of all processes, collected when a request needs them. */
struct objects {
	struct nlsocks *of;
	struct nldev_res *all;
	struct nldev_cm_id *ids;
	size_t n;
	bool collected;
	struct why why;
};

/* Appends the ids of rdma_cm. */
static void nlsock_add_cm_ids(struct objects *o)
{
	size_t n = 0;
	struct nldev_res *more;

	o->ids = cmfiles_list(o->of->ucma, &n);
	more = n ? reallocarray(o->all, o->n + n, sizeof(*more)) : NULL;
	if (!more)
		return;
	o->all = more;
	for (size_t i = 0; i < n; i++) {
		const struct nldev_cm_id *id = &o->ids[i];

		o->all[o->n++] = (struct nldev_res){
			.rec = { .kind = RES_CM_ID, .port = id->port, .type = id->qp_type,
				 .state = id->state, .dev_index = id->dev_index },
			.id = id->id, .pid = id->pid, .cm = id,
		};
	}
}

static const struct nldev_res *nlsock_objects(void *arg, size_t *n)
{
	struct objects *o = arg;

	if (!o->collected) {
		o->all = res_collect(o->of->processes, &o->n);
		nlsock_add_cm_ids(o);
	}
	o->collected = true;
	*n = o->n;
	return o->all;
}

static int nlsock_newlink(void *arg, const char *name, const char *type, const char *ndev)
{
	struct objects *o = arg;

	return devices_add(o->of->host, name, type, ndev, &o->why);
}

static int nlsock_dellink(void *arg, int dev)
{
	struct host *h = ((struct objects *)arg)->of->host;

	if (h->page->dev[dev].ib.host)
		return -EINVAL;	/* NLDEV_CMD_DELLINK is only for rxe and siw */
	devices_del(h, dev);
	return 0;
}

static int nlsock_rename_dev(void *arg, int dev, const char *name)
{
	struct objects *o = arg;
	struct host *h = o->of->host;

	return h->page->dev[dev].ib.host ? -EOPNOTSUPP : devices_rename(h, dev, name, &o->why);
}

static int nlsock_umad(void *arg, int dev)
{
	const struct umad_node *n = ((struct objects *)arg)->of->gsi->port[dev].umad;

	return n ? (int)umad_node_number(n) : -ENODEV;
}

static void nlsock_reply(void *arg, const void *dgram, size_t len)
{
	struct nlsock *n = arg;
	struct nlsock_answer *a;

	if (n->all->host->page->changes == n->changes) {
		nlsock_send(n, dgram, len);
		return;
	}
	a = n->held_bytes + len <= HELD_MAX ? malloc(sizeof(*a) + len) : NULL;
	if (!a)
		return;
	a->len = len;
	memcpy(a->dgram, dgram, len);
	list_add_tail(&a->node, &n->held);
	n->held_bytes += len;
}

static void nlsock_event(struct loop_fd *f, uint32_t events)
{
	struct nlsock *n = container_of(f, struct nlsock, f);
	struct objects o = { .of = n->all };
	struct nldev_ctx h = { .page = n->all->host->page, .shown = n->all->host->shown_like,
				.admin = n->owner->p->uid == 0,
				.objects = nlsock_objects, .newlink = nlsock_newlink,
	.dellink = nlsock_dellink,
				.rename = nlsock_rename_dev, .umad = nlsock_umad, .arg = &o,
				.why = &o.why,
	.host = n->owner->p->fabric->number };
	char buf[DGRAM_MAX];
	ssize_t len;

	/* Its other end is closed, which is told also while the socket is not read. */
	if (n->hold.active) {
		nlsock_release(n, false);
		loop_mod(n->all->loop, f, EPOLLIN);
	}
	len = recv(f->fd, buf, sizeof(buf), MSG_DONTWAIT | MSG_TRUNC);
	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (len <= 0) {
		nlsock_free(n);
		return;
	}
	if ((size_t)len > sizeof(buf))
		return;	/* longer than any request: dropped */
	for (int i = 0; i < HOST_MAX_DEVS; i++)
		if (h.page->dev[i].in_use)
			res_values(n->all->host, n->all->processes, i, LIKE_HW_COUNTERS, h.stat[i]);
	n->changes = h.page->changes;
	nldev_input(&h, buf, (size_t)len, nlsock_reply, n);
	free(o.all);
	free(o.ids);
	if (list_empty(&n->held))
		return;
	loop_mod(n->all->loop, f, 0);
	holds_begin(n->all->holds, &n->hold, n->owner->p, n->all->loop->now);
}

void nlsock_owner_init(struct nlsock_owner *o, const struct process *pr)
{
	*o = (struct nlsock_owner){ .p = pr };
	list_init(&o->list);
}

int nlsock_open(struct nlsocks *all, struct nlsock_owner *o)
{
	struct nlsock *n;
	int sv[2], rc;

	if (o->n == MAX_PER_PROCESS)
		return -EMFILE;
	n = calloc(1, sizeof(*n));
	if (!n)
		return -ENOMEM;
	rc = fds_pair(SOCK_SEQPACKET | SOCK_CLOEXEC, sv);
	if (rc) {
		free(n);
		return rc;
	}
	n->all = all;
	n->owner = o;
	n->f.fn = nlsock_event;
	n->hold.done = nlsock_hold_done;
	list_init(&n->held);
	rc = loop_add(all->loop, &n->f, sv[0], EPOLLIN);
	if (rc) {
		close(sv[0]);
		close(sv[1]);
		free(n);
		return rc;
	}
	list_add_tail(&n->node, &o->list);
	o->n++;
	return sv[1];
}

void nlsock_close_all(struct nlsock_owner *o)
{
	struct nlsock *n, *t;

	list_for_each_entry_safe(n, t, &o->list, node)
		nlsock_free(n);
}
