/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What an id waits for, for `ruse explain --stuck`. */
#ifndef RUSE_RDMACM_STUCK_H
#define RUSE_RDMACM_STUCK_H

#include "rdmacm/rdmacm.h"
#include "why/why.h"

struct rdma_cm_id;

struct rdma_wait {
	struct why why;
	ns_t since;
	bool idle;	/* true of a program that has nothing to do, too */
};

/* unread: the CONNECT_REQUEST of the id is not read yet. False: it waits for nothing. */
bool rdma_id_stuck(const struct rdma_cm_id *id, bool unread, struct rdma_wait *w);
ns_t rdmacm_now(const struct rdmacm *rm);

#endif
