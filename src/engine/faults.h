/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The rules of `ruse fault` on the links of this process. The caller holds the engine lock.
 *
 * To wrap a link means to replace its table of operations (struct link_ops) by functions that do
 * additional work and call the original ones. Some wrappers also replace the link's struct
 * link_user_ops, through which the link calls the engine.
 */
#ifndef RUSE_ENGINE_FAULTS_H
#define RUSE_ENGINE_FAULTS_H

#include "abi/uverbs/uverbs.h"
#include "base/timer.h"
#include "link/fault.h"

/* In struct engine. A forked child starts without: the rules of the parent refer to its links and timers. */
struct engine_faults {
	uint32_t version, proc;	/* of the rules in the host page that were taken over */
	bool active;	/* links are wrapped */
	bool holds;	/* hold.c: CQs are held */
	struct faults f;
	struct timer timer;
};

/* Call before the first link is created. */
void faults_begin(void);
/* Check whether rused has changed the rules in host_page.fault. Cheap if it has not. */
void faults_look(void);
/* Wrap a new link if there are rules. */
void faults_new_link(struct link *l);
/* uverbs_ops.fault. */
int faults_command(struct uverbs_file *f, const struct uverbs_req *r, const char *name);
/* The rule that holds the port of this device down; 0: none. */
uint32_t faults_down(uint32_t dev_index);
/* fault_case.services of this QP; 0: NULL. */
struct qp;
uint32_t faults_services(const struct qp *qp);
/* failwrap.c: wraps the posts of the program if a rule makes one fail. */
void failwrap_use(void);
/* qps.c, link_user_ops.created: wrap a new link for fabric paths, captures and faults. */
void engine_link_created(struct link *l);

#endif
