/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What programs in Java and Go call: READs of a QP that is connected to itself. */
#include <sys/mman.h>
#include "../self.h"

#define ROUNDS 200

void poll_one(const struct end *e, struct ibv_wc *wc);
__attribute__((visibility("default"))) int check_lang(int wrong);
__attribute__((visibility("default"))) int Java_Check_run(void *env, void *class, int wrong);

/* wrong: the program writes to the buffer before it has polled. Returns 0. */
int check_lang(int wrong)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct end from = { 0 };
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	struct self s;
	struct wr w;

	NEED(list && list[0]);
	NEED(from.ctx = ibv_open_device(list[0]));
	ibv_free_device_list(list);
	NEED(from.pd = ibv_alloc_pd(from.ctx));
	self_open(&s, &from, DEPTH, IBV_ACCESS_REMOTE_READ, MAP_PRIVATE);
	for (int i = 0; i < ROUNDS; i++) {
		wr_make(&w, &s.e, IBV_WR_RDMA_READ, 0, SMALL);
		wr_remote(&w, &s.e, SIZE / 2);
		NEED(!ibv_post_send(s.e.qp, &w.wr, &bad));
		if (wrong)
			s.e.buf[8]++;
		poll_one(&s.e, &wc);
		s.e.buf[8]++;
	}
	self_close(&s);
	NEED(!ibv_dealloc_pd(from.pd) && !ibv_close_device(from.ctx));
	return 0;
}

/* The native method of the class Check. */
int Java_Check_run(void *env, void *class, int wrong)
{
	(void)env;
	(void)class;
	return check_lang(wrong);
}
