/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cm/cm_internal.h"
#include "cm/stuck.h"

void cm_stuck(const struct cm_id *id, struct cm_wait *w)
{
	const struct cm_priv *p = container_of(id, struct cm_priv, id);

	*w = (struct cm_wait){ .state = id->state, .since = p->since };
	if (!p->msg)
		return;
	w->most = p->max_cm_retries + 1u;
	w->sent = w->most - p->msg->retries;
}
