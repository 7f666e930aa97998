/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which directory ipc_rundir() chooses. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/testing.h"
#include "ipc/ipc.h"

static char top[64];		/* of this test's directories */

static int setup(void **state)
{
	strcpy(top, "/tmp/test-rundir-XXXXXX");
	unsetenv("RUSE_DIR");
	unsetenv("XDG_RUNTIME_DIR");
	return mkdtemp(top) ? 0 : -1;
}

static int teardown(void **state)
{
	return rmdir(top);
}

static void below(char *path, size_t size, const char *name)
{
	snprintf(path, size, "%s/%s", top, name);
}

static void test_explicit(void **state)
{
	char path[IPC_RUNDIR_MAX], want[PATH_MAX], slashes[PATH_MAX], cwd[PATH_MAX];

	below(want, sizeof(want), "run");
	below(slashes, sizeof(slashes), "run///");
	setenv("RUSE_DIR", slashes, 1);
	assert_int_equal(ipc_rundir(path, sizeof(path)), 0);
	assert_string_equal(path, want);
	/* Only asked for: it is not created. */
	assert_int_equal(rmdir(want), 0);
	assert_int_equal(ipc_rundir_there(path, sizeof(path)), -ENOENT);
	assert_int_equal(access(want, F_OK), -1);
	/* Relative: the same, absolute. */
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	assert_int_equal(chdir(top), 0);
	setenv("RUSE_DIR", "run", 1);
	assert_int_equal(ipc_rundir(path, sizeof(path)), 0);
	assert_string_equal(path, want);
	/* Also after chdir(). Another value is that of the present directory. */
	assert_int_equal(chdir(want), 0);
	assert_int_equal(ipc_rundir(path, sizeof(path)), 0);
	assert_string_equal(path, want);
	setenv("RUSE_DIR", "inner", 1);
	assert_int_equal(ipc_rundir_there(path, sizeof(path)), -ENOENT);
	assert_int_equal(strncmp(path, want, strlen(want)), 0);
	assert_int_equal(chdir(cwd), 0);
	assert_int_equal(rmdir(want), 0);
	/* $RUSE_DIR is in a directory that does not exist, or it is no directory. */
	below(want, sizeof(want), "none/run");
	setenv("RUSE_DIR", want, 1);
	assert_int_equal(ipc_rundir(path, sizeof(path)), -ENOENT);
	assert_string_equal(path, want);
	setenv("RUSE_DIR", "/dev/null", 1);
	assert_int_equal(ipc_rundir(path, sizeof(path)), -ENOTDIR);
	assert_string_equal(path, "/dev/null");
}

static void test_length(void **state)
{
	char path[IPC_RUNDIR_MAX], want[IPC_RUNDIR_MAX + 1];
	size_t n;

	below(want, sizeof(want), "");
	for (n = strlen(want); n < IPC_RUNDIR_MAX - 1; n++)
		want[n] = 'a';
	want[n] = '\0';
	setenv("RUSE_DIR", want, 1);
	assert_int_equal(ipc_rundir(path, sizeof(path)), 0);
	assert_string_equal(path, want);
	assert_int_equal(rmdir(want), 0);
	strcat(want, "a");
	setenv("RUSE_DIR", want, 1);
	assert_int_equal(ipc_rundir(path, sizeof(path)), -ENAMETOOLONG);
	assert_memory_equal(path, want, sizeof(path) - 1);
	assert_int_equal(access(want, F_OK), -1);
}

/* Removes a directory that ipc_rundir() has chosen, and the user's directory in /tmp that it is in, if that is empty then. */
static void unmake(char *path)
{
	rmdir(path);		/* fails if a rused uses the directory */
	*strrchr(path, '/') = '\0';
	if (!strncmp(path, "/tmp/ruse-", 10))
		rmdir(path);
}

/* Checks that ipc_rundir() chooses a directory outside `dir` and makes nothing in `dir`. */
static void passed_over(const char *dir)
{
	char path[IPC_RUNDIR_MAX], made[PATH_MAX];

	assert_int_equal(ipc_rundir(path, sizeof(path)), 0);
	assert_int_not_equal(strncmp(path, dir, strlen(dir)), 0);
	assert_true(!strncmp(path, "/run/user/", 10) || !strncmp(path, "/tmp/ruse-", 10));
	unmake(path);
	snprintf(made, sizeof(made), "%s/ruse", dir);
	assert_int_equal(access(made, F_OK), -1);
}

static void test_foreign_xdg(void **state)
{
	char dir[PATH_MAX], link[PATH_MAX];

	unsetenv("RUSE_DIR");
	below(dir, sizeof(dir), "xdg");
	below(link, sizeof(link), "link");
	setenv("XDG_RUNTIME_DIR", dir, 1);
	passed_over(dir);		/* it does not exist */
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(chmod(dir, 0755), 0);
	passed_over(dir);		/* other users can read it */
	assert_int_equal(chmod(dir, 0700), 0);
	assert_int_equal(symlink(dir, link), 0);
	setenv("XDG_RUNTIME_DIR", link, 1);
	passed_over(link);
	assert_int_equal(unlink(link), 0);
	if (!geteuid()) {		/* the directory belongs to another user, as after su */
		assert_int_equal(chown(dir, 65534, 65534), 0);
		setenv("XDG_RUNTIME_DIR", dir, 1);
		passed_over(dir);
	}
	setenv("XDG_RUNTIME_DIR", "relative", 1);
	passed_over("relative");
	assert_int_equal(rmdir(dir), 0);
}

/* A file in place of $XDG_RUNTIME_DIR/ruse. */
static void test_xdg_taken(void **state)
{
	char dir[PATH_MAX], file[PATH_MAX], path[IPC_RUNDIR_MAX];
	FILE *f;

	below(dir, sizeof(dir), "xdg");
	below(file, sizeof(file), "xdg/ruse");
	assert_int_equal(mkdir(dir, 0700), 0);
	f = fopen(file, "w");
	assert_non_null(f);
	fclose(f);
	setenv("XDG_RUNTIME_DIR", dir, 1);
	assert_int_equal(ipc_rundir(path, sizeof(path)), 0);
	assert_int_not_equal(strncmp(path, dir, strlen(dir)), 0);
	unmake(path);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_explicit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_length, setup, teardown),
		cmocka_unit_test_setup_teardown(test_foreign_xdg, setup, teardown),
		cmocka_unit_test_setup_teardown(test_xdg_taken, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
