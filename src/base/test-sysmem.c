/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests of sysmem.c over a directory that stands in for the files of the system. */
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/sysmem.h"
#include "base/testing.h"
#include "base/util.h"

#define MIB (1ull << 20)

static struct sysmem sysmem;
static char root[] = "/tmp/test-sysmem.XXXXXX";

/* Writes a file below root, and makes the directories above it. */
static void put(const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *f;

	for (const char *at = name; (at = strchr(at + 1, '/'));) {
		snprintf(path, sizeof(path), "%s%.*s", root, (int)(at - name), name);
		mkdir(path, 0700);
	}
	snprintf(path, sizeof(path), "%s%s", root, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static int make_root(void **state)
{
	sysmem.root = mkdtemp(root);
	if (!sysmem.root)
		return -1;
	put("/proc/meminfo", "MemTotal:        8192 kB\nMemFree: 10 kB\nMemAvailable:    4096 kB\nSwapFree:  1024 kB\n");
	return 0;
}

static int remove_root(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

static void machine(void **state)
{
	put("/proc/self/cgroup", "");
	assert_int_equal(sysmem_all(&sysmem), 8 * MIB);
	assert_int_equal(sysmem_left(&sysmem), 5 * MIB);
}

/* Version 2: the least of a group and those above it counts. */
static void cgroup2(void **state)
{
	put("/proc/self/cgroup", "0::/a/b\n");
	put("/sys/fs/cgroup/a/b/memory.max", "max\n");
	assert_int_equal(sysmem_all(&sysmem), 8 * MIB);
	put("/sys/fs/cgroup/a/memory.max", "4194304\n");
	put("/sys/fs/cgroup/a/memory.current", "3145728\n");
	put("/sys/fs/cgroup/a/memory.stat", "anon 5\ninactive_file 524288\nactive_file 524288\n");
	assert_int_equal(sysmem_all(&sysmem), 4 * MIB);
	assert_int_equal(sysmem_left(&sysmem), 2 * MIB);
	put("/sys/fs/cgroup/a/memory.current", "9145728\n");
	assert_int_equal(sysmem_left(&sysmem), 0);
	put("/sys/fs/cgroup/a/b/memory.max", "2097152\n");
	assert_int_equal(sysmem_all(&sysmem), 2 * MIB);
}

/* Version 1: the hierarchy of the controller memory; other controllers say nothing. */
static void cgroup1(void **state)
{
	put("/proc/self/cgroup", "9:name=systemd:/\n4:memory:/c\n1:cpu:/d\n");
	put("/sys/fs/cgroup/d/memory.max", "1\n");
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	assert_int_equal(sysmem_all(&sysmem), 8 * MIB);
	put("/sys/fs/cgroup/memory/c/memory.limit_in_bytes", "3145728\n");
	put("/sys/fs/cgroup/memory/c/memory.usage_in_bytes", "2097152\n");
	put("/sys/fs/cgroup/memory/c/memory.stat", "inactive_file 9\ntotal_inactive_file 1048576\n");
	assert_int_equal(sysmem_all(&sysmem), 3 * MIB);
	assert_int_equal(sysmem_left(&sysmem), 2 * MIB);
}

/* Without /proc nothing is known. */
static void nothing(void **state)
{
	struct sysmem empty = { .root = "/nonexistent" };

	assert_true(sysmem_all(&empty) == UINT64_MAX);
	assert_true(sysmem_left(&empty) == UINT64_MAX);
}

static void sizes(void **state)
{
	uint64_t size;

	assert_true(sysmem_size("64k", &size));
	assert_int_equal(size, 64 << 10);
	assert_true(sysmem_size("2G", &size));
	assert_int_equal(size, 2ull << 30);
	assert_true(sysmem_size("7", &size));
	assert_int_equal(size, 7);
	assert_false(sysmem_size("", &size));
	assert_false(sysmem_size("-1", &size));
	assert_false(sysmem_size("1X", &size));
	assert_false(sysmem_size("1MB", &size));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(machine), cmocka_unit_test(cgroup2), cmocka_unit_test(cgroup1),
		cmocka_unit_test(nothing), cmocka_unit_test(sizes),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
