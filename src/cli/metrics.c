/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ruse status --openmetrics: rused's answers as OpenMetrics 1.0 text, for Prometheus.
 *
 * The types are gauge and counter only: the textfile collector of node_exporter reads the older text format of Prometheus,
 * which has no others. A family is written at once, and has each set of labels once: samples with the same labels are added.
 */
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "cli/cli.h"
#include "report/page.h"

#define add_metric(m, value, ...) metric_add((m), (value), __VA_ARGS__, (char *)NULL)

struct metrics {
	FILE *f;
	bool counter;
	char name[80];
	struct json_object *samples; /* values by labels */
};

static void metric_begin(struct metrics *m, const char *name, const char *unit, bool counter,
			 const char *help)
{
	m->counter = counter;
	m->samples = json_object_new_object();
	snprintf(m->name, sizeof(m->name), "%s", name);
	fprintf(m->f, "# TYPE %s %s\n", name, counter ? "counter" : "gauge");
	if (*unit)
		fprintf(m->f, "# UNIT %s %s\n", name, unit);
	fprintf(m->f, "# HELP %s %s\n", name, help);
}

static void metric_end(struct metrics *m)
{
	json_object_object_foreach(m->samples, labels, value)
	{
		fprintf(m->f, "%s%s%s%s%s %llu\n", m->name, m->counter ? "_total" : "",
			*labels ? "{" : "", labels, *labels ? "}" : "",
			(unsigned long long)json_object_get_uint64(value));
	}
	json_object_put(m->samples);
}

/* The value of a label: UTF-8 in which backslash, quotation mark and line feed are escaped. */
static void metric_label(FILE *f, const char *text)
{
	char *copy = printable_copy(text);

	for (const char *s = copy; s && *s; s++) {
		if (*s == '\\' || *s == '"')
			fputc('\\', f);
		fputc(*s, f);
	}
	free(copy);
}

/* Adds a sample; then come names and values of its labels, and NULL. A label without a name is none. */
static void metric_add(struct metrics *m, uint64_t value, const char *name, ...)
{
	struct json_object *old;
	char *labels = NULL;
	size_t len;
	FILE *f = open_memstream(&labels, &len);
	bool more = false;
	va_list ap;

	if (!f)
		return;
	va_start(ap, name);
	for (; name; name = va_arg(ap, const char *)) {
		const char *text = va_arg(ap, const char *);

		if (!*name)
			continue;
		fprintf(f, "%s%s=\"", more ? "," : "", name);
		metric_label(f, text);
		fputc('"', f);
		more = true;
	}
	va_end(ap);
	if (!fclose(f)) {
		if (json_object_object_get_ex(m->samples, labels, &old))
			value += json_object_get_uint64(old);
		json_object_object_add(m->samples, labels, json_object_new_uint64(value));
	}
	free(labels);
}

/* A family with a single sample. */
static void metric_one(struct metrics *m, const char *name, const char *unit, const char *help,
		       uint64_t value)
{
	metric_begin(m, name, unit, false, help);
	add_metric(m, value, "", "");
	metric_end(m);
}

/* Calls fn for each element of the array `inner` of each element of the array `outer`. */
static void
metric_each(struct metrics *m, struct json_object *all, const char *outer, const char *inner,
	    void (*fn)(struct metrics *m, struct json_object *of, struct json_object *o))
{
	struct json_object *a = page_list(all, outer);

	for (size_t i = 0; i < page_count(a); i++) {
		struct json_object *of = json_object_array_get_idx(a, i), *b;

		if (!inner) {
			fn(m, of, of);
			continue;
		}
		b = page_list(of, inner);
		for (size_t k = 0; k < page_count(b); k++)
			fn(m, of, json_object_array_get_idx(b, k));
	}
}

/* A family whose samples fn adds. */
static void
metric_family(struct metrics *m, struct json_object *all, const char *outer, const char *inner,
	      const char *name, const char *unit, bool counter, const char *help,
	      void (*fn)(struct metrics *m, struct json_object *of, struct json_object *o))
{
	metric_begin(m, name, unit, counter, help);
	metric_each(m, all, outer, inner, fn);
	metric_end(m);
}

/* The label of a device's host in a fabric, whose hosts all have the device rxe_0. None for those of this machine. */
#define METRIC_HOST(dev) \
	*page_string((dev), "fabric_host") ? "host" : "", page_string((dev), "fabric_host")

static void metric_device_state(struct metrics *m, struct json_object *of, struct json_object *o)
{
	static const char *const states[] = { "DOWN", "INIT", "ARMED", "ACTIVE" };

	for (size_t i = 0; i < ARRAY_SIZE(states); i++)
		add_metric(m, !strcmp(states[i], page_string(o, "state")), METRIC_HOST(o), "device",
			   page_string(o, "name"), "netdev", page_string(o, "netdev"), "state",
			   states[i]);
	(void)of;
}

static void metric_device_mtu(struct metrics *m, struct json_object *of, struct json_object *o)
{
	add_metric(m, cli_json_u64(o, "mtu"), METRIC_HOST(of), "device", page_string(of, "name"));
}

static void metric_device_qps(struct metrics *m, struct json_object *of, struct json_object *o)
{
	add_metric(m, cli_json_u64(o, "number"), METRIC_HOST(of), "device", page_string(of, "name"), "type",
		   page_string(o, "type"), "state", page_string(o, "state"));
}

static void metric_device_messages(struct metrics *m, struct json_object *of, struct json_object *o)
{
	add_metric(m, cli_json_u64(o, "messages"), METRIC_HOST(of), "device", page_string(of, "name"), "link",
		   page_string(o, "link"), "operation", page_string(o, "operation"));
}

static void metric_device_bytes(struct metrics *m, struct json_object *of, struct json_object *o)
{
	add_metric(m, cli_json_u64(o, "bytes"), METRIC_HOST(of), "device", page_string(of, "name"), "link",
		   page_string(o, "link"), "operation", page_string(o, "operation"));
}

/* A counter of an object: its member, its name here, its unit and what it counts. */
struct metric_counter {
	const char *member, *name, *unit, *help;
};

static const struct metric_counter device_counters[] = {
	{ "sent_pkts", "ruse_device_sent_packets", "",
	  "Packets sent, also through shared memory." },
	{ "rcvd_pkts", "ruse_device_received_packets", "",
	  "Packets received, also through shared memory." },
	{ "recv_bytes", "ruse_device_receive_bytes", "bytes", "Length of completed receives." },
	{ "rdma_sends", "ruse_device_sends", "", "SEND requests." },
	{ "rdma_recvs", "ruse_device_receives", "", "Receives that have completed." },
	{ "completer_retry_err", "ruse_device_retransmissions", "",
	  "Requests repeated by a requester." },
	{ "duplicate_request", "ruse_device_duplicate_requests", "",
	  "Requests that had arrived before." },
	{ "out_of_seq_request", "ruse_device_out_of_sequence_requests", "",
	  "Requests behind a gap in the PSNs." },
	{ "rcvd_seq_err", "ruse_device_received_sequence_naks", "", "NAKs for a gap in the PSNs." },
	{ "rcvd_rnr_err", "ruse_device_received_rnr_naks", "", "RNR NAKs received." },
	{ "send_rnr_err", "ruse_device_sent_rnr_naks", "", "RNR NAKs sent." },
	{ "retry_exceeded_err", "ruse_device_retries_exceeded", "",
	  "QPs that have failed after retry_cnt repetitions." },
	{ "retry_rnr_exceeded_err", "ruse_device_rnr_retries_exceeded", "",
	  "QPs that have failed after rnr_retry RNR NAKs." },
	{ "ack_deferred", "ruse_device_deferred_acks", "",
	  "Acknowledgements that were held back." },
	{ "send_err", "ruse_device_send_errors", "", "Packets that could not be sent." },
	{ "link_downed", "ruse_device_link_downed", "", "Times that the port went down." },
};

static const struct metric_counter wire_counters[] = {
	{ "tx_packets", "ruse_wire_sent_packets", "", "Packets sent by UDP." },
	{ "tx_bytes", "ruse_wire_sent_bytes", "bytes", "Bytes of them." },
	{ "rx_packets", "ruse_wire_received_packets", "", "Packets received by UDP." },
	{ "rx_bytes", "ruse_wire_received_bytes", "bytes", "Bytes of them." },
	{ "bad_icrc", "ruse_wire_bad_icrc_packets", "", "Packets with a wrong ICRC, or not of RoCEv2." },
	{ "malformed", "ruse_wire_malformed_packets", "", "Malformed packets." },
	{ "foreign", "ruse_wire_foreign_packets", "",
	  "Packets for another process, to which they were passed on." },
	{ "lost_tx", "ruse_wire_unsent_packets", "", "Packets that the kernel did not take." },
	{ "ce", "ruse_wire_congestion_marks", "", "Packets marked by ECN." },
	{ "cnp_sent", "ruse_wire_sent_cnps", "", "Congestion notifications sent." },
	{ "cnp_rcvd", "ruse_wire_received_cnps", "", "Congestion notifications received." },
	{ "other_id", "ruse_wire_other_id_packets", "",
	  "Packets whose IPv4 identification was changed on the way." },
};

static void metrics_device_counters(struct metrics *m, struct json_object *all)
{
	struct json_object *devices = page_list(all, "devices");

	for (size_t i = 0; i < ARRAY_SIZE(device_counters); i++) {
		const struct metric_counter *c = &device_counters[i];

		metric_begin(m, c->name, c->unit, true, c->help);
		for (size_t k = 0; k < page_count(devices); k++) {
			struct json_object *o = json_object_array_get_idx(devices, k), *counters;

			if (json_object_object_get_ex(o, "counters", &counters))
				add_metric(m, cli_json_u64(counters, c->member), METRIC_HOST(o),
					   "device", page_string(o, "name"));
		}
		metric_end(m);
	}
}

static void metrics_wire(struct metrics *m, struct json_object *all)
{
	struct json_object *wire;

	if (!json_object_object_get_ex(all, "wire", &wire))
		return;
	/* Without packets the object is empty, and all counters are 0. */
	for (size_t i = 0; i < ARRAY_SIZE(wire_counters); i++) {
		const struct metric_counter *c = &wire_counters[i];

		metric_begin(m, c->name, c->unit, true, c->help);
		add_metric(m, cli_json_u64(wire, c->member), "", "");
		metric_end(m);
	}
}

static void metric_process_objects(struct metrics *m, struct json_object *of, struct json_object *o)
{
	static const char *const kinds[] = { "pd", "mr", "cq", "qp", "ah" };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		add_metric(m, cli_json_u64(o, kinds[i]), "pid", page_string(of, "pid"), "comm",
			   page_string(of, "comm"), "device", page_string(o, "device"), "kind",
			   kinds[i]);
}

static void metric_process_mrs(struct metrics *m, struct json_object *of, struct json_object *o)
{
	add_metric(m, cli_json_u64(o, "mrs"), "pid", page_string(of, "pid"), "comm",
		   page_string(of, "comm"), "memory", page_string(o, "memory"), "why",
		   page_string(o, "why"));
}

static void metric_process_mr_bytes(struct metrics *m, struct json_object *of,
				    struct json_object *o)
{
	add_metric(m, cli_json_u64(o, "bytes"), "pid", page_string(of, "pid"), "comm",
		   page_string(of, "comm"), "memory", page_string(o, "memory"), "why",
		   page_string(o, "why"));
}

static void metric_process_link(struct metrics *m, struct json_object *of, struct json_object *o,
				uint64_t value)
{
	add_metric(m, value, "pid", page_string(of, "pid"), "comm", page_string(of, "comm"), "link",
		   page_string(o, "link"), "peer", page_string(o, "peer"), "peer_pid",
		   page_string(o, "peer_pid"));
}

static void metric_link_dead(struct metrics *m, struct json_object *of, struct json_object *o)
{
	metric_process_link(m, of, o, !strcmp(page_string(o, "state"), "dead"));
}

static void metric_link_tx_segs(struct metrics *m, struct json_object *of, struct json_object *o)
{
	metric_process_link(m, of, o, cli_json_u64(o, "tx_segs"));
}

static void metric_link_tx_bytes(struct metrics *m, struct json_object *of, struct json_object *o)
{
	metric_process_link(m, of, o, cli_json_u64(o, "tx_bytes"));
}

static void metric_link_rx_segs(struct metrics *m, struct json_object *of, struct json_object *o)
{
	metric_process_link(m, of, o, cli_json_u64(o, "rx_segs"));
}

static void metric_link_rx_bytes(struct metrics *m, struct json_object *of, struct json_object *o)
{
	metric_process_link(m, of, o, cli_json_u64(o, "rx_bytes"));
}

static void metric_rule_matched(struct metrics *m, struct json_object *of, struct json_object *o)
{
	add_metric(m, cli_json_u64(o, "matched"), "id", page_string(o, "id"), "rule",
		   page_string(o, "rule"));
	(void)of;
}

static void metric_rule_acted(struct metrics *m, struct json_object *of, struct json_object *o)
{
	add_metric(m, cli_json_u64(o, "acted"), "id", page_string(o, "id"), "rule",
		   page_string(o, "rule"));
	(void)of;
}

static void metrics_host(struct metrics *m, struct json_object *all)
{
	struct json_object *host = NULL;

	json_object_object_get_ex(all, "host", &host);
	metric_one(m, "ruse_uptime_seconds", "seconds", "Time since rused was started.",
		   cli_json_u64(host, "uptime"));
	metric_one(m, "ruse_memory_bytes", "bytes", "Memory of rused that is in RAM.",
		   cli_json_u64(host, "memory"));
	metric_one(m, "ruse_failures", "", "Failures that ruse explain lists.",
		   cli_json_u64(host, "failures"));
	metric_one(m, "ruse_udp_port_open", "", "1 if UDP port 4791 is open.",
		   !strcmp(page_string(host, "udp_port"), "open"));
	metric_one(m, "ruse_devices", "", "RDMA devices.",
		   page_count(page_list(all, "devices")));
	metric_one(m, "ruse_processes", "", "Processes that use RDMA.",
		   page_count(page_list(all, "processes")));
}

static void metrics_devices(struct metrics *m, struct json_object *all)
{
	metric_family(m, all, "devices", NULL, "ruse_device_state", "", false,
		      "1 for the state of the port.", metric_device_state);
	metric_family(m, all, "devices", NULL, "ruse_device_mtu_bytes", "bytes", false,
		      "Active MTU.", metric_device_mtu);
	metric_family(m, all, "devices", "qps", "ruse_device_qps", "", false, "Queue pairs.",
		      metric_device_qps);
	metric_family(m, all, "devices", "traffic", "ruse_device_messages", "", true,
		      "Work requests that have succeeded, by the way of the message.",
		      metric_device_messages);
	metric_family(m, all, "devices", "traffic", "ruse_device_message_bytes", "bytes", true,
		      "Length of their messages.", metric_device_bytes);
	metrics_device_counters(m, all);
}

static void metrics_processes(struct metrics *m, struct json_object *all)
{
	static const struct {
		const char *inner, *name, *unit;
		bool counter;
		const char *help;
		void (*fn)(struct metrics *m, struct json_object *of, struct json_object *o);
	} families[] = {
		{ "contexts", "ruse_process_objects", "", false, "Objects of a process.",
		  metric_process_objects },
		{ "memory", "ruse_process_memory_regions", "", false,
		  "Memory regions of a process.", metric_process_mrs },
		{ "memory", "ruse_process_memory_region_bytes", "bytes", false, "Length of them.",
		  metric_process_mr_bytes },
		{ "links", "ruse_process_dead_links", "", false, "Links whose peer is gone.",
		  metric_link_dead },
		{ "links", "ruse_process_link_sent_segments", "", true, "Segments sent.",
		  metric_link_tx_segs },
		{ "links", "ruse_process_link_sent_bytes", "bytes", true, "Bytes sent.",
		  metric_link_tx_bytes },
		{ "links", "ruse_process_link_received_segments", "", true, "Segments received.",
		  metric_link_rx_segs },
		{ "links", "ruse_process_link_received_bytes", "bytes", true, "Bytes received.",
		  metric_link_rx_bytes },
	};

	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		metric_family(m, all, "processes", families[i].inner, families[i].name,
			      families[i].unit, families[i].counter, families[i].help,
			      families[i].fn);
}

void cli_write_metrics(FILE *f, struct json_object *status, struct json_object *faults)
{
	struct metrics m = { .f = f };

	metric_one(&m, "ruse_up", "", "1 if a rused runs for this user and network namespace.",
		   status != NULL);
	if (status) {
		metrics_host(&m, status);
		metrics_devices(&m, status);
		metrics_wire(&m, status);
		metrics_processes(&m, status);
	}
	if (faults) {
		metric_family(&m, faults, "rules", NULL, "ruse_fault_matched_packets", "", true,
			      "Packets to which a rule of ruse fault applies.",
			      metric_rule_matched);
		metric_family(&m, faults, "rules", NULL, "ruse_fault_acted_packets", "", true,
			      "Packets that a rule of ruse fault has lost or changed.",
			      metric_rule_acted);
	}
	fputs("# EOF\n", f);
}
