/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The rules of `ruse fault` on the links of this process. Under the engine's lock. */
#ifndef RUSE_ENGINE_FAULTS_H
#define RUSE_ENGINE_FAULTS_H

#include "link/link.h"

/* The host page may have changed: nothing to do if its rules have not. */
void faults_look(void);
/* A link that was made while there are rules. */
void faults_new_link(struct link *l);
/* qps.c: link_host.created; whoever looks at packets looks at those of this link. */
void links_created(struct link *l);

#endif
