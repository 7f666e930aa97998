/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Data paths through the fabric. Programs of two hosts exchange data through shared memory, not
 * through the simulated fabric. The host page (struct host_page, shared with all processes) has a
 * flag for each path: 1 if a packet would arrive. The sender reads the flag and counts what it
 * sends in its process page (struct proc_page, shared with rused). rused walks the fabric in two
 * cases: after a change of tables or links, to set the flags of all paths; and before port counters
 * are read or tables change, to add the senders' counts to the ports on each path.
 *
 * A path belongs to a host, not to a program: source port, destination LID, and the fields that
 * switches look at. It lasts as long as the fabric.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "fabrics/fabrics_internal.h"
#include "ipc/fabric_msg.h"
#include "loop/loop.h"
#include "shared/barrier.h"
#include "wire/pkey.h"

struct fpath {
	uint32_t src, dst;	/* nodes; dst TOPO_NONE: no port has the LID */
	uint8_t src_port, dst_port;
	struct fabric_pkt pkt;	/* header fields of a packet on the path; packets is 0: fpath_judge() does not change counters */
};

struct judged {
	const struct fpath *p;
	bool arrived;
};

static void fpath_arrived(void *ctx, uint32_t node, uint8_t port)
{
	struct judged *j = ctx;

	j->arrived |= node == j->p->dst && port == j->p->dst_port;
}

static void fpath_judge(struct fabrics *fs, uint32_t id)
{
	struct judged j = { .p = &fs->paths[id] };

	fabric_data(fs->fabric, j.p->src, j.p->src_port, &j.p->pkt, fpath_arrived, &j,
		    fs->loop->now);
	WRITE_ONCE(fs->page->path_ok[id], j.arrived);
}

void fabrics_way_walk(struct fabrics *fs, uint32_t id, fabric_deliver deliver, void *ctx)
{
	const struct fpath *p = &fs->paths[id];

	fabric_data(fs->fabric, p->src, p->src_port, &p->pkt, deliver, ctx, fs->loop->now);
}

void fabrics_paths_settle(struct fabrics *f)
{
	uint64_t now = fabric_generation(f->fabric);

	if (f->generation == now)
		return;
	f->generation = now;
	fabrics_mcast_changed(f);
	for (uint32_t i = 0; i < f->npaths; i++)
		fpath_judge(f, i);
}

/*
 * True if the client may report traffic on the path, i.e. the path starts or ends at the client's
 * host. A path that ends there is allowed because a requester that executes its READ or WRITE
 * itself (direct placement) also counts the packets that the peer would have sent back.
 */
static bool fpath_counts(const struct fabric_client *c, const struct fpath *p)
{
	return p->src == c->number - 1 || p->dst == c->number - 1;
}

/* Accounts what the client has sent on its paths since the last call. */
static void fpath_harvest(struct fabric_client *c)
{
	struct proc_path now[PROC_MAX_PATHS];
	struct fabrics *f = c->fs;

	if (!c->paths || c->page_fd < 0 ||
	    pread(c->page_fd, now, sizeof(now), offsetof(struct proc_page, path)) !=
		    (ssize_t)sizeof(now))
		return;
	for (int i = 0; i < PROC_MAX_PATHS; i++) {
		struct proc_path *was = &c->paths[i];
		uint32_t id = now[i].id - 1;
		struct fabric_pkt pkt;

		if (id >= f->npaths || now[i].packets == was->packets ||
		    !fpath_counts(c, &f->paths[id]))
			continue;
		pkt = f->paths[id].pkt;
		pkt.packets = (uint32_t)min(now[i].packets - was->packets, (uint64_t)UINT32_MAX);
		pkt.words = now[i].words - was->words;
		*was = now[i];
		fabric_data(f->fabric, f->paths[id].src, f->paths[id].src_port, &pkt, NULL, NULL,
			    c->fs->loop->now);
	}
}

void fabrics_paths_count(struct fabrics *fs)
{
	struct fabric_client *c;

	if (!fs->npaths)
		return;
	list_for_each_entry(c, &fs->clients, node)
		fpath_harvest(c);
}

void fabric_client_paths(struct fabric_client *c)
{
	if (c->fs->fabric && c->host)
		fpath_harvest(c);
	free(c->paths);
	c->paths = NULL;
}

void fabrics_paths_reset(struct fabrics *fs)
{
	struct fabric_client *c;

	for (uint32_t i = 0; i < HOST_MAX_PATHS; i++)
		WRITE_ONCE(fs->page->path_ok[i], 0);
	free(fs->paths);
	fs->paths = NULL;
	fs->npaths = 0;
	list_for_each_entry(c, &fs->clients, node) {
		free(c->paths);
		c->paths = NULL;
	}
}

/* Finds the host port that has this LID. */
static bool fpath_lid_owner(const struct fabric *f, uint16_t lid, uint32_t *node, uint8_t *port)
{
	for (uint32_t n = 0; n < fabric_node_count(f); n++) {
		if (fabric_node_type(f, n) == NODE_SWITCH || !fabric_node_is_on(f, n))
			continue;
		for (uint32_t p = 1; p <= fabric_node_ports(f, n); p++) {
			const uint8_t *info = fabric_port_info(f, n, (uint8_t)p);
			uint64_t base = ib_smp_get(info, PI_LID);

			if (!base || lid < base || lid >= base + (1u << ib_smp_get(info, PI_LMC)))
				continue;
			*node = n;
			*port = (uint8_t)p;
			return true;
		}
	}
	return false;
}

/* Finds the path with these properties or adds it. Its index in fabric.paths, or -ENOSPC. */
static int fpath_find(struct fabrics *f, const struct fpath *want)
{
	uint32_t i;

	for (i = 0; i < f->npaths; i++) {
		const struct fpath *p = &f->paths[i];

		if (p->src == want->src && p->src_port == want->src_port && p->dst == want->dst &&
		    p->dst_port == want->dst_port && p->pkt.slid == want->pkt.slid &&
		    p->pkt.dlid == want->pkt.dlid && p->pkt.sl == want->pkt.sl &&
		    p->pkt.pkey == want->pkt.pkey && p->pkt.mtu == want->pkt.mtu)
			return (int)i;
	}
	if (i == HOST_MAX_PATHS) {
		static bool said;

		if (!said)
			log_warn("the fabric's path table is full: %d paths are in use",
				 HOST_MAX_PATHS);
		said = true;
		return -ENOSPC;
	}
	f->paths[f->npaths++] = *want;
	fpath_judge(f, i);
	return (int)i;
}

/* P_Key of the packets on the way back: the same partition, with the membership of the answering port. */
static uint16_t fpath_pkey(const struct fabric *f, const struct fpath *p)
{
	uint16_t key, best = p->pkt.pkey & 0x7fff;

	for (uint32_t i = 0; !fabric_port_pkey(f, p->dst, p->dst_port, i, &key); i++)
		if (pkey_same(key, best))
			best |= key;
	return best;
}

static int fpath_back(struct fabrics *fs, const struct fpath *p)
{
	struct fpath b = { .src = p->dst, .src_port = p->dst_port, .dst = p->src,
			   .dst_port = p->src_port, .pkt = p->pkt };

	b.pkt.slid = p->pkt.dlid;
	b.pkt.dlid = p->pkt.slid;
	b.pkt.pkey = fpath_pkey(fs->fabric, p);
	return fpath_find(fs, &b);
}

static struct fabric_port *fpath_port(const struct fabrics *fs, uint32_t dev_index)
{
	for (unsigned int i = 0; i < HOST_MAX_DEVS; i++)
		if (fs->port[i] && fs->page->dev[i].index == dev_index)
			return fs->port[i];
	return NULL;
}

static void fpath_fill_owner(struct fabrics *fs, const struct fpath *p, struct ipc_path *rep)
{
	const uint8_t *info = fabric_port_info(fs->fabric, p->dst, p->dst_port);
	struct fabric_host *h = fs->hosts[p->dst];

	rep->path_bits = (uint8_t)(p->pkt.dlid - ib_smp_get(info, PI_LID));
	fabric_port_gid(fs->fabric, p->dst, p->dst_port, 0, rep->gid);
	if (h && p->dst_port <= h->nports)
		rep->owner = fs->page->dev[h->port[p->dst_port - 1].slot].index;
}

int fabrics_path(struct fabric_client *c, const struct ipc_path *q, struct ipc_path *rep)
{
	struct fabrics *f = c->fs;
	struct fabric_port *p = fpath_port(c->fs, q->dev_index);
	struct fpath want = { .dst = TOPO_NONE };
	int id, back;

	if (!f->fabric || !p || p->host != c->host)
		return -ENODEV;
	if (!f->paths)
		f->paths = calloc(HOST_MAX_PATHS, sizeof(*f->paths));
	if (!c->paths)
		c->paths = calloc(PROC_MAX_PATHS, sizeof(*c->paths));
	if (!f->paths || !c->paths)
		return -ENOMEM;
	want.src = p->host->node;
	want.src_port = p->num;
	want.pkt = (struct fabric_pkt){ .slid = q->slid, .dlid = q->dlid, .sl = q->sl & 15,
					.pkey = q->pkey, .mtu = q->mtu };
	*rep = *q;
	rep->owner = 0;
	if (fpath_lid_owner(f->fabric, q->dlid, &want.dst, &want.dst_port))
		fpath_fill_owner(c->fs, &want, rep);
	id = fpath_find(c->fs, &want);
	back = id < 0 || want.dst == TOPO_NONE ? id : fpath_back(c->fs, &want);
	if (id < 0 || back < 0)
		return min(id, back);
	rep->id = (uint32_t)id;
	rep->back = (uint32_t)back;
	return 0;
}
