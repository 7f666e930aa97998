/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cpus.h"
#include "base/memfd.h"
#include "base/testing.h"

static void sealed(void **state)
{
	int fd = memfd_sealed("test", 8192);
	char *a, *b;

	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(ftruncate(fd, 4096), -1);
	assert_int_equal(ftruncate(fd, 16384), -1);
	assert_int_equal(memfd_check(fd, 8192), 0);
	assert_int_equal(memfd_check(fd, 8193), -EPROTO);
	assert_null(memfd_map(fd, 8193, false));
	a = memfd_map(fd, 8192, true);
	b = memfd_map(fd, 8192, false);
	assert_true(a && b);
	assert_int_equal(b[8191], 0);
	a[8191] = 7;
	assert_int_equal(b[8191], 7);
	memfd_unmap(a, 8192);
	memfd_unmap(b, 8192);
	memfd_unmap(NULL, 8192);
	close(fd);
	a = memfd_new("new", 4096, &fd);
	assert_non_null(a);
	assert_int_equal(memfd_check(fd, 4096), 0);
	memfd_unmap(a, 4096);
	close(fd);
	assert_null(memfd_new("much", SIZE_MAX, &fd));
	assert_in_range(-fd, 1, 133);
}

/* memfd_check() refuses a memfd that can shrink, and other files. */
static void refused(void **state)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(memfd_check(fd, 4096), -EPROTO);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	assert_int_equal(memfd_check(fd, 4096), 0);
	close(fd);
	assert_int_equal(memfd_check(fd, 0), -EPROTO);
	fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
	assert_int_equal(memfd_check(fd, 0), -EPROTO);
	assert_null(memfd_map(-1, 4096, true));
	close(fd);
}

/* A small RLIMIT_FSIZE is an error, not SIGXFSZ. */
static void limited(void **state)
{
	struct rlimit old, small;
	int fd;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = (struct rlimit){ 8192, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(memfd_limit(), 8192);
	assert_int_equal(memfd_sealed("test", 8193), -EFBIG);
	assert_null(memfd_new("test", 1 << 20, &fd));
	assert_int_equal(fd, -EFBIG);
	fd = memfd_sealed("test", 8192);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
}

static void cpus(void **state)
{
	assert_in_range(cpus_usable(), 1, sysconf(_SC_NPROCESSORS_CONF));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sealed), cmocka_unit_test(refused),
		cmocka_unit_test(limited), cmocka_unit_test(cpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
