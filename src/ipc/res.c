/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "ipc/res.h"
#include "queue/barrier.h"

void res_rec_write(struct res_rec *to, const struct res_rec *rec)
{
	uint32_t seq = to->seq | 1;

	WRITE_ONCE(to->seq, seq);
	smp_wmb();
	to->kind = rec->kind;
	to->type = rec->type;
	to->state = rec->state;
	to->port = rec->port;
	to->dev_index = rec->dev_index;
	to->ctx = rec->ctx;
	to->pd = rec->pd;
	to->users = rec->users;
	for (uint32_t i = 0; i < ARRAY_SIZE(rec->words); i++)
		to->words[i] = rec->words[i];
	smp_store_release(&to->seq, seq + 1);
}
