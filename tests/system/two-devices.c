/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Devices that are added and removed, for device-life.sh.
 *
 *   two-devices A B		opens both; a QP of one reaches QPs of that device, none of the other
 *   two-devices removed D	prints "ready" and waits until D is removed: the program must get
 *				DEVICE_FATAL, then EIO from commands, and can destroy its QPs
 *   two-devices traffic D	the same, with traffic between two QPs of D at first
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "verbs.h"

static void open_dev(struct vctx *v, const char *name)
{
	struct vcfg cfg = vcfg_default;

	cfg.timeout = 8;
	cfg.retry = 1;
	setenv("VERBS_DEVICE", name, 1);
	memset(v, 0, sizeof(*v));
	v->sock = -1;
	v_open(v, &cfg);
}

static void send_one(struct vctx *v, struct ibv_qp *qp, uint64_t id)
{
	struct ibv_send_wr wr = { .wr_id = id, .opcode = IBV_WR_RDMA_WRITE }, *bad;

	/* An empty message needs no memory. */
	wr.send_flags = IBV_SEND_SIGNALED;
	if (ibv_post_send(qp, &wr, &bad))
		die("post_send: %s", strerror(errno));
}

/* Sends to the address of device a with the QP number of device b. As no QP has both, the send must fail. */
static void cross(struct vctx *a, struct vctx *b)
{
	struct ibv_qp *qa = v_qp(a), *qb = v_qp(b);
	struct vdest to, other;
	struct ibv_wc wc;

	v_dest(a, qa, &to);
	v_dest(b, qb, &other);
	to.qpn = other.qpn;
	if (v_init(qa, 0) || v_rtr(qa, &a->cfg, &to) || v_rts(qa, &a->cfg, 0))
		die("cross: modify");
	send_one(a, qa, 1);
	if (v_wait(a->cq, &wc, 10) != IBV_WC_RETRY_EXC_ERR)
		die("a QP of another device answers: %s", ibv_wc_status_str(wc.status));
	ibv_destroy_qp(qa);
	ibv_destroy_qp(qb);
}

static void self(struct vctx *v)
{
	struct ibv_qp *a = v_qp(v), *b = v_qp(v);
	struct ibv_wc wc;

	v_connect_self(v, a, b);
	send_one(v, a, 2);
	if (v_wait(v->cq, &wc, 10))
		die("self: %s", ibv_wc_status_str(wc.status));
	ibv_destroy_qp(a);
	ibv_destroy_qp(b);
}

static int two(const char *first, const char *second)
{
	struct vctx a, b;

	open_dev(&a, first);
	open_dev(&b, second);
	self(&a);
	self(&b);
	cross(&a, &b);
	cross(&b, &a);
	v_close(&a);
	self(&b);
	v_close(&b);
	return 0;
}

/*
 * The next asynchronous event, or -errno if reading it fails. Dies if none comes within ten
 * seconds.
 */
static int next_event(struct ibv_context *ctx)
{
	struct pollfd p = { .fd = ctx->async_fd, .events = POLLIN };
	struct ibv_async_event ev;

	if (poll(&p, 1, 10000) != 1)
		die("no event");
	if (ibv_get_async_event(ctx, &ev))
		return -errno;
	ibv_ack_async_event(&ev);
	return ev.event_type;
}

static int removed(const char *name, int traffic)
{
	struct ibv_device_attr attr;
	struct ibv_qp *a, *b;
	struct ibv_wc wc;
	struct vctx v;
	int type;

	open_dev(&v, name);
	a = v_qp(&v);
	b = v_qp(&v);
	v_connect_self(&v, a, b);
	puts("ready");
	fflush(stdout);
	for (int i = 0; traffic && i < 200000; i++) {
		struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE }, *bad;

		wr.send_flags = IBV_SEND_SIGNALED;
		if (ibv_post_send(a, &wr, &bad))
			break;
		for (int k = 0; k < 1000 && !ibv_poll_cq(v.cq, 1, &wc); k++)
			;
	}
	/* Port events of the interface may come first. */
	do
		type = next_event(v.ctx);
	while (type >= 0 && type != IBV_EVENT_DEVICE_FATAL);
	if (type != IBV_EVENT_DEVICE_FATAL)
		die("event %d instead of DEVICE_FATAL", type);
	if (ibv_query_device(v.ctx, &attr) != EIO)
		die("query_device does not say EIO");
	if (ibv_alloc_pd(v.ctx) || errno != EIO)
		die("alloc_pd does not say EIO");
	if (ibv_destroy_qp(a) || ibv_destroy_qp(b))
		die("destroy_qp");
	v_close(&v);
	puts("closed");
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	if (!strcmp(argv[1], "removed") || !strcmp(argv[1], "traffic"))
		return removed(argv[2], argv[1][0] == 't');
	return two(argv[1], argv[2]);
}
