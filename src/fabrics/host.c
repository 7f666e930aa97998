/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Hosts of the fabric as their programs see them: devices, ports, sysfs.
 *
 * fabric_client_host() adds a host when its first program arrives: a directory hosts/N below the
 * run directory with sysfs tree, an rdma_cm, and a device in the host page (struct host_page,
 * shared with all processes) for each port. fabric_port_fill() translates PortInfo, GIDs and P_Keys into the
 * host page after each change. fabric_port_counters_show() asks the PMA for the port counters, as the kernel
 * does, and writes them to sysfs.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/sysfs/sysfs.h"
#include "base/log.h"
#include "fabrics/cm.h"
#include "fabrics/fabrics_internal.h"
#include "gsi/gsi.h"
#include "ipc/fabric_msg.h"
#include "loop/loop.h"
#include "wire/be.h"

#define HOSTS_DIR "hosts"	/* below the run directory; holds a directory per host */
#define MAX_PORTS 4		/* most ports of an HCA that get a device; the others are not visible to programs */

struct fabric_port *fabric_port_of(const struct fabrics *fs, unsigned int slot)
{
	return slot < HOST_MAX_DEVS ? fs->port[slot] : NULL;
}

int fabric_host_run(const struct fabrics *fs, uint32_t host)
{
	return fs->hosts[host - 1]->run;
}

/* enum ib_port_speed; extended speeds start with FDR. */
static uint8_t fabric_port_speed(const uint8_t *info)
{
	uint32_t ext = (uint32_t)ib_smp_get(info, PI_LINK_SPEED_EXT_ACTIVE);

	return (uint8_t)(ext ? ext << 4 : ib_smp_get(info, PI_LINK_SPEED_ACTIVE));
}

static void fabric_port_fill_gids(struct host_dev *d, const struct fabric *f,
				  const struct fabric_port *p)
{
	static const uint8_t no_guid[8];
	uint8_t gid[16];

	memset(d->gid, 0, sizeof(d->gid));
	d->ngids = 0;
	for (uint32_t i = 0; !fabric_port_gid(f, p->host->node, p->num, i, gid); i++) {
		if (!memcmp(gid + 8, no_guid, 8))
			continue;
		memcpy(d->gid[i].raw, gid, 16);
		d->ngids = i + 1;
	}
}

static void fabric_port_fill(struct host_dev *d, const struct fabric *f,
			     const struct fabric_port *p)
{
	const uint8_t *info = p->info;
	struct host_ib *ib = &d->ib;
	uint32_t i;

	d->state = (uint8_t)ib_smp_get(info, PI_PORT_STATE);
	d->phys_state = (uint8_t)ib_smp_get(info, PI_PORT_PHYSICAL_STATE);
	d->active_mtu = (uint8_t)ib_smp_get(info, PI_NEIGHBOR_MTU);
	d->active_width = (uint8_t)ib_smp_get(info, PI_LINK_WIDTH_ACTIVE);
	d->active_speed = fabric_port_speed(info);
	fabric_port_fill_gids(d, f, p);
	ib->host = p->host->node + 1;
	ib->hca_port = p->num;
	d->cap_mask = (uint32_t)ib_smp_get(info, PI_CAPABILITY_MASK);
	ib->cap_mask2 = (uint16_t)ib_smp_get(info, PI_CAPABILITY_MASK2);
	ib->reregister = p->reregister;
	ib->lid = (uint16_t)ib_smp_get(info, PI_LID);
	ib->sm_lid = (uint16_t)ib_smp_get(info, PI_MASTER_SM_LID);
	ib->lmc = (uint8_t)ib_smp_get(info, PI_LMC);
	ib->sm_sl = (uint8_t)ib_smp_get(info, PI_MASTER_SM_SL);
	ib->max_mtu = (uint8_t)ib_smp_get(info, PI_MTU_CAP);
	ib->vl_cap = (uint8_t)ib_smp_get(info, PI_VL_CAP);
	ib->init_reply = (uint8_t)ib_smp_get(info, PI_INIT_TYPE_REPLY);
	ib->subnet_timeout = (uint8_t)ib_smp_get(info, PI_SUBNET_TIMEOUT);
	for (i = 0; i < HOST_MAX_PKEYS; i++)
		if (fabric_port_pkey(f, p->host->node, p->num, i, &ib->pkey[i]))
			break;
	ib->npkeys = (uint8_t)i;
}

void fabric_port_publish(struct fabric_port *p)
{
	struct fabrics *fs = p->host->fs;
	const struct fabric *f = fs->fabric;
	const uint8_t *info = fabric_port_info(f, p->host->node, p->num);
	struct host_dev d;

	if (!p->dirty && !memcmp(info, p->info, SMP_DATA_LEN))
		return;
	p->dirty = false;
	memcpy(p->info, info, SMP_DATA_LEN);
	d = fs->page->dev[p->slot];
	fabric_port_fill(&d, f, p);
	fs->gsi->port[p->slot].port.lmc = d.ib.lmc;
	fs->ops->device_publish(fs->ctx, p->slot, &d);
	fabrics_sa_ip_again(p);
}

static void fabric_put_guid(uint8_t *to, uint64_t guid)
{
	for (int i = 7; i >= 0; i--, guid >>= 8)
		to[i] = (uint8_t)guid;
}

static int fabric_port_add(struct fabric_host *h, uint8_t num)
{
	struct fabric_port *p = &h->port[h->nports];
	struct fabrics *f = h->fs;
	struct host_dev d = { .in_use = 1 };
	int slot = f->ops->device_place(f->ctx, &d);

	if (slot < 0)
		return slot;
	*p = (struct fabric_port){ .host = h, .num = num, .slot = (unsigned int)slot };
	memcpy(p->info, fabric_port_info(f->fabric, h->node, num), SMP_DATA_LEN);
	snprintf(d.name, sizeof(d.name), "rxe_%u", num - 1u);
	fabric_put_guid(d.node_guid, fabric_node_guid(f->fabric, h->node));
	fabric_put_guid(d.ib.sys_image_guid, fabric_node_image_guid(f->fabric, h->node));
	fabric_node_ids(f->fabric, h->node, &d.ib.vendor_id, &d.ib.device_id);
	snprintf(d.ib.desc, sizeof(d.ib.desc), "%s", fabric_node_desc(f->fabric, h->node));
	fabric_port_fill(&d, f->fabric, p);
	f->port[slot] = p;
	h->nports++;
	f->ops->device_publish(f->ctx, (unsigned int)slot, &d);
	f->gsi->port[slot].port.lmc = d.ib.lmc;
	return 0;
}

static void fabric_port_del(struct fabric_port *p)
{
	struct fabrics *f = p->host->fs;

	f->ops->device_del(f->ctx, p->slot);
	f->port[p->slot] = NULL;
}

static void fabric_host_path(char path[32], uint32_t node)
{
	snprintf(path, 32, HOSTS_DIR "/%u", node);
}

/* Creates RUN/hosts/N with an empty sysfs tree and opens it. */
static int fabric_host_open_dir(struct fabric_host *h)
{
	char path[32];
	int fd, rc;

	fabric_host_path(path, h->node);
	if (mkdirat(h->fs->run, HOSTS_DIR, 0700) && errno != EEXIST)
		return -errno;
	if (mkdirat(h->fs->run, path, 0700) && errno != EEXIST)
		return -errno;
	fd = openat(h->fs->run, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* The run directory was created again: keep the number of the descriptor. */
	if (h->run >= 0) {
		dup3(fd, h->run, O_CLOEXEC);
		close(fd);
	} else {
		h->run = fd;
	}
	h->view.run = h->run;
	sysfs_remove(h->run);
	rc = sysfs_init(h->run);
	if (rc)
		log_err("cannot create the sysfs tree of a host in %s: %s", h->fs->rundir,
			strerror(-rc));
	return rc;
}

int fabrics_hosts_restore(struct fabrics *f)
{
	int rc = 0;

	if (!f->fabric)
		return 0;
	for (uint32_t i = 0; !rc && i < fabric_node_count(f->fabric); i++)
		if (f->hosts[i])
			rc = fabric_host_open_dir(f->hosts[i]);
	return rc;
}

void fabrics_hosts_clear(int run)
{
	int fd = openat(run, HOSTS_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		int host;

		if (e->d_name[strspn(e->d_name, "0123456789")])
			continue;
		host = openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (host < 0)
			continue;
		sysfs_remove(host);
		close(host);
		unlinkat(fd, e->d_name, AT_REMOVEDIR);
	}
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
	unlinkat(run, HOSTS_DIR, AT_REMOVEDIR);
}

void fabric_host_del(struct fabric_host *h)
{
	struct fabrics *fs = h->fs;
	char path[32];

	while (h->nports)
		fabric_port_del(&h->port[--h->nports]);
	fabric_cm_host_gone(h->cm);
	if (h->run >= 0) {
		sysfs_remove(h->run);
		close(h->run);
	}
	fabric_host_path(path, h->node);
	unlinkat(fs->run, path, AT_REMOVEDIR);
	unlinkat(fs->run, HOSTS_DIR, AT_REMOVEDIR);
	fs->hosts[h->node] = NULL;
	free(h);
}

/* Removes the host without programs that was unused for the longest time. False: there is none. */
static bool fabric_host_make_room(struct fabrics *fs)
{
	struct fabric_host *oldest = NULL;

	for (int i = 0; i < HOST_MAX_DEVS; i++) {
		struct fabric_host *h = fs->port[i] ? fs->port[i]->host : NULL;

		if (h && !h->clients && (!oldest || h->used < oldest->used))
			oldest = h;
	}
	if (oldest)
		fabric_host_del(oldest);
	return oldest;
}

static int fabric_host_add(struct fabrics *fs, uint32_t node, struct fabric_host **out)
{
	uint8_t nports = min(fabric_node_ports(fs->fabric, node), (uint8_t)MAX_PORTS);
	struct fabric_host *h = calloc(1, sizeof(*h) + nports * sizeof(h->port[0]));
	int rc;

	if (!h)
		return -ENOMEM;
	*h = (struct fabric_host){ .fs = fs, .node = node, .run = -1, .clients = 1 };
	fs->hosts[node] = h;
	rc = fabric_host_open_dir(h);
	if (!rc)
		rc = fabric_cm_init(h);
	for (uint8_t p = 1; !rc && p <= nports; p++)
		do {
			rc = fabric_port_add(h, p);
		} while (rc == -ENOSPC && fabric_host_make_room(fs));
	if (rc) {
		fabric_host_del(h);
		return rc;
	}
	h->clients = 0;
	*out = h;
	return 0;
}

void fabric_client_init(struct fabric_client *c, struct fabrics *fs)
{
	*c = (struct fabric_client){ .fs = fs, .page_fd = -1 };
	list_init(&c->node);
}

int fabric_client_host(struct fabric_client *c, const char *name, size_t len,
		       struct ipc_fabric_host *rep)
{
	struct fabrics *f = c->fs;
	char text[TOPO_NAME_LEN + 1] = "";
	struct fabric_host *h;
	uint32_t node;
	int rc = 0;

	if (c->host)
		return -EBUSY;
	if (!f->fabric || !len || len > TOPO_NAME_LEN || memchr(name, 0, len))
		return -ENODEV;
	memcpy(text, name, len);
	node = fabric_find(f->fabric, text);
	if (node == TOPO_NONE || fabric_node_type(f->fabric, node) == NODE_SWITCH)
		return -ENODEV;
	h = f->hosts[node];
	if (!h)
		rc = fabric_host_add(f, node, &h);
	if (rc)
		return rc;
	h->clients++;
	h->used = ++f->uses;
	c->host = h;
	c->number = node + 1;
	if (list_empty(&c->node))
		list_add_tail(&c->node, &f->clients);
	rep->host = node + 1;
	snprintf(rep->root, sizeof(rep->root), "%s/" HOSTS_DIR "/%u", f->rundir, node);
	return 0;
}

void fabric_client_gone(struct fabric_client *c)
{
	fabric_client_paths(c);
	fabric_client_mcast(c);
	if (c->host)
		c->host->clients--;
	c->host = NULL;
	list_del(&c->node);
}

struct umad_view *fabric_client_view(const struct fabric_client *c)
{
	if (c->host)
		return &c->host->view;
	return c->number ? &c->fs->nothing : NULL;
}

/* The PMA attributes that the kernel reads (drivers/infiniband/core/sysfs.c). */
static const struct counter {
	const char *name;
	enum perf_field field;
	bool extended;
} counters[] = {
	{ "symbol_error", PC_SYMBOL_ERROR, false },
	{ "link_error_recovery", PC_LINK_ERROR_RECOVERY, false },
	{ "link_downed", PC_LINK_DOWNED, false },
	{ "port_rcv_errors", PC_RCV_ERRORS, false },
	{ "port_rcv_remote_physical_errors", PC_RCV_REMOTE_PHYSICAL_ERRORS, false },
	{ "port_rcv_switch_relay_errors", PC_RCV_SWITCH_RELAY_ERRORS, false },
	{ "port_xmit_discards", PC_XMIT_DISCARDS, false },
	{ "port_xmit_constraint_errors", PC_XMIT_CONSTRAINT_ERRORS, false },
	{ "port_rcv_constraint_errors", PC_RCV_CONSTRAINT_ERRORS, false },
	{ "local_link_integrity_errors", PC_LOCAL_LINK_INTEGRITY_ERRORS, false },
	{ "excessive_buffer_overrun_errors", PC_EXCESSIVE_BUFFER_OVERRUN_ERRORS, false },
	{ "VL15_dropped", PC_VL15_DROPPED, false },
	{ "port_xmit_wait", PC_XMIT_WAIT, false },
	{ "port_xmit_data", PX_XMIT_DATA, true },
	{ "port_rcv_data", PX_RCV_DATA, true },
	{ "port_xmit_packets", PX_XMIT_PKTS, true },
	{ "port_rcv_packets", PX_RCV_PKTS, true },
	{ "unicast_xmit_packets", PX_UNICAST_XMIT_PKTS, true },
	{ "unicast_rcv_packets", PX_UNICAST_RCV_PKTS, true },
	{ "multicast_xmit_packets", PX_MULTICAST_XMIT_PKTS, true },
	{ "multicast_rcv_packets", PX_MULTICAST_RCV_PKTS, true },
};

static void fabric_port_ask_pma(const struct fabric_port *p, uint16_t attr, uint8_t out[MAD_LEN])
{
	struct fabrics *fs = p->host->fs;
	uint8_t mad[MAD_LEN] = { 0 };

	mad[MAD_O_BASE_VERSION] = MAD_BASE_VERSION;
	mad[MAD_O_CLASS] = MAD_CLASS_PERF;
	mad[MAD_O_CLASS_VERSION] = 1;
	mad[MAD_O_METHOD] = MAD_GET;
	put_be16(mad + MAD_O_ATTR, attr);
	perf_put(mad + PERF_O_DATA, PC_PORT_SELECT, p->num);
	if (fabric_process(fs->fabric, p->host->node, p->num, mad, out, fs->loop->now) !=
	    MAD_REPLY)
		memset(out, 0, MAD_LEN);
}

static void fabric_port_counters_show(const struct fabric_port *p)
{
	const struct host_dev *d = &p->host->fs->page->dev[p->slot];
	uint8_t plain[MAD_LEN], ext[MAD_LEN];
	char path[64];

	fabric_port_ask_pma(p, PERF_ATTR_COUNTERS, plain);
	fabric_port_ask_pma(p, PERF_ATTR_COUNTERS_EXT, ext);
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
		const struct counter *c = &counters[i];

		snprintf(path, sizeof(path), "counters/%s", c->name);
		if (sysfs_counter(p->host->run, d->name, path,
				  perf_get((c->extended ? ext : plain) + PERF_O_DATA, c->field)))
			log_warn("cannot write the counters of %s in sysfs", d->name);
	}
}

void fabrics_counters_show(struct fabrics *fs)
{
	if (fs->fabric)
		fabrics_paths_count(fs);
	for (int i = 0; i < HOST_MAX_DEVS; i++)
		if (fs->port[i])
			fabric_port_counters_show(fs->port[i]);
}
