/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The wire: links of QPs to other hosts, and delivery of what arrives from there.
 *
 * The UDP endpoint is created with the first block of QP numbers for which rused gave a socket.
 * Arriving packets are checked as by the kernel's rxe (rxe_recv.c, check_addr()): RC and UC QPs
 * accept packets from their peer's address to their own address only; UD QPs accept packets to any
 * address of the device.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/log.h"
#include "base/sys.h"
#include "core/mcast.h"
#include "core/umem.h"
#include "engine/engine_internal.h"
#include "engine/explain.h"
#include "engine/faults.h"
#include "engine/peer_link.h"
#include "engine/ud_link.h"
#include "engine/wire.h"
#include "link/udp.h"
#include "wire/crc.h"
#include "wire/ipudp.h"
#include "wire/mtu.h"
#include "wire/packet.h"
#include "wire/pkey.h"
#include "xport/xport.h"

/*
 * Logs a packet for a QP number that no process has, by the process that has received it. The record is of no QP, so
 * packets of a stranger with many numbers use up one entry of the log.
 */
static noinline __cold void wire_no_qp(struct rdev *dev, const struct seg_net *net, uint32_t dqpn)
{
	struct why_rec r = { .why = { .id = WHY_DROP_NO_QP_WIRE, .arg = { [2] = dqpn } } };

	memcpy(r.why.arg, net->sgid, 16);
	explain_failed(dev, &r);
}

/* The same for a packet as it has arrived. Late answers to a process that has ended are usual: not logged. */
static noinline __cold void wire_no_process(const struct seg_net *net, const void *packet,
					    size_t len)
{
	struct iovec iov;
	struct seg seg;

	if (packet_parse(packet, len, &seg, &iov) == PACKET_OK && !seg_is_answer(&seg))
		wire_no_qp(NULL, net, seg.dqpn);
}

/* Logs a packet of a connected QP for which there is no link for answers: see wire_from_link(). */
static noinline __cold void wire_strange(struct qp *qp, const struct seg_net *net)
{
	const struct ib_uverbs_ah_attr *ah = &qp->attr.ah;
	bool source = memcmp(ah->grh.dgid, net->sgid, 16);
	struct why_rec r = {
		.why.id = source ? WHY_DROP_SOURCE : WHY_DROP_TARGET,
		.qpn = qp->qpn, .peer_qpn = qp->attr.dest_qpn,
	};

	if (qp->state < QPS_RTR) {
		r.why.id = WHY_DROP_STATE;
		r.why.arg[0] = qp->state;
	} else {
		memcpy(r.why.arg, source ? net->sgid : net->dgid, 16);
		memcpy(r.why.arg + 2, source ? ah->grh.dgid : qp->dev->gid[ah->grh.sgid_index].raw,
		       16);
	}
	explain_failed(qp->dev, &r);
}

static bool wire_mine(struct udp_ep *ep, uint32_t dqpn)
{
	return engine_dev_of(dqpn);
}

static void wire_congestion(struct udp_ep *ep, const struct seg_net *net, uint32_t dqpn)
{
	struct qp *qp = engine_qp(dqpn);
	const struct udp_path *p = qp ? udp_link_path(qp->link) : NULL;

	if (p && !memcmp(p->net.dgid, net->sgid, 16))
		xp_congestion(qp);
}

/*
 * A packet whose QP number is in a block of another process: hand it over as a UC segment to QP 0,
 * which no program can have. The segment is the packet's addresses followed by the packet.
 */
static void wire_foreign(struct udp_ep *ep, const struct seg_net *net, uint32_t dqpn,
			 const void *packet, size_t len)
{
	struct iovec iov[2] = { { (void *)net, sizeof(*net) }, { (void *)packet, len } };
	uint32_t block = qpn_block(dqpn);
	uint32_t all = (uint32_t)(sizeof(*net) + len);
	struct seg seg = {
		.service = SEG_UC, .type = SEG_SEND, .flags = SEG_F_START | SEG_F_END,
		.pkey = PKEY_DEFAULT, .path_mtu = PACKET_MTU_MAX, .len = all,
		.npkts = seg_pkts(all, PACKET_MTU_MAX), .iov = iov, .niov = 2,
	};
	struct link *l = peer_link_brief(block);

	if (l)
		l->ops->send(l, &seg);
	else
		wire_no_process(net, packet, len);
}

noinline void wire_handed(const struct seg *seg)
{
	uint8_t buf[sizeof(struct seg_net) + PACKET_MAX];
	struct iovec to = { buf, seg->len };
	struct seg_net net;
	int err;

	if (seg->service != SEG_UC || seg->len < sizeof(net) || seg->len > sizeof(buf) ||
	    !engine.wire.ep)
		return;
	err = seg->pull ? seg->pull->copy(seg, 0, &to, 1, seg->len) :
			  umem_copy_iov(&to, 1, 0, seg->iov, seg->niov, 0, seg->len);
	if (err)
		return;
	memcpy(&net, buf, sizeof(net));
	udp_handed(engine.wire.ep, &net, buf + sizeof(net), seg->len - sizeof(net));
}

static bool wire_reverse(const struct seg_net *path, const struct seg_net *net)
{
	return !memcmp(path->dgid, net->sgid, 16) && !memcmp(path->sgid, net->dgid, 16);
}

/*
 * The link for answers to a packet with these addresses, with a reference. NULL: the QP's peer has
 * another address. The link is not always qp->link: that may be a shared-memory link, while the peer
 * sends over UDP, for example because its environment has RUSE_LINK=udp.
 */
static struct link *wire_from_link(const struct qp *qp, const struct seg_net *net)
{
	const struct udp_path *p = udp_link_path(qp->link);
	const struct ib_uverbs_ah_attr *ah = &qp->attr.ah;
	struct udp_path back = { .block = qpn_block(qp->attr.dest_qpn),
				 .ifindex = qp->dev->port.ifindex };
	struct link *l = NULL;

	if (likely(p && wire_reverse(&p->net, net))) {
		link_get(qp->link);
		return qp->link;
	}
	p = udp_link_path(qp->resp.from);
	if (p && wire_reverse(&p->net, net)) {
		link_get(qp->resp.from);
		return qp->resp.from;
	}
	if (qp->state < QPS_RTR || memcmp(ah->grh.dgid, net->sgid, 16) ||
	    memcmp(qp->dev->gid[ah->grh.sgid_index].raw, net->dgid, 16))
		return NULL;
	memcpy(back.net.sgid, net->dgid, 16);
	memcpy(back.net.dgid, net->sgid, 16);
	back.net.hop_limit = ah->grh.hop_limit;
	back.net.traffic_class = ah->grh.traffic_class;
	return udp_link(engine.wire.ep, &back, &l) ? NULL : l;
}

/* Is it an address of the device? The last match is tried first. */
static bool wire_has_address(const struct rdev *dev, const uint8_t gid[16])
{
	uint32_t *last = &engine.wire.last_gid;

	if (likely(!memcmp(dev->gid[*last].raw, gid, 16)))
		return true;
	for (uint32_t i = 0; i < HOST_MAX_GIDS; i++)
		if (!memcmp(dev->gid[i].raw, gid, 16)) {
			*last = i;
			return true;
		}
	return false;
}

static void wire_deliver(struct link *in, struct qp *qp, const struct seg *seg)
{
	struct link *from = wire_from_link(qp, seg->net);

	if (unlikely(!from)) {
		wire_strange(qp, seg->net);
		return;
	}
	from->more = in->more;
	if (unlikely((seg->net->traffic_class & ECN_MASK) == ECN_CE))
		udp_cnp(from, qp->dev->pkey[0], qp->attr.dest_qpn, engine.now);
	qp_input(qp, seg, from);
	from->more = false;
	link_put(from);
}

static void wire_input(struct link *in, const struct seg *seg)
{
	struct rdev *dev = engine_dev_of(seg->dqpn);
	struct seg cut;
	struct qp *qp;

	if (unlikely(seg->dqpn == MULTICAST_QPN)) {
		ud_multicast(in, seg);
		return;
	}
	qp = dev ? rdev_find_qp(dev, seg->dqpn) : NULL;
	if (unlikely(!qp)) {
		if (!seg_is_answer(seg))
			wire_no_qp(dev, seg->net, seg->dqpn);
		return;
	}
	if (qp->type == QPT_UD) {
		if (wire_has_address(dev, seg->net->dgid))
			qp_input(qp, seg, in);
		return;
	}
	/*
	 * A READ request does not say how many packets its response has. Compute the number from
	 * the path MTU of the QP.
	 */
	if (seg->type == SEG_READ_REQ) {
		cut = *seg;
		packet_set_mtu(&cut, (uint16_t)(1u << qp->req.mtu_shift));
		seg = &cut;
	}
	wire_deliver(in, qp, seg);
}

static void wire_writable(struct link *l)
{
	engine_link_ops.writable(l);
}

static bool wire_wait_writable(int fd, ns_t ns)
{
	struct timespec ts = { .tv_sec = ns / NS_S, .tv_nsec = ns % NS_S };
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return sys_call(SYS_ppoll, &p, 1, &ts, NULL, 0) > 0;
}

/* Polls look at the sockets, and the thread does not watch them. */
static noinline void wire_unwatch(struct udp_ep *ep)
{
	pollstate_idle_reset(&engine.wire.idle, READ_ONCE(engine.poll_gen));
	udp_want_wakeup(ep, false);
}

static void wire_readable(struct udp_ep *ep)
{
	if (pollstate_get(&engine.poll) == POLLSTATE_POLLED)
		wire_unwatch(ep);
}

static const struct link_user_ops wire_link_ops = {
	.input = wire_input,
	.writable = wire_writable,
	.down = wire_writable,
	.created = engine_link_created,
	.copy = umem_copy,
	.copy_iov = umem_copy_iov,
	.copy_crc = umem_copy_crc,
};

_Static_assert(sizeof(struct udp_stats) == PROC_WIRES * sizeof(uint64_t) &&
	       offsetof(struct udp_stats, other_id) == WIRE_OTHER_ID * sizeof(uint64_t) &&
	       offsetof(struct udp_stats, bad_icrc) == WIRE_BAD_ICRC * sizeof(uint64_t),
	       "the page has the same counters");

static int wire_create(struct wire *w)
{
	struct udp_cfg cfg = {
		.stats = (struct udp_stats *)engine.proc_page->wire,
		.host = &wire_link_ops,
		.epfd = engine.epfd,
		.own_fd = own_fd,
		.own_close = own_close,
		.mine = wire_mine,
		.foreign = wire_foreign,
		.congestion = wire_congestion,
		.wait_writable = wire_wait_writable,
		.readable = wire_readable,
		.now = engine_now,
	};
	int ret = w->ep ? 0 : udp_ep_create(&cfg, &w->ep);

	if (ret)
		return ret;
	engine_link_created(udp_in(w->ep));
	return 0;
}

bool wire_wanted(uint32_t block)
{
	return !(engine.wire.sockets[block / 64] & 1ull << block % 64);
}

void wire_begin(void)
{
	engine.wire.park[0] = engine.wire.park[1] = -1;
}

void wire_leased(uint32_t block, const struct ipc_lease *l, const int *fds, int nfds)
{
	struct wire *w = &engine.wire;
	int err = nfds == 3 ? 0 : l->wire_error ? l->wire_error : -EPROTO;

	if (!err && wire_wanted(block)) {
		err = udp_ep_prepare_socket(fds[0]);
		if (!err)
			err = wire_create(w);
		if (!err) {
			err = udp_ep_add_socket(w->ep, fds[0]);
			fds++, nfds--;
		}
	} else if (nfds) {
		sys_close(*fds++);
		nfds--;
	}
	if (!err)
		w->sockets[block / 64] |= 1ull << block % 64;
	for (int i = 0; i < nfds; i++) {
		if (err || i >= 2 || w->park[i] >= 0)
			sys_close(fds[i]);
		else
			w->park[i] = own_fd(fds[i]);
	}
	if (!w->ep)
		w->error = err;
}

int wire_park(int fds[2])
{
	struct wire *w = &engine.wire;

	if (w->park[0] < 0 || w->park[1] < 0)
		return 0;
	fds[0] = w->park[0];
	fds[1] = w->park[1];
	return 2;
}

bool wire_up(void)
{
	return engine.wire.ep;
}

/* Log why other hosts cannot be reached, once per process. Returns -errno. */
static int wire_missing(void)
{
	static bool told;
	int err = engine.wire.error ? engine.wire.error : -ENETDOWN;

	if (!told && err == -EADDRINUSE)
		log_err("cannot reach other hosts: UDP port 4791 is in use by the kernel's rdma_rxe, another "
			"user's ruse, or a ruse with another run directory; connections within this host "
			"work");
	else if (!told)
		log_err("cannot reach other hosts: cannot open a UDP socket: %s",
			strerrordesc_np(-err));
	told = true;
	return err;
}

static bool wire_mtu_fits(const struct qp *qp)
{
	static bool told;

	if (qp->type == QPT_UD || qp->attr.path_mtu <= mtu_bytes(qp->dev->port.active_mtu))
		return true;
	if (!told)
		log_err("path MTU %u does not fit %s: its interface %s allows up to %u; use a smaller one "
			"(ibv_rc_pingpong -m, perftest -m)",
			qp->attr.path_mtu, qp->dev->name, qp->dev->port.ndev,
			mtu_bytes(qp->dev->port.active_mtu));
	told = true;
	return false;
}

/* Leaves the reason for which the destination cannot be reached, and returns err. */
static noinline __cold int wire_refuse(struct rdev *dev, const struct ib_uverbs_ah_attr *ah,
				       enum why_id id, int err)
{
	uint64_t arg[WHY_ARGS] = { [2] = (uint64_t)-err };

	memcpy(arg, ah->grh.dgid, 16);
	rdev_refuse_why(dev, id, arg);
	return err;
}

int wire_ah_route(struct rdev *dev, const struct ib_uverbs_ah_attr *ah)
{
	const struct gid_entry *sgid = &dev->gid[ah->grh.sgid_index];
	struct udp_path path = { .ifindex = dev->port.ifindex };
	int ret;

	if (sgid->v1 || gid_is_mcast(ah->grh.dgid) || peer_gid_owner(ah->grh.dgid))
		return 0;
	memcpy(path.net.sgid, sgid->raw, 16);
	memcpy(path.net.dgid, ah->grh.dgid, 16);
	ret = udp_route(&path);
	switch (ret) {
	case -ENETUNREACH:
	case -EHOSTUNREACH:
	case -EINVAL:
	case -EACCES:
		return wire_refuse(dev, ah, WHY_WIRE_ROUTE, ret);
	default: /* says nothing of the route: this process may have no sockets, and its datagrams are then lost */
		return 0;
	}
}

int wire_link(const struct qp *qp, struct link **link)
{
	const struct ib_uverbs_ah_attr *ah = &qp->attr.ah;
	const struct gid_entry *sgid = &qp->dev->gid[ah->grh.sgid_index];
	struct udp_path path = {
		.net = { .flow_label = ah->grh.flow_label & 0xfffff,
			 .traffic_class = ah->grh.traffic_class, .hop_limit = ah->grh.hop_limit },
		.ifindex = qp->dev->port.ifindex,
		.block = qpn_block(qp->attr.dest_qpn),
	};
	int ret;

	if (!wire_up())
		return wire_refuse(qp->dev, ah, WHY_WIRE_PORT, wire_missing());
	/* The path MTU of packets within the host is not limited by the interface: they use lo. */
	if (!peer_gid_owner(ah->grh.dgid) && !wire_mtu_fits(qp))
		return rdev_refuse(qp->dev, -EINVAL, WIRE_MTU, qp->attr.path_mtu,
				   mtu_bytes(qp->dev->port.active_mtu));
	memcpy(path.net.sgid, sgid->raw, 16);
	memcpy(path.net.dgid, ah->grh.dgid, 16);
	ret = udp_route(&path);
	if (ret)
		return wire_refuse(qp->dev, ah, WHY_WIRE_ROUTE, ret);
	return udp_link(engine.wire.ep, &path, link);
}

int wire_ud_link(const struct rdev *dev, uint32_t block, struct link **link)
{
	struct udp_path path = { .ifindex = dev->port.ifindex, .block = block };

	return wire_up() ? udp_link(engine.wire.ep, &path, link) : wire_missing();
}

int wire_mcast(struct rdev *dev, const uint8_t mgid[16], bool join)
{
	if (!wire_up())
		return 0;
	if (join)
		return udp_join(engine.wire.ep, mgid, dev->port.ifindex);
	udp_leave(engine.wire.ep, mgid, dev->port.ifindex);
	return 0;
}

static noinline int wire_look_idle(struct wire *w, uint32_t gen, int budget)
{
	int n = udp_poll(w->ep, budget);

	if (pollstate_idle_looked(&w->idle, gen, n))
		udp_want_wakeup(w->ep, true);
	return n;
}

int wire_poll(int budget)
{
	struct wire *w = &engine.wire;
	struct udp_ep *ep = w->ep;
	uint32_t gen = READ_ONCE(engine.poll_gen);

	if (likely(!ep))
		return 0;
	if (pollstate_get(&engine.poll) == POLLSTATE_POLLED) {
		if (!udp_busy(ep)) {
			if (likely(!pollstate_idle_due(&w->idle, gen)))
				return 0;
			return wire_look_idle(w, gen, budget);
		}
		if (unlikely(pollstate_idle_watched(&w->idle)))
			wire_unwatch(ep);
	}
	return udp_poll(ep, budget);
}

void wire_want_wakeup(bool want)
{
	struct udp_ep *ep = engine.wire.ep;

	if (ep && want)
		udp_want_wakeup(ep, true);
	else if (ep)
		wire_unwatch(ep);
}

void wire_hold(bool may)
{
	if (engine.wire.ep)
		udp_hold(engine.wire.ep, may);
}

bool wire_quiet(void)
{
	struct udp_ep *ep = engine.wire.ep;

	return !ep || !udp_busy(ep);
}

bool wire_holds(void)
{
	return engine.wire.ep && udp_holds(engine.wire.ep);
}

void wire_flush(void)
{
	if (engine.wire.ep)
		udp_flush(engine.wire.ep);
}

void wire_settle(void)
{
	if (engine.wire.ep)
		udp_settle(engine.wire.ep);
}

ns_t wire_flush_old(ns_t now)
{
	return engine.wire.ep ? udp_flush_old(engine.wire.ep, now) : NS_NEVER;
}

const uint8_t *wire_peer(const struct link *l)
{
	const struct udp_path *p = udp_link_path(l);

	return p ? p->net.dgid : NULL;
}

void wire_for_each(void (*fn)(struct link *l, void *arg), void *arg)
{
	if (engine.wire.ep)
		udp_for_each(engine.wire.ep, fn, arg);
}

struct link *wire_in(void)
{
	return engine.wire.ep ? udp_in(engine.wire.ep) : NULL;
}
