/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdarg.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>
#include "vfile/paths.h"

static void ours(void **state)
{
	static const struct {
		const char *path, *becomes;
	} t[] = {
		{ "/sys/class/infiniband", "/run/r/sys/class/infiniband" },
		{ "/sys/class/infiniband/", "/run/r/sys/class/infiniband/" },
		{ "/sys/class/infiniband/rxe_0/ports/1/state",
		  "/run/r/sys/class/infiniband/rxe_0/ports/1/state" },
		{ "/sys/class/infiniband_verbs/abi_version",
		  "/run/r/sys/class/infiniband_verbs/abi_version" },
		{ "/sys/class/infiniband_mad/umad0", "/run/r/sys/class/infiniband_mad/umad0" },
		{ "/sys/class/misc/rdma_cm/abi_version",
		  "/run/r/sys/class/misc/rdma_cm/abi_version" },
		{ "/sys/dev/char/231:192", "/run/r/sys/dev/char/231:192" },
		{ "/sys/dev/char/231:192/dev", "/run/r/sys/dev/char/231:192/dev" },
		{ "/dev/infiniband", "/run/r/dev/infiniband" },
		{ "/dev/infiniband/", "/run/r/dev/infiniband/" },
		{ "/sys/devices/virtual/misc/rdma_cm/dev",
		  "/run/r/sys/devices/virtual/misc/rdma_cm/dev" },
		{ "/dev/infiniband/rdma_cm/", "/run/r/dev/infiniband/rdma_cm/" },
		{ "/dev/infiniband/uverbs", "/run/r/dev/infiniband/uverbs" },
		{ "/dev/infiniband/uverbs00", "/run/r/dev/infiniband/uverbs00" },
		{ "/dev/infiniband/uverbs0/", "/run/r/dev/infiniband/uverbs0/" },
		{ "/dev/infiniband/uverbs0x", "/run/r/dev/infiniband/uverbs0x" },
		/* Lexical normalisation. */
		{ "//sys/class/infiniband", "/run/r/sys/class/infiniband" },
		{ "/sys//class/./infiniband//rxe_0", "/run/r/sys/class/infiniband/rxe_0" },
		{ "/./sys/class/infiniband", "/run/r/sys/class/infiniband" },
		{ "/../sys/class/infiniband/", "/run/r/sys/class/infiniband/" },
		{ "/sys/class/net/../infiniband/rxe_0", "/run/r/sys/class/infiniband/rxe_0" },
		{ "/dev/shm/../infiniband", "/run/r/dev/infiniband" },
		/* Below a redirected directory ".." is left to the kernel. */
		{ "/sys/class/infiniband/rxe_0/device/../x",
		  "/run/r/sys/class/infiniband/rxe_0/device/../x" },
		{ "/sys/class/infiniband/../infiniband_verbs/uverbs0",
		  "/run/r/sys/class/infiniband/../infiniband_verbs/uverbs0" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct path_ref ref;
		char buf[512];

		assert_true(paths_maybe(t[i].path));
		assert_int_equal(paths_find(t[i].path, &ref), PATH_TREE);
		assert_int_equal(paths_rewrite(&ref, "/run/r/sys", buf, sizeof(buf)), 0);
		assert_string_equal(buf, t[i].becomes);
	}
}

static void devices(void **state)
{
	static const struct {
		const char *path;
		uint32_t minor;
	} t[] = {
		{ "/dev/infiniband/uverbs0", 192 },
		{ "/dev/infiniband/uverbs31", 223 },
		{ "/dev//infiniband/./uverbs7", 199 },
		{ "//dev/infiniband/uverbs1", 193 },
		{ "/dev/char/231:192", 192 },
		{ "/dev/char/231:195", 195 },
		{ "/dev/infiniband/umad0", 0 },
		{ "/dev/infiniband/umad63", 63 },
		{ "/dev/infiniband/issm0", 64 },
		{ "/dev//infiniband/issm63", 127 },
		{ "/dev/char/231:0", 0 },
		{ "/dev/char/231:127", 127 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct path_ref ref;

		assert_int_equal(paths_find(t[i].path, &ref),
				 t[i].minor < UVERBS_BASE_MINOR ? PATH_UMAD : PATH_UVERBS);
		assert_int_equal(ref.minor, t[i].minor);
	}
	assert_int_equal(paths_find("/dev/infiniband/rdma_cm", &(struct path_ref){ 0 }), PATH_UCMA);
	assert_int_equal(paths_find("/dev//infiniband/rdma_cm", &(struct path_ref){ 0 }), PATH_UCMA);
}

static void not_ours(void **state)
{
	static const char *const t[] = {
		"", "/", "//", "/.", "/..", "/s", "/sys", "/sys/", "/dev", "/dev/", "/dev/null",
		"/dev/infinibandX", "/dev/char/231:128", "/dev/char/231:1920x", "/dev/char/1:3",
		"/dev/char/2311:192", "/sys/class", "/sys/class/net", "/sys/class/net/eth0/device",
		"/sys/class/infinibanc", "/sys/class/misc/rdma_cmX", "/sys/dev/char/231:",
		"/sys/dev/char/231:x", "/sys/dev/char/2:0", "sys/class/infiniband",
		"./sys/class/infiniband", "/srv/class/infiniband", "/data/infiniband",
		"/sys/class/infiniband/../net/lo", "/sys/class/infiniband/../../class/net",
		"/dev/infiniband/../null", "/dev/infiniband/uverbs0/../../null",
		"/proc/../sys/class/infiniband", "/home/sys/class/infiniband",
	};
	struct path_ref ref;

	assert_false(paths_maybe(NULL));
	assert_int_equal(paths_find(NULL, &ref), PATH_NOT_OURS);
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		assert_int_equal(paths_find(t[i], &ref), PATH_NOT_OURS);
}

static void too_long(void **state)
{
	char path[1024] = "/sys/class/infiniband/", buf[512];
	struct path_ref ref;

	memset(path + strlen(path), 'x', 500);
	assert_int_equal(paths_find(path, &ref), PATH_NOT_OURS);
	path[1] = '/';
	memcpy(path, "//sys", 5);
	assert_int_equal(paths_find(path, &ref), PATH_NOT_OURS);

	assert_int_equal(paths_find("/sys/class/infiniband", &ref), PATH_TREE);
	assert_int_equal(paths_rewrite(&ref, "/run/r/sys", buf, 27), -ENAMETOOLONG);
	assert_int_equal(paths_rewrite(&ref, "/run/r/sys", buf, 28), 0);
	assert_int_equal(paths_rewrite(&ref, "/run/r/syz", buf, sizeof(buf)), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ours),
		cmocka_unit_test(devices),
		cmocka_unit_test(not_ours),
		cmocka_unit_test(too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
