/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Simulated hosts with rdma_cm and the network between their QP1s, in virtual time: see world.h.
 * sim_send() puts a MAD on a list and world_run() delivers it after WORLD_DELAY; sim_resolve()
 * answers an address resolution at once or after resolve_delay.
 */
#include <arpa/inet.h>
#include <errno.h>
#include "cmshare/ucma_shm.h"
#include "world.h"

struct flying {
	struct list_head item;
	ns_t due;
	unsigned int to;
	struct cm_av from;
	uint8_t mad[CM_MAD_LEN];
};

struct pending {
	struct list_head item;
	ns_t due;
	struct rdmacm_resolve *r;
	int status;
};

/* The device (index in host_page.dev) and the table index of a GID on a host; false: the host does not have it. */
static bool find_gid(struct world_host *h, const uint8_t gid[16], unsigned int *slot,
		     unsigned int *index)
{
	for (*slot = 0; *slot < HOST_MAX_DEVS; ++*slot) {
		const struct host_dev *d = &h->page.dev[*slot];

		if (!d->in_use)
			continue;
		for (*index = 0; *index < d->ngids; ++*index)
			if (!d->gid[*index].v1 && !memcmp(d->gid[*index].raw, gid, 16))
				return true;
	}
	return false;
}

static void av_of(struct world_host *h, unsigned int slot, unsigned int index, struct cm_av *av)
{
	av->dev = &h->cdev[slot];
	av->port = 1;
	av->roce = true;
	av->sgid_index = (uint16_t)index;
	av->pkey = 0xffff;
	av->pkey_index = 0;
	av->src_path_bits = 0;
}

static int sim_send(void *ctx, const struct cm_av *av, const uint8_t mad[CM_MAD_LEN])
{
	struct world_host *h = ctx;
	struct world *w = h->w;
	unsigned int attr = mad[17] & (WORLD_ATTRS - 1);

	w->sent[attr]++;
	memcpy(w->last[attr], mad, CM_MAD_LEN);
	if (w->lose && w->lose(w, h->nr, mad)) {
		w->lost++;
		return 0;
	}
	/* Look for the destination among the GIDs of the sending host first: loopback. */
	for (unsigned int i = 0; i < WORLD_HOSTS; i++) {
		unsigned int to = (h->nr + i) % WORLD_HOSTS, slot, index;
		struct flying *f;

		if (!find_gid(&w->host[to], av->dgid, &slot, &index))
			continue;
		f = calloc(1, sizeof(*f));
		assert_non_null(f);
		f->due = w->now + WORLD_DELAY;
		f->to = to;
		f->from = *av;
		av_of(&w->host[to], slot, index, &f->from);
		memcpy(f->from.sgid, av->dgid, 16);
		memcpy(f->from.dgid, av->sgid, 16);
		memcpy(f->mad, mad, CM_MAD_LEN);
		list_add_tail(&f->item, &w->wire);
		return 0;
	}
	w->lost++;
	return 0;
}

static int sim_find_port(void *ctx, const struct cm_path *path, struct cm_av *av)
{
	struct world_host *h = ctx;
	unsigned int slot, index;

	if (!find_gid(h, path->sgid, &slot, &index) || (av->dev && av->dev != &h->cdev[slot]))
		return -EINVAL;
	av_of(h, slot, index, av);
	return 0;
}

static int sim_gid0(void *ctx, struct cm_device *dev, uint8_t port, uint8_t gid[16])
{
	struct world_host *h = ctx;

	(void)port;
	memcpy(gid, h->page.dev[dev - h->cdev].gid[0].raw, 16);
	return 0;
}

static const struct cm_ops cm_ops = {
	.send = sim_send, .find_port = sim_find_port, .gid0 = sim_gid0,
};

static ns_t sim_now(void *ctx)
{
	return ((struct world_host *)ctx)->w->now;
}

static int sim_translate(void *ctx, const struct sockaddr *a, uint32_t bound_if, uint32_t *ifindex)
{
	struct world_host *h = ctx;
	unsigned int slot, index;
	uint8_t gid[16];

	if (bound_if) {
		*ifindex = bound_if;
		return bound_if == WORLD_IFINDEX || bound_if == WORLD_IFINDEX + 1 ? 0 : -ENODEV;
	}
	if (rdma_ip2gid(a, gid) || !find_gid(h, gid, &slot, &index))
		return -EADDRNOTAVAIL;
	*ifindex = h->page.dev[slot].ifindex;
	return 0;
}

/* Resolves r->dst: the source address is this host's address on the same network. */
static int true_answer(struct world_host *h, struct rdmacm_resolve *r)
{
	struct sockaddr_storage src = r->src;
	unsigned int slot = 0, index, i;
	uint8_t gid[16];

	rdma_ip2gid((struct sockaddr *)&r->dst, gid);
	for (i = 0; i < WORLD_HOSTS; i++)
		if (find_gid(&h->w->host[i], gid, &slot, &index))
			break;
	if (i == WORLD_HOSTS)
		return -ETIMEDOUT;
	if (cma_zero_addr((struct sockaddr *)&src)) {
		char text[32];

		if (src.ss_family == AF_INET)
			snprintf(text, sizeof(text), "10.%u.0.%u", slot, h->nr + 1);
		else
			snprintf(text, sizeof(text), "fd00::%u", h->nr + 1);
		src = addr(text, 0);
	}
	r->ans.src = src;
	r->ans.ifindex = WORLD_IFINDEX + slot;
	r->ans.hop_limit = 64;
	r->ans.has_mac = true;
	r->ans.mac[5] = (uint8_t)(i + 1);
	return 0;
}

static int sim_resolve(void *ctx, struct rdmacm_resolve *r)
{
	struct world_host *h = ctx;
	struct world *w = h->w;
	int status = w->resolve_status ? w->resolve_status : true_answer(h, r);
	struct pending *p;

	if (!w->resolve_delay && !status) {
		rdmacm_resolved(h->rm, r, 0);
		return 0;
	}
	p = calloc(1, sizeof(*p));
	assert_non_null(p);
	p->due = w->now + (status == -ETIMEDOUT ? r->timeout_ms * NS_MS : w->resolve_delay);
	p->r = r;
	p->status = status;
	r->host = p;
	list_add_tail(&p->item, &h->resolving);
	return 0;
}

static void sim_cancel(void *ctx, struct rdmacm_resolve *r)
{
	struct pending *p = r->host;

	(void)ctx;
	assert_non_null(p);
	list_del(&p->item);
	free(p);
}

static uint32_t sim_netdev_mtu(void *ctx, uint32_t ifindex)
{
	(void)ctx;
	return ifindex == WORLD_IFINDEX || ifindex == WORLD_IFINDEX + 1 ? 1500 : 0;
}

static int sim_mcast(void *ctx, uint32_t ifindex, const uint8_t mgid[16], bool join)
{
	struct world_host *h = ctx;

	assert_int_equal(ifindex, WORLD_IFINDEX);
	h->groups += join ? 1 : -1u;
	memcpy(h->group, mgid, 16);
	return 0;
}

static void sim_port_range(void *ctx, uint16_t *low, uint16_t *high)
{
	struct world_host *h = ctx;

	*low = h->port_low;
	*high = h->port_high;
}

static bool sim_v6only(void *ctx)
{
	return ((struct world_host *)ctx)->v6only;
}

static const struct rdmacm_ops ops = {
	.now = sim_now,
	.translate = sim_translate,
	.resolve = sim_resolve,
	.cancel = sim_cancel,
	.netdev_mtu = sim_netdev_mtu,
	.mcast = sim_mcast,
	.port_range = sim_port_range,
	.v6only = sim_v6only,
};

static void sim_wake(void *ctx, void *host, unsigned int n)
{
	(void)ctx;
	((struct client *)host)->readable += n;
}

static const struct ucma_ops ucma_ops = { .added_events = sim_wake };

static void set_gid(struct host_dev *d, unsigned int i, const char *text)
{
	struct sockaddr_storage a = addr(text, 0);

	rdma_ip2gid((struct sockaddr *)&a, d->gid[i].raw);
	d->gid[i].ifindex = d->ifindex;
	d->ngids = i + 1;
}

static void add_dev(struct world_host *h, unsigned int slot)
{
	struct host_dev *d = &h->page.dev[slot];
	char text[64];

	memset(d, 0, sizeof(*d));
	d->in_use = 1;
	d->index = slot + 1;
	d->state = 4;
	d->active_mtu = 3;
	d->ifindex = WORLD_IFINDEX + slot;
	d->node_guid[7] = (uint8_t)(16 * h->nr + slot + 1);
	snprintf(d->name, sizeof(d->name), "ruse%u", slot);
	snprintf(text, sizeof(text), "fe80::%u%u", slot, h->nr + 1);
	set_gid(d, 0, text);
	snprintf(text, sizeof(text), "10.%u.0.%u", slot, h->nr + 1);
	set_gid(d, 1, text);
	snprintf(text, sizeof(text), slot ? "fd01::%u" : "fd00::%u", h->nr + 1);
	set_gid(d, 2, text);
	memset(&h->cdev[slot], 0, sizeof(h->cdev[slot]));
	h->cdev[slot].ctx = h;
	h->cdev[slot].node_guid = 16 * h->nr + slot + 1;
	h->cdev[slot].hi_tid = slot + 1;
	h->cdev[slot].ack_delay = 15;
	rdmacm_device_added(h->rm, slot, &h->cdev[slot]);
}

struct world *world_new(void)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->now = NS_S;
	list_init(&w->wire);
	for (unsigned int i = 0; i < WORLD_HOSTS; i++) {
		struct world_host *h = &w->host[i];

		h->w = w;
		h->nr = i;
		h->port_low = 32768;
		h->port_high = 60999;
		list_init(&h->resolving);
		h->cm = cm_create(&cm_ops, h, i + 1);
		h->rm = rdmacm_create(&h->page, h->cm, &ops, h);
		h->u = ucma_create(h->rm, &ucma_ops, h);
		assert_true(h->cm && h->rm && h->u);
		if (getenv("RDMACM_SHARED")) {
			h->recs = calloc(CMSHARE_RECS, sizeof(*h->recs));
			assert_non_null(h->recs);
			ucma_share(h->u, h->recs);
		}
		add_dev(h, 0);
	}
	return w;
}

unsigned int world_add_dev(struct world *w, unsigned int host)
{
	add_dev(&w->host[host], 1);
	return 1;
}

void world_remove_dev(struct world *w, unsigned int host, unsigned int slot)
{
	struct world_host *h = &w->host[host];

	rdmacm_device_removed(h->rm, slot);
	cm_remove_device(h->cm, &h->cdev[slot]);
	h->page.dev[slot].in_use = 0;
}

void world_free(struct world *w)
{
	world_run(w, w->now + 300 * NS_S);
	for (unsigned int i = 0; i < WORLD_HOSTS; i++) {
		struct world_host *h = &w->host[i];

		assert_true(list_empty(&h->resolving));
		assert_int_equal(h->groups, 0);
		ucma_destroy(h->u);
		free(h->recs);
		rdmacm_destroy(h->rm);
		assert_int_equal(h->cm->count, 0);
		cm_free(h->cm);
	}
	assert_true(list_empty(&w->wire));
	free(w);
}

static void deliver(struct world *w)
{
	struct flying *f;

	while (!list_empty(&w->wire)) {
		f = list_first_entry(&w->wire, struct flying, item);
		if (f->due > w->now)
			return;
		list_del(&f->item);
		/* The device may have been removed meanwhile. */
		if (w->host[f->to].page.dev[f->from.dev - w->host[f->to].cdev].in_use)
			cm_input(w->host[f->to].cm, &f->from, f->mad, w->now);
		free(f);
	}
}

static void answer(struct world_host *h)
{
	struct pending *p, *n;

	list_for_each_entry_safe(p, n, &h->resolving, item) {
		struct rdmacm_resolve *r = p->r;
		int status = p->status;

		if (p->due > h->w->now)
			continue;
		list_del(&p->item);
		free(p);
		rdmacm_resolved(h->rm, r, status);
	}
}

static ns_t next_due(struct world *w)
{
	ns_t due = NS_NEVER;

	if (!list_empty(&w->wire))
		due = list_first_entry(&w->wire, struct flying, item)->due;
	for (unsigned int i = 0; i < WORLD_HOSTS; i++) {
		struct pending *p;

		due = min(due, cm_next(w->host[i].cm));
		list_for_each_entry(p, &w->host[i].resolving, item)
			due = min(due, p->due);
	}
	return due;
}

void world_run(struct world *w, ns_t until)
{
	for (;;) {
		ns_t due = next_due(w);

		if (due > until)
			break;
		w->now = max(w->now, due);
		deliver(w);
		for (unsigned int i = 0; i < WORLD_HOSTS; i++) {
			answer(&w->host[i]);
			cm_timer(w->host[i].cm, w->now);
		}
	}
	w->now = until;
}

void world_settle(struct world *w)
{
	while (!list_empty(&w->wire))
		world_run(w, list_first_entry(&w->wire, struct flying, item)->due);
}

struct sockaddr_storage addr(const char *text, uint16_t port)
{
	struct sockaddr_storage a;
	struct sockaddr_in *sin = (struct sockaddr_in *)&a;
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&a;
	uint8_t be[2] = { (uint8_t)(port >> 8), (uint8_t)port };

	memset(&a, 0, sizeof(a));
	if (text && strchr(text, ':')) {
		sin6->sin6_family = AF_INET6;
		memcpy(&sin6->sin6_port, be, 2);
		assert_int_equal(inet_pton(AF_INET6, text, &sin6->sin6_addr), 1);
		if (!strncmp(text, "fe80", 4))
			sin6->sin6_scope_id = WORLD_IFINDEX;
	} else {
		sin->sin_family = AF_INET;
		memcpy(&sin->sin_port, be, 2);
		if (text)
			assert_int_equal(inet_pton(AF_INET, text, &sin->sin_addr), 1);
	}
	return a;
}
