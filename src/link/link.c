/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Functions of all links: count references, and turn direct placement (link_ops.direct) off and on. */
#include "base/log.h"
#include "link/shm.h"

void link_get(struct link *l)
{
	l->refs++;
}

void link_put(struct link *l)
{
	if (BUG_ON(!l->refs))
		return;
	if (--l->refs == 0)
		l->ops->destroy(l);
}

void link_hold_direct(struct link *l)
{
	if (l->holders++)
		return;
	l->held_caps = l->caps & LINK_CAP_DIRECT;
	l->caps &= ~LINK_CAP_DIRECT;
}

void link_let_direct(struct link *l)
{
	if (BUG_ON(!l->holders) || --l->holders)
		return;
	if (!l->dead)
		l->caps |= l->held_caps;
}
