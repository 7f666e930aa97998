/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What processes wait for, for `ruse explain --stuck`. */
#ifndef RUSE_DAEMON_STUCK_H
#define RUSE_DAEMON_STUCK_H

#include "base/util.h"

struct rused;

/*
 * The answer to IPC_STUCK, malloc()ed; NULL: no memory. doc/json.md lists its members; `ruse` adds "answers". Waits of rdma_cm
 * and MADs are of the time of the answer. A process without open devices has no QPs and need not answer.
 */
char *stuck_text(struct rused *r);

#endif
