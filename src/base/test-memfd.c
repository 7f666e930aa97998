/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cpus.h"
#include "base/memfd.h"
#include "base/testing.h"
#include "base/util.h"

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

/* The number in KiB of this line of /proc/self/status. */
static long status_kib(const char *name)
{
	FILE *f = fopen("/proc/self/status", "r");
	size_t len = strlen(name);
	char line[256];
	long v = -1;

	assert_non_null(f);
	while (v < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, len))
			v = strtol(line + len, NULL, 10);
	fclose(f);
	return v;
}

static void part(void **state)
{
	int fd = memfd_sealed("test", 64 * PAGE);
	char *all = memfd_map(fd, 64 * PAGE, true), *p;

	assert_non_null(all);
	memset(all + 5 * PAGE, 5, PAGE);
	p = memfd_map_at(fd, 5 * PAGE, 3 * PAGE, true);
	assert_non_null(p);
	assert_int_equal(p[0], 5);
	p[3 * PAGE - 1] = 6;
	assert_int_equal(all[8 * PAGE - 1], 6);
	memfd_unmap(p, 3 * PAGE);
	p = memfd_map_at(fd, 63 * PAGE, PAGE, false);
	assert_non_null(p);
	memfd_unmap(p, PAGE);
	assert_null(memfd_map_at(fd, 63 * PAGE, 2 * PAGE, true));
	assert_null(memfd_map_at(fd, 64 * PAGE, PAGE, true));
	assert_null(memfd_map_at(fd, UINT64_MAX - PAGE + 1, PAGE, true));
	assert_null(memfd_map_at(fd, 0, 0, true));
	memfd_unmap(all, 64 * PAGE);
	close(fd);
}

/* mlockall(MCL_CURRENT) makes no pages of a table but those that were opened. Returns what went wrong, in a child. */
static int table_locked(struct memfd_table *t, int fd)
{
	struct stat st;

	if (mlockall(MCL_CURRENT))
		return 77;
	if (fstat(fd, &st) || (uint64_t)st.st_blocks * 512 > 16 * PAGE)
		return 1;
	if (memfd_table_open(t, 512 * PAGE) || t->open < 512 * PAGE)
		return 2;
	((char *)t->at)[512 * PAGE - 1] = 1;
	return 0;
}

static void table(void **state)
{
	int fd = memfd_sealed("test", 1024 * PAGE), status;
	struct memfd_table t = { 0 }, other;
	char *p;

	memfd_table_unmap(&t);
	assert_int_not_equal(memfd_table_map(&t, -1, 0, PAGE, true), 0);
	assert_int_equal(memfd_table_map(&t, fd, 0, 1024 * PAGE, true), 0);
	assert_int_equal(t.open, 0);
	assert_int_equal(memfd_table_open(&t, 1), 0);
	assert_int_equal(t.open, PAGE);
	assert_int_equal(memfd_table_open(&t, PAGE + 1), 0);
	assert_int_equal(t.open, 2 * PAGE);
	assert_int_equal(memfd_table_open(&t, 1024 * PAGE + 1), -EINVAL);
	p = t.at;
	p[2 * PAGE - 1] = 3;
	assert_int_equal(memfd_table_map(&other, fd, 0, 1024 * PAGE, false), 0);
	assert_int_equal(memfd_table_open(&other, 1024 * PAGE), 0);
	assert_int_equal(((char *)other.at)[2 * PAGE - 1], 3);
	memfd_table_unmap(&other);
	status = fork();
	assert_int_not_equal(status, -1);
	if (!status)
		_exit(table_locked(&t, fd));
	assert_int_equal(wait(&status) > 0 && WIFEXITED(status), 1);
	if (WEXITSTATUS(status) == 77)
		print_message("no right to lock memory\n");
	else
		assert_int_equal(WEXITSTATUS(status), 0);
	memfd_table_unmap(&t);
	assert_null(t.at);
	close(fd);
}

/* A child has called mlockall(MCL_FUTURE), with little left of RLIMIT_MEMLOCK. Returns what went wrong. */
static int part_locked(int fd, size_t len)
{
	const struct rlimit rl = { 64 << 10, 64 << 10 };
	long locked, rss;
	char *p;

	if (setrlimit(RLIMIT_MEMLOCK, &rl) || mlockall(MCL_FUTURE))
		return 77;
	/* Without the capability to exceed it, the limit holds. */
	if (!geteuid() && setresuid(65534, 65534, 65534))
		return 77;
	locked = status_kib("VmLck:");
	rss = status_kib("RssShmem:");
	p = memfd_map(fd, len, false);
	if (!p)
		return 1;
	memfd_unmap(p, len);
	p = memfd_map_at(fd, 0, len, true);
	if (!p)
		return 2;
	if (status_kib("VmLck:") - locked > 128)
		return 3;
	if (status_kib("RssShmem:") - rss > 128)
		return 4;
	p[len - 1] = 1;
	return 0;
}

/* Neither locked nor populated, also where RLIMIT_MEMLOCK forbids to lock it. */
static void part_mlockall(void **state)
{
	const size_t len = 8 << 20;
	int fd = memfd_sealed("test", len), status;
	struct stat st;
	pid_t pid;

	assert_true(fd >= 0);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	close(fd);
	skip(); /* a sanitizer's mlockall() does nothing */
#endif
	pid = fork();
	if (!pid)
		_exit(part_locked(fd, len));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_in_range(st.st_blocks, 1, 128);
	close(fd);
}

/* A core dump has no pages of such a mapping: it would make those that are not there. */
static void not_dumped(void **state)
{
	int fd = memfd_sealed("test", 64 * PAGE), flags = -1;
	char *p = memfd_map(fd, 64 * PAGE, true), line[512];
	FILE *f = fopen("/proc/self/smaps", "r");
	unsigned long start, end;
	bool here = false;

	assert_non_null(p);
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			here = (uintptr_t)p >= start && (uintptr_t)p < end;
		else if (here && !strncmp(line, "VmFlags:", 8))
			flags = strstr(line, " dd") != NULL;
	fclose(f);
	assert_int_equal(flags, 1);
	memfd_unmap(p, 64 * PAGE);
	close(fd);
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
		cmocka_unit_test(table), cmocka_unit_test(part), cmocka_unit_test(part_mlockall),
		cmocka_unit_test(not_dumped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
