/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* res.c: the table of the process's verbs objects, which rused reads for RDMA netlink. The caller holds the engine lock. */
#ifndef RUSE_ENGINE_RES_H
#define RUSE_ENGINE_RES_H

#include "abi/uverbs/uverbs.h"
#include "base/idtable.h"
#include "base/memfd.h"

/* In struct engine. A forked child starts with an empty table. */
struct res_table {
	struct memfd_table map;	/* with room for RES_MAX records; the file has fewer */
	struct res_rec *rec;	/* map.at */
	uint32_t size;		/* records in the file */
	struct idtable ids;
};

/* Map the table of objects, which follows struct proc_page in this memfd. 0 or -ENOMEM. */
int res_init(int fd);
/* A context was opened (gone: is being closed). */
void res_ctx(struct ucontext *uctx, bool gone);
/* uverbs_ops.obj_shown: the object was created or changed (gone: is being destroyed). */
void res_obj(struct uverbs_file *f, uint16_t kind, void *obj, bool gone);

#endif
