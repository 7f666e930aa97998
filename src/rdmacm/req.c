/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Received REQ and SIDR_REQ: finds the listener, makes a new id and delivers
 * CONNECT_REQUEST. The listener is found by port space and port number (in the
 * service id) and by the destination address in the RDMA CM header. If the handler
 * returns an error the CM rejects the request; after -ENOMEM it sends nothing, and
 * the peer repeats the request.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "wire/be.h"
#include "rdmacm/rdmacm_internal.h"

#define REQ_PRIVATE 92
#define SIDR_REQ_PRIVATE 216

struct req_info {
	const struct cm_event *ev;
	struct cma_device *dev;
	bool sidr;
	uint64_t service_id;
	const struct cm_path *path;	/* NULL with SIDR */
	struct cm_sgid sgid;
	bool ip;			/* has IP addresses: src and dst are set */
	struct sockaddr_storage src, dst;	/* src is local, dst the peer */
	uint32_t ifindex;		/* netdev of the GID to which the request was sent */
	uint8_t local_gid[16];
};

static struct sockaddr *sockaddr_of(struct sockaddr_storage *s)
{
	return (struct sockaddr *)s;
}

/*
 * True for an address that a route lookup would refuse: broadcast or multicast. A local IPv4
 * address is not checked for multicast, as in the kernel.
 */
static bool is_no_host(struct sockaddr_storage *s, bool local)
{
	uint32_t a;

	if (s->ss_family == AF_INET6)
		return IN6_IS_ADDR_MULTICAST(&((struct sockaddr_in6 *)s)->sin6_addr);
	a = ((struct sockaddr_in *)s)->sin_addr.s_addr;
	return a == INADDR_BROADCAST || (!local && (*(uint8_t *)&a & 0xf0) == 0xe0);
}

/* True if this host sent the request. InfiniBand: by LID, since there may be no GRH. */
static bool from_here(struct rdmacm *rm, const struct req_info *req)
{
	const struct cm_av *from = req->ev->from;

	if (!cma_dev_is_ib(req->dev))
		return cma_gid_is_local(rm, from->dgid);
	for (unsigned int i = 0; i < HOST_MAX_DEVS; i++) {
		const struct host_dev *hd = rm->dev[i].hd;

		if (hd && hd->ib.lid && !((hd->ib.lid ^ from->dlid) >> hd->ib.lmc))
			return true;
	}
	return false;
}

/*
 * As the kernel's validate_net_dev(), with one difference: the kernel refuses loopback addresses,
 * so that a connection to 127.0.0.1 fails on RoCE. Here they are accepted in requests of this host.
 */
static int validate_addrs(struct rdmacm *rm, struct req_info *req)
{
	uint8_t gid[16];

	if (is_no_host(&req->src, true) || is_no_host(&req->dst, false))
		return -EHOSTUNREACH;
	if (cma_any_addr(sockaddr_of(&req->src)) || cma_any_addr(sockaddr_of(&req->dst)))
		return from_here(rm, req) ? 0 : -EHOSTUNREACH;
	if (cma_dev_is_ib(req->dev))
		return cma_ib_addr_is_of(rm, req->dev, sockaddr_of(&req->src)) ? 0 : -EHOSTUNREACH;
	rdma_ip2gid(sockaddr_of(&req->src), gid);
	return cma_find_gid(req->dev, gid, req->ifindex) < 0 ? -EHOSTUNREACH : 0;
}

static int read_req(struct rdmacm *rm, const struct cm_event *ev, struct cm_device *cdev,
		    struct req_info *req)
{
	const struct host_dev *hd;
	int ret;

	memset(req, 0, sizeof(*req));
	req->ev = ev;
	req->sidr = ev->event == IB_CM_SIDR_REQ_RECEIVED;
	if (!req->sidr && ev->event != IB_CM_REQ_RECEIVED)
		return -EINVAL;
	req->path = req->sidr ? NULL : ev->req.primary_path;
	req->service_id = req->sidr ? ev->sidr_req.service_id : req->path->service_id;
	req->sgid = req->sidr ? ev->sidr_req.sgid : ev->req.sgid;
	req->dev = cma_device_of(rm, cdev);
	hd = req->dev ? req->dev->hd : NULL;
	if (!hd || req->sgid.index >= min(hd->ngids, (uint32_t)HOST_MAX_GIDS) ||
	    ev->private_data_len < (req->sidr ? SIDR_REQ_PRIVATE : REQ_PRIVATE))
		return -ENODEV;
	req->ifindex = host_gid_if(hd, req->sgid.index);
	memcpy(req->local_gid, hd->gid[req->sgid.index].raw, 16);
	ret = cma_parse_hdr(ev->private_data, (uint16_t)req->service_id, &req->src, &req->dst);
	if (ret == -EAFNOSUPPORT)
		return 0;	/* no IP addresses: AF_IB */
	req->ip = true;
	return ret ? ret : validate_addrs(rm, req);
}

/* True if the request is for this listener's address, as the kernel's cma_match_private_data(). */
static bool match_addr(const struct rdma_id_private *l, struct req_info *req)
{
	const struct sockaddr *addr = cma_src(l);

	if (cma_any_addr(addr) && !l->afonly)
		return true;
	if (addr->sa_family == AF_IB)
		return true;
	if (!req->ip || addr->sa_family != req->src.ss_family)
		return false;
	return cma_any_addr(addr) || !cma_addr_cmp_noscope(addr, sockaddr_of(&req->src));
}

/* As the kernel's cma_match_net_dev(). */
static bool match_netdev(const struct rdma_id_private *l, struct req_info *req)
{
	if (!req->ip)
		return cma_family(l) == AF_IB;
	return !cma_linklocal6(sockaddr_of(&req->src)) || !l->bound_if ||
	       l->bound_if == req->ifindex;
}

/* The id that listens on the request's device: l, or its per-device id if l is a wildcard. */
static struct rdma_id_private *on_device(struct rdma_id_private *l, struct req_info *req)
{
	struct rdma_id_private *d;

	if (l->cma_dev == req->dev)
		return l->state == RDMA_CM_LISTEN && match_netdev(l, req) ? l : NULL;
	list_for_each_entry(d, &l->listen_list, listen_item)
		if (d->cma_dev == req->dev && match_netdev(d, req))
			return d;
	return NULL;
}

static struct rdma_id_private *find_listener(struct rdmacm *rm, struct req_info *req)
{
	struct rdma_bind_list *b = cma_ps_find(rm, (uint16_t)(req->service_id >> 16),
					       (uint16_t)req->service_id);
	struct rdma_id_private *l;

	if (!b)
		return NULL;
	list_for_each_entry(l, &b->owners, bind_item) {
		struct rdma_id_private *d = match_addr(l, req) ? on_device(l, req) : NULL;

		if (d)
			return d;
	}
	return NULL;
}

static void ib_addr(struct sockaddr_storage *to, const uint8_t gid[16], uint16_t pkey,
		    uint64_t sid, uint64_t mask)
{
	struct sockaddr_ib *sib = (struct sockaddr_ib *)to;

	sib->sib_family = AF_IB;
	put_be16(&sib->sib_pkey, pkey);
	memcpy(sib->sib_addr, gid, 16);
	put_be64(&sib->sib_sid, sid);
	put_be64(&sib->sib_sid_mask, mask);
}

/* As the kernel's cma_save_net_info(): addresses of the new id, in the listener's family. */
static int save_addrs(struct rdma_id_private *c, const struct rdma_id_private *l,
		      struct req_info *req)
{
	static const uint8_t none[16];

	if (cma_family(l) != AF_IB) {
		if (!req->ip)
			return -EAFNOSUPPORT;
		c->id.src = req->src;
		c->id.dst = req->dst;
		return 0;
	}
	if (req->path) {
		ib_addr(&c->id.src, req->path->sgid, req->path->pkey, req->service_id, ~0ull);
		ib_addr(&c->id.dst, req->path->dgid, req->path->pkey, 0, 0);
	} else {
		ib_addr(&c->id.src, req->local_gid, req->ev->sidr_req.pkey, req->service_id, ~0ull);
		ib_addr(&c->id.dst, none, req->ev->sidr_req.pkey, 0, 0);
	}
	return 0;
}

static int save_paths(struct rdma_id_private *c, const struct cm_event *ev)
{
	c->id.num_paths = ev->req.alternate_path ? 2 : 1;
	c->id.path = calloc(c->id.num_paths, sizeof(*c->id.path));
	if (!c->id.path)
		return -ENOMEM;
	sa_path_from_cm(ev->req.primary_path, &c->id.path[0]);
	if (ev->req.alternate_path)
		sa_path_from_cm(ev->req.alternate_path, &c->id.path[1]);
	memcpy(c->dgid, ev->req.primary_path->dgid, 16);
	return 0;
}

/* As the kernel's cma_ib_new_conn_id(), cma_ib_new_udp_id() and cma_ib_acquire_dev(). */
static struct rdma_id_private *new_id(struct rdma_id_private *l, struct req_info *req)
{
	struct rdma_id_private *top = l->parent ? l->parent : l;
	struct rdma_id_private *c =
		cma_create_id(l->id.rm, top->id.event_handler, top->id.context, l->id.ps,
			      req->sidr ? CMA_QPT_UD : req->ev->req.qp_type);

	if (!c)
		return NULL;
	c->passive = true;
	c->id.may_bind = top->id.may_bind;
	if (save_addrs(c, l, req) || (!req->sidr && save_paths(c, req->ev))) {
		rdma_destroy_id(&c->id);
		return NULL;
	}
	memcpy(c->sgid, req->local_gid, 16);
	c->sgid_index = req->sgid.index;
	c->bound_if = req->ifindex;
	if (cma_dev_is_ib(req->dev))
		c->id.pkey = req->ip ? cma_ip_pkey(req->dev) :
			     req->path ? req->path->pkey : req->ev->sidr_req.pkey;
	else if (!req->path && req->ip)
		rdma_ip2gid(sockaddr_of(&req->dst), c->dgid);
	c->id.port_num = CMA_PORT;
	cma_attach_to_dev(c, req->dev);
	cma_set_state(c, RDMA_CM_CONNECT);
	return c;
}

static void fill_event(struct rdma_cm_event *event, const struct cm_event *ev, bool sidr,
		       uint8_t offset)
{
	struct rdma_conn_param *conn = &event->param.conn;

	event->event = RDMA_CM_EVENT_CONNECT_REQUEST;
	if (sidr) {
		event->param.ud.private_data = ev->private_data + offset;
		event->param.ud.private_data_len = SIDR_REQ_PRIVATE - offset;
		return;
	}
	conn->private_data = ev->private_data + offset;
	conn->private_data_len = REQ_PRIVATE - offset;
	conn->responder_resources = ev->req.responder_resources;
	conn->initiator_depth = ev->req.initiator_depth;
	conn->flow_control = ev->req.flow_control;
	conn->retry_count = ev->req.retry_count;
	conn->rnr_retry_count = ev->req.rnr_retry_count;
	conn->srq = ev->req.srq;
	conn->qp_num = ev->req.remote_qpn;
	event->ece = ev->req.ece;
}

static bool qp_type_fits(const struct rdma_id_private *l, const struct req_info *req)
{
	return !l->id.qp_type ||
	       l->id.qp_type == (req->sidr ? CMA_QPT_UD : req->ev->req.qp_type);
}

int cma_req_handler(struct cm_id *cm_id, const struct cm_event *ev, ns_t now)
{
	const struct cm_id *listen_id = ev->event == IB_CM_SIDR_REQ_RECEIVED ?
						ev->sidr_req.listen_id : ev->req.listen_id;
	struct rdmacm *rm = listen_id->context;
	struct rdma_cm_event event = { 0 };
	struct rdma_id_private *l, *c;
	struct req_info req;
	int ret = read_req(rm, ev, cm_id->device, &req);

	if (ret)
		return ret;
	l = find_listener(rm, &req);
	if (!l || !qp_type_fits(l, &req)) {
		rm->unheard[rm->nunheard++ % CMA_UNHEARD] = cm_id->remote_id;
		return -EINVAL;
	}
	c = new_id(l, &req);
	if (!c)
		return -ENOMEM;
	c->cm_id = cm_id;
	cm_id->context = c;
	cm_id->handler = cma_ib_handler;
	fill_event(&event, ev, req.sidr, cma_user_data_offset(l));
	ret = cma_tell(c, &event);
	if (ret) {
		c->cm_id = NULL;
		rdma_destroy_id(&c->id);
		return ret;
	}
	/* The program may be slow: the CM answers a repeated REQ with an MRA. */
	if (!req.sidr)
		cm_send_mra(cm_id, CMA_CM_MRA_SETTING, NULL, 0, now);
	return 0;
}
