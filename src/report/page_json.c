/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Members of the answers of rused, of which a page shows what is there. */
#include "report/page.h"

uint64_t page_u64(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) ? json_object_get_uint64(v) : 0;
}

const char *page_string(struct json_object *o, const char *key)
{
	struct json_object *v;
	const char *s = json_object_object_get_ex(o, key, &v) ? json_object_get_string(v) : NULL;

	return s ? s : "";
}

bool page_bool(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) && json_object_get_boolean(v);
}

bool page_has(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) && v;
}

struct json_object *page_list(struct json_object *o, const char *key)
{
	struct json_object *v;

	json_object_object_get_ex(o, key, &v);
	return json_object_is_type(v, json_type_array) ? v : NULL;
}

size_t page_count(struct json_object *list)
{
	return list ? json_object_array_length(list) : 0;
}
