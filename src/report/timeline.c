/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "report/page.h"
#include "report/timeline.h"

struct timeline *timeline_new(void)
{
	struct timeline *t = calloc(1, sizeof(*t));

	if (t)
		t->interval = TIMELINE_INTERVAL;
	return t;
}

void timeline_free(struct timeline *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->tracks; i++)
		free(t->track[i].points);
	free(t);
}

/* Drops every second sample. */
static void timeline_thin(struct timeline *t)
{
	size_t n = t->samples / 2;

	for (size_t i = 0; i < n; i++) {
		t->ns[i] = t->ns[2 * i + 1];
		t->sum[i] = t->sum[2 * i + 1];
	}
	for (size_t k = 0; k < t->tracks; k++) {
		struct timeline_point *p = t->track[k].points;

		for (size_t i = 0; i < n; i++)
			p[i] = p[2 * i + 1];
		memset(p + n, 0, (TIMELINE_SAMPLES - n) * sizeof(*p));
	}
	t->samples = n;
	t->interval *= 2;
}

static struct timeline_track *timeline_track(struct timeline *t, int pid, const char *comm)
{
	struct timeline_track *k;

	for (size_t i = 0; i < t->tracks; i++)
		if (t->track[i].pid == pid && !strncmp(t->track[i].comm, comm, sizeof(k->comm) - 1))
			return &t->track[i];
	if (t->tracks == TIMELINE_TRACKS)
		return NULL;
	k = &t->track[t->tracks];
	k->points = calloc(TIMELINE_SAMPLES, sizeof(*k->points));
	if (!k->points)
		return NULL;
	k->pid = pid;
	snprintf(k->comm, sizeof(k->comm), "%s", comm);
	t->tracks++;
	return k;
}

static uint64_t timeline_sum(struct json_object *o, const char *list, const char *key)
{
	struct json_object *l = page_list(o, list);
	uint64_t sum = 0;

	for (size_t i = 0; i < page_count(l); i++)
		sum += page_u64(json_object_array_get_idx(l, i), key);
	return sum;
}

static struct timeline_point timeline_run_point(struct json_object *p)
{
	struct timeline_point at = { .there = true, .running = page_bool(p, "running") };
	struct json_object *states = page_list(p, "states"), *row;

	at.bytes = timeline_sum(p, "traffic", "bytes") + page_u64(p, "recv_bytes");
	at.progress = timeline_sum(p, "traffic", "messages") + page_u64(p, "recvs") + page_u64(p, "served") +
		      page_u64(p, "packets_received");
	at.connections = (uint32_t)page_u64(p, "connections");
	at.retries = (uint32_t)(page_u64(p, "retries") + page_u64(p, "rnr"));
	at.faults = (uint32_t)page_u64(p, "faults");
	at.errors = (uint32_t)page_u64(p, "errors");
	for (size_t i = 0; i < page_count(states); i++) {
		const char *state;
		uint16_t n;

		row = json_object_array_get_idx(states, i);
		state = page_string(row, "state");
		n = (uint16_t)min(page_u64(row, "qps"), (uint64_t)UINT16_MAX);
		if (!strcmp(state, "RTR") || !strcmp(state, "RTS") || !strcmp(state, "SQD"))
			at.up += n;
		else if (!strcmp(state, "ERR") || !strcmp(state, "SQE"))
			at.failed += n;
		else
			at.other += n;
	}
	return at;
}

/* Of `ruse status`: links instead of connections, and QPs whose state is not known. */
static struct timeline_point timeline_status_point(struct json_object *p)
{
	struct timeline_point at = { .there = true, .running = true };

	at.bytes = timeline_sum(p, "links", "tx_bytes") + timeline_sum(p, "links", "rx_bytes");
	at.progress = timeline_sum(p, "links", "tx_segs") + timeline_sum(p, "links", "rx_segs");
	at.connections = (uint32_t)page_count(page_list(p, "links"));
	at.other = (uint16_t)min(timeline_sum(p, "contexts", "qp"), (uint64_t)UINT16_MAX);
	return at;
}

static void timeline_add_point(struct timeline_point *sum, const struct timeline_point *p)
{
	sum->there = true;
	sum->bytes += p->bytes;
	sum->progress += p->progress;
	sum->connections += p->connections;
	sum->retries += p->retries;
	sum->faults += p->faults;
	sum->errors += p->errors;
}

static void timeline_add(struct timeline *t, uint64_t ns, struct json_object *ps,
			 struct timeline_point (*point)(struct json_object *p))
{
	size_t untracked = 0, i;

	if (t->samples == TIMELINE_SAMPLES)
		timeline_thin(t);
	i = t->samples++;
	t->ns[i] = ns;
	t->sum[i] = (struct timeline_point){ 0 };
	for (size_t n = 0; n < page_count(ps); n++) {
		struct json_object *p = json_object_array_get_idx(ps, n);
		struct timeline_point at = point(p);
		struct timeline_track *k = timeline_track(t, (int)page_u64(p, "pid"),
							  page_string(p, "comm"));

		timeline_add_point(&t->sum[i], &at);
		if (k)
			k->points[i] = at;
		else
			untracked++;
	}
	t->untracked = max(t->untracked, untracked);
}

void timeline_add_run(struct timeline *t, uint64_t ns, struct json_object *run)
{
	struct json_object *total;

	timeline_add(t, ns, page_list(run, "processes"), timeline_run_point);
	/* The processes that are not listed are in the total. */
	if (json_object_object_get_ex(run, "total", &total))
		t->sum[t->samples - 1] = timeline_run_point(total);
}

void timeline_add_status(struct timeline *t, uint64_t ns, struct json_object *status)
{
	timeline_add(t, ns, page_list(status, "processes"), timeline_status_point);
}

bool timeline_stalls(const struct timeline *t, const struct timeline_track *k, size_t i,
		     size_t *to)
{
	const struct timeline_point *p = k->points;
	size_t n = i;

	/* All samples of a stall are of a running process that has a connected QP and the same counters. */
	while (n + 1 < t->samples && p[n].running && p[n].up && p[n + 1].there &&
	       p[n + 1].running && p[n + 1].progress == p[i].progress)
		n++;
	*to = n;
	return n > i && t->ns[n] - t->ns[i] >= TIMELINE_STALL;
}
