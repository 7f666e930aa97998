/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Paths through an InfiniBand fabric: whether packets arrive, and counts of what was sent.
 *
 * rused decides whether a path is open (fabrics/path.c) and publishes a byte per path in
 * host_page.path_ok. The links are wrapped (faults.h), so that packets on a closed path are lost as
 * on a wire. This wrapper is the innermost: faults and captures see a packet before it is lost
 * here. The caller holds the engine lock.
 */
#ifndef RUSE_ENGINE_IB_PATH_H
#define RUSE_ENGINE_IB_PATH_H

#include "core/qp.h"
#include "ipc/fabric_msg.h"
#include "ipc/pages.h"
#include "link/link.h"

struct ib_path {
	struct ipc_path q;	/* the request, and rused's answer to it */
	struct proc_path *there, *back;	/* counters of both directions, in proc_page.path; NULL: all entries are in use */
};

/* In struct engine: all paths that this process has asked for. */
struct ib_paths {
	uint32_t n, proc;	/* proc: engine.proc, the number that the rused which answered gave this process */
	struct ib_path path[PROC_MAX_PATHS];
};

/*
 * Wrap the loop link or a shm link of a process on a host of a fabric; other links stay as they are. Call once for a link, before
 * captures and faults wrap it.
 */
void ib_path_wrap(struct link *l);
/* rdev_ops.qp_connect of an InfiniBand QP: sets qp->link and qp->path. */
int ib_connect(struct qp *qp);
/* rdev_ops.ib_ud_link */
struct link *ib_ud_link(struct qp *qp, const struct ib_uverbs_ah_attr *ah, struct seg_net *net,
			const struct seg *seg);

/* For ib_mcast.c. Fill in the request of IPC_PATH for this QP and address. */
void ib_path_ask(const struct qp *qp, const struct ib_uverbs_ah_attr *ah, uint32_t mtu,
		 struct ipc_path *q);
/* Do two requests ask for the same path? */
bool ib_path_same(const struct ipc_path *a, const struct ipc_path *b);
/* The counters of a path, in proc_page.path, which rused reads. NULL: all entries are in use. */
struct proc_path *ib_path_counter(uint32_t id);
/* Count one datagram in c, which may be NULL. grh: the datagram has a GRH. */
void ib_path_count(struct proc_path *c, const struct seg *seg, bool grh);

#endif
