/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cq-large: a CQ of max_cqe entries works, and so does one that is resized to that and back. */
#include <errno.h>
#include <string.h>
#include "verbs.h"

static struct vctx v = { .sock = -1 };

static void ping(struct ibv_qp *from, struct ibv_qp *to)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_recv_wr rwr = { 0 }, *rbad;
	struct ibv_wc wc;

	if (ibv_post_recv(to, &rwr, &rbad) || ibv_post_send(from, &wr, &bad))
		die("post");
	for (int i = 0; i < 2; i++)
		if (v_wait(v.cq, &wc, 60) != IBV_WC_SUCCESS)
			die("completion: %s", ibv_wc_status_str(wc.status));
}

static void resize(int cqe)
{
	int ret = ibv_resize_cq(v.cq, cqe);

	if (ret)
		die("resize_cq to %d: %s", cqe, strerror(ret));
	if (v.cq->cqe < cqe)
		die("resize_cq to %d: it has %d", cqe, v.cq->cqe);
}

int main(void)
{
	struct vcfg cfg = vcfg_default;
	struct ibv_device_attr attr;
	struct ibv_qp *peer;
	struct ibv_cq *more;

	v_open(&v, &cfg);
	if (ibv_query_device(v.ctx, &attr))
		die("query_device");
	if (attr.max_cqe < 4000000)
		die("max_cqe is %d", attr.max_cqe);
	peer = v_qp(&v);
	v_connect_self(&v, v.qp, peer);
	ping(v.qp, peer);
	resize(attr.max_cqe);
	ping(v.qp, peer);
	resize(100);
	ping(peer, v.qp);
	more = ibv_create_cq(v.ctx, attr.max_cqe, NULL, NULL, 0);
	if (!more || more->cqe < attr.max_cqe)
		die("create_cq: %s", strerror(errno));
	if (ibv_destroy_cq(more) || ibv_create_cq(v.ctx, attr.max_cqe + 1, NULL, NULL, 0))
		die("more than max_cqe");
	if (ibv_destroy_qp(peer))
		die("destroy_qp");
	v_close(&v);
	return 0;
}
