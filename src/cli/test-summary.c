/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The reports of a run: text, JSON, JUnit XML and Markdown. With an argument the program writes those of several runs to
 * files in that directory, which test-reports.py reads.
 */
#include <json-c/json.h>
#include <string.h>
#include <unistd.h>

#include "base/testing.h"
#include "cli/cli.h"
#include "cli/gate.h"

#define SUMS "\"devices\":2,\"qps\":{\"RC\":2,\"UC\":0,\"UD\":1},\"connections\":2," \
	     "\"traffic\":[{\"link\":\"shared memory\",\"operation\":\"SEND\",\"messages\":10,\"bytes\":40960}]," \
	     "\"recvs\":10,\"recv_bytes\":40960,\"packets_received\":50,\"served\":6,\"retries\":1,\"rnr\":2,\"faults\":3," \
	     "\"errors\":4,\"leaked\":1,\"findings\":0,\"hints\":0"
#define NAME "\"comm\":\"a|<&\\\"\\u001b\""
#define FAILURE "\"id\":\"RX-013\",\"name\":\"RKEY_PD\",\"text\":\"the remote <key>\",\"count\":4,\"pid\":12," NAME
#define QP "{\"object\":\"QP\",\"number\":17,\"type\":\"RC\",\"state\":\"RTS\"}"
#define MR "{\"object\":\"MR\",\"number\":4660,\"bytes\":64}"
#define ENDED "{\"pid\":12," NAME ",\"running\":false," SUMS ",\"leaks\":[" QP "," MR "]}"
#define RUNS "{\"pid\":13,\"comm\":\"daemon\",\"running\":true," SUMS ",\"leaks\":[]}"
#define FIRST "{" FAILURE ",\"device\":\"rxe_0\",\"qpn\":17,\"kind\":\"responder\",\"first_ns\":5,\"last_ns\":5}"

static const char full[] = "{\"known\":true,\"unlisted\":0,\"processes\":[" ENDED "," RUNS "],"
			   "\"total\":{" SUMS ",\"processes\":2},\"errors\":[{" FAILURE "}],\"findings\":[],\"first\":" FIRST "}";
static char *plain[] = { (char *)"make", (char *)"check", NULL };
static char *odd[] = { (char *)"a b", (char *)"<&\">|`*\\", (char *)"\xff\x1b[31m\n", (char *)"", NULL };

/* Instead of that of explain.c, which links the reading of debug information. */
void cli_print_failure(FILE *f, struct json_object *failure)
{
	fprintf(f, "    %s in full\n", cli_json_string(failure, "id"));
}

static const struct run {
	const char *name, *answer, *expect, *incomplete;
	char **argv;
	int status;
} runs[] = {
	{ "full", full, "rdma,bytes>=1G,no-errors,no-leaks", "", plain, 0 },
	{ "odd", full, "rdma,ops>=5", "", odd, 134 },
	{ "unknown", NULL, "rdma,no-errors", "the totals are not known: <rused>", plain, 0 },
	{ "partial", full, "rdma", "the totals are incomplete", plain, 0 },
	{ "bare", full, NULL, "", plain, 0 },
};

static struct gate judged(const struct run *r)
{
	struct gate g = { .argv = r->argv, .status = r->status, .id = 0x123, .summary = true };

	assert_int_equal(r->expect ? gate_expect(&g, r->expect) : 0, 0);
	g.done = r->answer ? gate_answer(r->answer) : NULL;
	assert_true(g.done || !r->answer);
	snprintf(g.incomplete, sizeof(g.incomplete), "%s", r->incomplete);
	gate_judge(&g);
	return g;
}

static void done(struct gate *g)
{
	for (size_t i = 0; i < g->nconditions; i++)
		free(g->conditions[i].why);
	json_object_put(g->done);
}

static char *summary(const struct run *r, bool colour)
{
	struct gate g = judged(r);
	char *text;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	summary_print(f, &g, colour);
	fclose(f);
	done(&g);
	return text;
}

static void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("not '%s' in:\n%s", part, text);
}

static void text_of_all(void **state)
{
	static const char *const parts[] = {
		"processes    2; 2 devices opened\n", "QPs          2 RC, 1 UD; 2 connected\n",
		"sent         SEND   10 messages, 40960 bytes, shared memory\n",
		"received     10 messages, 40960 bytes, 50 packets; executed for peers: 6 requests\n",
		"repeated     1 request, 2 RNR NAKs; applied: 3 faults\n", "errors       4\n",
		"RX-013, 4 times, first in a|<&\"? (pid 12): the remote <key>\n",
		"the first failure, of a|<&\"? (pid 12):\n    RX-013 in full\n",
		"objects left 1\n    a|<&\"? (pid 12): QP 0x000011 (RC, RTS)\n    a|<&\"? (pid 12): MR 0x001234 (64 bytes)\n",
		"still running, counted as it is now: daemon (pid 13)\n",
		"conditions   rdma holds: 81920 bytes were moved by RDMA\n",
		"bytes>=1G fails\n",
	};
	char *text = summary(&runs[0], false);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		has(text, parts[i]);
	assert_null(strchr(text, '\033'));
	free(text);
}

static void text_in_colour(void **state)
{
	char *text = summary(&runs[0], true);

	(void)state;
	has(text, "errors       \033[31m4\033[0m\n");
	has(text, "rdma \033[32mholds\033[0m");
	has(text, "bytes>=1G \033[31mfails\033[0m");
	free(text);
}

static void text_without_totals(void **state)
{
	char *text = summary(&runs[2], false);

	(void)state;
	has(text, "the totals are not known: <rused>\n");
	has(text, "no-errors fails\n");
	assert_null(strstr(text, "processes"));
	free(text);
}

/* Damaged answers are refused, or all reports of them can be printed. */
static void damaged(void **state)
{
	static const char bytes[] = "\"5,}\xff";
	FILE *out = fopen("/dev/null", "we");
	char text[sizeof(full)];

	(void)state;
	assert_non_null(out);
	for (size_t i = 0; i < sizeof(full) * (sizeof(bytes) - 1); i++) {
		struct gate g = judged(&runs[0]);

		memcpy(text, full, sizeof(full));
		text[i / (sizeof(bytes) - 1)] = bytes[i % (sizeof(bytes) - 1)];
		text[sizeof(full) - 1] = '\0';
		json_object_put(g.done);
		g.done = gate_answer(text);
		gate_judge(&g);
		summary_print(out, &g, true);
		summary_json(out, &g);
		summary_markdown(out, &g);
		junit_print(out, &g);
		done(&g);
	}
	fclose(out);
}

static void write_file(const char *dir, const struct run *r, const char *suffix,
		       void (*print)(FILE *f, const struct gate *g))
{
	struct gate g = judged(r);
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.%s", dir, r->name, suffix);
	f = fopen(path, "we");
	assert_non_null(f);
	print(f, &g);
	fclose(f);
	done(&g);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_of_all), cmocka_unit_test(text_in_colour),
		cmocka_unit_test(text_without_totals), cmocka_unit_test(damaged),
	};

	for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(runs); i++) {
		write_file(argv[1], &runs[i], "json", summary_json);
		write_file(argv[1], &runs[i], "md", summary_markdown);
		if (runs[i].expect)
			write_file(argv[1], &runs[i], "xml", junit_print);
	}
	return argc > 1 ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
