/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <json-c/json.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/late.h"

void cli_take_late(const char *cmd, struct json_object *o)
{
	uint64_t more = cli_json_u64(o, "late_more");
	struct json_object *a;
	size_t n = json_object_object_get_ex(o, "late", &a) ? json_object_array_length(a) : 0;

	for (size_t i = 0; i < n; i++) {
		struct json_object *p = json_object_array_get_idx(a, i);

		fprintf(stderr, "ruse %s: process %llu (%s) %s; it applies the change when it runs\n", cmd,
			(unsigned long long)cli_json_u64(p, "pid"), cli_json_string(p, "comm"),
			cli_json_bool(p, "stopped") ? "is stopped" : "has not answered within a second");
	}
	if (more)
		fprintf(stderr, "ruse %s: nor has it been applied by %llu further processes\n", cmd,
			(unsigned long long)more);
	json_object_object_del(o, "late");
	json_object_object_del(o, "late_more");
}
