/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What core, uverbs and the links need from the engine: QPs, their links and their timers.
 *
 * After every call into the transport, qp_rearm() puts the QP on the lists and sets its timer as
 * the transport asks. QPs that wait for room on a link are on engine.blocked; when any link has
 * room they move to engine.work and run again. A QP's link is chosen at RTR by the block of the
 * destination QP number. A block is a range of QP numbers that rused leases to one process. The link
 * is loop if this process has the block, shared memory if another process of the host has it, and
 * UDP if the destination is on another host.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/sys.h"
#include "check/check.h"
#include "core/credits.h"
#include "core/shake.h"
#include "core/umem.h"
#include "engine/captures.h"
#include "engine/checks.h"
#include "engine/engine_internal.h"
#include "engine/explain.h"
#include "engine/faults.h"
#include "engine/hold.h"
#include "engine/ib_mcast.h"
#include "engine/ib_path.h"
#include "engine/lease.h"
#include "engine/peer_link.h"
#include "engine/res.h"
#include "engine/tally.h"
#include "engine/ud_link.h"
#include "engine/wire.h"
#include "verbs/verbs.h"
#include "wire/dest.h"
#include "xport/xport.h"

/*
 * Put a QP in ERR on the list of those that qp_flush_err() scans, because no doorbell tells of
 * later receives. QPs that fail one after another wake the thread once; it scans until the list is
 * empty.
 */
static noinline __cold void qp_rescan(struct qp *qp, ns_t now)
{
	if (list_empty(&engine.err) && READ_ONCE(engine.sleep_until) > now + ERR_RESCAN)
		progress_kick();
	list_add_tail(&qp->err, &engine.err);
}

static noinline void qp_arm(struct qp *qp, ns_t wake)
{
	if (timer_set(&engine.timers, &qp->timer, wake))
		return;
	/*
	 * While the program polls, its polls run the timers. If it stops polling, the thread
	 * notices that within a grace period and runs them.
	 */
	if (wake < READ_ONCE(engine.sleep_until) && pollstate_get(&engine.poll) != POLLSTATE_POLLED)
		progress_kick();
}

/*
 * Called after every call into the transport: is the QP blocked on a link, and when must it run
 * again? A timer that is armed for an earlier time is left alone; it will find nothing due and be
 * set again.
 */
HOT void qp_rearm(struct qp *qp, ns_t now)
{
	ns_t wake = xp_wake(qp);

	if (unlikely(xp_blocked(qp)) && list_empty(&qp->work))
		list_add_tail(&qp->work, &engine.blocked);
	if (unlikely(qp->state == QPS_ERR && list_empty(&qp->err) && !qp->srq))
		qp_rescan(qp, now);
	if (likely(wake == NS_NEVER || (timer_armed(&qp->timer) && qp->timer.when <= wake)))
		return;
	qp_arm(qp, wake);
}

/* How often the timer of a QP that hangs looks whether it still does. */
#define HANG_LOOK (20 * NS_MS)

static void qp_timer(struct timer *t, ns_t now)
{
	struct qp *qp = container_of(t, struct qp, timer);

	/* No timeouts while it hangs. */
	if (unlikely(faults_hang(&engine.faults.f, qp->qpn))) {
		qp_arm(qp, now + HANG_LOOK);
		return;
	}
	xp_timer(qp, now);
	qp_rearm(qp, now);
}

/*
 * A QP whose ibv_qp_attr.timeout is 1 to SHORT_TIMEOUT - 1 uses the exact clock. For longer ACK
 * timeouts, from 4.096 us << 12 on, the error of engine_clock(), one tick, is small. A QP on a lossy
 * link always uses the exact clock, because round trips are measured there; reading the clock costs
 * less than sending a packet.
 */
#define SHORT_TIMEOUT 12

static ns_t qp_clock(const struct qp *qp)
{
	if (unlikely(qp->attr.timeout - 1u < SHORT_TIMEOUT - 1u) ||
	    (qp->link && unlikely(qp->link->lossy)))
		return engine.now = engine_now();
	return engine_clock();
}

static noinline void qp_posted(struct qp *qp, ns_t now)
{
	credits_return(qp->send_cq);
	if (!qp->check)
		return;
	check_set_site(checkwrap_site(), now);
	check_ops->posted(qp);
}

HOT __flatten static int qp_doorbell(struct qp *qp)
{
	ns_t now = qp_clock(qp);
	int ret;

	qp->dev->polls = READ_ONCE(engine.poll_gen);
	if (unlikely(qp->special))
		qp_posted(qp, now);
	ret = xp_output(qp, now);
	qp_rearm(qp, now);
	/* Segments to this process are delivered by the thread that posts them. */
	if (qp->link == engine.loop || qp->type == QPT_UD)
		progress_loop();
	return ret;
}

static int qp_created(struct qp *qp)
{
	static const uint8_t types[] = { [QPT_RC] = PROC_QP_RC, [QPT_UC] = PROC_QP_UC,
					 [QPT_UD] = PROC_QP_UD };
	int ret;

	if (like_lacks(qp->dev->like, LIKE_NO_QP_EX) && verbs_is_extended(qp->async.user_handle))
		return rdev_refuse(qp->dev, -EOPNOTSUPP, DEV_LACKS, LIKE_NO_QP_EX);
	qp->timer.pos = 0;
	qp->timer.fn = qp_timer;
	list_init(&qp->work);
	list_init(&qp->err);
	ret = xp_init(qp);
	if (!ret)
		engine.proc_page->life.qps[types[qp->type]]++;
	return ret;
}

/*
 * Requests that the QP has executed for its peer, also by direct placement, which only the card tells. The card has 24 bits of
 * the number; `ruse run --expect` asks only whether there were any.
 */
static uint32_t qp_served(const struct qp *qp)
{
	return qp->type == QPT_RC ? READ_ONCE(qp->card->msn) : 0;
}

/* How many times qp_settle_all() waits for room on the links. */
#define SETTLE_ROUNDS 8

static void qp_each(void (*fn)(struct qp *qp, void *arg), void *arg)
{
	struct edev *e;

	list_for_each_entry(e, &engine.devs, entry)
		for (uint32_t b = 0; b < e->dev.nblocks; b++) {
			struct qp *qp;

			for (uint32_t i = 0; (qp = idtable_next(&e->dev.blocks[b].qps, &i)); i++)
				fn(qp, arg);
		}
}

static void qp_shaken_release(struct qp *qp, void *arg)
{
	xp_shaken_release(qp, *(const ns_t *)arg);
	qp_rearm(qp, *(const ns_t *)arg);
}

/* The program ends: send the ACKs that a link had no room for. */
void qp_settle_all(void)
{
	ns_t now = engine_now();

	if (unlikely(shake_ops))
		qp_each(qp_shaken_release, &now);
	for (int i = 0; i < SETTLE_ROUNDS && !list_empty(&engine.blocked); i++) {
		/* When one link has room, qp_link_writable() moves all blocked QPs to engine.work. */
		while (!list_empty(&engine.blocked)) {
			struct qp *qp = list_first_entry(&engine.blocked, struct qp, work);

			list_del(&qp->work);
			list_add_tail(&qp->work, &engine.work);
			xp_settle(qp);
		}
		qp_work_run(engine_now());
	}
}

/*
 * The peer's ACK is on the link before its program sees the completion. Take in what the link
 * holds, so that a send whose data the peer has is not reported as flushed.
 */
static void qp_ending(struct qp *qp)
{
	if (unlikely(qp_shaken(qp))) {
		xp_shaken_release(qp, engine_now());
		hold_show_all(qp->send_cq);
		hold_show_all(qp->recv_cq);
	}
	if (qp->type == QPT_RC && qp->link && !xp_idle(qp))
		progress_take(qp->link);
}

static void qp_destroying(struct qp *qp)
{
	qp_ending(qp);
	drops_end(qp);
	engine.served += qp_served(qp);
	timer_cancel(&engine.timers, &qp->timer);
	list_del(&qp->work);
	list_del(&qp->err);
	xp_fini(qp);
}

static void qp_modified(struct qp *qp, enum qp_state old, uint32_t mask)
{
	ns_t now = engine_now();

	verbs_wrap_qp(qp->async.user_handle, qp->qpn, engine.host->is_uverbs);
	/* What a program polls by a function of its own is not known: the QP, which is new, is not checked. */
	if (unlikely(qp->check) && old == QPS_RESET && !verbs_polls_wrapped(qp->async.user_handle))
		check_ops->qp_end(qp);
	if (qp->state == QPS_RTR && old == QPS_INIT && qp->type != QPT_UD)
		engine.proc_page->life.connections++;
	xp_modified(qp, old, mask, now);
	qp_rearm(qp, now);
}

const struct uverbs_ops engine_uverbs_ops = {
	.fd_install = efile_event_install,
	.fd_lookup = efile_event_lookup,
	.doorbell = qp_doorbell,
	.qp_ending = qp_ending,
	.qp_modified = qp_modified,
	.qp_created = qp_created,
	.qp_destroying = qp_destroying,
	.qp_query = xp_query,
	.cq_armed = progress_cq_armed,
	.fd_uninstall = efile_event_uninstall,
	.obj_shown = res_obj,
	.fault = faults_command,
};

/* The reason of a peer that does not answer, for qp_connect(). A silent rused would have ended the connection to it. */
static int qp_peer_silent(const struct qp *qp, int ret)
{
	if (ret != -ETIMEDOUT || engine.conn.fd < 0)
		return ret;
	return rdev_refuse(qp->dev, ret, QP_PEER_SILENT, qp->attr.dest_qpn, PEERS_WAIT_CONNECT);
}

/*
 * Choose the QP's link at RTR. If the destination GID belongs to this host, the link leads to the
 * process that leases the block of the destination QP number; otherwise the link is a UDP link.
 */
static int qp_connect(struct qp *qp)
{
	const struct ib_uverbs_global_route *grh = &qp->attr.ah.grh;
	const struct gid_entry *sgid;
	int ret;

	qp->peer_block = qpn_block(qp->attr.dest_qpn);
	if (qp->dev->port.ib)
		return qp_peer_silent(qp, ib_connect(qp));
	sgid = &qp->dev->gid[grh->sgid_index];
	ret = peer_link_to_gid(grh->dgid, qp->peer_block, PEERS_WAIT_CONNECT, &qp->link);
	if (!ret && qp->link)
		qp->peer_counter = edev_peer_counters(peer_gid_owner(grh->dgid));
	/*
	 * A process of this host that refuses the shm link, because its user has changed, is
	 * reached over the wire.
	 */
	if (ret != -EREMOTE && ret != -EPERM)
		return qp_peer_silent(qp, ret);
	/* Packets of RoCEv1 do not leave the host: they are lost, as on a network without a way to the peer. */
	if (sgid->v1)
		return 0;
	/* Nor does a packet to a multicast group of the other address family leave: kernel rxe finds no route for it. */
	if (gid_is_mcast(grh->dgid) && gid_is_v4(grh->dgid) != gid_is_v4(sgid->raw))
		return 0;
	lease_await_socket(qp);
	return wire_link(qp, &qp->link);
}

static void qp_disconnect(struct qp *qp)
{
	struct link *l = qp->link;

	qp->link = NULL;
	qp->path = NULL;
	if (l)
		link_put(l);
}

static uint64_t edev_withdrawn(struct rdev *dev)
{
	return engine.withdrawn = shm_withdrawn(engine.ep);
}

static bool edev_quiet(struct rdev *dev, uint64_t n)
{
	return shm_quiet(engine.ep, n);
}

static void edev_quiesce(struct rdev *dev)
{
	quiet_locked(shm_withdrawn(engine.ep));
}

static void edev_publish(struct rdev *dev)
{
	shm_publish_memory(engine.ep);
}

static int edev_mcast(struct rdev *dev, const uint8_t mgid[16], bool join)
{
	return dev->port.ib ? ib_mcast(dev, mgid, join) : wire_mcast(dev, mgid, join);
}

static int edev_key_room(struct rdev *dev, uint32_t index)
{
	dev->nkeys = shm_ep_key_room(engine.ep, index);
	return index < dev->nkeys ? 0 : -ENOMEM;
}

const struct rdev_ops engine_rdev_ops = {
	.lease_block = lease_block,
	.key_room = edev_key_room,
	.qp_connect = qp_connect,
	.ah_route = wire_ah_route,
	.ud_link = ud_link,
	.ib_ud_link = ib_ud_link,
	.qp_disconnect = qp_disconnect,
	.withdrawn = edev_withdrawn,
	.quiet = edev_quiet,
	.quiesce = edev_quiesce,
	.publish = edev_publish,
	.mcast = edev_mcast,
	.now = engine_now,
	.failed = explain_failed,
	.hold = hold_ask,
};

HOT void qp_input(struct qp *qp, const struct seg *seg, struct link *from)
{
	/* An RNR NAK asks for a delay of microseconds, which needs the exact clock. */
	if (unlikely(seg->type == SEG_ACK && (seg->syndrome & AETH_TYPE_MASK) == AETH_RNR_NAK)) {
		engine.now = engine_now();
	} else if (!engine.now_read) {
		engine.now_read = true;
		qp_clock(qp);
	}
	qp->dev->polls = READ_ONCE(engine.poll_gen);
	xp_input(qp, seg, from, engine.now);
	/*
	 * More segments follow on the link, so the transport may have delayed an ACK. The QPs on
	 * engine.work run after all input was taken, and send such ACKs. The QP may still be on
	 * engine.blocked, because its window was full earlier; it is moved from there.
	 */
	if (from->more && xp_blocked(qp)) {
		list_del(&qp->work);
		list_add_tail(&qp->work, &engine.work);
	}
	qp_rearm(qp, engine.now);
}

/* This process has no QP with that number: the segment is dropped. Late answers to a QP that was destroyed are usual. */
static noinline __cold void qp_unknown(struct rdev *dev, const struct seg *seg)
{
	struct why_rec r = { .qpn = seg->dqpn, .peer_qpn = seg->sqpn };

	if (!dev || seg_is_answer(seg))
		return;
	why_set(&r.why, DROP_NO_QP, seg->sqpn, seg->dqpn);
	explain_failed(dev, &r);
}

HOT __flatten static void qp_link_input(struct link *l, const struct seg *seg)
{
	struct rdev *dev = engine_dev_of(seg->dqpn);
	struct qp *qp = dev ? rdev_find_qp(dev, seg->dqpn) : NULL;

	if (likely(qp))
		qp_input(qp, seg, l);
	else if (seg->dqpn == MULTICAST_QPN)
		ud_multicast(l, seg);
	else if (!seg->dqpn)
		wire_handed(seg);
	else
		qp_unknown(dev, seg);
}

/* A link has room again: all blocked QPs run again. */
static void qp_link_writable(struct link *l)
{
	while (!list_empty(&engine.blocked)) {
		struct qp *qp = list_first_entry(&engine.blocked, struct qp, work);

		list_del(&qp->work);
		list_add_tail(&qp->work, &engine.work);
	}
}

static void qp_link_down(struct link *l)
{
	peers_drop(&engine.peers, l);
	qp_link_writable(l);
}

noinline void qp_work_run(ns_t now)
{
	while (!list_empty(&engine.work)) {
		struct qp *qp = list_first_entry(&engine.work, struct qp, work);

		list_del(&qp->work);
		xp_output(qp, now);
		qp_rearm(qp, now);
	}
}

static void qp_work_again(struct qp *qp, void *arg)
{
	if (unlikely(qp->check))
		check_ops->posted(qp);
	list_del(&qp->work);
	list_add_tail(&qp->work, &engine.work);
}

/* A doorbell in a signal handler found the lock held. Its QP is not known, so all QPs run. */
void qp_work_all(void)
{
	qp_each(qp_work_again, NULL);
}

static void qp_add_served(struct qp *qp, void *arg)
{
	uint64_t *sum = arg;

	*sum += qp_served(qp);
}

void qp_count_served(void)
{
	uint64_t sum = engine.served;

	qp_each(qp_add_served, &sum);
	engine.proc_page->life.served = sum;
}

/* The QPs take turns, so that one poll does not scan all of them. */
void qp_flush_err(ns_t now, uint32_t most)
{
	struct qp *first = NULL;

	while (most-- && !list_empty(&engine.err)) {
		struct qp *qp = list_first_entry(&engine.err, struct qp, err);

		if (qp == first)
			return;
		list_del(&qp->err);
		if (qp->state != QPS_ERR)
			continue;
		list_add_tail(&qp->err, &engine.err);
		if (!first)
			first = qp;
		xp_flush_recv(qp, now);
	}
}

void engine_link_created(struct link *l)
{
	if (engine.fabric_host)
		ib_path_wrap(l);
	tally_link(l);
	captures_link(l);
	faults_new_link(l);
}

const struct link_user_ops engine_link_ops = {
	.input = qp_link_input,
	.writable = qp_link_writable,
	.down = qp_link_down,
	.created = engine_link_created,
	.copy = umem_copy,
	.copy_iov = umem_copy_iov,
	.cmp_swp = umem_cmp_swp,
	.fetch_add = umem_fetch_add,
	.now = engine_now,
};
