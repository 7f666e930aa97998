/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The device an id is bound to: attaching, and finding it by GID or source address. */
#include <errno.h>
#include <string.h>
#include "rdmacm/rdmacm_internal.h"
#include "wire/smp.h"

static const uint8_t gid_zero[16];

void cma_attach_to_dev(struct rdma_id_private *p, struct cma_device *dev)
{
	p->cma_dev = dev;
	p->id.device = dev->hd;
	list_add_tail(&p->device_item, &dev->ids);
	/*
	 * Start the query for the IPoIB broadcast group now: a later connect needs the group's Q_Key at once and does
	 * not wait for the answer.
	 */
	if (p->id.ps == RDMA_PS_IPOIB && cma_dev_is_ib(dev))
		(void)cma_ip_qkey(p, &(uint32_t){ 0 });
}

void cma_release_dev(struct rdma_id_private *p)
{
	list_del(&p->device_item);
	p->cma_dev = NULL;
	p->id.device = NULL;
	p->sgid_index = -1;
}

static unsigned int gid_count(const struct host_dev *hd)
{
	return min(hd->ngids, (uint32_t)HOST_MAX_GIDS);
}

int cma_find_gid(const struct cma_device *dev, const uint8_t gid[16], uint32_t ifindex)
{
	const struct host_dev *hd = dev->hd;

	if (!hd || !memcmp(gid, gid_zero, 16))
		return -1;
	for (unsigned int i = 0; i < gid_count(hd); i++)
		if (!memcmp(hd->gid[i].raw, gid, 16) && !hd->gid[i].v1 &&
		    (!ifindex || hd->gid[i].ifindex == ifindex))
			return (int)i;
	return -1;
}

struct cma_device *cma_device_of(struct rdmacm *rm, const struct cm_device *cdev)
{
	for (unsigned int i = 0; i < HOST_MAX_DEVS; i++)
		if (cdev && rm->dev[i].hd && rm->dev[i].cdev == cdev)
			return &rm->dev[i];
	return NULL;
}

bool cma_gid_is_local(const struct rdmacm *rm, const uint8_t gid[16])
{
	for (unsigned int i = 0; i < HOST_MAX_DEVS; i++)
		if (cma_find_gid(&rm->dev[i], gid, 0) >= 0)
			return true;
	return false;
}

/* Attaches to the port whose IPoIB interface has the address: GID 0, P_Key at index 0. */
static void attach_by_port(struct rdma_id_private *p, struct cma_device *dev)
{
	p->sgid_index = 0;
	memcpy(p->sgid, dev->hd->gid[0].raw, 16);
	p->id.port_num = CMA_PORT;
	p->id.pkey = cma_ip_pkey(dev);
	cma_attach_to_dev(p, dev);
}

int cma_acquire_dev_by_src_ip(struct rdma_id_private *p)
{
	struct rdmacm *rm = p->id.rm;
	uint8_t gid[16];

	if (rdma_ip2gid(cma_src(p), gid))
		memcpy(gid, ((struct sockaddr_ib *)(void *)cma_src(p))->sib_addr, 16);
	for (unsigned int i = 0; i < HOST_MAX_DEVS; i++) {
		struct cma_device *dev = &rm->dev[i];
		bool is_ib;
		int index;

		if (!dev->hd)
			continue;
		is_ib = cma_dev_is_ib(dev);
		if (is_ib && cma_family(p) != AF_IB) {
			if (dev->hd->ib.hca_port != p->bound_if)
				continue;
			attach_by_port(p, dev);
			return 0;
		}
		index = cma_find_gid(dev, gid, is_ib ? 0 : p->bound_if);
		if (index < 0)
			continue;
		/* IPoIB does not exist on Ethernet. */
		if (p->id.ps == RDMA_PS_IPOIB && !is_ib)
			return -EINVAL;
		p->sgid_index = index;
		memcpy(p->sgid, gid, 16);
		p->bound_if = host_gid_if(dev->hd, (uint32_t)index);
		p->id.port_num = CMA_PORT;
		cma_attach_to_dev(p, dev);
		return 0;
	}
	return -ENODEV;
}

static bool is_ipv4(const uint8_t gid[16])
{
	return !memcmp(gid, gid_zero, 10) && gid[10] == 0xff && gid[11] == 0xff;
}

/*
 * GID index for loopback connections, of RoCEv2 as for all of rdma_cm. The kernel uses GID 0, which on RoCE stands
 * for a link-local address that the netdev may not have. Traffic over UDP needs an
 * address that exists: prefer the first IPv4 GID, then one of another address than GID 0.
 */
static int loopback_gid(const struct host_dev *hd)
{
	int other = -1;

	if (hd->ib.host)
		return memcmp(hd->gid[0].raw, gid_zero, 16) ? 0 : -1;
	for (unsigned int i = 0; i < gid_count(hd); i++) {
		const uint8_t *gid = hd->gid[i].raw;

		if (hd->gid[i].v1)
			continue;
		if (is_ipv4(gid))
			return (int)i;
		if (other <= (int)hd->gid[0].v1 && memcmp(gid, gid_zero, 16))
			other = (int)i;
	}
	return other;
}

struct cma_device *cma_loopback_dev(struct rdmacm *rm, int *gid_index)
{
	struct cma_device *first = NULL;
	int index = -1;

	for (unsigned int i = 0; i < HOST_MAX_DEVS; i++) {
		struct cma_device *dev = &rm->dev[i];

		if (!dev->hd)
			continue;
		index = loopback_gid(dev->hd);
		if (index < 0)
			continue;
		if (!first || dev->hd->state == PORT_ACTIVE) {
			first = dev;
			*gid_index = index;
		}
		if (dev->hd->state == PORT_ACTIVE)
			break;
	}
	return first;
}
