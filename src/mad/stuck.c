/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>

#include "mad/mad_internal.h"
#include "mad/stuck.h"

static void stuck_tx(const struct mad_tx *tx, struct why *why)
{
	uint64_t class = tx->mad[MAD_O_CLASS], attr = mad_attr(tx->mad), gid[2];
	uint64_t sent = tx->retries - tx->retries_left + 1u, all = tx->retries + 1ull;

	memcpy(gid, tx->addr.gid, sizeof(gid));
	if (class == MAD_CLASS_SUBN_DR)
		why_set(why, WAIT_SMP, attr, tx->mad[MAD_O_CLASS_SPECIFIC + 1], sent, all);
	else if (tx->addr.grh)
		why_set(why, WAIT_MAD_GID, class, attr, gid[0], gid[1], sent, all);
	else
		why_set(why, WAIT_MAD_LID, class, attr, tx->addr.lid, tx->addr.qpn, sent, all);
}

void mad_agent_stuck(const struct mad_agent *a, mad_stuck_fn fn, void *arg)
{
	const struct mad_tx *tx;
	struct why why;

	list_for_each_entry(tx, &a->sends, link) {
		if (tx->answered)
			continue;
		stuck_tx(tx, &why);
		fn(arg, &why, tx->since);
	}
}
