/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Each ioctl method of the tables: each attribute omitted, given twice, too short, too long, with
 * a bad pointer, with a bad handle and with a handle of another kind; also the header. The tests
 * derive from the attribute specs and start from the valid calls of samples.c.
 */
#include <rdma/ib_user_ioctl_verbs.h>
#include "fixture.h"

typedef void (*method_test)(const struct method_spec *m);
typedef void (*attr_test)(const struct method_spec *m, const struct attr_spec *s, struct ioc *i,
			  int expect);

static bool is_get_context(const struct method_spec *m)
{
	return m->object == UVERBS_OBJECT_DEVICE && m->method == UVERBS_METHOD_GET_CONTEXT;
}

static void open_for(const struct method_spec *m)
{
	fix_open(!is_get_context(m));
	if (!is_get_context(m))
		fix_objects();
}

static void each_method(method_test fn)
{
	const struct method_spec *m;

	for (uint32_t n = 0; (m = method_row(n)); n++) {
		if (!m->enabled)
			continue;
		open_for(m);
		fn(m);
		fix_close();
	}
}

static int get(const struct method_spec *m, struct ioc *i)
{
	int expect;

	if (!ioc_sample(m, i, &expect))
		fail_msg("method %s has no sample", m->name);
	return expect;
}

/* For each attribute: a new file and a valid call, which fn changes and runs. */
static void each_attr(attr_test fn)
{
	const struct method_spec *m;
	struct ioc i;

	for (uint32_t n = 0; (m = method_row(n)); n++) {
		for (uint32_t a = 0; m->enabled && a < m->nattrs; a++) {
			uint32_t count;
			int expect;

			open_for(m);
			expect = get(m, &i);
			count = fx.f->ids.count;
			if (ioc_find(&i, m->attrs[a].id))
				fn(m, &m->attrs[a], &i, expect);
			/*
			 * After fn's calls, which fail, the number of handles is the same; it is
			 * one less after a call that failed when it had destroyed its object.
			 */
			assert_in_range(fx.f->ids.count + 1, count, count + 1);
			fix_close();
		}
	}
}

#define EXPECT(i, want)                                                            \
	do {                                                                       \
		int _ret = ioc_run(i);                                             \
		if (_ret != (want))                                                \
			fail_msg("%s attribute %#x: %d, not %d", m->name, s->id, _ret, want); \
	} while (0)

static void exact(const struct method_spec *m)
{
	struct ioc i;
	int expect = get(m, &i), ret = ioc_run(&i);

	if (ret != expect)
		fail_msg("%s: %d, not %d", m->name, ret, expect);
	for (int n = 0; n < m->nattrs && !ret; n++) {
		struct ib_uverbs_attr *a = ioc_find(&i, m->attrs[n].id);

		if (a && m->attrs[n].type == ATTR_PTR_OUT &&
		    !(a->flags & UVERBS_ATTR_F_VALID_OUTPUT))
			fail_msg("%s: output %#x is not marked valid", m->name, a->attr_id);
	}
}

static void test_exact(void **state)
{
	each_method(exact);
}

static void leave_out(const struct method_spec *m, const struct attr_spec *s, struct ioc *i,
		      int expect)
{
	ioc_remove(i, s->id);
	if (s->mandatory)
		EXPECT(i, -EINVAL);
}

static void test_leave_out(void **state)
{
	each_attr(leave_out);
}

static void twice(const struct method_spec *m, const struct attr_spec *s, struct ioc *i, int expect)
{
	struct ib_uverbs_attr *a = ioc_find(i, s->id);

	*ioc_add(i, 0, 0, 0) = *a;
	EXPECT(i, -EINVAL);
}

static void test_twice(void **state)
{
	each_attr(twice);
}

static void wrong_length(const struct method_spec *m, const struct attr_spec *s, struct ioc *i,
			 int expect)
{
	struct ib_uverbs_attr *a = ioc_find(i, s->id);
	char *big;

	if (s->type == ATTR_IDR || s->type == ATTR_FD) {
		a->len = 8;
		EXPECT(i, -EINVAL);
		return;
	}
	if (s->min_len) {
		a->len = s->min_len - 1;
		EXPECT(i, -EINVAL);
	}
	if (s->max_len == UINT16_MAX)
		return;
	big = arena_get(256);
	a->len = s->max_len + 9;
	if (s->type == ATTR_PTR_IN && s->zero_tail)
		memcpy(big, (void *)(uintptr_t)a->data, s->max_len);
	a->data = (uintptr_t)big;
	if (!s->zero_tail) {
		EXPECT(i, -EINVAL);
	} else if (s->type == ATTR_PTR_IN) {
		big[s->max_len + 8] = 1;
		EXPECT(i, -EOPNOTSUPP);
	} else {
		memset(big, 0xee, 256);
		/* If the call succeeds, the old content behind the struct is cleared. */
		if (!ioc_run(i)) {
			assert_int_equal(big[s->max_len + 8], 0);
			assert_int_equal((uint8_t)big[s->max_len + 9], 0xee);
			/*
			 * CREATE_QP has succeeded: destroy the QP, as each_attr() expects no new
			 * handle.
			 */
			if (i->hdr.object_id == UVERBS_OBJECT_QP)
				destroy(IB_USER_VERBS_CMD_DESTROY_QP,
					(uint32_t)ioc_find(i, UVERBS_ATTR_CREATE_QP_HANDLE)->data);
		}
	}
}

static void test_wrong_length(void **state)
{
	each_attr(wrong_length);
}

static void reserved(const struct method_spec *m, const struct attr_spec *s, struct ioc *i,
		     int expect)
{
	ioc_find(i, s->id)->attr_data.reserved = 1;
	EXPECT(i, -EINVAL);
}

static void test_reserved(void **state)
{
	each_attr(reserved);
}

/* Outputs that are not writable, inputs that are not readable. */
static void bad_pointer(const struct method_spec *m, const struct attr_spec *s, struct ioc *i,
			int expect)
{
	struct ib_uverbs_attr *a = ioc_find(i, s->id);
	bool out = s->type == ATTR_PTR_OUT;

	if (s->type == ATTR_IDR || s->type == ATTR_FD || (!out && a->len <= 8))
		return;
	/*
	 * If the valid call already fails, a bad pointer gives EFAULT only for an attribute that
	 * the parser copies.
	 */
	if (expect && !s->copied)
		return;
	a->data = (uintptr_t)(out ? readonly : unmapped);
	EXPECT(i, -EFAULT);
	a = ioc_find(i, s->id);
	a->data = 0;
	if (m->attrs[0].access != ACC_DESTROY)
		EXPECT(i, -EFAULT);
}

static void test_bad_pointer(void **state)
{
	each_attr(bad_pointer);
}

static uint32_t other_kind(uint16_t kind)
{
	return kind == UVERBS_OBJECT_PD ? fx.cq : fx.pd;
}

static void bad_handle(const struct method_spec *m, const struct attr_spec *s, struct ioc *i,
		       int expect)
{
	struct ib_uverbs_attr *a = ioc_find(i, s->id);

	if (s->type == ATTR_FD && s->access == ACC_READ) {
		a->data = FD_BASE + MAX_FDS - 1;
		EXPECT(i, -EBADF);
		a->data = (uint64_t)-1;
		EXPECT(i, -EBADF);
		a->data = 1ull << 40;
		EXPECT(i, -EINVAL);
		a->data = (uint64_t)(s->kind == UVERBS_OBJECT_ASYNC_EVENT ? fx.channel : fx.async);
		EXPECT(i, -EBADF);
	}
	if (s->type != ATTR_IDR || s->access == ACC_NEW)
		return;
	a->data = 0x7fffffff;
	EXPECT(i, -ENOENT);
	a->data = 1ull << 32;
	EXPECT(i, -ENOENT);
	a->data = (uint64_t)-1;
	EXPECT(i, -EINVAL);
	a->data = other_kind(s->kind);
	EXPECT(i, -EINVAL);
}

static void test_bad_handle(void **state)
{
	each_attr(bad_handle);
}

/* Object kinds that the device does not have: EINVAL for any handle. */
static void test_absent_kinds(void **state)
{
	static const uint16_t ids[] = { UVERBS_ATTR_CREATE_QP_XRCD_HANDLE,
					UVERBS_ATTR_CREATE_QP_SRQ_HANDLE,
					UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE };

	for (size_t n = 0; n < ARRAY_SIZE(ids); n++) {
		const struct method_spec *m;
		struct ioc i;

		for (uint32_t k = 0; (m = method_row(k)); k++)
			if (m->object == UVERBS_OBJECT_QP && m->method == UVERBS_METHOD_QP_CREATE)
				break;
		fix_open(true);
		fix_objects();
		get(m, &i);
		ioc_add(&i, ids[n], 0, fx.pd);
		assert_int_equal(ioc_run(&i), -EINVAL);
		fix_close();
	}
}

/*
 * The kernel writes the handle of a new object into the attribute; if the attribute is not
 * writable, no object stays.
 */
static void readonly_attrs(const struct method_spec *m)
{
	uint32_t count;
	struct ioc i;
	void *page;

	get(m, &i);
	if (m->attrs[0].access != ACC_NEW)
		return;
	count = fx.f->ids.count;
	page = mmap(NULL, 0x1000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(page != MAP_FAILED);
	memcpy(page, &i, sizeof(i));
	assert_int_equal(mprotect(page, 0x1000, PROT_READ), 0);
	assert_int_equal(uverbs_ioctl(fx.f, RDMA_VERBS_IOCTL, page), -EFAULT);
	assert_int_equal(fx.f->ids.count, count);
	munmap(page, 0x1000);
}

static void test_readonly_attrs(void **state)
{
	each_method(readonly_attrs);
}

static void unknown_attr(const struct method_spec *m)
{
	struct ioc i;
	int expect = get(m, &i);

	ioc_add(&i, 0x333, 8, 1)->flags = UVERBS_ATTR_F_MANDATORY;
	if (ioc_run(&i) != -EPROTONOSUPPORT)
		fail_msg("%s takes an unknown attribute", m->name);
	i.attr[i.hdr.num_attrs - 1].flags = 0;
	if (ioc_run(&i) != expect)
		fail_msg("%s minds an optional attribute", m->name);
}

static void test_unknown_attr(void **state)
{
	each_method(unknown_attr);
}

static void test_disabled(void **state)
{
	const struct method_spec *m;
	struct ioc i;

	fix_open(true);
	for (uint32_t n = 0; (m = method_row(n)); n++) {
		if (m->enabled)
			continue;
		ioc_init(&i, m->object, m->method);
		assert_int_equal(ioc_run(&i), -EPROTONOSUPPORT);
	}
	ioc_init(&i, UVERBS_OBJECT_PD, 9);
	assert_int_equal(ioc_run(&i), -EPROTONOSUPPORT);
	ioc_init(&i, 99, 0);
	assert_int_equal(ioc_run(&i), -EPROTONOSUPPORT);
	fix_close();
}

static void header(const struct method_spec *m)
{
	struct ioc i, good;

	get(m, &good);
	assert_int_equal(uverbs_ioctl(fx.f, RDMA_VERBS_IOCTL + 1, &good), -ENOTTY);
	assert_int_equal(uverbs_ioctl(fx.f, 0, NULL), -ENOTTY);
	assert_int_equal(uverbs_ioctl(fx.f, RDMA_VERBS_IOCTL, NULL), -EFAULT);
	assert_int_equal(uverbs_ioctl(fx.f, RDMA_VERBS_IOCTL, unmapped), -EFAULT);
	i = good;
	i.hdr.length++;
	assert_int_equal(ioc_run(&i), -EINVAL);
	i = good;
	i.hdr.num_attrs++;
	assert_int_equal(ioc_run(&i), -EINVAL);
	i = good;
	i.hdr.num_attrs = 300;
	i.hdr.length = 24 + 16 * 300;
	assert_int_equal(ioc_run(&i), -EINVAL);
	i = good;
	i.hdr.reserved1 = 1;
	i.hdr.driver_id = 0;
	assert_int_equal(ioc_run(&i), -EPROTONOSUPPORT);
	i = good;
	i.hdr.reserved2 = 1;
	assert_int_equal(ioc_run(&i), -EPROTONOSUPPORT);
	i = good;
	i.hdr.driver_id = RDMA_DRIVER_MLX5;
	assert_int_equal(ioc_run(&i), -EINVAL);
}

static void test_header(void **state)
{
	each_method(header);
}

/*
 * The probe that libibverbs makes for each context; its result makes the library use
 * INVOKE_WRITE.
 */
static void test_probe(void **state)
{
	struct ioc i;

	fix_open(false);
	ioc_init(&i, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	ioc_add(&i, UVERBS_ATTR_WRITE_CMD, 8, IB_USER_VERBS_CMD_QUERY_DEVICE);
	assert_int_equal(ioc_run(&i), -ENOSPC);
	fix_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact), cmocka_unit_test(test_leave_out),
		cmocka_unit_test(test_twice), cmocka_unit_test(test_wrong_length),
		cmocka_unit_test(test_reserved), cmocka_unit_test(test_bad_pointer),
		cmocka_unit_test(test_bad_handle), cmocka_unit_test(test_absent_kinds),
		cmocka_unit_test(test_readonly_attrs), cmocka_unit_test(test_unknown_attr),
		cmocka_unit_test(test_disabled), cmocka_unit_test(test_header),
		cmocka_unit_test(test_probe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
