/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>
#include "shake/kinds.h"

const struct shake_row shake_rows[SHAKE_KINDS] = {
	[SHAKE_PLACE] = { "place", "IBA 9.5, o9-20, ibv_reg_mr(3)",
			  "The cache lines of a WRITE, or of the answer to a READ, become visible in another order.",
			  true, 0xa00 },
	[SHAKE_OVERTAKE] = { "overtake", "IBA 10.8.3.3, ibv_reg_mr(3)",
			     "A READ without a fence behind it fetches its data after later SENDs and WRITEs.",
			     true, 0xa10 },
	[SHAKE_QUEUES] = { "queues", "IBA 10.8.3, 11.4.2.2",
			   "The completions or the events of one completion queue come late.", true, 0xa20 },
	[SHAKE_LATE] = { "late", "IBA 9.7.6.1.3",
			 "The answer to a request, and so its completion, comes late.", true, 0xa30 },
	[SHAKE_RNR] = { "rnr", "IBA 9.7.5.2.8",
			"A SEND waits as after an RNR NAK, where rnr_retry is 7.", true, 0xa40 },
	[SHAKE_UD] = { "ud", "IBA 9.8.2, 9.8.3",
		       "Datagrams are lost, come twice or in another order; a message of UC is lost.", true, 0xa50 },
	[SHAKE_KEY] = { "key", "IBA 10.6",
			"A new region gets the index of a key that has ended, or one that does not follow.", true, 0xa70 },
	[SHAKE_ARM] = { "arm", "IBA 11.4.2.2, ibv_req_notify_cq(3)",
			"An arm raises no event for completions that were there.", true, 0xa80 },
	[SHAKE_CM] = { "cm", "IBA 12.9, 10.2.4",
		       "A message of rdma_cm is late or comes twice; the number of a QP jumps.", true, 0xa60 },
};

int shake_kind_find(const char *name, size_t n)
{
	for (int i = 0; i < SHAKE_KINDS; i++)
		if (strlen(shake_rows[i].name) == n && !memcmp(shake_rows[i].name, name, n))
			return i;
	return -1;
}

int shake_kind_of(uint32_t why_id)
{
	for (int i = 0; i < SHAKE_KINDS; i++)
		if (shake_rows[i].first == (why_id & ~0xfu))
			return i;
	return -1;
}
