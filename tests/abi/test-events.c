/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Event files: completion channels and async files from the command that creates them to the
 * counts that destroy reports; the default async file, events of the device's port, disassociation, and closing
 * in either order.
 */
#include <rdma/ib_user_ioctl_verbs.h>
#include "fixture.h"

static struct event_file *ev_of(int fd)
{
	return fx.fds[fd - FD_BASE];
}

static void *obj(uint32_t handle)
{
	return ((struct uobj *)idtable_find(&fx.f->ids, handle))->obj;
}

static void complete(uint32_t cq)
{
	struct cmd c = { .nr = IB_USER_VERBS_CMD_REQ_NOTIFY_CQ, .in = 8 };

	memcpy(c.req.b, &cq, 4);
	assert_int_equal(run(BY_WRITE, &c), 0);
	assert_non_null(cq_reserve(obj(cq)));
	cq_publish(obj(cq), false);
}

static struct ib_uverbs_destroy_cq_resp destroy_cq(uint32_t cq, enum way w)
{
	struct cmd c = { .nr = IB_USER_VERBS_CMD_DESTROY_CQ, .in = 16, .out = 8 };

	c.resp = (uintptr_t)arena_get(8);
	memcpy(c.req.b + 8, &cq, 4);
	assert_int_equal(run(w, &c), 0);
	return *(struct ib_uverbs_destroy_cq_resp *)(uintptr_t)c.resp;
}

/*
 * Three completions, each after the CQ was armed, cause three events. Each read() returns one
 * event. DESTROY_CQ drops the unread events and returns the number of those that were read.
 */
static void test_completion(void **state)
{
	struct event_file *ev = ev_of(fx.channel);
	struct ib_uverbs_destroy_cq_resp d;
	uint64_t record[4];
	uint32_t cq;

	for (enum way w = 0; w < WAYS; w++) {
		cq = mk_cq();
		fx.armed = 0;
		assert_int_equal(event_read(ev, record, 8), -EAGAIN);
		complete(cq);
		complete(cq);
		complete(cq);
		assert_int_equal(fx.armed, 3);
		assert_int_equal(ev->fd, 3);
		assert_int_equal(event_read(ev, record, 7), -EINVAL);
		assert_int_equal(event_read(ev, record, 32), 8);
		assert_int_equal(record[0], 0x7777);
		ev->fd--;	/* what reading the descriptor does */
		d = destroy_cq(cq, w);
		assert_int_equal(d.comp_events_reported, 1);
		assert_int_equal(d.async_events_reported, 0);
		assert_int_equal(ev->fd, 0);
		assert_int_equal(event_read(ev, record, 8), -EAGAIN);
	}
}

static void test_arm_once(void **state)
{
	struct event_file *ev = ev_of(fx.channel);

	complete(fx.cq);
	assert_non_null(cq_reserve(obj(fx.cq)));
	cq_publish(obj(fx.cq), false);
	assert_int_equal(ev->fd, 1);
}

static void test_async_default(void **state)
{
	struct event_file *ev = ev_of(fx.async);
	struct ib_uverbs_async_event_desc e;
	struct cmd c = { .nr = IB_USER_VERBS_CMD_DESTROY_QP, .in = 16, .out = 4 };

	event_raise(&((struct qp *)obj(fx.qp))->async, IB_EVENT_SQ_DRAINED);
	event_raise(&((struct qp *)obj(fx.qp))->async, IB_EVENT_QP_FATAL);
	assert_int_equal(event_read(ev, &e, sizeof(e)), 16);
	assert_int_equal(e.element, 0x9999);
	assert_int_equal(e.event_type, IB_EVENT_SQ_DRAINED);
	c.resp = (uintptr_t)arena_get(4);
	memcpy(c.req.b + 8, &fx.qp, 4);
	assert_int_equal(run(BY_INVOKE, &c), 0);
	assert_int_equal(*(uint32_t *)(uintptr_t)c.resp, 1);
	assert_int_equal(event_read(ev, &e, sizeof(e)), -EAGAIN);
}

static int alloc_async(void)
{
	struct ioc i;

	ioc_init(&i, UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC);
	ioc_add(&i, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, 0, 0);
	assert_int_equal(ioc_run(&i), 0);
	return (int)i.attr[0].data;
}

/* The EVENT_FD attribute selects an async file other than the default. */
static void test_event_fd(void **state)
{
	const struct method_spec *m;
	int fd = alloc_async(), expect;
	struct ioc i;

	for (uint32_t n = 0; (m = method_row(n)); n++)
		if (m->object == UVERBS_OBJECT_CQ && m->method == UVERBS_METHOD_CQ_CREATE)
			break;
	ioc_sample(m, &i, &expect);
	ioc_find(&i, UVERBS_ATTR_CREATE_CQ_EVENT_FD)->data = (uint64_t)fd;
	assert_int_equal(ioc_run(&i), 0);
	event_raise(&((struct cq *)obj((uint32_t)i.attr[0].data))->async, IB_EVENT_CQ_ERR);
	assert_int_equal(ev_of(fd)->fd, 1);
	assert_int_equal(ev_of(fx.async)->fd, 0);
}

/*
 * After GET_CONTEXT by ioctl the context has no async file; the first one created becomes the
 * default.
 */
static void test_first_is_default(void **state)
{
	struct ioc i;
	int first, second;

	ioc_init(&i, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
	assert_int_equal(ioc_run(&i), 0);
	assert_null(uverbs_ucontext(fx.f)->async);
	first = alloc_async();
	second = alloc_async();
	assert_int_not_equal(first, second);
	assert_ptr_equal(uverbs_ucontext(fx.f)->async, ev_of(first));
}

static void test_port_event(void **state)
{
	struct ib_uverbs_async_event_desc e;
	int second = alloc_async(), third = alloc_async();
	struct event_file *closed = ev_of(third);

	event_file_get(closed);
	fix_fd_close(third);
	event_file_put(closed);
	uverbs_async_all(fx.f, IB_EVENT_PORT_ERR, 1);
	assert_int_equal(ev_of(fx.channel)->fd, 0);
	assert_int_equal(ev_of(second)->fd, 1);
	assert_int_equal(event_read(ev_of(fx.async), &e, 16), 16);
	assert_int_equal(e.element, 1);
	assert_int_equal(e.event_type, IB_EVENT_PORT_ERR);
}

/* A descriptor of another uverbs file is refused. */
static void test_foreign(void **state)
{
	struct event_file *ev = ev_of(fx.channel);
	struct cmd c;

	ev->owner = NULL;
	assert_true(sample(IB_USER_VERBS_CMD_CREATE_CQ, false, &c));
	assert_int_equal(run(BY_WRITE, &c), -EBADF);
}

static void test_disassociate(void **state)
{
	struct event_file *async = ev_of(fx.async), *channel = ev_of(fx.channel);
	struct ib_uverbs_async_event_desc e;
	struct ib_uverbs_destroy_cq_resp d;
	uint64_t record;
	struct cmd c;

	complete(fx.cq);
	assert_int_equal(event_read(channel, &record, 8), 8);
	channel->fd--;
	complete(fx.cq);
	uverbs_disassociate(fx.f);
	assert_int_equal(fx.td->uctx.nqp + fx.td->uctx.npd, 0);
	assert_int_equal(event_read(async, &e, 16), 16);
	assert_int_equal(e.event_type, IB_EVENT_DEVICE_FATAL);
	assert_int_equal(event_read(async, &e, 16), -EAGAIN);
	assert_int_equal(event_read(channel, &record, 8), -EIO);
	assert_true(sample(IB_USER_VERBS_CMD_QUERY_DEVICE, false, &c));
	assert_int_equal(run(BY_WRITE, &c), -EIO);
	assert_int_equal(run(BY_INVOKE, &c), -EIO);
	assert_true(sample(IB_USER_VERBS_CMD_QUERY_QP, false, &c));
	assert_int_equal(run(BY_WRITE, &c), -EIO);
	assert_true(sample(IB_USER_VERBS_CMD_POST_SEND, false, &c));
	assert_int_equal(run(BY_WRITE, &c), -EIO);
	assert_true(sample(IB_USER_VERBS_CMD_CREATE_CQ, false, &c));
	assert_int_equal(run(BY_WRITE, &c), -EIO);
	/*
	 * After disassociation handles can be destroyed, and events that were read are reported.
	 */
	d = destroy_cq(fx.cq, BY_INVOKE);
	assert_int_equal(d.comp_events_reported, 1);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DEALLOC_PD, fx.pd), 0);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DEALLOC_PD, fx.pd), -ENOENT);
	uverbs_disassociate(fx.f);
	uverbs_async_all(fx.f, IB_EVENT_PORT_ERR, 1);
	assert_int_equal(event_read(async, &e, 16), -EAGAIN);
}

/* The uverbs file is closed while event descriptors are open. */
static void test_close_first(void **state)
{
	struct event_file *async = ev_of(fx.async), *channel = ev_of(fx.channel);
	uint64_t record[2];

	complete(fx.cq);
	uverbs_close(fx.f);
	fx.f = NULL;
	assert_int_equal(event_read(channel, record, 16), -EIO);
	assert_int_equal(event_read(async, record, 16), -EAGAIN);
	assert_null(async->owner);
}

static int setup_bare(void **state)
{
	fix_open(false);
	return 0;
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup_objects, teardown)
	const struct CMUnitTest tests[] = {
		T(test_completion), T(test_arm_once), T(test_async_default), T(test_event_fd),
		cmocka_unit_test_setup_teardown(test_first_is_default, setup_bare, teardown),
		T(test_port_event), T(test_foreign), T(test_disassociate), T(test_close_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
