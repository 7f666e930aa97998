/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What processes wait for, for `ruse explain --stuck`. */
#ifndef RUSE_DAEMON_STUCK_H
#define RUSE_DAEMON_STUCK_H

#include "base/util.h"

struct rused;

/*
 * The answer to IPC_STUCK, malloc()ed; NULL: no memory. JSON: {"asked": n, "processes": [{pid, comm, proc, state,
 * answered, contexts, "waits": [...]}]}. asked: number of the last question; answered: number of the question that the process has
 * answered last. state: letter of /proc/PID/stat, "" if it cannot be read. contexts: number of open devices;
 * without any, the process has no QPs and need not answer. A wait has id, name, text, remedy, waited_ns,
 * part ("send", "receive", "completion", "rdma_cm", "MAD"), idle (true: a program that has nothing to do has this, too), args
 * and, where they apply, device, qpn, peer_qpn, wr_id and cm_id. Those of rdma_cm and MADs are of the time of the answer.
 */
char *stuck_text(struct rused *r);

#endif
