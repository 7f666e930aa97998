/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* res.c: what rused can tell of this process's objects. Under the engine's lock. */
#ifndef RUSE_ENGINE_RES_H
#define RUSE_ENGINE_RES_H

#include "abi/uverbs/uverbs.h"

/* The table behind the process page in this memfd. 0 or -ENOMEM. */
int res_init(int fd);
/* A context was opened, or is being closed. */
void res_ctx(struct ucontext *uctx, bool gone);
/* uverbs_host.obj_shown */
void res_obj(struct uverbs_file *f, uint16_t kind, void *obj, bool gone);

#endif
