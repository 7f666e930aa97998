/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Why a request gets no answer: what the MAD layer of the port that it reaches would do with it. */
#include <unistd.h>
#include "mad/mad_internal.h"
#include "mad/mad_why.h"

void mad_why(struct mad_port *p, const struct mad_addr *to, const uint8_t *mad, const char *where,
	     struct why *w)
{
	uint8_t class = mad[MAD_O_CLASS];
	const bool smp = class == MAD_CLASS_SUBN_LID || class == MAD_CLASS_SUBN_DR;
	const struct mad_agent *a = p ? port_find_agent(p, mad) : NULL;
	uint64_t name[2];

	why_str(name, where);
	if (to->qpn != !smp)
		why_set(w, MAD_QPN, class, !smp, to->qpn);
	else if (!a || !a->ops->recv)
		why_set(w, MAD_NO_AGENT, name[0], name[1], mad[MAD_O_METHOD], class,
			mad[MAD_O_CLASS_VERSION]);
	else
		why_set(w, MAD_SILENT, name[0], name[1], class, a->reg.pid ? 1 : 0,
			(uint64_t)(a->reg.pid ? a->reg.pid : getpid()));
}

noinline __cold void tx_why(const struct mad_tx *tx)
{
	struct mad_port *p = tx->agent->port;
	const struct mad_addr *to = &tx->addr;
	uint64_t gid[2], times = tx->retries + 1, each = tx->timeout_ms * NS_MS;

	memcpy(gid, to->gid, sizeof(gid));
	if (to->grh)
		why_set(&p->host->why, MAD_TIMEOUT_GID, gid[0], gid[1], times, times * each);
	else
		why_set(&p->host->why, MAD_TIMEOUT, to->lid, times, times * each, to->qpn);
	if (p->ops->why)
		p->ops->why(p->ctx, to, tx->mad, &p->host->why);
}
