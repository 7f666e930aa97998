/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Each write() command in the command tables (write_rows, write_ex_rows), by write() and by INVOKE_WRITE: exact,
 * short and long requests and responses, bad pointers, calls before GET_CONTEXT, commands that ruse does not support.
 * The tests derive from a command's row in its table, so that a new row needs only a sample in samples.c.
 */
#include "fixture.h"

typedef void (*row_test)(uint32_t nr, bool ex, const struct write_row *row);

static bool creates(const struct write_row *row)
{
	return !strncmp(row->name, "CREATE", 6) || !strncmp(row->name, "EX_CREATE", 9) ||
	       !strncmp(row->name, "ALLOC", 5) || !strncmp(row->name, "REG", 3);
}

static bool is_get_context(uint32_t nr, bool ex)
{
	return !ex && nr == IB_USER_VERBS_CMD_GET_CONTEXT;
}

/* Runs fn for each row of the command tables, with a uverbs file of its own. */
static void each_row(row_test fn, bool enabled)
{
	for (uint32_t n = 0; n < WRITE_ROWS + WRITE_EX_ROWS; n++) {
		bool ex = n >= WRITE_ROWS;
		uint32_t nr = ex ? n - WRITE_ROWS : n;
		const struct write_row *row = ex ? &write_ex_rows[nr] : &write_rows[nr];

		if (row->enabled != enabled)
			continue;
		if (enabled && is_get_context(nr, ex)) {
			fix_open(false);
		} else {
			fix_open(true);
			fix_objects();
		}
		fn(nr, ex, row);
		fix_close();
	}
}

static void get(uint32_t nr, bool ex, struct cmd *c)
{
	if (!sample(nr, ex, c))
		fail_msg("command %u%s has no sample", nr, ex ? " (extended)" : "");
}

static void exact(uint32_t nr, bool ex, const struct write_row *row)
{
	for (enum way w = 0; w < WAYS; w++) {
		struct cmd c;
		int ret;

		if (is_get_context(nr, ex) && w)
			continue;
		get(nr, ex, &c);
		ret = run(w, &c);
		if (ret)
			fail_msg("%s, way %d: %d", row->name, w, ret);
	}
}

static void test_exact(void **state)
{
	each_row(exact, true);
}

/*
 * GET_CONTEXT by INVOKE_WRITE: test_exact() calls it only by write(), as it works only once for a
 * file.
 */
static void test_get_context_invoke(void **state)
{
	struct cmd c;

	fix_open(false);
	get(IB_USER_VERBS_CMD_GET_CONTEXT, false, &c);
	assert_int_equal(run(BY_INVOKE, &c), 0);
	assert_true(fx.f->has_context);
	assert_int_equal(run(BY_INVOKE, &c), -EINVAL);
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
	fix_close();
}

/*
 * A request that is one word too short: ENOSPC. Only for plain commands, as the request of an
 * extended command is zero-extended.
 */
static void short_request(uint32_t nr, bool ex, const struct write_row *row)
{
	struct cmd c;
	ssize_t n;

	if (ex)
		return;
	get(nr, ex, &c);
	if (row->has_resp)
		c.req.response = c.resp;
	n = frame(nr, &c.req, row->req_size - 4, c.out + c.drv_out);
	if (n != -ENOSPC)
		fail_msg("%s short: %zd", row->name, n);
	c.in -= 4;
	c.drv_in = 0;
	if (run(BY_INVOKE, &c) != -ENOSPC)
		fail_msg("%s short, invoked", row->name);
}

static void test_short_request(void **state)
{
	each_row(short_request, true);
}

static void short_response(uint32_t nr, bool ex, const struct write_row *row)
{
	struct cmd c;

	if (ex || !row->resp_size)
		return;
	get(nr, ex, &c);
	c.req.response = c.resp;
	if (frame(nr, &c.req, c.in, row->resp_size - 4) != -ENOSPC)
		fail_msg("%s response short", row->name);
	c.out -= 4;
	if (run(BY_INVOKE, &c) != -ENOSPC)
		fail_msg("%s response short, invoked", row->name);
}

static void test_short_response(void **state)
{
	each_row(short_response, true);
}

/* EINVAL if in_words does not match the length of the write. */
static void wrong_words(uint32_t nr, bool ex, const struct write_row *row)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_ex_cmd_hdr ex;
		char body[256];
	} *h = arena_get(sizeof(*h));
	size_t hdrs = ex ? 24 : 8;

	h->hdr.command = nr | (ex ? IB_USER_VERBS_CMD_FLAG_EXTENDED : 0);
	h->hdr.in_words = (uint16_t)(ex ? row->req_size / 8 : (row->req_size + 8) / 4);
	h->hdr.out_words = 64;
	assert_int_equal(uverbs_write(fx.f, h, hdrs + row->req_size + 4), -EINVAL);
	assert_int_equal(uverbs_write(fx.f, h, hdrs + row->req_size + 64), -EINVAL);
	assert_int_equal(uverbs_write(fx.f, h, 7), -EINVAL);
	assert_int_equal(uverbs_write(fx.f, h, 8), -EINVAL);
}

static void test_wrong_words(void **state)
{
	each_row(wrong_words, true);
}

/*
 * A request that is longer than the struct: the rest is provider data if the command has any (write_row.has_udata),
 * otherwise it must be zero (EOPNOTSUPP).
 */
static void long_request(uint32_t nr, bool ex, const struct write_row *row)
{
	bool post = !ex && nr == IB_USER_VERBS_CMD_POST_SEND;
	struct cmd c;
	int ret;

	get(nr, ex, &c);
	c.in += 8;
	ret = run(ex || !row->has_udata ? BY_WRITE : BY_INVOKE, &c);
	if (ret)
		fail_msg("%s with zeros behind it: %d", row->name, ret);
	if (is_get_context(nr, ex))
		return;
	get(nr, ex, &c);
	c.req.b[c.in + 3] = 1;
	c.in += 8;
	ret = run(BY_INVOKE, &c);
	if (ret != -EOPNOTSUPP)
		fail_msg("%s with a tail, invoked: %d", row->name, ret);
	if (!ex && row->has_udata && !post)
		return;
	get(nr, ex, &c);
	c.req.b[c.in + 3] = 1;
	c.in += 8;
	if (row->has_resp && !ex)
		c.req.response = c.resp;
	ret = run(BY_WRITE, &c);
	if (ret != -EOPNOTSUPP)
		fail_msg("%s with a tail: %d", row->name, ret);
}

static void test_long_request(void **state)
{
	each_row(long_request, true);
}

/*
 * A response buffer that is longer than the struct: the rest is cleared. A command with an
 * extended twin returns the twin's struct.
 */
static void long_response(uint32_t nr, bool ex, const struct write_row *row)
{
	size_t known = row->resp_size;
	struct cmd c;
	char *resp;

	if (nr < WRITE_EX_ROWS && write_ex_rows[nr].enabled && row->has_udata)
		known = write_ex_rows[nr].resp_size;
	if (!row->resp_size || is_get_context(nr, ex))
		return;
	get(nr, ex, &c);
	resp = arena_get(1024);
	memset(resp, 0xee, 1024);
	c.resp = (uintptr_t)resp;
	c.out = ALIGN_UP(c.out + 16, (size_t)8);
	assert_int_equal(run(ex ? BY_WRITE : BY_INVOKE, &c), 0);
	for (size_t i = known; i < c.out; i++)
		if (resp[i])
			fail_msg("%s: byte %zu not cleared", row->name, i);
	assert_int_equal((uint8_t)resp[c.out + c.drv_out], 0xee);
}

static void test_long_response(void **state)
{
	each_row(long_response, true);
}

static void bad_request_pointer(uint32_t nr, bool ex, const struct write_row *row)
{
	size_t hdrs = ex ? 24 : 8;

	assert_int_equal(uverbs_write(fx.f, unmapped, hdrs + row->req_size), -EFAULT);
	assert_int_equal(uverbs_write(fx.f, NULL, hdrs + row->req_size), -EFAULT);
	assert_int_equal(uverbs_write(fx.f, (void *)0xdead000000000000ull, hdrs + row->req_size),
			 -EFAULT);
}

static void test_bad_request_pointer(void **state)
{
	each_row(bad_request_pointer, true);
}

/* The header is readable, the request behind it is not. */
static void half_request(uint32_t nr, bool ex, const struct write_row *row)
{
	size_t hdrs = ex ? 24 : 8;
	char *two = mmap(NULL, 0x2000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_ex_cmd_hdr ex;
	} *h = (void *)(two + 0x1000 - hdrs);

	assert_true(two != MAP_FAILED);
	mprotect(two + 0x1000, 0x1000, PROT_NONE);
	h->hdr.command = nr | (ex ? IB_USER_VERBS_CMD_FLAG_EXTENDED : 0);
	h->hdr.in_words = (uint16_t)(ex ? row->req_size / 8 : (row->req_size + 8) / 4);
	h->hdr.out_words = (uint16_t)(row->resp_size / (ex ? 8 : 4));
	if (ex)
		h->ex.response = row->resp_size ? (uintptr_t)arena_get(512) : 0;
	assert_int_equal(uverbs_write(fx.f, h, hdrs + row->req_size), -EFAULT);
	munmap(two, 0x2000);
}

static void test_half_request(void **state)
{
	each_row(half_request, true);
}

/* The response is not writable: EFAULT, and the object that was created is destroyed. */
static void bad_response_pointer(uint32_t nr, bool ex, const struct write_row *row)
{
	char *const where[] = { readonly, unmapped, NULL };

	for (enum way w = 0; w < WAYS; w++) {
		for (int i = 0; i < 3; i++) {
			struct cmd c;
			uint32_t count, pos = 0;
			int ret;

			if (!row->resp_size || (ex && !where[i]))
				continue;
			get(nr, ex, &c);
			count = fx.f->ids.count;
			c.resp = (uintptr_t)where[i];
			ret = run(w, &c);
			if (ret != -EFAULT)
				fail_msg("%s to %p, way %d: %d", row->name, where[i], w, ret);
			if (creates(row) || is_get_context(nr, ex))
				assert_int_equal(fx.f->ids.count, count);
			assert_false(is_get_context(nr, ex) && fx.f->has_context);
			while (idtable_next(&fx.f->ids, &pos))
				assert_true(((struct uobj *)idtable_find(&fx.f->ids, pos++))->live);
		}
	}
}

static void test_bad_response_pointer(void **state)
{
	each_row(bad_response_pointer, true);
}

/* A failed CREATE_COMP_CHANNEL leaves no descriptor. */
static void test_bad_response_descriptor(void **state)
{
	struct cmd c;

	fix_open(true);
	get(IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, false, &c);
	c.resp = (uintptr_t)readonly;
	assert_int_equal(run(BY_WRITE, &c), -EFAULT);
	assert_null(fx.fds[1]);
	fx.install_err = -EMFILE;
	get(IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, false, &c);
	assert_int_equal(run(BY_WRITE, &c), -EMFILE);
	fix_close();
}

/*
 * Before GET_CONTEXT: EINVAL from commands that create or query, ENOENT from commands that look
 * up a handle.
 */
static void no_context(uint32_t nr, bool ex, const struct write_row *row)
{
	struct cmd c;
	int ret;

	if (is_get_context(nr, ex))
		return;
	get(nr, ex, &c);
	fix_close();
	fix_open(false);
	ret = run(BY_WRITE, &c);
	if (creates(row) || strstr(row->name, "QUERY_DEVICE") || strstr(row->name, "QUERY_PORT"))
		assert_int_equal(ret, -EINVAL);
	else
		assert_int_equal(ret, -ENOENT);
}

static void test_no_context(void **state)
{
	each_row(no_context, true);
}

/* Commands that ruse does not support (write_row.enabled), and numbers beyond the command tables: EOPNOTSUPP. */
static void disabled(uint32_t nr, bool ex, const struct write_row *row)
{
	bool above = nr > (ex ? IB_USER_VERBS_EX_CMD_MODIFY_QP : IB_USER_VERBS_CMD_CREATE_XSRQ);
	struct cmd c = { .nr = nr, .ex = ex, .in = 64 };
	struct ib_uverbs_cmd_hdr *hdr = arena_get(128);

	hdr->command = nr | (ex ? IB_USER_VERBS_CMD_FLAG_EXTENDED : 0);
	hdr->in_words = 8;
	assert_int_equal(uverbs_write(fx.f, hdr, 32), -EOPNOTSUPP);
	/*
	 * A write() whose length does not match in_words. For numbers up to the highest known
	 * command the length is checked first (EINVAL), even if there is no such command.
	 */
	assert_int_equal(uverbs_write(fx.f, hdr, 36), above ? -EOPNOTSUPP : -EINVAL);
	assert_int_equal(run(BY_INVOKE, &c), -EOPNOTSUPP);
}

static void test_disabled(void **state)
{
	each_row(disabled, false);
}

static void test_command_word(void **state)
{
	struct ib_uverbs_cmd_hdr *hdr;

	fix_open(true);
	hdr = arena_get(64);
	hdr->in_words = 8;
	hdr->command = 0x100;
	assert_int_equal(uverbs_write(fx.f, hdr, 32), -EINVAL);
	hdr->command = 0x40000000;
	assert_int_equal(uverbs_write(fx.f, hdr, 32), -EINVAL);
	hdr->command = 0x41;
	assert_int_equal(uverbs_write(fx.f, hdr, 32), -EOPNOTSUPP);
	hdr->command = 0xff | IB_USER_VERBS_CMD_FLAG_EXTENDED;
	assert_int_equal(uverbs_write(fx.f, hdr, 32), -EOPNOTSUPP);
	hdr->command = 28;
	assert_int_equal(uverbs_write(fx.f, hdr, 0), -EINVAL);
	assert_int_equal(uverbs_write(fx.f, unmapped, 4), -EINVAL);
	fix_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_get_context_invoke),
		cmocka_unit_test(test_short_request),
		cmocka_unit_test(test_short_response),
		cmocka_unit_test(test_wrong_words),
		cmocka_unit_test(test_long_request),
		cmocka_unit_test(test_long_response),
		cmocka_unit_test(test_bad_request_pointer),
		cmocka_unit_test(test_half_request),
		cmocka_unit_test(test_bad_response_pointer),
		cmocka_unit_test(test_bad_response_descriptor),
		cmocka_unit_test(test_no_context),
		cmocka_unit_test(test_disabled),
		cmocka_unit_test(test_command_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
