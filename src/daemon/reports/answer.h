/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Members of rused's answers in JSON. doc/json.md describes them for programs. */
#ifndef RUSE_DAEMON_REPORTS_ANSWER_H
#define RUSE_DAEMON_REPORTS_ANSWER_H

#include <json-c/json.h>
#include "ipc/pages.h"

static inline void answer_int(struct json_object *o, const char *key, int64_t v)
{
	json_object_object_add(o, key, json_object_new_int64(v));
}

static inline void answer_u64(struct json_object *o, const char *key, uint64_t v)
{
	json_object_object_add(o, key, json_object_new_uint64(v));
}

/* v is copied. */
static inline void answer_str(struct json_object *o, const char *key, const char *v)
{
	json_object_object_add(o, key, json_object_new_string(v));
}

/* Name of the device with this index. */
static inline const char *answer_device(const struct host_page *page, uint32_t index)
{
	for (int i = 0; i < HOST_MAX_DEVS; i++)
		if (page->dev[i].in_use && page->dev[i].index == index)
			return page->dev[i].name;
	return "removed";
}

#endif
