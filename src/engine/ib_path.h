/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * InfiniBand ports: whether packets get through the fabric, and what was sent.
 * The way is judged by rused (daemon/fabric_path.c) and is a byte in the host page;
 * links to other processes are wrapped, beneath fault and capture, so that what
 * does not get through is lost as on a wire. Under the engine's lock.
 */
#ifndef RUSE_ENGINE_IB_PATH_H
#define RUSE_ENGINE_IB_PATH_H

#include "core/qp.h"
#include "link/link.h"

struct ib_path;
struct ipc_path;
struct proc_path;

/* A link of a process on a fabric's host; nothing on any other. */
void ib_path_wrap(struct link *l);
/* rdev_ops.qp_connect of an InfiniBand QP: sets qp->link and qp->path. */
int ib_connect(struct qp *qp);
/* rdev_ops.ib_ud_link */
struct link *ib_ud_link(struct qp *qp, const struct ib_uverbs_ah_attr *ah, struct seg_net *net,
			const struct seg *seg);

/* For ib_mcast.c: what IPC_PATH is asked, and whether it is the same. */
void ib_path_ask(const struct qp *qp, const struct ib_uverbs_ah_attr *ah, uint32_t mtu,
		 struct ipc_path *q);
bool ib_path_same(const struct ipc_path *a, const struct ipc_path *b);
/* Where a way's packets are counted; NULL: no room. And one more, a datagram. */
struct proc_path *ib_path_counter(uint32_t id);
void ib_path_count(struct proc_path *c, const struct seg *seg, bool grh);

#endif
