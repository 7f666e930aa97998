/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Run directories beside that of this rused: which are removed, and which stay. */
#include "base/testing.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/life/leftovers.h"
#include "daemon/life/place.h"

static char top[64], runs[80];
static int cleared, used_inode_asked;
static ino_t used_inode;

static bool is_used(int run)
{
	struct stat st;

	used_inode_asked++;
	return !fstat(run, &st) && st.st_ino == used_inode;
}

static void clear(int run)
{
	cleared++;
	unlinkat(run, "latest", 0);
}

static const struct leftovers_ops ops = { .latest = "latest", .used = is_used, .clear = clear };

static const char *path_of(const char *name, const char *file)
{
	static char path[160];

	snprintf(path, sizeof(path), "%s/%s%s%s", runs, name, *file ? "/" : "", file);
	return path;
}

/* Makes the time of a file two hours ago. */
static void age(const char *name, const char *file)
{
	struct timespec t[2] = { { .tv_nsec = UTIME_OMIT }, { 0 } };

	t[1].tv_sec = (time_t)(loop_wall_clock() / NS_S) - 7200;
	assert_int_equal(utimensat(AT_FDCWD, path_of(name, file), t, 0), 0);
}

static void touch(const char *name, const char *file)
{
	int fd = open(path_of(name, file), O_WRONLY | O_CREAT, 0600);

	assert_true(fd >= 0);
	close(fd);
}

/* A run directory as a killed rused has left it, all of it old. */
static void make_old(const char *name)
{
	assert_int_equal(mkdir(path_of(name, ""), 0700), 0);
	touch(name, "latest");
	touch(name, IPC_LOG_NAME);
	age(name, "latest");
	age(name, "");
}

static bool is_there(const char *name, const char *file)
{
	return !access(path_of(name, file), F_OK);
}

static void look(const char *own)
{
	char path[160];

	strcpy(path, path_of(own, ""));
	leftovers_remove(&ops, path);
}

static int setup(void **state)
{
	strcpy(top, "/tmp/test-leftovers-XXXXXX");
	if (!mkdtemp(top))
		return -1;
	snprintf(runs, sizeof(runs), "%s/ruse", top);
	cleared = used_inode_asked = 0;
	used_inode = 0;
	if (mkdir(runs, 0700))
		return -1;
	return mkdir(path_of("1", ""), 0700);
}

static int teardown(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r '%s'", top);
	return system(command);
}

static void test_removed(void **state)
{
	make_old("2");
	make_old("3");
	look("1");
	assert_false(is_there("2", ""));
	assert_false(is_there("3", ""));
	assert_true(is_there("1", ""));
	assert_int_equal(cleared, 2);
}

/* A directory with a file that rused does not make loses the others and stays. */
static void test_foreign_file(void **state)
{
	make_old("2");
	touch("2", "kept");
	age("2", "");
	look("1");
	assert_true(is_there("2", "kept"));
	assert_false(is_there("2", IPC_LOG_NAME));
	assert_false(is_there("2", PLACE_LOCK_NAME));
}

static void test_young(void **state)
{
	make_old("2");
	touch("2", "other");	/* the directory is young */
	make_old("3");
	assert_int_equal(utimensat(AT_FDCWD, path_of("3", "latest"), NULL, 0), 0);
	look("1");
	assert_true(is_there("2", IPC_LOG_NAME));
	assert_true(is_there("3", IPC_LOG_NAME));
	assert_int_equal(used_inode_asked, 0);
	/* Without the file only the directory's age counts. */
	assert_int_equal(unlink(path_of("3", "latest")), 0);
	age("3", "");
	look("1");
	assert_false(is_there("3", ""));
}

static void test_used(void **state)
{
	struct stat st;

	make_old("2");
	assert_int_equal(stat(path_of("2", ""), &st), 0);
	used_inode = st.st_ino;
	look("1");
	assert_true(is_there("2", IPC_LOG_NAME));
	assert_int_equal(used_inode_asked, 1);
	assert_int_equal(cleared, 0);
}

static void test_locked(void **state)
{
	int run, lock;

	make_old("2");
	run = place_dir(path_of("2", ""));
	assert_true(run >= 0);
	lock = place_lock(run);
	assert_true(lock >= 0);
	age("2", "");
	look("1");
	assert_true(is_there("2", IPC_LOG_NAME));
	close(lock);
	look("1");
	assert_false(is_there("2", ""));
	close(run);
}

/* A rused without its lock, which was deleted. */
static void test_listens(void **state)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	make_old("2");
	strcpy(sa.sun_path, path_of("2", IPC_SOCK_NAME));
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(listen(fd, 1), 0);
	age("2", "");
	look("1");
	assert_true(is_there("2", IPC_SOCK_NAME));
	assert_int_equal(cleared, 0);
	close(fd);
	age("2", "");
	look("1");
	assert_false(is_there("2", ""));
}

/* Names that are no numbers, and directories that others may enter, belong to something else. */
static void test_not_ours(void **state)
{
	make_old("2x");
	make_old("3");
	assert_int_equal(chmod(path_of("3", ""), 0755), 0);
	look("1");
	assert_true(is_there("2x", IPC_LOG_NAME));
	assert_true(is_there("3", IPC_LOG_NAME));
	assert_int_equal(used_inode_asked, 0);
}

/* A run directory that $RUSE_DIR has set: what is beside it is unknown. */
static void test_other_parent(void **state)
{
	make_old("2");
	look("own");
	assert_true(is_there("2", IPC_LOG_NAME));
	snprintf(runs, sizeof(runs), "%s/other", top);
	assert_int_equal(mkdir(runs, 0700), 0);
	make_old("2");
	look("1");
	assert_true(is_there("2", IPC_LOG_NAME));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_removed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_foreign_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_young, setup, teardown),
		cmocka_unit_test_setup_teardown(test_used, setup, teardown),
		cmocka_unit_test_setup_teardown(test_locked, setup, teardown),
		cmocka_unit_test_setup_teardown(test_listens, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_ours, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_parent, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
