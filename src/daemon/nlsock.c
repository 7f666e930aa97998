/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A program's RDMA netlink sockets. Ours is one end of a SOCK_SEQPACKET pair:
 * datagrams as netlink has them, and unlike SOCK_DGRAM it tells when the other
 * end is closed, by the program or by our death.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "abi/netlink/nldev.h"
#include "base/log.h"
#include "daemon/daemon.h"

#define MAX_PER_CLIENT 64	/* iproute2 leaves them open, one a request */
#define DGRAM_MAX 16384

struct nlsock {
	struct list_head node;
	struct client *c;
	struct loop_fd f;
};

static void nlsock_free(struct nlsock *n)
{
	list_del(&n->node);
	n->c->nnetlink--;
	loop_del(&n->c->r->loop, &n->f);
	/* Freed after the round like a client: an event for it may be waiting. */
	list_add_tail(&n->node, &n->c->r->loop.dead);
}

static void count_objects(struct rused *r, struct nldev_host *h)
{
	struct proc_page p;
	struct client *c;
	int i, k;

	list_for_each_entry(c, &r->clients, node) {
		for (k = 0; k < HOST_MAX_DEVS; k++)
			h->counts[k].ctx += c->nctx[k];
		if (client_page(c, &p))
			continue;
		for (i = 0; i < PROC_MAX_CTX; i++) {
			for (k = 0; k < HOST_MAX_DEVS; k++) {
				struct nldev_counts *n = &h->counts[k];

				if (!p.ctx[i].dev_index || !r->page->dev[k].in_use ||
				    r->page->dev[k].index != p.ctx[i].dev_index)
					continue;
				n->pd += p.ctx[i].npd;
				n->mr += p.ctx[i].nmr;
				n->cq += p.ctx[i].ncq;
				n->qp += p.ctx[i].nqp;
			}
		}
	}
}

static void reply(void *arg, const void *dgram, size_t len)
{
	struct nlsock *n = arg;

	/* A program that does not read loses answers, as with netlink (ENOBUFS). */
	if (send(n->f.fd, dgram, len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		log_debug("pid %d: netlink answer lost: %m", n->c->pid);
}

static void nlsock_event(struct loop_fd *f, uint32_t events)
{
	struct nlsock *n = container_of(f, struct nlsock, f);
	struct nldev_host h = { .page = n->c->r->page, .admin = n->c->uid == 0 };
	char buf[DGRAM_MAX];
	ssize_t len;

	len = recv(f->fd, buf, sizeof(buf), MSG_DONTWAIT | MSG_TRUNC);
	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (len <= 0) {
		nlsock_free(n);
		return;
	}
	if ((size_t)len > sizeof(buf))
		return;	/* longer than any request: dropped, as beyond a send buffer */
	count_objects(n->c->r, &h);
	nldev_input(&h, buf, (size_t)len, reply, n);
}

int netlink_open(struct client *c)
{
	struct nlsock *n;
	int sv[2], rc;

	if (c->nnetlink == MAX_PER_CLIENT)
		return -EMFILE;
	n = calloc(1, sizeof(*n));
	if (!n)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv)) {
		rc = -errno;
		free(n);
		return rc;
	}
	n->c = c;
	n->f.fn = nlsock_event;
	rc = loop_add(&c->r->loop, &n->f, sv[0], EPOLLIN);
	if (rc) {
		close(sv[0]);
		close(sv[1]);
		free(n);
		return rc;
	}
	list_add_tail(&n->node, &c->netlink);
	c->nnetlink++;
	return sv[1];
}

void netlink_close_all(struct client *c)
{
	struct nlsock *n, *t;

	list_for_each_entry_safe(n, t, &c->netlink, node)
		nlsock_free(n);
}
