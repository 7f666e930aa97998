/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by fault-verbs.c and fault_pair.c. */
#ifndef TESTS_FAULT_PAIR_H
#define TESTS_FAULT_PAIR_H

#include "verbs.h"

extern struct vctx v;
extern uint8_t data[8192];
extern struct ibv_mr *mr;
struct ibv_sge sge_of(uint32_t length);
enum ibv_qp_state state_of(struct ibv_qp *qp);

/* A pair of QPs of one service, each with CQs of its own. */
struct pair {
	enum ibv_qp_type type;
	struct ibv_comp_channel *ch;
	struct ibv_cq *scq, *rcq;
	struct ibv_qp *from, *to;
	struct ibv_ah *ah;
};
extern struct pair pair;

enum ibv_wr_opcode opcode_of(const char *name);
/* Makes a new pair in place of the former one. */
void pair_new(const char *service);
void pair_post(enum ibv_wr_opcode opcode);
/* The next completion within so many ms. False: none. */
bool pair_poll(struct ibv_cq *cq, long ms, struct ibv_wc *wc);
/* Posts, and tells when the event of the completion has come. */
void pair_event(enum ibv_wr_opcode opcode);
/* Two work requests on a new pair, and what has become of them. */
void pair_two(const char *service, const char *opcode);

#endif
