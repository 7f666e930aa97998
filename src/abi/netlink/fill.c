/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bodies of messages about devices, ports and character devices, and of SYS_GET. They have all
 * attributes that the kernel sends for rxe, in its order, because programs may fail if one is missing.
 */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <rdma/ib_user_mad.h>
#include <rdma/rdma_user_cm.h>
#include <stdio.h>

#include "abi/netlink/nldev_internal.h"
#include "base/devnum.h"

#define RXE_DRIVER_ID 14		/* RDMA_DRIVER_RXE */
#define RXE_UVERBS_ABI 2
#define NODE_CA 1

int nldev_put_u8(struct nldev_msg *m, uint16_t type, uint8_t v)
{
	return mnl_attr_put_u8_check(m->nlh, m->room, type, v) ? 0 : -EMSGSIZE;
}

int nldev_put_u32(struct nldev_msg *m, uint16_t type, uint32_t v)
{
	return mnl_attr_put_u32_check(m->nlh, m->room, type, v) ? 0 : -EMSGSIZE;
}

int nldev_put_u64(struct nldev_msg *m, uint16_t type, uint64_t v)
{
	return mnl_attr_put_u64_check(m->nlh, m->room, type, v) ? 0 : -EMSGSIZE;
}

int nldev_put_str(struct nldev_msg *m, uint16_t type, const char *s)
{
	return mnl_attr_put_strz_check(m->nlh, m->room, type, s) ? 0 : -EMSGSIZE;
}

/* Netlink carries GUIDs in host byte order, unlike the rest of RDMA. */
static uint64_t guid_host(const uint8_t *g)
{
	uint64_t v = 0;
	int i;

	for (i = 0; i < 8; i++)
		v = v << 8 | g[i];
	return v;
}

int nldev_put_handle(struct nldev_msg *m, const struct host_dev *d)
{
	int rc = nldev_put_u32(m, RDMA_NLDEV_ATTR_DEV_INDEX, d->index);

	return rc ? rc : nldev_put_str(m, RDMA_NLDEV_ATTR_DEV_NAME, d->name);
}

int nldev_fill_dev(struct nldev_msg *m, const struct nldev_ctx *h, int dev)
{
	const struct host_dev *d = &h->page->dev[dev];
	uint64_t guid = guid_host(d->node_guid);

	/* No FW_VERSION: the kernel omits an empty one. */
	if (nldev_put_handle(m, d) || nldev_put_u32(m, RDMA_NLDEV_ATTR_PORT_INDEX, 1) ||
	    nldev_put_u64(m, RDMA_NLDEV_ATTR_CAP_FLAGS, h->page->cap_flags) ||
	    nldev_put_u64(m, RDMA_NLDEV_ATTR_NODE_GUID, guid) ||
	    nldev_put_u64(m, RDMA_NLDEV_ATTR_SYS_IMAGE_GUID,
			  d->ib.host ? guid_host(d->ib.sys_image_guid) : guid) ||
	    nldev_put_u8(m, RDMA_NLDEV_ATTR_DEV_NODE_TYPE, NODE_CA) ||
	    nldev_put_u8(m, RDMA_NLDEV_ATTR_DEV_DIM, 0) ||
	    nldev_put_str(m, RDMA_NLDEV_ATTR_DEV_PROTOCOL, d->ib.host ? "ib" : "roce"))
		return -EMSGSIZE;
	return 0;
}

/* Attributes that only rdma_protocol_ib() ports have. */
static int fill_port_ib(struct nldev_msg *m, const struct host_dev *d)
{
	uint64_t caps = d->cap_mask | (uint64_t)d->ib.cap_mask2 << 32;

	if (nldev_put_u64(m, RDMA_NLDEV_ATTR_CAP_FLAGS, caps) ||
	    nldev_put_u64(m, RDMA_NLDEV_ATTR_SUBNET_PREFIX, guid_host(d->gid[0].raw)) ||
	    nldev_put_u32(m, RDMA_NLDEV_ATTR_LID, d->ib.lid) ||
	    nldev_put_u32(m, RDMA_NLDEV_ATTR_SM_LID, d->ib.sm_lid) ||
	    nldev_put_u8(m, RDMA_NLDEV_ATTR_LMC, d->ib.lmc))
		return -EMSGSIZE;
	return 0;
}

int nldev_fill_port(struct nldev_msg *m, const struct nldev_ctx *h, int dev)
{
	const struct host_dev *d = &h->page->dev[dev];

	if (nldev_put_handle(m, d) || nldev_put_u32(m, RDMA_NLDEV_ATTR_PORT_INDEX, 1) ||
	    (d->ib.host && fill_port_ib(m, d)) ||
	    nldev_put_u8(m, RDMA_NLDEV_ATTR_PORT_STATE, d->state) ||
	    nldev_put_u8(m, RDMA_NLDEV_ATTR_PORT_PHYS_STATE, d->phys_state))
		return -EMSGSIZE;
	if (!d->ifindex)
		return 0;
	if (nldev_put_u32(m, RDMA_NLDEV_ATTR_NDEV_INDEX, d->ifindex) ||
	    nldev_put_str(m, RDMA_NLDEV_ATTR_NDEV_NAME, d->ndev))
		return -EMSGSIZE;
	return 0;
}

int nldev_fill_uverbs(struct nldev_msg *m, const struct nldev_ctx *h, int dev)
{
	const struct host_dev *d = &h->page->dev[dev];
	uint64_t devt = (d->minor & 0xff) | UVERBS_MAJOR << 8 |
			(uint64_t)(d->minor & ~0xffu) << 12;
	char name[24];

	snprintf(name, sizeof(name), "uverbs%u", d->minor - UVERBS_BASE_MINOR);
	if (nldev_put_u32(m, RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID, RXE_DRIVER_ID) ||
	    nldev_put_u64(m, RDMA_NLDEV_ATTR_CHARDEV, devt) ||
	    nldev_put_u64(m, RDMA_NLDEV_ATTR_CHARDEV_ABI, RXE_UVERBS_ABI) ||
	    nldev_put_str(m, RDMA_NLDEV_ATTR_CHARDEV_NAME, name))
		return -EMSGSIZE;
	return 0;
}

int nldev_umad(const struct nldev_ctx *h, int dev)
{
	return dev >= 0 && h->umad ? h->umad(h->arg, dev) : -ENODEV;
}

int nldev_fill_umad(struct nldev_msg *m, const struct nldev_ctx *h, int dev)
{
	uint32_t number = (uint32_t)nldev_umad(h, dev);
	char name[24];

	snprintf(name, sizeof(name), "umad%u", number);
	if (nldev_put_u64(m, RDMA_NLDEV_ATTR_CHARDEV, number | UVERBS_MAJOR << 8) ||
	    nldev_put_u64(m, RDMA_NLDEV_ATTR_CHARDEV_ABI, IB_USER_MAD_ABI_VERSION) ||
	    nldev_put_str(m, RDMA_NLDEV_ATTR_CHARDEV_NAME, name))
		return -EMSGSIZE;
	return 0;
}

int nldev_fill_rdma_cm(struct nldev_msg *m)
{
	if (nldev_put_u64(m, RDMA_NLDEV_ATTR_CHARDEV, RDMA_CM_MINOR | RDMA_CM_MAJOR << 8) ||
	    nldev_put_u64(m, RDMA_NLDEV_ATTR_CHARDEV_ABI, RDMA_USER_CM_ABI_VERSION) ||
	    nldev_put_str(m, RDMA_NLDEV_ATTR_CHARDEV_NAME, "rdma_cm"))
		return -EMSGSIZE;
	return 0;
}

int nldev_fill_sys(struct nldev_msg *m)
{
	/*
	 * The values are the kernel's defaults: 1, network namespaces share the RDMA devices; 0, only
	 * privileged programs may use privileged Q_Keys. Copy-on-fork is 1: the registered memory of
	 * a process stays valid after a fork() without madvise(MADV_DONTFORK), since ruse pins no
	 * pages and reaches the memory by its virtual address.
	 */
	if (nldev_put_u8(m, RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 1) ||
	    nldev_put_u8(m, NLDEV_SYS_ATTR_PRIVILEGED_QKEY_MODE, 0) ||
	    nldev_put_u8(m, RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK, 1))
		return -EMSGSIZE;
	return 0;
}
