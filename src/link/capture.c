/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include "base/log.h"
#include "base/pool.h"
#include "link/capture.h"
#include "why/why.h"
#include "wire/frame.h"
#include "wire/pkey.h"

struct capture {
	struct link_ops ops;
	struct link_user_ops host;
	const struct link_ops *under;	/* the ops that this replaced */
	const struct link_user_ops *above;	/* the host that this replaced */
	const struct capture_cfg *cfg;
	bool in;
};

/*
 * Copy an arrived segment and set the path MTU of the copy, by which it is split into packets. The
 * udp link joins packets into a segment without knowing the path MTU. Each iovec entry is then the
 * payload of one packet, so the length of the first entry is the path MTU.
 */
static void capture_packets(struct seg *cut, const struct seg *seg)
{
	*cut = *seg;
	if (seg->npkts > 1 && seg->niov == (int)seg->npkts && seg->type != SEG_READ_REQ)
		cut->path_mtu = (uint16_t)seg->iov[0].iov_len;
}

/* A NAK has the reason of its sender, if the link brings it or this process sends it. */
static void capture_reason(const struct why *why, char *text, size_t size)
{
	const struct why_row *row = why_row(why->id);

	snprintf(text, size, "RX-%03x %s", why->id, row ? row->name : "");
}

static void capture_show(struct link *l, const struct seg *whole, const char *note, uint64_t ns)
{
	const struct capture *c = l->tap_arg;
	struct capture_frame f = { .ns = ns, .in = c->in, .note = note, .sqpn = whole->sqpn,
				   .dqpn = whole->dqpn };
	uint8_t buf[FRAME_MAX];
	char reason[40];
	struct seg_net net;
	struct seg seg;
	uint16_t sport;

	/*
	 * A segment to QP 0 is not traffic of a program and is not shown: its payload is a packet
	 * that the sending process received for the receiving one (engine/wire.c).
	 */
	if (!whole->dqpn || !c->cfg->net(l, whole, c->in, &net))
		return;
	if (unlikely(!note && whole->why)) {
		capture_reason(whole->why, reason, sizeof(reason));
		f.note = reason;
	}
	if (c->in)
		capture_packets(&seg, whole);
	else
		seg = *whole;
	/* No P_Key of a packet: see wire/pkey.h. RoCEv1 is shown as RoCEv2. */
	if (unlikely(!(seg.pkey & 0x7fff)))
		seg.pkey = PKEY_DEFAULT;
	sport = frame_sport(net.flow_label, seg.service == SEG_UD || seg.sqpn ? seg.sqpn : seg.dqpn,
			    seg.service == SEG_UD ? 0 : seg.dqpn);
	for (uint32_t i = 0; i < packet_count(&seg); i++) {
		int len = packet_build(&seg, i, buf + frame_head(&net), PACKET_MAX, l->host->copy);

		f.data = NULL;
		if (likely(len >= 0)) {
			f.data = buf;
			f.len = (uint32_t)frame_wrap(buf, &net, sport, (size_t)len);
			if (unlikely(seg.bad_icrc))
				buf[f.len - ICRC_LEN - 1] ^= 1;
		}
		c->cfg->sink(&f, &seg);
	}
}

/* Show the packets only after a successful send: a segment that the link refuses is sent again. */
static int capture_send(struct link *l, const struct seg *seg)
{
	const struct capture *c = l->tap_arg;
	uint64_t ns = c->in ? 0 : c->cfg->clock();
	int ret = c->under->send(l, seg);

	if (!ret && !c->in)
		capture_show(l, seg, l->note, ns);
	return ret;
}

static void capture_input(struct link *l, const struct seg *seg)
{
	const struct capture *c = l->tap_arg;
	const struct link_user_ops *above = c->above;

	capture_show(l, seg, l->note, c->cfg->clock());
	above->input(l, seg);
}

static void capture_tap(struct link *l, const struct seg *seg, const char *note)
{
	const struct capture *c = l->tap_arg;

	capture_show(l, seg, note, c->cfg->clock());
}

static const struct link_ops **capture_ops_of(struct link *l)
{
	return l->under ? l->under : &l->ops;
}

static const struct link_user_ops **capture_users_of(struct link *l)
{
	return l->under_host ? l->under_host : &l->host;
}

/* The last reference to a wrapped link was dropped: remove the wrapper, then destroy the link. */
static void capture_destroy(struct link *l)
{
	struct capture *c = l->tap_arg;
	const struct link_ops *under = c->under;

	*capture_ops_of(l) = under;
	pool_free(c, sizeof(*c));
	under->destroy(l);
}

int capture_wrap(struct link *l, const struct capture_cfg *cfg, bool in)
{
	const struct link_ops **ops = capture_ops_of(l);
	struct capture *c;

	if (l->tap)
		return 0;
	c = pool_zalloc(sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->cfg = cfg;
	c->in = in;
	c->under = *ops;
	c->ops = **ops;
	c->ops.send = capture_send;
	c->ops.destroy = capture_destroy;
	*ops = &c->ops;
	c->above = *capture_users_of(l);
	if (in) {
		c->host = *c->above;
		c->host.input = capture_input;
		*capture_users_of(l) = &c->host;
	}
	link_hold_direct(l);
	l->tap_arg = c;
	l->tap = capture_tap;
	return 0;
}

void capture_unwrap(struct link *l)
{
	struct capture *c = l->tap_arg;

	if (!l->tap)
		return;
	*capture_ops_of(l) = c->under;
	if (c->in)
		*capture_users_of(l) = c->above;
	l->tap = NULL;
	l->tap_arg = NULL;
	link_let_direct(l);
	pool_free(c, sizeof(*c));
}
