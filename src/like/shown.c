/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads which counters an adapter has, and the texts of its identity. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "base/util.h"
#include "like/load.h"
#include "like/shown.h"

static struct json_object *shown_value(struct json_object *file, const char *section,
				       const char *name)
{
	struct json_object *all, *entry;

	return json_object_object_get_ex(file, section, &all) &&
	       json_object_is_type(all, json_type_object) &&
	       json_object_object_get_ex(all, name, &entry) ? like_value_of(entry) : NULL;
}

/* The name of a file. */
static bool shown_name_ok(const char *s)
{
	size_t len = strlen(s);

	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)s[i]) && s[i] != '_')
			return false;
	return len && len < LIKE_TEXT;
}

static int shown_read_dir(struct json_object *file, enum like_dir dir, struct like_shown *shown,
			  char *failure, size_t size)
{
	struct json_object *list = shown_value(file, like_dirs[dir], "names");
	size_t n;

	if (!list)
		return 0;
	n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : SIZE_MAX;
	if (n > LIKE_MAX_SHOWN) {
		snprintf(failure, size, "%s: names is no list of at most %d", like_dirs[dir],
			 LIKE_MAX_SHOWN);
		return -EINVAL;
	}
	for (size_t i = 0; i < n; i++) {
		struct json_object *o = json_object_array_get_idx(list, i);
		const char *name = json_object_is_type(o, json_type_string) ?
				   json_object_get_string(o) : "";

		if (!shown_name_ok(name)) {
			snprintf(failure, size, "%s: %s is no name of a counter", like_dirs[dir],
				 json_object_to_json_string(o));
			return -EINVAL;
		}
		shown->dir[dir].of[i] = like_counter_find(dir, name);
		if (!shown->dir[dir].of[i]) {
			snprintf(failure, size, "%s: %s is not known", like_dirs[dir], name);
			return -EINVAL;
		}
		shown->dir[dir].name[i] = shown->dir[dir].of[i]->name;
		for (size_t k = 0; k < i; k++)
			if (shown->dir[dir].of[k] == shown->dir[dir].of[i]) {
				snprintf(failure, size, "%s: %s is there twice", like_dirs[dir], name);
				return -EINVAL;
			}
	}
	shown->dir[dir].n = (uint32_t)n;
	return 0;
}

/* text has LIKE_TEXT bytes; "" without an entry. */
static int shown_read_text(struct json_object *file, const char *name, char *text, char *failure,
			   size_t size)
{
	struct json_object *o = shown_value(file, "identity", name);
	const char *s = o && json_object_is_type(o, json_type_string) ?
			json_object_get_string(o) : "";
	size_t len = strlen(s);
	bool ok = !o || (len && len < LIKE_TEXT);

	for (size_t i = 0; i < len; i++)
		ok &= s[i] >= ' ' && s[i] <= '~';
	if (!ok) {
		snprintf(failure, size, "identity: %s is no text of 1 to %d printable characters", name,
			 LIKE_TEXT - 1);
		return -EINVAL;
	}
	strcpy(text, s);
	return 0;
}

/* A name with a number in the place of %d, at its end. */
static int shown_read_device(struct json_object *file, struct like_shown *shown, char *failure,
			     size_t size)
{
	char *end;
	int rc = shown_read_text(file, "device_name", shown->device, failure, size);

	if (rc || !*shown->device)
		return rc;
	end = strstr(shown->device, "%d");
	if (end && !end[2]) {
		*end = '\0';
		if (shown_name_ok(shown->device))
			return 0;
	}
	snprintf(failure, size, "identity: device_name is no name with %%d at its end");
	return -EINVAL;
}

static int shown_read_identity(struct json_object *file, struct like_shown *shown, char *failure,
			       size_t size)
{
	const struct {
		const char *name;
		char *text;
	} texts[] = {
		{ "fw_ver", shown->fw_ver },	  { "hw_rev", shown->hw_rev },
		{ "board_id", shown->board_id }, { "hca_type", shown->hca_type },
		{ "node_desc", shown->node_desc },
	};
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(texts) && !rc; i++)
		rc = shown_read_text(file, texts[i].name, texts[i].text, failure, size);
	return rc ? rc : shown_read_device(file, shown, failure, size);
}

int like_read_shown(const char *path, bool identity, struct like_shown *shown, char *failure,
		    size_t size)
{
	struct json_object *file = like_open(path, failure, size), *all;
	char what[200] = "";
	int rc = file ? 0 : -EINVAL;

	*shown = like_shown_default;
	for (int dir = 0; dir < LIKE_DIRS && !rc; dir++) {
		if (json_object_object_get_ex(file, like_dirs[dir], &all) &&
		    !json_object_is_type(all, json_type_object)) {
			snprintf(what, sizeof(what), "%s is no object", like_dirs[dir]);
			rc = -EINVAL;
		} else {
			rc = shown_read_dir(file, (enum like_dir)dir, shown, what, sizeof(what));
		}
	}
	if (!rc && identity)
		rc = shown_read_identity(file, shown, what, sizeof(what));
	if (*what)
		like_told(&(struct like_told){ path, failure, size }, "%s", what);
	json_object_put(file);
	return rc;
}

uint64_t like_fw_ver(const char *text)
{
	uint64_t ver = 0;
	char *end;

	for (int shift = 32; shift >= 0 && *text; shift -= 16) {
		ver |= (uint64_t)(strtoul(text, &end, 10) & 0xffff) << shift;
		text = *end ? end + 1 : end;
	}
	return ver;
}
