/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include "base/testing.h"
#include "core/testing.h"

struct async_record {
	uint64_t element;
	uint32_t type, reserved;
};

/* A read returns one record, however large the buffer. A short buffer leaves the record. */
static void comp_read(void **state)
{
	struct event_file *f = test_event_file(false);
	struct event_source s;
	uint64_t rec[4];

	event_source_init(&s, f, 0x1122334455667788);
	assert_int_equal(event_read(f, rec, sizeof(rec)), -EAGAIN);
	assert_int_equal(event_read(f, rec, 0), -EAGAIN);
	event_raise(&s, 7);
	event_raise(&s, 7);
	assert_int_equal(f->fd, 2);
	assert_int_equal(event_read(f, rec, 7), -EINVAL);
	memset(rec, 0, sizeof(rec));
	assert_int_equal(event_read(f, rec, sizeof(rec)), 8);
	assert_int_equal(rec[0], 0x1122334455667788);
	assert_int_equal(rec[1], 0);
	assert_int_equal(event_read(f, rec, 8), 8);
	assert_int_equal(event_read(f, rec, 8), -EAGAIN);
	assert_int_equal(event_source_fini(&s), 2);
	event_file_put(f);
}

static void async_order(void **state)
{
	struct event_file *f = test_event_file(true);
	struct event_source a, b;
	struct async_record r;

	event_source_init(&a, f, 0xa);
	event_source_init(&b, f, 0xb);
	event_raise(&a, IB_EVENT_CQ_ERR);
	event_raise(&b, IB_EVENT_SQ_DRAINED);
	event_raise_port(f, 1, IB_EVENT_PORT_ACTIVE);
	assert_int_equal(event_read(f, &r, 8), -EINVAL);
	memset(&r, 0xff, sizeof(r));
	assert_int_equal(event_read(f, &r, sizeof(r)), 16);
	assert_true(r.element == 0xa && r.type == 0 && !r.reserved);
	assert_int_equal(event_read(f, &r, sizeof(r)), 16);
	assert_true(r.element == 0xb && r.type == 5);
	assert_int_equal(event_read(f, &r, sizeof(r)), 16);
	assert_true(r.element == 1 && r.type == 9);
	assert_int_equal(event_source_fini(&a), 1);
	assert_int_equal(event_source_fini(&b), 1);
	event_file_put(f);
}

/*
 * event_source_fini() drops the source's unread events, leaves those of other sources, and returns
 * how many were read.
 */
static void vanish(void **state)
{
	struct event_file *f = test_event_file(true);
	struct event_source a, b;
	struct async_record r;
	int i;

	event_source_init(&a, f, 0xa);
	event_source_init(&b, f, 0xb);
	for (i = 0; i < 5; i++) {
		event_raise(&a, IB_EVENT_QP_FATAL);
		event_raise(&b, IB_EVENT_QP_REQ_ERR);
	}
	assert_int_equal(event_read(f, &r, sizeof(r)), 16);
	assert_int_equal(r.element, 0xa);
	assert_int_equal(f->fd, 10);
	assert_int_equal(event_source_fini(&a), 1);
	assert_int_equal(f->fd, 6);
	for (i = 0; i < 5; i++) {
		assert_int_equal(event_read(f, &r, sizeof(r)), 16);
		assert_int_equal(r.element, 0xb);
	}
	assert_int_equal(event_read(f, &r, sizeof(r)), -EAGAIN);
	assert_int_equal(event_source_fini(&b), 5);
	event_file_put(f);
}

static void gone(void **state)
{
	struct event_file *f = test_event_file(true);
	struct event_source s;
	struct async_record r;

	event_source_init(&s, f, 1);
	event_raise(&s, IB_EVENT_DEVICE_FATAL);
	f->gone = true;
	event_raise(&s, IB_EVENT_CQ_ERR);
	assert_int_equal(f->fd, 1);
	assert_int_equal(event_read(f, &r, sizeof(r)), 16);
	assert_int_equal(r.type, IB_EVENT_DEVICE_FATAL);
	assert_int_equal(event_read(f, &r, sizeof(r)), -EIO);
	assert_int_equal(event_source_fini(&s), 1);
	event_file_put(f);
}

/* A source keeps its file allocated. A source without a file drops its events. */
static void references(void **state)
{
	struct event_file *f = test_event_file(false);
	struct event_source s, none;
	uint64_t rec;

	event_source_init(&none, NULL, 5);
	event_raise(&none, 0);
	assert_int_equal(event_source_fini(&none), 0);
	event_source_init(&s, f, 3);
	assert_int_equal(f->refs, 2);
	event_file_get(f);
	event_file_put(f);
	event_file_put(f);
	event_raise(&s, 0);
	assert_int_equal(event_read(f, &rec, 8), 8);
	event_raise(&s, 0);
	assert_int_equal(event_source_fini(&s), 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(comp_read),
		cmocka_unit_test(async_order),
		cmocka_unit_test(vanish),
		cmocka_unit_test(gone),
		cmocka_unit_test(references),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
