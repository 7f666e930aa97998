/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ruse status: prints rused's response to IPC_STATUS as JSON (--json) or as tables.
 *
 * The response is JSON, so that rused can add members without a change here. Rules of the tables:
 * - A member that is a number, a text or an array of these is a line: its name and its value.
 * - An array of objects is a table: a row per object, a column per member that is a number, a
 *   text or an array of these in all rows.
 * - An array in a cell: numbers are separated by commas, other values are on a line each.
 * - A member that is an object or an array of objects is printed below, under a heading: the names
 *   of the members that lead to it, each followed by the name of the row (row_name()), if any.
 */
#include <errno.h>
#include <getopt.h>
#include <json-c/json.h>
#include <libsmartcols/libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

#define STATUS_MAX (16u << 20)
#define FAULTS_MAX (1u << 20)
#define MAX_DEPTH 8	/* deeper tables are not printed */

static void status_help(void)
{
	puts("usage: ruse status [--json | --openmetrics] [--watch]\n"
	     "Lists the devices of this user and network namespace, the processes with open\n"
	     "contexts, their objects and links.\n\n"
	     "  --json         print JSON; \"running\":false if no rused is running\n"
	     "  --openmetrics  print OpenMetrics text, for Prometheus; ruse_up is 0 if no rused is running\n"
	     "  --watch        print it again each second, until interrupted\n"
	     "  -h, --help");
}

/* True for an array of objects that is not empty. */
static bool is_table(struct json_object *o)
{
	size_t i, n;

	if (!json_object_is_type(o, json_type_array))
		return false;
	n = json_object_array_length(o);
	for (i = 0; i < n; i++)
		if (!json_object_is_type(json_object_array_get_idx(o, i), json_type_object))
			return false;
	return n > 0;
}

/* Makes a title of a member's name: "max_qp" becomes "max qp". */
static void title_of(const char *key, char *buf, size_t size)
{
	size_t i;

	snprintf(buf, size, "%s", key);
	for (i = 0; buf[i]; i++)
		if (buf[i] == '_')
			buf[i] = ' ';
}

/* Text of a cell, to be freed by the caller. NULL: no memory. */
static char *cell_text(struct json_object *o)
{
	size_t n, i, len = 0;
	char *all = NULL;
	FILE *f;

	if (!json_object_is_type(o, json_type_array))
		return strdup(!o ? "-" : json_object_get_string(o));
	f = open_memstream(&all, &len);
	if (!f)
		return NULL;
	n = json_object_array_length(o);
	for (i = 0; i < n; i++) {
		struct json_object *v = json_object_array_get_idx(o, i);

		if (i)
			fputc(json_object_is_type(v, json_type_int) ? ',' : '\n', f);
		fputs(v ? json_object_get_string(v) : "-", f);
	}
	fputs(n ? "" : "-", f);
	fclose(f);
	return all;
}

static int add_row(struct libscols_table *t, struct json_object *columns, struct json_object *row)
{
	struct libscols_line *line = scols_table_new_line(t, NULL);
	size_t i = 0;

	if (!line)
		return -ENOMEM;
	json_object_object_foreach(columns, key, unused) {
		struct json_object *v;

		(void)unused;
		if (json_object_object_get_ex(row, key, &v)) {
			char *text = cell_text(v);

			if (!text || scols_line_refer_data(line, i, text))
				return -ENOMEM;
		}
		i++;
	}
	return 0;
}

static bool fits_cell(struct json_object *o)
{
	return !is_table(o) && !json_object_is_type(o, json_type_object);
}

static bool is_empty(struct json_object *o)
{
	return json_object_is_type(o, json_type_array) && !json_object_array_length(o);
}

/*
 * Columns of a table, as an object: its keys are the names of the rows' members, in order of
 * appearance, without those that do not fit into a cell in some row. The value of a key is true if
 * the column holds numbers, which are aligned to the right.
 */
static struct json_object *columns_of(struct json_object *rows)
{
	struct json_object *columns = json_object_new_object();
	size_t n = json_object_array_length(rows);
	size_t i;

	for (i = 0; columns && i < n; i++) {
		json_object_object_foreach(json_object_array_get_idx(rows, i), key, v) {
			bool is_int = json_object_is_type(v, json_type_int);

			if (json_object_object_get_ex(columns, key, NULL))
				continue;
			json_object_object_add(columns, key, json_object_new_boolean(is_int));
		}
	}
	for (i = 0; columns && i < n; i++) {
		json_object_object_foreach(json_object_array_get_idx(rows, i), key, v) {
			if (!fits_cell(v))
				json_object_object_del(columns, key);
		}
	}
	return columns;
}

static int print_table(struct json_object *rows)
{
	struct json_object *columns = columns_of(rows);
	struct libscols_table *t = scols_new_table();
	int rc = columns && t ? 0 : -ENOMEM;
	size_t i;

	if (!rc) {
		json_object_object_foreach(columns, key, number) {
			int flags = SCOLS_FL_WRAP;
			struct libscols_column *c;
			char name[64];

			if (json_object_get_boolean(number))
				flags = SCOLS_FL_RIGHT;
			title_of(key, name, sizeof(name));
			c = scols_table_new_column(t, name, 0, flags);
			if (!c || scols_column_set_safechars(c, "\n") ||
			    scols_column_set_wrapfunc(c, scols_wrapnl_chunksize,
						      scols_wrapnl_nextchunk, NULL))
				rc = -ENOMEM;
		}
	}
	for (i = 0; !rc && i < json_object_array_length(rows); i++)
		rc = add_row(t, columns, json_object_array_get_idx(rows, i));
	if (!rc && scols_print_table(t))
		rc = -EIO;
	scols_unref_table(t);
	json_object_put(columns);
	return rc;
}

/* Name of a row, for the headings of what is printed below the table: the first member of names[] that the row has. */
static const char *row_name(struct json_object *row)
{
	static const char *const names[] = { "name", "pid", "index", "proc" };
	struct json_object *v;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (json_object_object_get_ex(row, names[i], &v))
			return json_object_get_string(v);
	return "";
}

static int print_value(const char *heading, struct json_object *o, int depth);

/* Prints those members of an object that are tables or objects themselves, each under a heading of its own. */
static int print_inner(const char *heading, struct json_object *row, int depth)
{
	int rc = 0;

	json_object_object_foreach(row, key, v) {
		char inner[160], name[64];

		title_of(key, name, sizeof(name));
		/* For an empty array print "none" at the top level, and nothing further down. */
		if (is_empty(v) && !*heading)
			printf("\n%s\nnone\n", name);
		if (fits_cell(v))
			continue;
		snprintf(inner, sizeof(inner), "%s%s%s", heading, *heading ? ": " : "", name);
		if (!rc)
			rc = print_value(inner, v, depth + 1);
	}
	return rc;
}

/* Prints an object, or an array of objects, under its heading. 0 or -errno. */
static int print_value(const char *heading, struct json_object *o, int depth)
{
	size_t i;
	int rc;

	if (depth > MAX_DEPTH)
		return 0;
	if (*heading)
		printf("\n%s\n", heading);
	if (is_table(o)) {
		rc = print_table(o);
		for (i = 0; !rc && i < json_object_array_length(o); i++) {
			struct json_object *row = json_object_array_get_idx(o, i);
			char inner[160];

			snprintf(inner, sizeof(inner), "%s %s", heading, row_name(row));
			rc = print_inner(inner, row, depth);
		}
		return rc;
	}
	json_object_object_foreach(o, key, v) {
		char name[64], *text;

		if (!fits_cell(v) || is_empty(v))
			continue;
		text = cell_text(v);
		if (!text)
			return -ENOMEM;
		title_of(key, name, sizeof(name));
		printf("%-12s %s\n", name, text);
		free(text);
	}
	return print_inner(heading, o, depth);
}

int cli_print_json(struct json_object *o)
{
	return print_value("", o, 0);
}

/* A line below the tables if programs have failed. */
static void status_failures(struct json_object *o)
{
	struct json_object *host, *n;

	if (json_object_object_get_ex(o, "host", &host) &&
	    json_object_object_get_ex(host, "failures", &n) && json_object_get_int64(n))
		printf("\nfailures: %lld; `ruse explain` says why\n",
		       (long long)json_object_get_int64(n));
}

/* The tables do without what `rdma statistic` and `rdma res` show. */
static void status_shorten(struct json_object *o)
{
	struct json_object *devices, *d;

	if (!json_object_object_get_ex(o, "devices", &devices))
		return;
	for (size_t i = 0; i < json_object_array_length(devices); i++) {
		d = json_object_array_get_idx(devices, i);
		json_object_object_del(d, "counters");
		json_object_object_del(d, "traffic");
		json_object_object_del(d, "qps");
	}
}

static int status_show(const char *text, bool json)
{
	struct json_object *o = json_tokener_parse(text);
	int rc = 0;

	if (!json_object_is_type(o, json_type_object)) {
		json_object_put(o);
		return -EPROTO;
	}
	if (json) {
		json_object_object_add(o, "running", json_object_new_boolean(1));
		cli_put_json(o);
	} else {
		status_shorten(o);
		rc = cli_print_json(o);
		status_failures(o);
	}
	json_object_put(o);
	return rc;
}

int cli_rused_status(struct ipc_conn *c, char **text)
{
	struct ipc_msg m = { .type = IPC_STATUS, .room = STATUS_MAX };
	int rc;

	m.reply = *text = malloc(STATUS_MAX + 1);
	rc = *text ? ipc_call(c, &m) : -ENOMEM;
	if (!rc)
		(*text)[m.rlen] = '\0';
	return rc;
}

/* rused's answer, which the caller frees. 0 or -errno. */
static int status_fetch(char **text)
{
	struct ipc_conn c;
	int rc = cli_rused_connect(&c, NULL);

	*text = NULL;
	if (rc)
		return rc;
	rc = cli_rused_status(&c, text);
	ipc_close(&c);
	return rc;
}

static int fetch_and_show(bool json)
{
	char *text;
	int rc = status_fetch(&text);

	if (cli_rused_absent(rc)) {
		cli_put_absent(json, NULL);
		rc = 0;
	} else if (!rc) {
		rc = status_show(text, json);
	}
	free(text);
	return rc;
}

/* The rules of `ruse fault`; NULL: not known. */
static struct json_object *status_faults(struct ipc_conn *c)
{
	struct ipc_msg m = { .type = IPC_FAULT, .req = "list", .len = strlen("list"), .room = FAULTS_MAX };
	char *text = m.reply = malloc(FAULTS_MAX + 1);
	struct json_object *o = NULL;

	if (text && !ipc_call(c, &m)) {
		text[m.rlen] = '\0';
		o = json_tokener_parse(text);
	}
	free(text);
	return o;
}

static int status_metrics(void)
{
	struct json_object *status = NULL, *faults = NULL;
	char *text = NULL;
	struct ipc_conn c;
	int rc = cli_rused_connect(&c, NULL);

	if (!rc) {
		rc = cli_rused_status(&c, &text);
		if (!rc) {
			status = json_tokener_parse(text);
			rc = json_object_is_type(status, json_type_object) ? 0 : -EPROTO;
			faults = status_faults(&c);
		}
		ipc_close(&c);
	}
	if (!rc || cli_rused_absent(rc)) {
		cli_write_metrics(stdout, status, faults);
		rc = 0;
	}
	json_object_put(status);
	json_object_put(faults);
	free(text);
	return rc;
}

bool cli_rused_has_port(void)
{
	struct json_object *all, *host, *port;
	bool open = false;
	char *text;

	if (!status_fetch(&text)) {
		all = json_tokener_parse(text);
		open = json_object_object_get_ex(all, "host", &host) &&
		       json_object_object_get_ex(host, "udp_port", &port) &&
		       !strcmp(json_object_get_string(port), "open");
		json_object_put(all);
	}
	free(text);
	return open;
}

char *cli_rused_choice(const char *member)
{
	struct json_object *all, *host, *spec;
	char *text, *netdevs = NULL;

	if (!status_fetch(&text)) {
		all = json_tokener_parse(text);
		netdevs = json_object_object_get_ex(all, "host", &host) &&
			  json_object_object_get_ex(host, member, &spec) ?
				  strdup(json_object_get_string(spec)) : strdup("");
		json_object_put(all);
	}
	free(text);
	return netdevs;
}

char *cli_rused_devices(void)
{
	struct json_object *all, *devices, *dev, *name;
	char *text, *names = NULL;
	size_t len = 0;
	FILE *f;

	if (status_fetch(&text))
		return NULL;
	f = open_memstream(&names, &len);
	all = json_tokener_parse(text);
	if (f && json_object_object_get_ex(all, "devices", &devices))
		for (size_t i = 0; i < json_object_array_length(devices); i++) {
			dev = json_object_array_get_idx(devices, i);
			if (json_object_object_get_ex(dev, "name", &name))
				fprintf(f, "%s ", json_object_get_string(name));
		}
	if (f)
		fclose(f);
	json_object_put(all);
	free(text);
	return names;
}

int cmd_status(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "openmetrics", no_argument, NULL, 'm' },
		{ "watch", no_argument, NULL, 'w' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	bool json = false, watch = false, metrics = false;
	int opt, rc;

	argv[0] = (char *)"ruse status";	/* for getopt's messages */
	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (opt) {
		case 'j':
			json = true;
			break;
		case 'm':
			metrics = true;
			break;
		case 'w':
			watch = true;
			break;
		case 'h':
			status_help();
			return 0;
		default:
			return EXIT_USAGE;
		}
	}
	if (optind != argc) {
		fprintf(stderr, "ruse status: unexpected argument '%s'\n", argv[optind]);
		return EXIT_USAGE;
	}
	if (json && metrics) {
		fputs("ruse status: --json and --openmetrics exclude each other\n", stderr);
		return EXIT_USAGE;
	}
	do {
		if (watch && !json && !metrics && isatty(STDOUT_FILENO))
			fputs("\033[H\033[2J", stdout);
		rc = metrics ? status_metrics() : fetch_and_show(json);
		fflush(stdout);
	} while (!rc && watch && !ferror(stdout) && !sleep(1));
	return rc ? cli_rused_complain("status", rc) : 0;
}
