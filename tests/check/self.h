/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A QP that is connected to itself, with CQs and memory of its own. */
#ifndef TESTS_CHECK_SELF_H
#define TESTS_CHECK_SELF_H

#include "check.h"

#define SMALL 64u

struct self {
	struct end e;		/* cq: of sends */
	struct ibv_cq *recv;
};

/*
 * Context and PD are those of `from`. cqe: of each CQ; access: of the memory besides IBV_ACCESS_LOCAL_WRITE; map: MAP_PRIVATE or
 * MAP_SHARED.
 */
void self_open(struct self *s, const struct end *from, int cqe, int access, int map);
void self_close(struct self *s);
/* A new QP, and the connection of s->e.qp, which allows all accesses. */
struct ibv_qp *self_qp(const struct self *s);
void self_connect(const struct self *s);
/* Post a signaled request of s->e.buf. */
void self_send(const struct self *s, uint32_t off, uint32_t len);
void self_write(const struct self *s, uint32_t from, uint32_t to, uint32_t len);

#endif
