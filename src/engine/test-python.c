/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The lines of a Python program, with an interpreter that is played by this file: that of Python 3.15. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "engine/python.h"

static const char *dump;	/* what the interpreter writes */
static char thread;
static bool inside;		/* this thread belongs to the interpreter */

__attribute__((visibility("default"))) void *PyGILState_GetThisThreadState(void);
__attribute__((visibility("default"))) const char *PyUnstable_DumpTraceback(int fd, void *state);

void *PyGILState_GetThisThreadState(void)
{
	return inside ? &thread : NULL;
}

/* In pieces, as the interpreter does. */
const char *PyUnstable_DumpTraceback(int fd, void *state)
{
	assert_ptr_equal(state, &thread);
	for (size_t at = 0, n; at < strlen(dump); at += n) {
		n = min(strlen(dump) - at, (size_t)7);
		assert_int_equal(fd, PYTHON_FD);
		assert_true(python_written(dump + at, n));
	}
	return NULL;
}

static void lines_are(const char *written, size_t room, const char *want)
{
	char text[256];

	assert_true(room <= sizeof(text));
	memset(text, 'x', sizeof(text));
	dump = written;
	assert_int_equal(python_lines(text, room), strlen(want));
	if (*want)
		assert_string_equal(text, want);
}

static void test_lines(void **state)
{
	const char two[] = "Stack (most recent call first):\n  File \"a.py\", line 2 in f\n  File \"a.py\", line 9 in <module>\n";

	lines_are(two, 256, strchr(two, '\n') + 1);
	/* Too long: whole lines only. */
	lines_are(two, 80, "  File \"a.py\", line 2 in f\n");
	lines_are(two, 40, "");
	lines_are("Stack (most recent call first):\n  <no Python frame>\n", 256, "");
	lines_are("", 256, "");
	/* The program itself writes to that number. */
	assert_false(python_written("x", 1));
	/* A thread that the interpreter does not know. */
	inside = false;
	lines_are(two, 256, "");
	inside = true;
}

static void test_parse(void **state)
{
	static const char *const bad[] = {
		"", "  ...", "  <invalid frame>", "  File \"a.py\", line 2", "  File \"a.py\" in f",
		"  File \"\", line 2 in f", "  File \"a.py\", line 2 in ", "x  File \"a.py\", line 2 in f",
	};
	char line[] = "  File \"/d i/a.py\", line 12 in <listcomp>", *file, *number, *function, text[64];

	assert_true(python_parse(line, &file, &number, &function));
	assert_string_equal(file, "/d i/a.py");
	assert_string_equal(number, "12");
	assert_string_equal(function, "<listcomp>");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		strcpy(text, bad[i]);
		assert_false(python_parse(text, &file, &number, &function));
	}
}

static void test_frames(void **state)
{
	assert_true(python_is_frame((const void *)(uintptr_t)test_parse));
	assert_false(python_is_frame((const void *)(uintptr_t)strlen));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_frames),
	};

	inside = true;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
