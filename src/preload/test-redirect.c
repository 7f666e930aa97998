/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* redirect.c: which path a call gets, and the attributes of a device. The engine and the tables of preload are fakes. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "base/testing.h"
#include "engine/engine.h"
#include "preload/provider.h"
#include "preload/redirect.h"
#include "preload/signals.h"
#include "remote/remote.h"

static bool owns, opened;
static int attach_error;

bool preload_owns_tables(void)
{
	return owns;
}

int preload_attach(void)
{
	errno = EBADF;
	return attach_error;
}

const char *engine_sysfs(void)
{
	return "/run/tree/sys";
}

bool engine_has_uverbs(uint32_t minor)
{
	return minor == UVERBS_BASE_MINOR;
}

bool remote_has_umad(uint32_t minor)
{
	return minor == 0;
}

static int listed, found;
static bool shared;

void memory_open(bool loaded)
{
	shared = !loaded;
}

void provider_listed(void)
{
	listed++;
}

void provider_found(void)
{
	found++;
}

void signals_attach(void)
{
	opened = true;
}

int engine_open(uint32_t minor, bool cloexec, struct uverbs_file **f)
{
	return -ENODEV;
}

void engine_close(struct uverbs_file *f)
{
}

int preload_uverbs_install(int fd, uint32_t minor, struct uverbs_file *f)
{
	return 0;
}

int preload_rused_install(int fd, enum vfile_kind kind, uint32_t minor, void *file)
{
	return 0;
}

int remote_umad_open(uint32_t minor, bool nonblock, void **file)
{
	return -EPERM;
}

int remote_ucma_open(void **file)
{
	return -EMFILE;
}

void remote_umad_release(void *file)
{
}

void remote_ucma_release(void *file)
{
}

static int setup(void **state)
{
	owns = true;
	opened = shared = false;
	listed = found = 0;
	attach_error = 0;
	errno = ENXIO;
	return 0;
}

static void test_paths(void **state)
{
	static const char uverbs[] = "/dev/infiniband/uverbs0", plain[] = "/dev/null";
	struct redirect r;

	assert_ptr_equal(redirect(plain, &r), plain);
	assert_false(r.dev);
	assert_string_equal(redirect("/sys/class/infiniband", &r), "/run/tree/sys/class/infiniband");
	assert_false(r.dev);
	redirect(uverbs, &r);
	assert_true(r.dev && dev_is_uverbs(r.rdev) && !dev_is_umad(r.rdev));
	redirect("/dev/infiniband/rdma_cm", &r);
	assert_true(r.dev && !dev_is_uverbs(r.rdev) && !dev_is_umad(r.rdev));
	redirect("/dev/infiniband/umad0", &r);
	assert_true(r.dev && dev_is_umad(r.rdev) && !dev_is_uverbs(r.rdev));
	/* A process that does not own its tables, such as a child of vfork(), gets the real path. */
	owns = false;
	assert_ptr_equal(redirect(uverbs, &r), uverbs);
	assert_false(r.dev);
	assert_int_equal(errno, ENXIO);
}

/* A device that does not exist, or all of them without rused, is a path that does not exist. */
static void test_nowhere(void **state)
{
	struct redirect r;
	struct stat st;

	assert_int_equal(stat(redirect("/dev/infiniband/uverbs1", &r), &st), -1);
	assert_false(r.dev);
	assert_int_equal(stat(redirect("/dev/infiniband/umad1", &r), &st), -1);
	assert_false(r.dev);
	attach_error = -ECONNREFUSED;
	errno = ENXIO;
	assert_string_not_equal(redirect("/dev/infiniband/uverbs0", &r), r.buf);
	assert_false(r.dev);
	assert_int_equal(errno, ENXIO);
}

static void test_open(void **state)
{
	struct redirect r;

	redirect("/dev/infiniband/umad0", &r);
	assert_int_equal(redirect_open(&r, O_RDWR | O_CREAT | O_EXCL), -EEXIST);
	assert_int_equal(redirect_open(&r, O_RDONLY | O_DIRECTORY), -ENOTDIR);
	assert_false(opened);
	assert_int_equal(redirect_open(&r, O_RDWR | O_CREAT), -EPERM);
	assert_true(opened);
	redirect("/dev/infiniband/rdma_cm", &r);
	assert_int_equal(redirect_open(&r, O_RDWR), -EMFILE);
	assert_int_equal(found, 0);
	assert_false(shared);
	redirect("/dev/infiniband/uverbs0", &r);
	assert_int_equal(redirect_open(&r, O_RDWR), -ENODEV);
	assert_int_equal(found, 1);
	assert_true(shared);
}

/* Looking for devices in sysfs, for the reason of a libibverbs that has no provider. */
static void test_listed(void **state)
{
	struct redirect r;

	redirect("/sys/class/infiniband/rxe_0/node_type", &r);
	redirect("/sys/class/infiniband_verbs/abi_version", &r);
	assert_int_equal(listed, 0);
	redirect("/sys/class/infiniband_verbs/uverbs0/ibdev", &r);
	assert_int_equal(listed, 1);
}

static void test_stat(void **state)
{
	dev_t verbs = makedev(UVERBS_MAJOR, UVERBS_BASE_MINOR), umad = makedev(UVERBS_MAJOR, 0);
	struct stat a, b;
	struct statx x;

	redirect_stat(&a, verbs);
	redirect_stat(&b, umad);
	assert_int_equal(a.st_mode, S_IFCHR | 0666);
	assert_int_equal(b.st_mode, S_IFCHR | 0600);
	assert_int_equal(a.st_rdev, verbs);
	assert_int_not_equal(a.st_ino, b.st_ino);
	redirect_statx(&x, umad);
	assert_int_equal(x.stx_mode, b.st_mode);
	assert_int_equal(makedev(x.stx_rdev_major, x.stx_rdev_minor), umad);
	assert_int_equal(x.stx_uid, b.st_uid);
	assert_int_equal(x.stx_ino, b.st_ino);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_paths, setup),
		cmocka_unit_test_setup(test_nowhere, setup),
		cmocka_unit_test_setup(test_open, setup),
		cmocka_unit_test_setup(test_listed, setup),
		cmocka_unit_test_setup(test_stat, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
