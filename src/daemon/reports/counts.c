/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Figures of the devices in the answer to IPC_STATUS: counters, messages, QPs. */
#include <stdio.h>
#include <string.h>

#include "core/counters.h"
#include "core/qp.h"
#include "daemon/reports/answer.h"
#include "daemon/reports/counts.h"
#include "daemon/reports/res.h"
#include "daemon/state/host.h"
#include "daemon/state/process.h"

struct json_object *counts_traffic(const uint64_t n[TRAFFIC_LINKS][TRAFFIC_OPS][2])
{
	static const char *const links[TRAFFIC_LINKS] = { "shared memory", "wire", "fabric" };
	static const char *const ops[TRAFFIC_OPS] = { "SEND", "WRITE", "READ", "ATOMIC" };
	struct json_object *rows = json_object_new_array(), *row;

	for (int l = 0; l < TRAFFIC_LINKS; l++)
		for (int op = 0; op < TRAFFIC_OPS; op++) {
			if (!n[l][op][0])
				continue;
			row = json_object_new_object();
			answer_str(row, "link", links[l]);
			answer_str(row, "operation", ops[op]);
			answer_u64(row, "messages", n[l][op][0]);
			answer_u64(row, "bytes", n[l][op][1]);
			json_object_array_add(rows, row);
		}
	return rows;
}

/* Of processes that have ended, too. */
static void counts_sums(struct json_object *device, const uint64_t sum[PROC_COUNTERS])
{
	struct json_object *counters = json_object_new_object();
	uint64_t n[TRAFFIC_LINKS][TRAFFIC_OPS][2];

	for (int i = 0; i < CNT_COUNT; i++)
		answer_u64(counters, rdev_counter_name((enum rdev_counter)i), sum[i]);
	answer_u64(counters, "recv_bytes", sum[CNT_RECV_BYTES]);
	json_object_object_add(device, "counters", counters);
	for (int l = 0; l < TRAFFIC_LINKS; l++)
		for (int op = 0; op < TRAFFIC_OPS; op++)
			memcpy(n[l][op], &sum[CNT_TRAFFIC(l, op)], sizeof(n[l][op]));
	json_object_object_add(device, "traffic", counts_traffic(n));
}

#define QP_TYPES 5 /* values of enum qp_type */

struct qp_counts {
	uint32_t dev_index;
	uint64_t n[QP_TYPES][QPS_COUNT];
};

static bool counts_qp(void *arg, const struct process *pr, uint32_t slot, const struct res_rec *rec)
{
	struct qp_counts *c = arg;

	(void)pr;
	(void)slot;
	if (rec->kind == RES_QP && rec->dev_index == c->dev_index && rec->type < QP_TYPES &&
	    rec->state < QPS_COUNT)
		c->n[rec->type][rec->state]++;
	return true;
}

static struct json_object *counts_qps(const struct processes *ps, uint32_t dev_index)
{
	static const char *const types[QP_TYPES] = {
		[QPT_RC] = "RC", [QPT_UC] = "UC", [QPT_UD] = "UD"
	};
	struct json_object *rows = json_object_new_array();
	struct qp_counts c = { .dev_index = dev_index };
	const struct process *pr;

	list_for_each_entry(pr, &ps->list, node)
		if (pr->proc)
			res_each(pr, &c, counts_qp);
	for (int t = 0; t < QP_TYPES; t++)
		for (int s = 0; s < QPS_COUNT; s++) {
			struct json_object *o;

			if (!types[t] || !c.n[t][s])
				continue;
			o = json_object_new_object();
			answer_str(o, "type", types[t]);
			answer_str(o, "state", qp_state_name((uint8_t)s));
			answer_u64(o, "number", c.n[t][s]);
			json_object_array_add(rows, o);
		}
	return rows;
}

void counts_device(struct json_object *device, const struct host *h, const struct processes *ps,
		   int dev)
{
	uint64_t sum[PROC_COUNTERS];

	res_counters(h, ps, dev, sum);
	counts_sums(device, sum);
	json_object_object_add(device, "qps", counts_qps(ps, h->page->dev[dev].index));
}

uint64_t counts_memory(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (!f)
		return 0;
	if (fscanf(f, "%*u %lu", &pages) != 1)
		pages = 0;
	fclose(f);
	return pages * PAGE;
}
