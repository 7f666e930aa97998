/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A host with a device and objects, requests to it and its replies: for test-nldev.c and test-stat.c. */
#ifndef RUSE_ABI_NETLINK_TESTING_NLDEV_H
#define RUSE_ABI_NETLINK_TESTING_NLDEV_H

#include "base/testing.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <rdma/rdma_netlink.h>

#include "abi/netlink/nldev.h"

static struct host_page page;
static const struct like_shown shown = { .dir = { { .n = 3, .name = { "a", "rx_pkts", "b" } } } };
static struct nldev_ctx host;

static struct {
	char buf[64][NLDEV_DGRAM_MAX];
	size_t len[64];
	int n;
} got;

static void collect(void *arg, const void *dgram, size_t len)
{
	assert_true(got.n < 64 && len <= NLDEV_DGRAM_MAX);
	memcpy(got.buf[got.n], dgram, len);
	got.len[got.n++] = len;
}

static void add_dev(int slot, uint32_t index, const char *name)
{
	struct host_dev *d = &page.dev[slot];

	*d = (struct host_dev){ .in_use = 1, .index = index, .minor = 192 + (uint32_t)slot,
				.state = 4, .phys_state = 5, .ifindex = 7 };
	snprintf(d->name, sizeof(d->name), "%s", name);
	strcpy(d->ndev, "eth7");
	memcpy(d->node_guid, "\x52\x54\x00\xff\xfe\x77\x00\x01", 8);
}

/* The objects of one process: a context, a PD, a CQ, an SRQ, and so many QPs that a dump needs several datagrams. */
#define QPS 400
static struct nldev_res objs[3 + QPS + 1];
static bool none;

static const struct nldev_res *objects(void *arg, size_t *n)
{
	*n = none ? 0 : ARRAY_SIZE(objs);
	return objs;
}

static void make_objects(void)
{
	static const uint8_t first[] = { RES_CTX, RES_PD, RES_CQ };

	for (uint32_t i = 0; i < ARRAY_SIZE(objs); i++) {
		struct nldev_res *r = &objs[i];

		*r = (struct nldev_res){ .base = RES_ID(1, 0), .id = RES_ID(1, i), .pid = 4711 };
		r->rec.kind = i < 3 ? first[i] : i < 3 + QPS ? RES_QP : RES_SRQ;
		r->rec.dev_index = 5;
		r->rec.pd = 1;
		if (r->rec.kind == RES_QP) {
			r->rec.type = 2;
			r->rec.state = 3;
			r->rec.port = 1;
			r->rec.qp.lqpn = 0x1000 + i;
			r->rec.qp.rqpn = 0x2000 + i;
			r->rec.qp.srqn = i == 3 ? 9 : 0;
		}
		if (r->rec.kind == RES_SRQ)
			r->rec.srq.srqn = 9;
	}
}

static int setup(void **state)
{
	memset(&page, 0, sizeof(page));
	host = (struct nldev_ctx){ .shown = &shown, .page = &page, .objects = objects };
	memset(&got, 0, sizeof(got));
	page.cap_flags = 0x1425321c36;
	none = false;
	make_objects();
	add_dev(2, 5, "rxe_0");
	return 0;
}

static union {
	struct nlmsghdr nlh;
	char buf[8192];
} req;

static struct nlmsghdr *request(int op, uint16_t flags)
{
	memset(&req, 0, sizeof(req));
	mnl_nlmsg_put_header(&req);
	req.nlh.nlmsg_type = (uint16_t)RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, op);
	req.nlh.nlmsg_flags = NLM_F_REQUEST | flags;
	req.nlh.nlmsg_seq = 77;
	req.nlh.nlmsg_pid = 4242;
	return &req.nlh;
}

static void run(void)
{
	got.n = 0;
	nldev_input(&host, &req, req.nlh.nlmsg_len, collect, NULL);
}

static const struct nlmsghdr *msg(int i)
{
	const struct nlmsghdr *nlh = (const struct nlmsghdr *)got.buf[i];

	assert_true(i < got.n && mnl_nlmsg_ok(nlh, (int)got.len[i]));
	assert_int_equal(nlh->nlmsg_seq, 77);
	assert_int_equal(nlh->nlmsg_pid, 4242);
	return nlh;
}

static const struct nlattr *attr(const struct nlmsghdr *nlh, int type)
{
	const struct nlattr *a;

	mnl_attr_for_each(a, nlh, 0)
		if (mnl_attr_get_type(a) == type)
			return a;
	return NULL;
}

/* The errno in answer i, which must be an NLMSG_ERROR. */
static int error_of(int i)
{
	const struct nlmsghdr *nlh = msg(i);
	const struct nlmsgerr *e = mnl_nlmsg_get_payload(nlh);

	assert_int_equal(nlh->nlmsg_type, NLMSG_ERROR);
	assert_int_equal(e->msg.nlmsg_seq, 77);
	assert_int_equal(e->msg.nlmsg_type, req.nlh.nlmsg_type);
	return e->error;
}

static int only_error(void)
{
	run();
	assert_int_equal(got.n, 1);
	return error_of(0);
}

#endif
