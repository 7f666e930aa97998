/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <sys/mman.h>

#include "self.h"

struct ibv_qp *self_qp(const struct self *s)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .send_cq = s->e.cq,
					 .recv_cq = s->recv };
	struct ibv_qp *qp;

	init.cap.max_send_wr = init.cap.max_recv_wr = DEPTH;
	init.cap.max_send_sge = init.cap.max_recv_sge = 1;
	NEED(qp = ibv_create_qp(s->e.pd, &init));
	return qp;
}

void self_connect(const struct self *s)
{
	struct ibv_qp_attr attr = { .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };
	struct end e = s->e;

	attr.qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	end_connect_self(&e);
	NEED(!ibv_modify_qp(e.qp, &attr, IBV_QP_ACCESS_FLAGS));
}

void self_open(struct self *s, const struct end *from, int cqe, int access, int map)
{
	*s = (struct self){ .e = *from };
	NEED(s->e.cq = ibv_create_cq(from->ctx, cqe, NULL, NULL, 0));
	NEED(s->recv = ibv_create_cq(from->ctx, cqe, NULL, NULL, 0));
	s->e.buf = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, map | MAP_ANONYMOUS, -1, 0);
	NEED(s->e.buf != MAP_FAILED);
	NEED(s->e.mr = ibv_reg_mr(from->pd, s->e.buf, SIZE, IBV_ACCESS_LOCAL_WRITE | access));
	s->e.rkey = s->e.mr->rkey;
	s->e.qp = self_qp(s);
	self_connect(s);
}

void self_close(struct self *s)
{
	NEED(!s->e.qp || !ibv_destroy_qp(s->e.qp));
	NEED(!ibv_destroy_cq(s->e.cq) && !ibv_destroy_cq(s->recv));
	NEED(!ibv_dereg_mr(s->e.mr) && !munmap(s->e.buf, SIZE));
}

void self_send(const struct self *s, uint32_t off, uint32_t len)
{
	struct ibv_send_wr *bad;
	struct wr w;

	wr_make(&w, &s->e, IBV_WR_SEND, off, len);
	NEED(!ibv_post_send(s->e.qp, &w.wr, &bad));
}

void self_write(const struct self *s, uint32_t from, uint32_t to, uint32_t len)
{
	struct ibv_send_wr *bad;
	struct wr w;

	wr_make(&w, &s->e, IBV_WR_RDMA_WRITE, from, len);
	wr_remote(&w, &s->e, to);
	NEED(!ibv_post_send(s->e.qp, &w.wr, &bad));
}
