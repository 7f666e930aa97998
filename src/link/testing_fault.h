/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A link with fault rules that only stores the segments that pass: for test-fault.c and test-fault-wr.c. */
#ifndef RUSE_LINK_TESTING_FAULT_H
#define RUSE_LINK_TESTING_FAULT_H

#include "link/testing.h"
#include "link/fault_int.h"

#define KEEP 4096

static struct {
	struct link l;
	uint32_t psn[KEEP];
	const char *note[KEEP];
	bool bad_icrc[KEEP];
	uint32_t len[KEEP];
	uint8_t flags[KEEP], first[KEEP];	/* first: the payload's first byte */
	uint32_t n, full_after, tapped, destroyed, in_psn[KEEP], in_n;
	uint8_t in_refuse[KEEP], syndrome;	/* syndrome: of the last packet sent */
	uint32_t in_msn, why;	/* of the last packet that is to be refused; reason of the last packet sent, 0: none */
} net;
static struct faults f;
static struct fault_table table;
static struct fault_count counts[FAULT_MAX_RULES];
static struct fault_act acts[FAULT_ACTS];
static ns_t clock_now, wake_at;
static bool expected, first, receives;	/* see struct fault_facts */

static int keep_send(struct link *l, const struct seg *seg)
{
	if (net.n >= net.full_after)
		return -EAGAIN;
	net.psn[net.n] = seg->psn;
	net.note[net.n] = l->note;
	net.bad_icrc[net.n] = seg->bad_icrc;
	net.len[net.n] = seg->len;
	net.flags[net.n] = seg->flags;
	net.syndrome = seg->syndrome;
	net.why = seg->why ? seg->why->id : 0;
	net.first[net.n] = seg->len ? *(uint8_t *)seg->iov[0].iov_base : 0;
	net.n++;
	return 0;
}

static void keep_revoke(struct link *l, uint32_t sqpn)
{
}

static void keep_destroy(struct link *l)
{
	net.destroyed++;
}

static void keep_input(struct link *l, const struct seg *seg)
{
	net.in_psn[net.in_n] = seg->psn;
	if (seg->refuse)
		net.in_msn = seg->msn;
	net.in_refuse[net.in_n++] = seg->refuse;
}

static void keep_tap(struct link *l, const struct seg *seg, const char *note)
{
	assert_non_null(note);
	net.tapped++;
}

static const struct link_ops keep_ops = {
	.name = "keep", .send = keep_send, .revoke = keep_revoke, .destroy = keep_destroy,
};
static const struct link_user_ops keep_host = {
	.input = keep_input, .copy = t_copy, .copy_iov = t_copy_iov,
};

static ns_t now(void)
{
	return clock_now;
}

static void facts(const struct link *l, const struct seg *seg, bool in, struct fault_facts *ff)
{
	ff->dev = 7;
	ff->expected = expected;
	ff->first = first;
	ff->receives = receives;
}

static void wake(ns_t when)
{
	wake_at = when;
}

static const struct fault_ops host = { .now = now, .facts = facts, .wake = wake };

static inline void start(enum fault_side side)
{
	memset(&net, 0, sizeof(net));
	memset(&table, 0, sizeof(table));
	net.full_after = KEEP;
	net.l = (struct link){ .ops = &keep_ops, .host = &keep_host, .refs = 1, .max_pkts = 64,
			       .caps = LINK_CAP_DIRECT, .tap = keep_tap };
	clock_now = NS_S;
	wake_at = NS_NEVER;
	expected = true;
	memset(acts, 0, sizeof(acts));
	faults_init(&f, &host, counts, acts);
	assert_int_equal(fault_wrap(&f, &net.l, side), 0);
	assert_int_equal(net.l.max_pkts, side == FAULT_EGRESS ? 64 : 1);
	assert_false(net.l.caps & LINK_CAP_DIRECT);
}

static inline struct fault_rule *rule(enum fault_action action)
{
	static uint32_t id;

	for (int i = 0; i < FAULT_MAX_RULES; i++)
		if (!table.rule[i].id) {
			table.rule[i] = (struct fault_rule){ .id = id + 1, .action = action };
			id++;
			return &table.rule[i];
		}
	abort();
}

static inline void set(void)
{
	table.version++;
	faults_set(&f, &table, 5);
	assert_true(f.actions);
}

static inline int send_psn(uint32_t psn)
{
	uint8_t byte = (uint8_t)psn;
	struct iovec iov = { &byte, 1 };
	struct seg s = t_seg(SEG_SEND, &iov, 1, psn);
	int ret = net.l.ops->send(&net.l, &s);

	byte = 0xee;	/* the sender reuses its memory */
	return ret;
}

static inline void arrive(uint32_t psn, enum seg_type type)
{
	struct seg s = t_seg(type, NULL, 0, psn);

	net.l.host->input(&net.l, &s);
}

#endif
