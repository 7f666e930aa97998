/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "wire/icrc.h"
#include "wire/packet.h"
#include "wire/testing.h"

static void test_packets(void **state)
{
	char line[256];

	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		const struct vector *v = &vectors[i];
		size_t skip = v->ip_len + UDP_HDR_LEN;
		int n = packet_print(v->data + skip, v->len - skip - ICRC_LEN, line, sizeof(line));

		assert_string_equal(line, v->text);
		assert_int_equal(n, strlen(v->text));
		/* Truncated and NUL-terminated for every buffer size. */
		for (size_t size = 1; size < sizeof(line); size++) {
			char *small = malloc(size);

			assert_non_null(small);
			packet_print(v->data + skip, v->len - skip - ICRC_LEN, small, size);
			assert_int_equal(strlen(small), min(size - 1, strlen(v->text)));
			free(small);
		}
	}
	packet_print("\x15", 1, line, sizeof(line));
	assert_string_equal(line, "1 bytes, too short, opcode 0x15");
	packet_print("", 0, line, sizeof(line));
	assert_string_equal(line, "0 bytes, too short");
}

static void test_names(void **state)
{
	assert_string_equal(seg_service_name(SEG_UD), "UD");
	assert_string_equal(seg_service_name(2), "?");
	assert_string_equal(seg_service_name(0xff), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packets),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
