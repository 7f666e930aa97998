/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
#include "vfile/fdtab.h"

static uint32_t released;
static void *released_file;

static void on_release(struct vfile *vf)
{
	atomic_add(&released, 1u);
	WRITE_ONCE(released_file, vf->file);
}

static const struct vfile_ops ops = { .release = on_release };

static int setup(void **state)
{
	released = 0;
	released_file = NULL;
	return 0;
}

static void put(int fd, void *file)
{
	struct vfile *vf = vfile_new(VFILE_UVERBS, file, &ops), *old;

	assert_non_null(vf);
	assert_int_equal(fdtab_install(fd, vf, &old), 0);
	assert_null(old);
}

static void drop(int fd)
{
	struct vfile *vf = fdtab_remove(fd);

	assert_non_null(vf);
	vfile_put(vf);
}

static void lookup_knows_only_ours(void **state)
{
	static const int others[] = { -1, -1000, 0, 4, 6, 1023, 1024, 1 << 20, 0x7fffffff };

	put(5, &released);
	assert_ptr_equal(fdtab_lookup(5)->file, &released);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		assert_null(fdtab_lookup(others[i]));
		assert_null(fdtab_remove(others[i]));
	}
	drop(5);
	assert_null(fdtab_lookup(5));
	assert_int_equal(released, 1);
}

static void dups_share_and_the_last_close_releases(void **state)
{
	struct vfile *old;

	put(7, &released);
	assert_int_equal(fdtab_share(5000, fdtab_lookup(7), &old), 0);
	assert_int_equal(fdtab_share(1023, fdtab_lookup(5000), &old), 0);
	assert_ptr_equal(fdtab_lookup(7), fdtab_lookup(5000));
	drop(7);
	drop(1023);
	assert_int_equal(released, 0);
	drop(5000);
	assert_int_equal(released, 1);
	assert_ptr_equal(released_file, &released);
}

static void a_call_in_progress_defers_the_release(void **state)
{
	struct vfile *vf;

	put(9, NULL);
	vf = vfile_get(9);
	assert_non_null(vf);
	drop(9);
	assert_null(vfile_get(9));
	assert_int_equal(released, 0);
	vfile_put(vf);
	assert_int_equal(released, 1);
}

static void install_hands_back_what_was_left(void **state)
{
	struct vfile *vf = vfile_new(VFILE_NETLINK, &vf, &ops), *old;

	put(11, &old);
	assert_int_equal(fdtab_install(11, vf, &old), 0);
	assert_non_null(old);
	vfile_put(old);
	assert_ptr_equal(released_file, &old);
	assert_int_equal(fdtab_lookup(11)->kind, VFILE_NETLINK);
	drop(11);
	assert_int_equal(released, 2);
}

static void beyond_the_table(void **state)
{
	struct vfile *vf = vfile_new(VFILE_UVERBS, NULL, &ops), *old;

	assert_int_equal(fdtab_install(1 << 20, vf, &old), -EMFILE);
	assert_int_equal(fdtab_install(-1, vf, &old), -EMFILE);
	assert_int_equal(fdtab_install((1 << 20) - 1, vf, &old), 0);
	assert_int_equal(fdtab_next(0), (1 << 20) - 1);
	drop((1 << 20) - 1);
	assert_int_equal(fdtab_next(0), -1);
}

static void next_walks_in_order(void **state)
{
	static const int fds[] = { 0, 3, 1023, 1024, 70000 };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		put(fds[i], NULL);
	for (int fd = fdtab_next(-5); fd >= 0; fd = fdtab_next(fd + 1))
		assert_int_equal(fd, fds[n++]);
	assert_int_equal(n, ARRAY_SIZE(fds));
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		drop(fds[i]);
}

static void more_files_than_a_chunk_holds(void **state)
{
	for (int i = 0; i < 300; i++)
		put(100 + i, (void *)(intptr_t)i);
	for (int i = 0; i < 300; i++)
		assert_ptr_equal(fdtab_lookup(100 + i)->file, (void *)(intptr_t)i);
	for (int i = 0; i < 300; i++)
		drop(100 + i);
	assert_int_equal(released, 300);
}

/* Threads that open, use and close the same number: every file is released exactly once. */
#define ROUNDS 20000

static void *open_close(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct vfile *vf = vfile_new(VFILE_EVENT_COMP, NULL, &ops), *old;

		if (fdtab_install(42, vf, &old))
			return arg;
		if (old)
			vfile_put(old);
	}
	return NULL;
}

static void *get_put(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct vfile *vf = vfile_get(42);

		if (vf && vf->kind != VFILE_EVENT_COMP)
			return arg;
		if (vf)
			vfile_put(vf);
	}
	return NULL;
}

static void threads_race_on_one_number(void **state)
{
	void *(*fn[])(void *) = { open_close, open_close, get_put };
	pthread_t t[ARRAY_SIZE(fn)];
	void *ret;

	for (size_t i = 0; i < ARRAY_SIZE(fn); i++)
		assert_int_equal(pthread_create(&t[i], NULL, fn[i], &t), 0);
	for (size_t i = 0; i < ARRAY_SIZE(fn); i++) {
		pthread_join(t[i], &ret);
		assert_null(ret);
	}
	drop(42);
	assert_int_equal(released, 2 * ROUNDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(lookup_knows_only_ours, setup),
		cmocka_unit_test_setup(dups_share_and_the_last_close_releases, setup),
		cmocka_unit_test_setup(a_call_in_progress_defers_the_release, setup),
		cmocka_unit_test_setup(install_hands_back_what_was_left, setup),
		cmocka_unit_test_setup(beyond_the_table, setup),
		cmocka_unit_test_setup(next_walks_in_order, setup),
		cmocka_unit_test_setup(more_files_than_a_chunk_holds, setup),
		cmocka_unit_test_setup(threads_race_on_one_number, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
