/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ruse like: the adapters that `ruse run --like` knows, and what is known of one, each value with its evidence and source. */
#include <getopt.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "like/load.h"

static void like_help(void)
{
	puts("usage: ruse like list | show NAME [--json]\n"
	     "The adapters whose limits `ruse run --like NAME` gives to the devices.\n\n"
	     "  list         their names\n"
	     "  show         what is known of NAME: value, evidence and source of each field\n"
	     "  --json       print JSON\n"
	     "  -h, --help\n\n"
	     "NAME is a name of the list, or the path of a file (with a slash).");
}

static int like_put(struct json_object *o, bool json)
{
	int rc = 0;

	if (json)
		cli_put_json(o);
	else
		rc = cli_print_json(o);
	json_object_put(o);
	if (rc)
		fprintf(stderr, "ruse like: %s\n", strerror(-rc));
	return rc != 0;
}

static void like_add_text(struct json_object *o, const char *key, const char *text)
{
	json_object_object_add(o, key, json_object_new_string(text));
}

static int like_complain(const char *failure)
{
	fprintf(stderr, "ruse like: %s\n", failure);
	return 1;
}

static int like_list_all(bool json)
{
	static struct like_names names;
	struct json_object *o, *list, *row, *file, *text;
	int rc = like_list(&names);

	if (rc)
		return like_complain("the files about adapters were not found");
	o = json_object_new_object();
	list = json_object_new_array();
	json_object_object_add(o, "adapters", list);
	for (size_t i = 0; i <= names.n; i++) {
		const char *name = i < names.n ? names.name[i] : LIKE_STRICTEST;
		const char *about = i < names.n ? "" : "the smallest of each limit";
		char path[PATH_MAX + LIKE_NAME], failure[300];

		snprintf(path, sizeof(path), "%s%s.json", names.dir, name);
		file = i < names.n ? like_open(path, failure, sizeof(failure)) : NULL;
		if (file && json_object_object_get_ex(file, "description", &text))
			about = json_object_get_string(text);
		row = json_object_new_object();
		like_add_text(row, "name", name);
		like_add_text(row, "description", about);
		json_object_array_add(list, row);
		json_object_put(file);
	}
	return like_put(o, json);
}

static void like_add_row(struct json_object *values, const char *section, const char *field,
			 struct json_object *value, const char *evidence, const char *source)
{
	struct json_object *row = json_object_new_object();
	char name[128];

	snprintf(name, sizeof(name), "%s.%s", section, field);
	like_add_text(row, "field", name);
	json_object_object_add(row, "value", value);
	like_add_text(row, "evidence", evidence);
	like_add_text(row, "source", source);
	json_object_array_add(values, row);
}

/* A value as the files have it. */
static struct json_object *like_number(const struct like *l, const struct like_entry *e)
{
	uint64_t v = like_value(l, e);
	int64_t error = (int64_t)v;
	char text[32];

	/* Texts, as some numbers have 64 bits. */
	if (e->refused)
		snprintf(text, sizeof(text), "%s%s", error < 0 ? "-" : "",
			 strerrorname_np((int)(error < 0 ? -error : error)) ?: "?");
	else if (v >> 32)
		snprintf(text, sizeof(text), "0x%llx", (unsigned long long)v);
	else
		snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	return json_object_new_string(text);
}

/* A value as text; a list or a driver's rule in a table only if it is short. */
static struct json_object *like_joined(struct json_object *value, bool json)
{
	struct json_object *o;
	char *text = NULL;
	size_t size;
	FILE *f;

	if (!json && json_object_get_string_len(value) > 60)
		return json_object_new_string("a rule: see --json");
	if (!json_object_is_type(value, json_type_array))
		return json_object_new_string(json_object_get_string(value));
	if (!json && json_object_array_length(value) > 6)
		return json_object_new_string("a list: see --json");
	f = open_memstream(&text, &size);
	for (size_t i = 0; f && i < json_object_array_length(value); i++)
		fprintf(f, "%s%s", i ? ", " : "",
			json_object_get_string(json_object_array_get_idx(value, i)));
	if (f)
		fclose(f);
	o = json_object_new_string(text && *text ? text : "none");
	free(text);
	return o;
}

/* What the file has, and has been read without an error. */
static void like_show_section(struct json_object *values, const char *section,
			      struct json_object *all, bool json)
{
	json_object_object_foreach(all, name, entry)
		like_add_row(values, section, name, like_joined(like_value_of(entry), json),
			     cli_json_string(entry, "evidence") ?: "none given",
			     cli_json_string(entry, "source") ?: "");
}

static bool like_file_has(struct json_object *file, const struct like_entry *e)
{
	struct json_object *section;

	return json_object_object_get_ex(file, e->section, &section) &&
	       json_object_object_get_ex(section, e->name, NULL);
}

static void like_show_file(struct json_object *o, struct json_object *values,
			   struct json_object *file, const struct like *l, bool json)
{
	json_object_object_foreach(file, section, all) {
		if (json_object_is_type(all, json_type_object))
			like_show_section(values, section, all, json);
		else
			json_object_object_add(o, section, json_object_get(all));
	}
	for (size_t i = 0; i < like_nentries; i++)
		if (!like_file_has(file, &like_entries[i]) &&
		    strcmp(like_entries[i].section, "create"))
			like_add_row(values, like_entries[i].section, like_entries[i].name,
				     like_number(l, &like_entries[i]), "not known", "as in rxe");
}

static int like_show_strictest(struct json_object *o, struct json_object *values)
{
	static struct like_origin origin;
	struct like l;
	char failure[300];

	if (like_strictest(&l, &origin, failure, sizeof(failure)))
		return like_complain(failure);
	like_add_text(o, "name", l.name);
	like_add_text(o, "description", "the smallest of each limit");
	for (size_t i = 0; i < like_nentries; i++)
		if (origin.of[i] >= 0)
			like_add_row(values, like_entries[i].section, like_entries[i].name,
				     like_number(&l, &like_entries[i]), "smallest of all",
				     origin.names.name[origin.of[i]]);
	return 0;
}

/* spec: as of `ruse run --like`. The words that follow the name are checked, and change nothing. */
static int like_show(const char *spec, bool json)
{
	struct json_object *o = json_object_new_object(), *values = json_object_new_array(), *file;
	char name[PATH_MAX], path[PATH_MAX], failure[300];
	struct like l;
	int rc = 0;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(spec, ","), spec);
	if (!strcmp(name, LIKE_STRICTEST)) {
		rc = like_show_strictest(o, values);
	} else if (like_load(spec, &l, NULL, failure, sizeof(failure)) || like_path(name, path) ||
		   like_read(path, &l, failure, sizeof(failure))) {
		rc = like_complain(failure);
	} else {
		file = like_open(path, failure, sizeof(failure));
		if (file)
			like_show_file(o, values, file, &l, json);
		else
			rc = like_complain(failure);
		json_object_put(file);
	}
	json_object_object_add(o, "values", values);
	if (!rc)
		return like_put(o, json);
	json_object_put(o);
	return rc;
}

static const struct option like_options[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 }
};

int cmd_like(int argc, char **argv)
{
	static const char *const words[] = { "list", "show", NULL };
	bool json = false;
	int opt, n;

	argv[0] = (char *)"ruse like";	/* for getopt's messages */
	while ((opt = getopt_long(argc, argv, "h", like_options, NULL)) != -1) {
		if (opt == 'h') {
			like_help();
			return 0;
		}
		if (opt != 'j') {
			fputs("See `ruse like --help`.\n", stderr);
			return EXIT_USAGE;
		}
		json = true;
	}
	n = argc - optind;
	argv += optind;
	if (!n) {
		fputs("ruse like: missing command; see `ruse like --help`\n", stderr);
		return EXIT_USAGE;
	}
	if (!cli_check_word("ruse like", words, argv[0]))
		return EXIT_USAGE;
	if (n == 1 && !strcmp(argv[0], "list"))
		return like_list_all(json);
	if (n == 2 && !strcmp(argv[0], "show"))
		return like_show(argv[1], json);
	fprintf(stderr, "ruse like %s: wrong arguments; see `ruse like --help`\n", argv[0]);
	return EXIT_USAGE;
}
