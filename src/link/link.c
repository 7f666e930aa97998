/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* References of links, whatever their kind. */
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
