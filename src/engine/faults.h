/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The rules of `ruse fault` on the links of this process. The caller holds the engine lock.
 *
 * To wrap a link is to replace its ops, and for some wrappers its host, by functions that do
 * something of their own and call the original ones.
 */
#ifndef RUSE_ENGINE_FAULTS_H
#define RUSE_ENGINE_FAULTS_H

#include "link/link.h"

/* Check the host page for changed rules. Cheap if they have not changed. */
void faults_look(void);
/* Wrap a new link if there are rules. */
void faults_new_link(struct link *l);
/* qps.c, link_host.created: wrap a new link for fabric paths, captures and faults. */
void links_created(struct link *l);

#endif
