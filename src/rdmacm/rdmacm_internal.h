/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Constants, and the functions of the rdmacm files for each other. */
#ifndef RUSE_RDMACM_RDMACM_INTERNAL_H
#define RUSE_RDMACM_RDMACM_INTERNAL_H

#include <netinet/in.h>	/* must precede the kernel headers, which then omit their definitions */
#include "base/list.h"
#include "cm/cm.h"
#include "rdmacm/id.h"
#include "rdmacm/priv_internal.h"

#define CMA_CM_RESPONSE_TIMEOUT 20	/* 4.096 us * 2^20 */
#define CMA_MAX_CM_RETRIES 15
#define CMA_CM_MRA_SETTING (CM_MRA_FLAG_DELAY | 24)
#define CMA_IBOE_PACKET_LIFETIME 18
#define CMA_PORT 1			/* the only port of a device */
#define RDMA_UDP_QKEY 0x01234567u
#define CMA_HDR_LEN 36			/* precedes the private data, except with AF_IB */

static inline struct rdma_id_private *id_to_priv(const struct rdma_cm_id *id)
{
	return container_of(id, struct rdma_id_private, id);
}

static inline struct sockaddr *cma_src(const struct rdma_id_private *p)
{
	return (struct sockaddr *)(void *)&p->id.src;
}

static inline struct sockaddr *cma_dst(const struct rdma_id_private *p)
{
	return (struct sockaddr *)(void *)&p->id.dst;
}

static inline sa_family_t cma_family(const struct rdma_id_private *p)
{
	return p->id.src.ss_family;
}

static inline bool cma_dev_is_ib(const struct cma_device *dev)
{
	return dev->hd->ib.host;
}

/* True if the id is bound to an InfiniBand port; false without a device. */
static inline bool cma_is_ib(const struct rdma_id_private *p)
{
	return p->cma_dev && cma_dev_is_ib(p->cma_dev);
}

/* P_Key of the port's IPoIB interface (ib0): that at index 0, with full membership. */
static inline uint16_t cma_ip_pkey(const struct cma_device *dev)
{
	return dev->hd->ib.pkey[0] | 0x8000;
}

static inline ns_t cma_now(const struct rdmacm *rm)
{
	return rm->ops->now(rm->ctx);
}

static inline void cma_set_state(struct rdma_id_private *p, enum rdma_cm_state state)
{
	p->state = state;
	p->since = cma_now(p->id.rm);
}

/* id.c */
struct rdma_id_private *cma_create_id(struct rdmacm *rm, rdma_cm_event_handler handler,
				      void *context, uint16_t ps, uint8_t qp_type);
/* A random number. Draws 64 at a time, to save system calls. */
uint32_t cma_random(struct rdmacm *rm);
/* Changes the state from comp to exch. False, and no change, if the state is not comp. */
bool cma_comp_exch(struct rdma_id_private *p, enum rdma_cm_state comp, enum rdma_cm_state exch);
/* Delivers an event to the owner. If the result is not 0, the caller must destroy the id. */
int cma_tell(struct rdma_id_private *p, struct rdma_cm_event *event);
/* Ends what an id in this state has in progress: address and path resolution, listening, connection, multicast groups. */
void cma_end_operation(struct rdma_id_private *p, enum rdma_cm_state state);

/* device.c */
void cma_attach_to_dev(struct rdma_id_private *p, struct cma_device *dev);
void cma_release_dev(struct rdma_id_private *p);
/*
 * Index of the entry for gid in the device's GID table, of netdev ifindex (0: any netdev); -1: not found. On RoCE it is one
 * of RoCEv2, the kernel's CMA_PREFERRED_ROCE_GID_TYPE.
 */
int cma_find_gid(const struct cma_device *dev, const uint8_t gid[16], uint32_t ifindex);
/*
 * Attaches the id to the device that has its source address, on the netdev bound_if. 0; -ENODEV:
 * no such device; -EINVAL: RDMA_PS_IPOIB on RoCE.
 */
int cma_acquire_dev_by_src_ip(struct rdma_id_private *p);
struct cma_device *cma_device_of(struct rdmacm *rm, const struct cm_device *cdev);
/* True if a device of this host has the GID. */
bool cma_gid_is_local(const struct rdmacm *rm, const uint8_t gid[16]);
/* Device and GID index for loopback addresses; NULL: no device with a GID. */
struct cma_device *cma_loopback_dev(struct rdmacm *rm, int *gid_index);

/* port.c */
int cma_get_port(struct rdma_id_private *p);
void cma_release_port(struct rdma_id_private *p);
int cma_check_port(const struct rdma_bind_list *b, const struct rdma_id_private *p, bool reuse);
struct rdma_bind_list *cma_ps_find(struct rdmacm *rm, uint16_t ps, uint16_t port);

/* bind.c */
int cma_bind_addr(struct rdma_id_private *p, const struct sockaddr *src,
		  const struct sockaddr *dst);
int cma_listen_on_dev(struct rdma_id_private *p, struct cma_device *dev);
void cma_cancel_listens(struct rdma_id_private *p);

/* resolve.c */
void cma_cancel_resolve(struct rdma_id_private *p);

/* hdr.c: the header that precedes the private data of a REQ or SIDR_REQ. cma_format_hdr() writes it. */
void cma_format_hdr(uint8_t hdr[CMA_HDR_LEN], const struct rdma_id_private *p);
/*
 * Reads the header. The addresses are as the listener sees them: src is local, dst the peer. 0;
 * -EAFNOSUPPORT: no IP addresses (AF_IB); -EINVAL: unknown version.
 */
int cma_parse_hdr(const uint8_t hdr[CMA_HDR_LEN], uint16_t local_port,
		  struct sockaddr_storage *src, struct sockaddr_storage *dst);

static inline uint8_t cma_user_data_offset(const struct rdma_id_private *p)
{
	return cma_family(p) == AF_IB ? 0 : CMA_HDR_LEN;
}

/* CM event handlers. req.c: cma_req_handler(), for a listener's REQ and SIDR_REQ; event.c: the others. */
int cma_req_handler(struct cm_id *cm_id, const struct cm_event *ev, ns_t now);
int cma_ib_handler(struct cm_id *cm_id, const struct cm_event *ev, ns_t now);
int cma_sidr_rep_handler(struct cm_id *cm_id, const struct cm_event *ev, ns_t now);

/* ib.c: path resolution and multicast on InfiniBand ports. */
int cma_query_ib_route(struct rdma_id_private *p, uint32_t timeout_ms);
void cma_cancel_query(struct rdma_id_private *p);
/* Q_Key of the IPoIB broadcast group: 0, or -EADDRNOTAVAIL: the SA has not answered yet. */
int cma_ip_qkey(const struct rdma_id_private *p, uint32_t *qkey);
int cma_join_ib_multicast(struct rdma_id_private *p, struct cma_multicast *mc);
/* The kernel's validate_net_dev() for InfiniBand: true if src is an IP address of the port. */
bool cma_ib_addr_is_of(struct rdmacm *rm, const struct cma_device *dev,
		       const struct sockaddr *src);

/* connect.c */
int cma_set_qkey(struct rdma_id_private *p, uint32_t qkey);
int cma_set_default_qkey(struct rdma_id_private *p);

/* mcast.c */
void cma_leave_mc_groups(struct rdma_id_private *p);

#endif
