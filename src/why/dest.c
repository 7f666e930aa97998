/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "why/dest.h"

void why_dest(struct why *w, const struct why_dest *d)
{
	uint64_t arg[WHY_ARGS] = { [4] = d->index };
	enum why_id id = WHY_DEST_FAMILY;

	__builtin_memcpy(arg, d->dgid, 16);
	__builtin_memcpy(arg + 2, d->sgid, 16);
	if (d->unset)
		id = WHY_DEST_UNSET;
	else if (!d->fits)
		id = WHY_DEST_NO_FAMILY;
	else
		arg[5] = d->fit;
	why_make(w, id, arg);
}
