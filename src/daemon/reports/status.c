/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The answer to IPC_STATUS: the state of rused as JSON. Later versions may add members, but do not
 * change the meaning of one; else JSON_VERSION (cli/json.c) changes. doc/json.md lists the members.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/reports/answer.h"
#include "daemon/reports/counts.h"
#include "daemon/reports/explain.h"
#include "daemon/reports/res.h"
#include "daemon/reports/status.h"
#include "daemon/state/devices.h"
#include "daemon/state/host.h"
#include "daemon/state/lease.h"
#include "daemon/state/port.h"
#include "daemon/state/process.h"
#include "fabric/fabric.h"
#include "fabrics/client.h"
#include "fabrics/fabrics.h"
#include "hostnet/choose.h"
#include "wire/mtu.h"

static struct json_object *host_json(const struct status *s, ns_t now)
{
	struct json_object *o = json_object_new_object();

	answer_str(o, "rundir", s->rundir);
	answer_int(o, "netns", s->netns);
	answer_int(o, "pid", getpid());
	if (s->devices->spec)
		answer_str(o, "netdevs", s->devices->spec);
	if (s->devices->like_spec) {
		answer_str(o, "like", s->devices->like.name);
		answer_str(o, "like_spec", s->devices->like_spec);
		if (devices_like_changed(s->devices))
			json_object_object_add(o, "like_changed", json_object_new_boolean(true));
	}
	answer_int(o, "uptime", (now - s->started) / NS_S);
	answer_u64(o, "memory", counts_memory());
	answer_int(o, "failures", explain_count(s->explain, s->processes));
	answer_str(o, "udp_port", s->port->nslots ? "open" : s->port->err ? strerrordesc_np(-s->port->err) :
								  "not needed");
	return o;
}

static struct json_object *gids_json(const struct host_dev *d)
{
	struct json_object *a = json_object_new_array();
	char text[24 + INET6_ADDRSTRLEN];

	for (uint32_t i = 0; i < d->ngids; i++) {
		int n = snprintf(text, sizeof(text), "%u=", i);

		inet_ntop(AF_INET6, d->gid[i].raw, text + n, INET6_ADDRSTRLEN);
		/* The first entry is of RoCEv1 if the device has any. */
		if (d->gid[0].v1)
			strcat(text, d->gid[i].v1 ? " v1" : " v2");
		json_object_array_add(a, json_object_new_string(text));
	}
	return a;
}

/* The name of a host of the fabric by its number; "": no host of a fabric. */
static const char *host_name(const struct status *s, uint32_t number)
{
	return number && s->fabrics->fabric ? fabric_node_desc(s->fabrics->fabric, number - 1) : "";
}

static struct json_object *devices_json(const struct status *s)
{
	static const char *const states[] = { "NOP", "DOWN", "INIT", "ARMED", "ACTIVE" };
	struct json_object *a = json_object_new_array();
	int i;

	for (i = 0; i < HOST_MAX_DEVS; i++) {
		const struct host_dev *d = &s->host->page->dev[i];
		struct json_object *o;

		if (!d->in_use)
			continue;
		o = json_object_new_object();
		answer_str(o, "name", d->name);
		if (s->fabrics->fabric)
			answer_str(o, "fabric_host", host_name(s, d->ib.host));
		answer_str(o, "netdev", d->ndev);
		answer_str(o, "state", d->state < ARRAY_SIZE(states) ? states[d->state] : "?");
		answer_int(o, "mtu", mtu_bytes(d->active_mtu));
		json_object_object_add(o, "gids", gids_json(d));
		answer_str(o, "chosen", d->ib.host ? "" : choice_texts[s->host->why[i]]);
		counts_device(o, s->host, s->processes, i);
		json_object_array_add(a, o);
	}
	return a;
}

static struct json_object *contexts_json(const struct status *s, const struct proc_page *p)
{
	struct json_object *a = json_object_new_array();
	int i;

	for (i = 0; i < PROC_MAX_CTX; i++) {
		const struct proc_ctx *c = &p->ctx[i];
		struct json_object *o;

		if (!c->dev_index)
			continue;
		o = json_object_new_object();
		answer_str(o, "device", answer_device(s->host->page, c->dev_index));
		answer_int(o, "pd", c->npd);
		answer_int(o, "mr", c->nmr);
		answer_int(o, "cq", c->ncq);
		answer_int(o, "qp", c->nqp);
		answer_int(o, "ah", c->nah);
		json_object_array_add(a, o);
	}
	return a;
}

/* The memory of the process's MRs: a row for what peers may map, and one for each reason why they may not. */
static struct json_object *memory_json(const struct process *pr)
{
	static const char *const why[] = {
		[MR_MEM_SHARED] = "",
		[MR_MEM_UNASKED] = "RUSE_MEMORY is private, or less than 64K",
		[MR_MEM_REFUSED] = "a limit forbids the memfd: see `ruse doctor`",
		[MR_MEM_GUARDED] = "the system protects processes of a user from each other, or RUSE_NO_CMA is set",
		[MR_MEM_LOST] = "the process is a child, which has private copies",
		[MR_MEM_DEMAND] = "on-demand paging, or length 0",
		[MR_MEM_PARTLY] = "partly outside the memfd",
		[MR_MEM_COVERED] = "the program has mapped something over the memfd (MAP_FIXED)",
		[MR_MEM_STACK] = "a stack",
		[MR_MEM_FILE] = "a mapped file, shared memory or static data",
		[MR_MEM_FULL] = "outside the memfd, which has been full: see RUSE_MEMORY",
		[MR_MEM_OTHER] = "not allocated page-aligned, or before RDMA was used: see RUSE_MEMORY",
	};
	struct json_object *a = json_object_new_array();
	struct res_mrs count[MR_MEMORIES];

	_Static_assert(ARRAY_SIZE(why) == MR_MEMORIES, "a text for each");
	res_count_mrs(pr, count);
	for (int i = 0; i < MR_MEMORIES; i++) {
		struct json_object *o;

		if (!count[i].mrs)
			continue;
		o = json_object_new_object();
		answer_str(o, "memory", i == MR_MEM_SHARED ? "shared" : "private");
		answer_u64(o, "mrs", count[i].mrs);
		answer_u64(o, "bytes", count[i].bytes);
		answer_str(o, "why", why[i]);
		json_object_array_add(a, o);
	}
	return a;
}

static struct json_object *links_json(const struct status *s, const struct proc_page *p)
{
	static const char *const kinds[] = { "", "loop", "shm", "udp" };
	struct json_object *a = json_object_new_array();
	char text[INET6_ADDRSTRLEN];
	int i;

	for (i = 0; i < PROC_MAX_LINKS; i++) {
		const struct proc_link *l = &p->link[i];
		const struct process *peer;
		struct json_object *o;

		if (!l->kind || l->kind >= ARRAY_SIZE(kinds))
			continue;
		peer = process_by_number(s->processes, l->peer_proc);
		o = json_object_new_object();
		answer_str(o, "link", kinds[l->kind]);
		if (!strcmp(kinds[l->kind], "udp"))
			answer_str(o, "peer", inet_ntop(AF_INET6, l->gid, text, sizeof(text)));
		answer_int(o, "peer_proc", l->peer_proc);
		answer_int(o, "peer_pid", peer ? peer->pid : 0);
		answer_str(o, "state", l->flags & 1 ? "dead" : "up");
		answer_str(o, "copies", l->kind == 3 ? "none" : l->flags & 4 ? "direct" :
				     l->flags & 2 ? "cross-memory" : "ring");
		answer_int(o, "tx_segs", l->tx_segs);
		answer_int(o, "tx_bytes", l->tx_bytes);
		answer_int(o, "rx_segs", l->rx_segs);
		answer_int(o, "rx_bytes", l->rx_bytes);
		json_object_array_add(a, o);
	}
	return a;
}

/* Counters of one process, or the sum of all. */
static struct json_object *wire_json(const uint64_t wire[PROC_WIRES])
{
	static const char *const names[PROC_WIRES] = {
		"tx_packets", "tx_bytes", "rx_packets", "rx_bytes", "bad_icrc", "malformed",
		"foreign", "lost_tx", "ce", "cnp_sent", "cnp_rcvd", "other_id",
	};
	struct json_object *o = json_object_new_object();
	uint64_t any = 0;

	for (int i = 0; i < PROC_WIRES; i++)
		any |= wire[i];
	for (int i = 0; any && i < PROC_WIRES; i++)
		json_object_object_add(o, names[i], json_object_new_int64((int64_t)wire[i]));
	return o;
}

static struct json_object *process_json(const struct status *s, const struct process *pr)
{
	struct json_object *o = json_object_new_object(), *blocks = json_object_new_array();
	struct proc_page p = { 0 };
	uint32_t b;

	if (process_page(pr, &p))
		memset(&p, 0, sizeof(p));
	for (b = 1; b < LEASE_BLOCKS; b++)
		if (lease_owner(s->leases, b) == pr->proc)
			json_object_array_add(blocks, json_object_new_int((int)b));
	answer_int(o, "pid", pr->pid);
	answer_str(o, "comm", pr->comm);
	if (s->fabrics->fabric)
		answer_str(o, "fabric_host", host_name(s, pr->fabric->number));
	json_object_object_add(o, "blocks", blocks);
	json_object_object_add(o, "contexts", contexts_json(s, &p));
	json_object_object_add(o, "memory", memory_json(pr));
	json_object_object_add(o, "links", links_json(s, &p));
	json_object_object_add(o, "wire", wire_json(p.wire));
	return o;
}

char *status_text(const struct status *s, ns_t now)
{
	struct json_object *o = json_object_new_object(), *procs = json_object_new_array();
	const struct process *pr;
	uint64_t wire[PROC_WIRES];
	char *text;

	res_wire(s->host, s->processes, wire);
	list_for_each_entry(pr, &s->processes->list, node)
		if (pr->proc)
			json_object_array_add(procs, process_json(s, pr));
	json_object_object_add(o, "host", host_json(s, now));
	json_object_object_add(o, "devices", devices_json(s));
	json_object_object_add(o, "wire", wire_json(wire));
	json_object_object_add(o, "processes", procs);
	text = strdup(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
	json_object_put(o);
	return text;
}
