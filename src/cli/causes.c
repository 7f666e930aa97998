/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The rules of `ruse fault` that may be the cause of a failure or a wait, as rused tells them. */
#include <json-c/json.h>
#include <stdio.h>

#include "cli/cli.h"

void cli_put_causes(FILE *out, struct json_object *f, const char *before, const char *after)
{
	struct json_object *rules, *rule;
	uint64_t acted;

	if (!json_object_object_get_ex(f, "rules", &rules))
		return;
	for (size_t i = 0; i < json_object_array_length(rules); i++) {
		rule = json_object_array_get_idx(rules, i);
		acted = cli_json_u64(rule, "acted");
		fprintf(out, "%srule %llu of `ruse fault` on this host, '%s'", before,
			(unsigned long long)cli_json_u64(rule, "id"),
			cli_json_string(rule, "rule") ?: "");
		if (acted)
			fprintf(out, ", has acted %llu time%s on this QP", (unsigned long long)acted,
				acted == 1 ? "" : "s");
		fprintf(out, "%s%s", cli_json_bool(rule, "deleted") ? "; it has been deleted since" : "", after);
	}
}
