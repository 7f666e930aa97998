/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * issmN: one open file at a time holds the device port of issmN; further opens wait in order of arrival. While the
 * port is held, IsSM is set in its capability mask.
 */
#include <errno.h>
#include "abi/umad/umad_internal.h"

int umad_sm_open(struct umad_port *p, struct umad_sm *sm, bool nonblock)
{
	int rc;

	if (p->removed)
		return -ENXIO;
	sm->port = p;
	sm->waiting = false;
	if (p->sm) {
		if (nonblock)
			return -EAGAIN;
		sm->waiting = true;
		list_add_tail(&sm->link, &p->sm_waiting);
		return -EINPROGRESS;
	}
	rc = p->ops->set_sm(p->ctx, true);
	if (!rc)
		p->sm = sm;
	return rc;
}

/* Grant the device port to the issmN open that waits longest. If that fails, the one after it is tried. */
static void umad_sm_grant(struct umad_port *p)
{
	struct umad_sm *sm;
	int rc;

	while (!p->sm && !list_empty(&p->sm_waiting)) {
		sm = list_first_entry(&p->sm_waiting, struct umad_sm, link);
		list_del(&sm->link);
		sm->waiting = false;
		rc = p->ops->set_sm(p->ctx, true);
		if (!rc)
			p->sm = sm;
		sm->granted(sm, rc);
	}
}

void umad_sm_close(struct umad_sm *sm)
{
	struct umad_port *p = sm->port;

	if (sm->waiting) {
		list_del(&sm->link);
		sm->waiting = false;
		return;
	}
	if (!p || p->sm != sm)
		return;
	p->sm = NULL;
	if (p->removed)
		return;
	p->ops->set_sm(p->ctx, false);
	umad_sm_grant(p);
}
