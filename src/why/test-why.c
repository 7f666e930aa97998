/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include "base/testing.h"
#include "why/why.h"

static const char *text_of(const struct why *w)
{
	static char buf[512];

	size_t n = why_text(w, buf, sizeof(buf));

	assert_int_equal(n, strlen(buf));
	return buf;
}

/* Each id has its row, ids ascend, each row has its texts, and each directive of a text can be carried out. */
static void test_rows(void **state)
{
	static const uint32_t ids[] = {
#define WHY(num, name, kind, text, means, mistake, remedy) WHY_##name,
#include "why/why.def"
#include "why/check.def"
#include "why/shake.def"
#undef WHY
	};

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		const struct why_row *row = why_row(ids[i]);
		struct why w = { .id = ids[i] };

		assert_true(!i || ids[i] > ids[i - 1]);
		assert_non_null(row);
		assert_int_equal(row->id, ids[i]);
		assert_in_range(row->kind, 0, WHY_KINDS - 1);
		assert_true(*row->name && *row->text && *row->means && *row->remedy);
		for (const char *s = row->text; (s = strchr(s, '{')); s++) {
			assert_in_range(s[1], '0', '0' + WHY_ARGS - 1);
			assert_true(s[2] == '}' || s[2] == ':' || s[2] == '?');
			assert_non_null(strchr(s, '}'));
		}
		assert_null(strpbrk(text_of(&w), "{}|"));
	}
	assert_null(why_row(WHY_NONE));
}

static void test_names(void **state)
{
	char name[WHY_NAME_LEN];

	why_name(WHY_KEY_PD, name);
	assert_string_equal(name, "RX-013");
	assert_int_equal(why_parse("RX-013"), WHY_KEY_PD);
	assert_int_equal(why_parse("rx-13"), WHY_KEY_PD);
	assert_int_equal(why_parse("0x13"), WHY_KEY_PD);
	assert_int_equal(why_parse("RX-fff"), WHY_NONE);
	why_name(WHY_CHECK_CHANGED, name);
	assert_string_equal(name, "CK-001");
	why_name(WHY_HINT_REUSED, name);
	assert_string_equal(name, "CK-101");
	why_name(WHY_SHAKE_LATE_ANSWER, name);
	assert_string_equal(name, "SH-031");
	assert_int_equal(why_parse("SH-031"), WHY_SHAKE_LATE_ANSWER);
	assert_int_equal(why_parse("sh-31"), WHY_SHAKE_LATE_ANSWER);
	assert_int_equal(why_parse("SH-000"), WHY_NONE);
	assert_int_equal(why_parse("CK-001"), WHY_CHECK_CHANGED);
	assert_int_equal(why_parse("ck-1"), WHY_CHECK_CHANGED);
	assert_int_equal(why_parse("CK-0ff"), WHY_NONE);
	assert_int_equal(why_parse("RX-"), WHY_NONE);
	assert_int_equal(why_parse("RX-013z"), WHY_NONE);
	assert_int_equal(why_parse("13"), WHY_NONE);
	assert_int_equal(why_parse(""), WHY_NONE);
}

static void test_text(void **state)
{
	static const uint8_t v4[16] = { [10] = 0xff, [11] = 0xff, 10, 0, 0, 2 };
	struct why w;

	why_set(&w, KEY_PD, 0x1a00, 2, 1);
	assert_string_equal(text_of(&w), "the remote key 0x00001a00 belongs to protection domain 2, "
					 "the QP to protection domain 1");
	why_set(&w, KEY_DEAD, 0x1a00, 3 * NS_MS);
	assert_non_null(strstr(text_of(&w), "deregistered 3.0 ms ago"));
	why_set(&w, KEY_ACCESS, 0x1a00, 5, 2);
	assert_non_null(strstr(text_of(&w), "allows LOCAL_WRITE, REMOTE_READ, the request needs "
					    "REMOTE_WRITE"));
	why_set(&w, QP_ACCESS, 0, 2);
	assert_string_equal(text_of(&w), "qp_access_flags of the QP are none, the request needs REMOTE_WRITE");
	why_set(&w, RETRY_STATE, 0x12, 6, 1);
	assert_string_equal(text_of(&w), "QP 0x000012 of the peer is in state ERR: its program has moved it there");
	why_set(&w, RETRY_ROUTE, 0, 0, ENETUNREACH);
	memcpy(w.arg, v4, sizeof(v4));
	assert_string_equal(text_of(&w), "packets to 10.0.0.2 cannot be sent: Network is unreachable");
	why_set(&w, SEND_OPCODE, 4, 99);
	assert_non_null(strstr(text_of(&w), "(UD)"));
	why_set(&w, QP_MASK_MISSING, 1, 2, 1 << 7 | 1 << 15);
	assert_string_equal(text_of(&w), "INIT to RTR: IBV_QP_AV, IBV_QP_MIN_RNR_TIMER missing in "
					 "attr_mask");
	why_set(&w, MR_FLAGS, 1 << 30 | 1);
	assert_non_null(strstr(text_of(&w), "LOCAL_WRITE, 0x40000000"));
	why_set(&w, CHECK_CHANGED, 2, 4, 64, 0x0807060504030201, 0xff, 1);
	assert_non_null(strstr(text_of(&w), "of a SEND was changed before its completion was polled: 1 byte of 64, "
					    "from offset 4 on: 01 02 03 04 05 06 07 08 became ff 00 00 00 00 00 00 00"));
	why_set(&w, WAIT_POLL, 1);
	assert_string_equal(text_of(&w), "1 completion is in the CQ, and the program does not poll it");
	why_set(&w, CQ_OVERRUN, 2);
	assert_string_equal(text_of(&w), "the completion queue of 2 entries was full");
	w.id = 0xbcd;
	assert_string_equal(text_of(&w), "unknown reason RX-bcd");
}

static void test_range(void **state)
{
	struct why w;

	why_set(&w, KEY_RANGE, 0x1000, 0x1040, 0x1000, 0x1000, 0x1a00);
	assert_string_equal(text_of(&w), "bytes 0x1000 to 0x2040 reach 64 bytes beyond the region 0x1000 to "
					 "0x2000 of key 0x00001a00");
	why_set(&w, KEY_RANGE, 0xfff, 2, 0x1000, 0x1000);
	assert_non_null(strstr(text_of(&w), "bytes 0xfff to 0x1001 begin 1 byte before the region 0x1000"));
	why_set(&w, KEY_RANGE, 0, 0x1000, 0x1000, 0x1000);
	assert_non_null(strstr(text_of(&w), "bytes 0x0 to 0x1000 lie outside the region"));
	why_set(&w, KEY_RANGE, 0x2000, 1, 0x1000, 0x1000);
	assert_non_null(strstr(text_of(&w), "lie outside"));
	why_set(&w, KEY_RANGE, UINT64_MAX, 8, 0x1000, 0x1000);
	assert_non_null(strstr(text_of(&w), "lie outside"));
}

static void test_text_cut(void **state)
{
	char whole[256], buf[256];
	struct why w;
	size_t n;

	why_set(&w, KEY_PD, 1, 2, 3);
	n = why_text(&w, whole, sizeof(whole));
	for (size_t size = 1; size < n; size++) {
		memset(buf, 'x', sizeof(buf));
		assert_int_equal(why_text(&w, buf, size), size - 1);
		assert_memory_equal(buf, whole, size - 1);
		assert_int_equal(buf[size - 1], 0);
		assert_int_equal(buf[size], 'x');
	}
	assert_int_equal(why_text(&w, NULL, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_range),
		cmocka_unit_test(test_text_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
