/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Conditions of `ruse run --expect`: how they are typed, and each of them true and false for answers of rused. */
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/testing.h"
#include "cli/gate.h"
#include "base/printable.h"

/* Members of a process and of "total": all 0. */
#define NOTHING "\"devices\":0,\"qps\":{\"RC\":0,\"UC\":0,\"UD\":0},\"connections\":0,\"traffic\":[]," \
		"\"recvs\":0,\"recv_bytes\":0,\"packets_received\":0,\"served\":0,\"retries\":0,\"rnr\":0,\"faults\":0," \
		"\"errors\":0,\"leaked\":0,\"findings\":0,\"hints\":0"
#define PROCESS(pid, more) "{\"pid\":" pid ",\"comm\":\"app\",\"running\":false," NOTHING ",\"leaks\":[]" more "}"
#define FAILURE "\"id\":\"RX-013\",\"text\":\"the remote key is of another PD\",\"pid\":12,\"comm\":\"app\""
/* Of two members with one name the last one counts. */
#define ANSWER(processes, total, more) "{\"known\":true,\"unlisted\":0,\"processes\":[" processes "],\"total\":{" NOTHING \
				       ",\"processes\":1" total "},\"errors\":[],\"findings\":[],\"first\":null" more "}"

#define LEAKS "{\"object\":\"QP\",\"number\":17,\"type\":\"RC\",\"state\":\"RTS\"}," \
	      "{\"object\":\"MR\",\"number\":4660,\"bytes\":64}"

static char said[4096];		/* on stderr by the last call of quietly() */

/* Calls parse(g, word) and keeps what it says on stderr. */
static int quietly(int (*parse)(struct gate *g, const char *word), struct gate *g, const char *word)
{
	FILE *old = stderr;
	int rc;

	memset(said, 0, sizeof(said));
	stderr = fmemopen(said, sizeof(said) - 1, "w");
	assert_non_null(stderr);
	rc = parse(g, word);
	fclose(stderr);
	stderr = old;
	return rc;
}

static void good_lists(void **state)
{
	struct gate g = { 0 };

	(void)state;
	assert_int_equal(quietly(gate_expect, &g, "rdma,bytes>=2K,ops>=3M,processes>=4,connections>=5G"), 0);
	assert_int_equal(quietly(gate_expect, &g, "no-errors,no-retries,no-leaks,rdma,bytes>=2048"), 0);
	assert_int_equal(g.nconditions, 8);
	assert_true(g.wanted);
	for (size_t i = 0; i < g.nconditions; i++)
		assert_int_equal(g.conditions[i].kind, i);
	assert_int_equal(g.conditions[GATE_BYTES].least, 2048);
	assert_string_equal(g.conditions[GATE_BYTES].text, "bytes>=2K");
	assert_int_equal(g.conditions[GATE_OPS].least, 3 << 20);
	assert_int_equal(g.conditions[GATE_PROCESSES].least, 4);
	assert_int_equal(g.conditions[GATE_CONNECTIONS].least, 5ull << 30);
	assert_int_equal(quietly(gate_expect, &g, "bytes>=18446744073709551615,bytes>=16777215G"), 0);
}

static void bad_lists(void **state)
{
	static const char *const bad[] = {
		"", ",", "rdma,", ",rdma", "rdma,,no-errors", "RDMA", "rdma ", " rdma", "bytes", "bytes=1", "bytes>1",
		"bytes>=", "bytes>=0", "bytes>=0K", "bytes>=-1", "bytes>=+1", "bytes>= 1", "bytes>=1KB", "bytes>=1T", "bytes>=1.5K",
		"bytes>=0x10", "bytes>=18446744073709551616", "bytes>=17179869184G", "bytes>=1>=2", "bytes<=1", "rdma>=1",
		"rdma=1", "no-errors>=1", ">=1", "no_errors",
		"a-word-that-is-much-longer-than-any-condition-of-the-gate-can-be",
		"bytes>=00000000000000000000000000000000000000000001",
		"\xff\xfe",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct gate g = { 0 };

		if (quietly(gate_expect, &g, bad[i]) != -EINVAL || !*said)
			fail_msg("'%s' is accepted, or nothing is said", bad[i]);
	}
}

static void says(const char *list, const char *text)
{
	struct gate g = { 0 };

	assert_int_equal(quietly(gate_expect, &g, list), -EINVAL);
	if (!strstr(said, text))
		fail_msg("'%s': not '%s', but %s", list, text, said);
}

static void suggestions(void **state)
{
	(void)state;
	says("rmda", "did you mean 'rdma'?");
	says("no-error", "did you mean 'no-errors'?");
	says("rdma,byts>=5", "unknown condition 'byts>=5'; did you mean 'bytes>=N'?");
	says("everything", "conditions: rdma, bytes>=N, ops>=N, processes>=N, connections>=N, no-errors, no-retries, no-leaks\n");
	says("bytes=5", "write 'bytes>=N'");
	says("rdma>=5", "write 'rdma'");
	/* What is left of bytes>=5 without quotes. */
	says("bytes", "in quotes, as a shell takes > for a redirection");
}

static void too_many(void **state)
{
	struct gate g = { 0 };
	char word[32];

	(void)state;
	for (int i = 1; i <= GATE_CONDITIONS; i++) {
		snprintf(word, sizeof(word), "bytes>=%d", i);
		assert_int_equal(quietly(gate_expect, &g, word), 0);
	}
	assert_int_equal(quietly(gate_expect, &g, "bytes>=1"), 0);
	assert_int_equal(quietly(gate_expect, &g, "rdma"), -EINVAL);
	assert_int_equal(g.nconditions, GATE_CONDITIONS);
}

static void fail_statuses(void **state)
{
	static const char *const bad[] = { "", "0", "77", "125", "126", "127", "256", "-1", "1K", "x", "1 ", " 1" };
	struct gate g = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(quietly(gate_fail_status, &g, bad[i]), -EINVAL);
	assert_int_equal(g.fail_status, 0);
	assert_int_equal(quietly(gate_fail_status, &g, "1"), 0);
	assert_int_equal(g.fail_status, 1);
	assert_int_equal(quietly(gate_fail_status, &g, "255"), 0);
	assert_int_equal(g.fail_status, 255);
}

/* Judges one condition by an answer. Its sentence is then in said. */
static bool holds(const char *word, const char *text)
{
	struct gate g = { 0 };
	bool ok;

	assert_int_equal(quietly(gate_expect, &g, word), 0);
	g.done = gate_answer(text);
	assert_non_null(g.done);
	ok = !gate_judge(&g);
	assert_int_equal(ok, g.conditions[0].holds);
	assert_non_null(g.conditions[0].why);
	snprintf(said, sizeof(said), "%s", g.conditions[0].why);
	free(g.conditions[0].why);
	json_object_put(g.done);
	return ok;
}

#define TRAFFIC(bytes, messages) ",\"traffic\":[{\"link\":\"shared memory\",\"operation\":\"SEND\",\"messages\":" messages \
				 ",\"bytes\":" bytes "},{\"link\":\"wire\",\"operation\":\"READ\",\"messages\":1,\"bytes\":0}]"

static void rdma(void **state)
{
	(void)state;
	assert_true(holds("rdma", ANSWER("", TRAFFIC("1", "1"), "")));
	assert_true(holds("rdma", ANSWER("", ",\"recv_bytes\":1", "")));
	/* A packet may be a NAK. */
	assert_false(holds("rdma", ANSWER("", ",\"packets_received\":1", "")));
	assert_true(holds("rdma", ANSWER("", ",\"served\":1", "")));
	assert_false(holds("rdma", ANSWER("", TRAFFIC("0", "1"), "")));
	assert_false(holds("rdma", ANSWER("", ",\"processes\":0", "")));
	assert_non_null(strstr(said, "no process has opened an RDMA device"));
	assert_false(holds("rdma", ANSWER(PROCESS("12", ",\"devices\":1"), ",\"devices\":1", "")));
	assert_non_null(strstr(said, "1 RDMA device was opened: app (pid 12) 1 opened"));
}

static void at_least(void **state)
{
	(void)state;
	assert_true(holds("bytes>=4096", ANSWER("", TRAFFIC("4000", "1") ",\"recv_bytes\":96", "")));
	assert_false(holds("bytes>=4097", ANSWER(PROCESS("12", ""), TRAFFIC("4000", "1") ",\"recv_bytes\":96", "")));
	assert_non_null(strstr(said, "4096 bytes, expected are 4097: app (pid 12)"));
	/* A sum that does not fit is not a small one. */
	assert_true(holds("bytes>=1G", ANSWER("", TRAFFIC("18446744073709551615", "1") ",\"recv_bytes\":5", "")));
	assert_true(holds("ops>=10", ANSWER("", TRAFFIC("0", "7") ",\"recvs\":2", "")));
	assert_false(holds("ops>=11", ANSWER("", TRAFFIC("0", "7") ",\"recvs\":2", "")));
	assert_true(holds("processes>=2", ANSWER("", ",\"processes\":2", "")));
	assert_false(holds("processes>=2", ANSWER("", ",\"processes\":1", "")));
	assert_non_null(strstr(said, "1 process has used RDMA, expected are 2"));
	assert_true(holds("connections>=3", ANSWER("", ",\"connections\":3", "")));
	assert_false(holds("connections>=3", ANSWER("", ",\"connections\":2", "")));
}

static void no_errors(void **state)
{
	(void)state;
	assert_true(holds("no-errors", ANSWER(PROCESS("12", ""), "", "")));
	assert_false(holds("no-errors", ANSWER(PROCESS("12", ",\"errors\":3"), ",\"errors\":3",
					       ",\"first\":{" FAILURE ",\"device\":\"rxe_0\",\"qpn\":17}")));
	assert_string_equal(said, "3 errors, the first: app (pid 12), rxe_0, QP 0x000011: RX-013: the remote key is of another PD");
	assert_false(holds("no-errors", ANSWER("", ",\"errors\":1", ",\"errors\":[{" FAILURE ",\"name\":\"x\",\"count\":1}]")));
	assert_string_equal(said, "1 error: app (pid 12): RX-013: the remote key is of another PD");
	assert_false(holds("no-errors", ANSWER(PROCESS("12", ",\"errors\":1"), ",\"errors\":1", "")));
	assert_non_null(strstr(said, "app (pid 12)"));
}

static void no_retries(void **state)
{
	(void)state;
	assert_true(holds("no-retries", ANSWER("", ",\"errors\":1", "")));
	assert_false(holds("no-retries", ANSWER(PROCESS("12", ",\"retries\":4"), ",\"retries\":4", "")));
	assert_string_equal(said, "4 requests were repeated: app (pid 12) 4 repeated");
	assert_false(holds("no-retries", ANSWER(PROCESS("12", ",\"rnr\":1"), ",\"rnr\":1", "")));
	assert_string_equal(said, "1 RNR NAK was received: app (pid 12) 1 received");
}

static void no_leaks(void **state)
{
	(void)state;
	assert_true(holds("no-leaks", ANSWER(PROCESS("12", ""), "", "")));
	assert_false(holds("no-leaks", ANSWER(PROCESS("11", "") "," PROCESS("12", ",\"leaked\":3,\"leaks\":[" LEAKS "]"),
					      ",\"leaked\":3", "")));
	assert_string_equal(said, "3 objects existed when their process ended: "
				  "app (pid 12) has left QP 0x000011 (RC, RTS), MR 0x001234 (64 bytes) and 1 more");
	/* The QP is named before what it uses. */
	assert_false(holds("no-leaks", ANSWER(PROCESS("12", ",\"leaked\":7,\"leaks\":[{\"object\":\"context\"},"
							    "{\"object\":\"PD\"},{\"object\":\"CQ\"},{\"object\":\"CQ\"},"
							    "{\"object\":\"MR\",\"number\":0,\"bytes\":8}," LEAKS "]"),
					      ",\"leaked\":7", "")));
	assert_non_null(strstr(said, "has left QP 0x000011 (RC, RTS), MR (8 bytes), MR 0x001234 (64 bytes), CQ and 3 more"));
	/* Of a process beyond those that are listed. */
	assert_false(holds("no-leaks", ANSWER(PROCESS("12", ""), ",\"leaked\":1", ",\"unlisted\":1")));
	assert_non_null(strstr(said, "of processes after the first 1, which are not listed"));
}

/* Without totals, and with those of a rused that has not seen all, each condition fails. */
static void incomplete(void **state)
{
	static const char all[] = "rdma,bytes>=1,ops>=1,processes>=1,connections>=1,no-errors,no-retries,no-leaks";
	struct gate g = { 0 };

	(void)state;
	assert_int_equal(quietly(gate_expect, &g, all), 0);
	assert_int_equal(gate_judge(&g), GATE_KINDS);
	g.done = gate_answer(ANSWER("", TRAFFIC("1", "1") ",\"connections\":1", ""));
	assert_int_equal(gate_judge(&g), 0);
	snprintf(g.incomplete, sizeof(g.incomplete), "rused has ended");
	assert_int_equal(gate_judge(&g), GATE_KINDS);
	for (size_t i = 0; i < g.nconditions; i++) {
		assert_string_equal(g.conditions[i].why, "rused has ended");
		free(g.conditions[i].why);
	}
	json_object_put(g.done);
}

static void hostile(void **state)
{
	static const char *const bad[] = {
		"", "x", "{", "null", "[]", "1", "\"\"", "{}", "{\"total\":{},\"processes\":[]}",
		"{\"known\":true,\"unlisted\":0,\"processes\":[],\"errors\":[],\"first\":null}",
		ANSWER("", "", ",\"total\":null"), ANSWER("", "", ",\"total\":[]"), ANSWER("", "", ",\"processes\":{}"),
		ANSWER("5", "", ""), ANSWER("null", "", ""), ANSWER("{}", "", ""), ANSWER("[]", "", ""),
		ANSWER("", ",\"errors\":null", ""), ANSWER("", ",\"errors\":\"0\"", ""), ANSWER("", ",\"errors\":-1", ""),
		ANSWER("", ",\"errors\":1.5", ""), ANSWER("", ",\"errors\":[]", ""), ANSWER("", ",\"leaked\":true", ""),
		ANSWER("", ",\"traffic\":5", ""), ANSWER("", ",\"traffic\":[5]", ""), ANSWER("", ",\"traffic\":[{}]", ""),
		ANSWER("", TRAFFIC("-1", "1"), ""), ANSWER("", TRAFFIC("\"1\"", "1"), ""),
		ANSWER("", ",\"qps\":[]", ""),
		ANSWER("", ",\"qps\":{\"RC\":\"1\"}", ""), ANSWER("", ",\"qps\":{\"a\\u001bb\":1}", ""),
		ANSWER("", "", ",\"first\":5"), ANSWER("", "", ",\"first\":{}"),
		ANSWER("", "", ",\"first\":{" FAILURE ",\"stack\":5}"), ANSWER("", "", ",\"first\":{" FAILURE ",\"rules\":[[]]}"),
		ANSWER("", "", ",\"errors\":[[]]"), ANSWER("", "", ",\"errors\":[{\"id\":5}]"),
		ANSWER(PROCESS("12", ",\"leaks\":[{}]"), "", ""), ANSWER(PROCESS("12", ",\"leaks\":null"), "", ""),
		ANSWER(PROCESS("12", ",\"running\":1"), "", ""), ANSWER(PROCESS("12", ",\"comm\":5"), "", ""),
		ANSWER(PROCESS("\"12\"", ""), "", ""), ANSWER("", "", ",\"a\":[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct json_object *o = gate_answer(bad[i]);

		if (o)
			fail_msg("accepted: %s", bad[i]);
	}
}

/* A name that a program has chosen, with what terminals, XML and JSON do not bear. */
static void names(void **state)
{
	static const char text[] = ANSWER(PROCESS("12", ",\"leaked\":1,\"comm\":\"a\\u001b[31m\\u0085\\n\xff\""),
					  ",\"leaked\":1", "");

	(void)state;
	assert_false(holds("no-leaks", text));
	assert_non_null(strstr(said, "a?[31m"));
	for (const char *s = said; *s; s++)
		assert_true(*s >= ' ' && *s != 0x7f);
}

static void printable(void **state)
{
	static const char *const pairs[][2] = {
		{ "", "" }, { "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80" },
		{ "\x1b[m\x7f\t", "?[m??" }, { "\xc2\x85x", "??x" }, { "\xc0\xaf", "??" }, { "\xe2\x82", "??" },
		{ "\xed\xa0\x80", "???" }, { "\xef\xbf\xbf", "???" }, { "\xf4\x90\x80\x80", "????" }, { "\xff\x61", "?a" },
		{ "\xe0\x80\x80", "???" }, { "\xf0\x80\x80\x80", "????" }, { "\x80", "?" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		char *s = printable_copy(pairs[i][0]);

		assert_string_equal(s, pairs[i][1]);
		free(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_lists), cmocka_unit_test(bad_lists),
		cmocka_unit_test(suggestions), cmocka_unit_test(too_many),
		cmocka_unit_test(fail_statuses), cmocka_unit_test(rdma),
		cmocka_unit_test(at_least), cmocka_unit_test(no_errors),
		cmocka_unit_test(no_retries), cmocka_unit_test(no_leaks),
		cmocka_unit_test(incomplete), cmocka_unit_test(hostile),
		cmocka_unit_test(names), cmocka_unit_test(printable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
