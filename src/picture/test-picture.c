/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "picture/picture.h"

static char *made;
static size_t made_len;

static FILE *begin(void)
{
	FILE *f;

	free(made);
	made = NULL;
	f = open_memstream(&made, &made_len);
	assert_non_null(f);
	return f;
}

static void is(FILE *f, const char *expected)
{
	assert_int_equal(fclose(f), 0);
	assert_string_equal(made, expected);
}

static void test_text(void **state)
{
	FILE *f = begin();

	(void)state;
	picture_text(f, "<b a=\"1\" b='2'>&amp;\x01\xff\xc3\xa9");
	picture_text(f, NULL);
	is(f, "&lt;b a=&quot;1&quot; b=&#39;2&#39;&gt;&amp;amp;??\xc3\xa9");
}

static void test_numbers(void **state)
{
	FILE *f = begin();

	(void)state;
	svg_line(f, PICTURE_DIM, 1, -0.25, NAN, 1e9);
	is(f, "<line class=\"dim\" x1=\"1\" y1=\"-0.3\" x2=\"0\" y2=\"0\"/>\n");
}

static void test_elements(void **state)
{
	const double x[] = { 1, 2.6 }, y[] = { 3, -4 };
	FILE *f = begin();

	(void)state;
	svg_rect(f, PICTURE_GOOD, 1, 2, 3, 4, "a<b");
	svg_circle(f, PICTURE_BAD, 1, 2, 3, NULL);
	svg_polyline(f, PICTURE_MARK, x, y, 2);
	svg_text(f, PICTURE_PLAIN, 1, 2, SVG_END, "%s", "</text>");
	svg_arrow(f, PICTURE_WARN, 0, 5, 10, 5);
	is(f, "<rect class=\"good\" x=\"1\" y=\"2\" width=\"3\" height=\"4\"><title>a&lt;b</title></rect>\n"
	      "<circle class=\"bad\" cx=\"1\" cy=\"2\" r=\"3\"/>\n"
	      "<polyline class=\"mark\" points=\"1,3 3,-4\"/>\n"
	      "<text class=\"plain\" x=\"1\" y=\"2\" text-anchor=\"end\">&lt;/text&gt;</text>\n"
	      "<line class=\"warn\" x1=\"0\" y1=\"5\" x2=\"10\" y2=\"5\"/>\n"
	      "<polyline class=\"warn\" points=\"3,8 10,5 3,2\"/>\n");
}

static void test_curve(void **state)
{
	FILE *f = begin();

	(void)state;
	svg_curve(f, PICTURE_MARK, 0, 0, 10, 0, 0, NULL);
	svg_curve(f, PICTURE_DIM, 0, 0, 10, 0, 4, "<");
	is(f, "<path class=\"mark\" fill=\"none\" d=\"M0 0L10 0\"/>\n"
	      "<path class=\"dim\" fill=\"none\" d=\"M0 0Q5 -8 10 0\"><title>&lt;</title></path>\n");
}

static void test_drawing(void **state)
{
	FILE *f = begin();

	(void)state;
	svg_begin(f, 10.2, 20, "t & u", false);
	svg_end(f);
	is(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 11 20\" width=\"11\" height=\"20\">"
	      "<title>t &amp; u</title>\n</svg>\n");
	f = begin();
	svg_begin(f, 1, 1, "", true);
	svg_end(f);
	assert_int_equal(fclose(f), 0);
	assert_ptr_equal(strstr(made, "<?xml"), made);
	assert_non_null(strstr(made, picture_style));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_elements),
		cmocka_unit_test(test_curve),
		cmocka_unit_test(test_drawing),
	};
	int rc = cmocka_run_group_tests(tests, NULL, NULL);

	free(made);
	return rc;
}
