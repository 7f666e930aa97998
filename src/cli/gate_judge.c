/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The conditions of `ruse run --expect`: whether they hold, and the sentence that says why. */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cli/cli.h"
#include "cli/gate.h"

#define JUDGE_NAMES 4	/* programs or objects that a sentence names */

typedef unsigned long long ull;

static const char *judge_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

void gate_put_program(FILE *f, struct json_object *o)
{
	fprintf(f, "%s (pid %llu)", cli_json_string(o, "comm") ?: "?", (ull)cli_json_u64(o, "pid"));
}

void gate_put_leak(FILE *f, struct json_object *leak)
{
	const char *object = cli_json_string(leak, "object"), *type = cli_json_string(leak, "type");
	const char *state = cli_json_string(leak, "state");
	struct json_object *v;

	fputs(object ?: "?", f);
	/* The number of a region is its remote key; 0: it has none. */
	if (json_object_object_get_ex(leak, "number", &v) && json_object_get_uint64(v))
		fprintf(f, " 0x%06llx", (ull)json_object_get_uint64(v));
	if (json_object_object_get_ex(leak, "bytes", &v))
		fprintf(f, " (%llu bytes)", (ull)json_object_get_uint64(v));
	else if (type || state)
		fprintf(f, " (%s%s%s)", type ?: "", type && state ? ", " : "", state ?: "");
}

void gate_put_running(FILE *f, struct json_object *done)
{
	struct json_object *ps = gate_list(done, "processes"), *p, *v;

	for (size_t i = 0; i < json_object_array_length(ps); i++) {
		p = json_object_array_get_idx(ps, i);
		if (!json_object_object_get_ex(p, "running", &v) || !json_object_get_boolean(v))
			continue;
		fputs("  still running, counted as it is now: ", f);
		gate_put_program(f, p);
		fputc('\n', f);
	}
}

/* Names the processes for which a member is not 0, with it; unit NULL: all processes, without it. */
static void judge_put_programs(FILE *f, struct json_object *done, const char *key, const char *unit)
{
	struct json_object *ps = gate_list(done, "processes"), *p;
	size_t named = 0, more = 0;

	for (size_t i = 0; i < json_object_array_length(ps); i++) {
		p = json_object_array_get_idx(ps, i);
		if (unit && !cli_json_u64(p, key))
			continue;
		if (named == JUDGE_NAMES) {
			more++;
			continue;
		}
		fputs(named++ ? ", " : ": ", f);
		gate_put_program(f, p);
		if (unit)
			fprintf(f, " %llu %s", (ull)cli_json_u64(p, key), unit);
	}
	if (more)
		fprintf(f, " and %zu more", more);
}

static uint64_t judge_bytes(struct json_object *total)
{
	return gate_add(gate_sum(total, "traffic", "bytes"), cli_json_u64(total, "recv_bytes"));
}

static uint64_t judge_ops(struct json_object *total)
{
	return gate_add(gate_sum(total, "traffic", "messages"), cli_json_u64(total, "recvs"));
}

static bool judge_rdma(FILE *f, struct json_object *done, struct json_object *total)
{
	uint64_t bytes = judge_bytes(total), served = cli_json_u64(total, "served");
	uint64_t processes = cli_json_u64(total, "processes");

	if (bytes) {
		fprintf(f, "%llu bytes were moved by RDMA", (ull)bytes);
	} else if (served) {
		fprintf(f, "%llu requests of peers were executed by RDMA", (ull)served);
	} else if (!processes) {
		fputs("no bytes were moved by RDMA: no process has opened an RDMA device", f);
	} else if (!cli_json_u64(total, "devices")) {
		fputs("no bytes were moved by RDMA, and no RDMA device was opened", f);
		judge_put_programs(f, done, NULL, NULL);
	} else {
		fprintf(f, "no bytes were moved by RDMA, though %llu RDMA device%s opened", (ull)cli_json_u64(total, "devices"),
			cli_json_u64(total, "devices") == 1 ? " was" : "s were");
		judge_put_programs(f, done, "devices", "opened");
	}
	return bytes || served;
}

static bool judge_least(FILE *f, struct json_object *done, uint64_t n, uint64_t least,
			const char *one, const char *many)
{
	fprintf(f, "%llu %s", (ull)n, n == 1 ? one : many);
	if (n >= least)
		return true;
	fprintf(f, ", expected are %llu", (ull)least);
	judge_put_programs(f, done, NULL, NULL);
	return false;
}

/* Names the first failure in full, else the first reason. */
static void judge_put_error(FILE *f, struct json_object *done)
{
	struct json_object *first, *errors = gate_list(done, "errors");
	const char *dev, *call;
	uint64_t qpn;

	json_object_object_get_ex(done, "first", &first);
	if (!first)
		first = json_object_array_get_idx(errors, 0);
	if (!first) {
		judge_put_programs(f, done, "errors", "errors");
		return;
	}
	fputs(": ", f);
	gate_put_program(f, first);
	dev = cli_json_string(first, "device");
	qpn = cli_json_u64(first, "qpn");
	call = cli_json_string(first, "call");
	if (dev)
		fprintf(f, ", %s", dev);
	if (qpn)
		fprintf(f, ", QP 0x%06llx", (ull)qpn);
	if (call)
		fprintf(f, ", %s", call);
	fprintf(f, ": %s: %s", cli_json_string(first, "id") ?: "?", cli_json_string(first, "text") ?: "");
	cli_put_causes(f, first, "; ", "");
}

static bool judge_errors(FILE *f, struct json_object *done, struct json_object *total)
{
	uint64_t n = cli_json_u64(total, "errors");

	if (!n) {
		fputs("no errors", f);
		return true;
	}
	fprintf(f, "%llu error%s%s", (ull)n, judge_plural(n), n > 1 ? ", the first" : "");
	judge_put_error(f, done);
	return false;
}

static bool judge_retries(FILE *f, struct json_object *done, struct json_object *total)
{
	uint64_t retries = cli_json_u64(total, "retries"), rnr = cli_json_u64(total, "rnr");

	if (!retries && !rnr) {
		fputs("no retries", f);
		return true;
	}
	if (retries) {
		fprintf(f, "%llu request%s repeated", (ull)retries, retries == 1 ? " was" : "s were");
		judge_put_programs(f, done, "retries", "repeated");
	}
	if (rnr) {
		fprintf(f, "%s%llu RNR NAK%s received", retries ? "; " : "", (ull)rnr, rnr == 1 ? " was" : "s were");
		judge_put_programs(f, done, "rnr", "received");
	}
	return false;
}

/* Names the leaks of a kind of object, while fewer than JUDGE_NAMES are named. Returns how many are named then. */
static size_t judge_put_kind(FILE *f, struct json_object *leaks, const char *kind, size_t named)
{
	for (size_t i = 0; i < json_object_array_length(leaks) && named < JUDGE_NAMES; i++) {
		struct json_object *leak = json_object_array_get_idx(leaks, i);

		if (strcmp(cli_json_string(leak, "object"), kind))
			continue;
		fputs(named++ ? ", " : "", f);
		gate_put_leak(f, leak);
	}
	return named;
}

/* The objects that a process has left: first those that tell most, as others exist because of them. */
static void judge_put_leaks(FILE *f, struct json_object *p)
{
	static const char *const kinds[] = { "QP", "MR", "SRQ", "CQ", "PD", "context" };
	struct json_object *leaks = gate_list(p, "leaks");
	size_t n = 0;

	fputs(": ", f);
	gate_put_program(f, p);
	fputs(" has left ", f);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		n = judge_put_kind(f, leaks, kinds[i], n);
	if (cli_json_u64(p, "leaked") > n)
		fprintf(f, "%s%llu%s", n ? " and " : "", (ull)(cli_json_u64(p, "leaked") - n),
			n ? " more" : " objects");
}

static bool judge_leaks(FILE *f, struct json_object *done, struct json_object *total)
{
	struct json_object *ps = gate_list(done, "processes"), *p;
	uint64_t n = cli_json_u64(total, "leaked"), named = 0;

	if (!n) {
		fputs("no process has left objects", f);
		return true;
	}
	fprintf(f, "%llu object%s existed when %s process ended", (ull)n, judge_plural(n), n == 1 ? "its" : "their");
	for (size_t i = 0; i < json_object_array_length(ps) && named < JUDGE_NAMES; i++) {
		p = json_object_array_get_idx(ps, i);
		if (!cli_json_u64(p, "leaked"))
			continue;
		judge_put_leaks(f, p);
		named++;
	}
	if (!named)
		fprintf(f, ": of processes after the first %zu, which are not listed",
			json_object_array_length(ps));
	return false;
}

static bool judge_one(FILE *f, const struct gate_condition *c, struct json_object *done)
{
	struct json_object *total;

	json_object_object_get_ex(done, "total", &total);
	switch (c->kind) {
	case GATE_RDMA:
		return judge_rdma(f, done, total);
	case GATE_BYTES:
		return judge_least(f, done, judge_bytes(total), c->least, "byte", "bytes");
	case GATE_OPS:
		return judge_least(f, done, judge_ops(total), c->least, "work request or receive",
				   "work requests and receives");
	case GATE_PROCESSES:
		return judge_least(f, done, cli_json_u64(total, "processes"), c->least,
				   "process has used RDMA", "processes have used RDMA");
	case GATE_CONNECTIONS:
		return judge_least(f, done, cli_json_u64(total, "connections"), c->least,
				   "QP was connected", "QPs were connected");
	case GATE_NO_ERRORS:
		return judge_errors(f, done, total);
	case GATE_NO_RETRIES:
		return judge_retries(f, done, total);
	case GATE_NO_LEAKS:
		return judge_leaks(f, done, total);
	case GATE_KINDS:
		break;
	}
	return false;
}

size_t gate_judge(struct gate *g)
{
	size_t failed = 0, len;
	FILE *f;

	for (size_t i = 0; i < g->nconditions; i++) {
		struct gate_condition *c = &g->conditions[i];

		free(c->why);
		c->why = NULL;
		c->holds = false;
		f = open_memstream(&c->why, &len);
		if (f && (!g->done || *g->incomplete))
			fputs(*g->incomplete ? g->incomplete : "it is not known what the run has done", f);
		else if (f)
			c->holds = judge_one(f, c, g->done);
		if (f)
			fclose(f);
		failed += !c->holds;
	}
	return failed;
}
