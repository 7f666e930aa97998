/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the ids of a file wait for, for `ruse explain --stuck`. */
#ifndef RUSE_ABI_UCMA_STUCK_H
#define RUSE_ABI_UCMA_STUCK_H

#include "rdmacm/stuck.h"

struct ucma_file;

/* Calls fn for each wait. dev: name of the device; NULL: none. id: its number; -1: the wait is of the event channel. */
typedef void (*ucma_stuck_fn)(void *arg, const struct rdma_wait *w, int64_t id, const char *dev);
void ucma_file_stuck(struct ucma_file *f, ucma_stuck_fn fn, void *arg);

#endif
