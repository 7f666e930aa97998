/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The device's descriptor behaves like any descriptor: stat, open flags, dup, every way to close
 * it, vfork, posix_spawn, fork and clone. When the last descriptor of an open device is closed, the
 * engine closes the descriptors that it has for it. So the tests count the open descriptors of the
 * process to see whether the device was released.
 */
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include "preload.h"

extern char **environ;

/*
 * Opens and closes the device once: this attaches the process to rused, with a thread, sockets and
 * pages that stay. Returns the number of open descriptors.
 */
static int warmed_up(void)
{
	close(open_device());
	return count_fds();
}

/* A high number of a descriptor, and a lower one in the same order where `ulimit -n` is 256. */
static int high_fd(int fd)
{
	return sysconf(_SC_OPEN_MAX) > 1000 ? fd : 100 + fd % 128;
}

static bool is_chr(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && (st->st_mode & 07777) == 0666 &&
	       st->st_rdev == makedev(231, 192);
}

static void what_stat_says(void)
{
	int fd = open_device();
	struct statx stx;
	struct stat st;

	CHECK(fstat(fd, &st) == 0 && is_chr(&st));
	CHECK(stat(DEVICE, &st) == 0 && is_chr(&st));
	CHECK(lstat("//dev/./infiniband/uverbs0", &st) == 0 && is_chr(&st));
	CHECK(fstatat(AT_FDCWD, DEVICE, &st, 0) == 0 && is_chr(&st));
	CHECK(fstatat(fd, "", &st, AT_EMPTY_PATH) == 0 && is_chr(&st));
	CHECK(statx(AT_FDCWD, DEVICE, 0, STATX_ALL, &stx) == 0);
	CHECK(S_ISCHR(stx.stx_mode) && stx.stx_rdev_major == 231 && stx.stx_rdev_minor == 192);
	CHECK(statx(fd, "", AT_EMPTY_PATH, STATX_ALL, &stx) == 0 && S_ISCHR(stx.stx_mode));
	CHECK(access(DEVICE, R_OK | W_OK) == 0);
	CHECK(access(DEVICE, X_OK) == -1 && errno == EACCES);
	CHECK(stat("/dev/infiniband/uverbs31", &st) == -1 && errno == ENOENT);
	CHECK(stat("/sys/class/infiniband", &st) == 0 && S_ISDIR(st.st_mode));
}

static void what_open_says(void)
{
	char name[4096];
	int fd;

	CHECK(open("/dev/infiniband/uverbs31", O_RDWR) == -1 && errno == ENOENT);
	CHECK(open(DEVICE "/", O_RDWR) == -1 && errno == ENOTDIR);
	CHECK(open(DEVICE, O_RDONLY | O_DIRECTORY) == -1 && errno == ENOTDIR);
	CHECK(open(DEVICE, O_RDWR | O_CREAT | O_EXCL, 0600) == -1 && errno == EEXIST);
	fd = openat(AT_FDCWD, DEVICE, O_RDWR);
	CHECK(fd >= 0 && fcntl(fd, F_GETFD) == 0 && is_device(fd));
	CHECK(fcntl(open_device(), F_GETFD) == FD_CLOEXEC);
	CHECK(is_device(open("/dev/char/231:192", O_RDWR)));
	CHECK(realpath("/dev//infiniband/uverbs0", name) && !strcmp(name, DEVICE));
	CHECK(readlink(DEVICE, name, sizeof(name)) == -1 && errno == EINVAL);
}

static void read_and_write(void)
{
	int fd = open_device();
	char buf[64] = "";
	struct iovec iov = { buf, 1 };

	CHECK(read(fd, buf, sizeof(buf)) == -1 && errno == EINVAL);
	CHECK(writev(fd, &iov, 1) == -1 && errno == EINVAL);
	CHECK(readv(fd, &iov, 1) == -1 && errno == EINVAL);
	CHECK(is_device(fd) && write_faults(fd));
	/* Numbers that no file has, also the one by which libruse.so is told of Python's lines. */
	CHECK(write(-1, buf, 1) == -1 && errno == EBADF);
	CHECK(write(INT_MIN, buf, 1) == -1 && errno == EBADF);
}

static void errno_is_kept(void)
{
	struct stat st;
	int fd, other;

	errno = 4242;
	fd = open_device();
	CHECK(errno == 4242);
	CHECK(fstat(fd, &st) == 0 && errno == 4242);
	other = dup(fd);
	CHECK(other >= 0 && errno == 4242);
	CHECK(dup2(fd, other) == other && errno == 4242);
	CHECK(close(other) == 0 && errno == 4242);
	CHECK(close(fd) == 0 && errno == 4242);
	CHECK(access("/sys/class/infiniband", F_OK) == 0 && errno == 4242);
}

static void dups_share_the_file(void)
{
	int before = warmed_up(), fd = open_device(), d[5];

	d[0] = dup(fd);
	d[1] = dup2(fd, high_fd(700));
	d[2] = dup3(fd, high_fd(701), O_CLOEXEC);
	d[3] = fcntl(fd, F_DUPFD, high_fd(702));
	d[4] = fcntl(d[0], F_DUPFD_CLOEXEC, high_fd(702));
	CHECK(d[1] == high_fd(700) && d[2] == d[1] + 1 && d[3] == d[2] + 1 && d[4] == d[3] + 1);
	CHECK(fcntl(d[2], F_GETFD) == FD_CLOEXEC && fcntl(d[3], F_GETFD) == 0);
	CHECK(close(fd) == 0);
	for (int i = 0; i < 5; i++) {
		CHECK(is_device(d[i]));
		CHECK(close(d[i]) == 0);
		CHECK(write(d[i], "", 1) == -1 && errno == EBADF);
	}
	CHECK(count_fds() == before);
}

static void dup2_replaces(void)
{
	int before = warmed_up(), fd = open_device(), null = open("/dev/null", O_RDWR);

	CHECK(null >= 0);
	CHECK(dup2(fd, fd) == fd && is_device(fd));
	CHECK(dup3(fd, fd, 0) == -1 && errno == EINVAL && is_device(fd));
	CHECK(dup2(-1, fd) == -1 && errno == EBADF && is_device(fd));
	CHECK(dup2(999, fd) == -1 && errno == EBADF && is_device(fd));
	CHECK(dup2(fd, -1) == -1 && errno == EBADF && is_device(fd));
	CHECK(dup2(null, fd) == fd);
	CHECK(write(fd, "abc", 3) == 3);
	CHECK(close(fd) == 0 && close(null) == 0);
	CHECK(count_fds() == before);
	/* dup2() of the device's descriptor onto the number of a plain file. */
	null = open("/dev/null", O_RDWR);
	fd = open_device();
	CHECK(dup2(fd, null) == null && is_device(null));
	CHECK(close(fd) == 0 && is_device(null) && close(null) == 0);
	CHECK(count_fds() == before);
}

static void ranges(void)
{
	int before = warmed_up(), fd = open_device(), a, b;

	a = dup2(fd, high_fd(300));
	b = dup2(fd, high_fd(310));
	CHECK(a == high_fd(300) && b == high_fd(310) && close(fd) == 0);
	CHECK(close_range(high_fd(305), high_fd(304), 0) == -1 && errno == EINVAL);
	CHECK(close_range(a, b, 1 << 20) == -1 && errno == EINVAL && is_device(a));
	CHECK(close_range(a, b, CLOSE_RANGE_CLOEXEC) == 0 && is_device(a) && is_device(b));
	CHECK(close_range(high_fd(301), high_fd(309), 0) == 0 && is_device(a) && is_device(b));
	CHECK(close_range(high_fd(305), high_fd(320), 0) == 0 && is_device(a));
	CHECK(write(b, "", 1) == -1 && errno == EBADF);
	CHECK(close_range(high_fd(300), high_fd(300), 0) == 0);
	CHECK(write(a, "", 1) == -1 && errno == EBADF);
	CHECK(count_fds() == before);
}

/* Closed by a system call that libruse does not see; the number is then used for another file. */
static void closed_behind_our_back(void)
{
	int before = warmed_up(), fd = open_device(), null;

	CHECK(syscall(SYS_close, fd) == 0);
	null = open("/dev/null", O_RDWR);
	CHECK(null == fd && write(null, "abc", 3) == 3);
	CHECK(close(null) == 0 && count_fds() == before);
}

static void reopened(void)
{
	int before = warmed_up();

	for (int i = 0; i < 100; i++) {
		int fd = open_device();

		CHECK(is_device(fd) && close(fd) == 0);
	}
	CHECK(count_fds() == before);
}

static void vfork_child_closes(void)
{
	int fd = open_device(), st;
	pid_t pid = vfork();

	if (!pid) {
		close(fd);
		dup2(0, fd);
		close_range(3, ~0u, 0);
		_exit(0);
	}
	CHECK(waitpid(pid, &st, 0) == pid && st == 0);
	CHECK(is_device(fd));
}

static void vfork_child_dups(void)
{
	int fd = open_device(), st;
	pid_t pid = vfork();

	if (!pid) {
		dup2(fd, high_fd(400));
		fcntl(fd, F_DUPFD, high_fd(401));
		_exit(0);
	}
	CHECK(waitpid(pid, &st, 0) == pid && st == 0);
	/* These descriptors were the vfork child's; they are not open in the parent. */
	CHECK(write(high_fd(400), "", 1) == -1 && errno == EBADF);
	CHECK(write(high_fd(401), "", 1) == -1 && errno == EBADF);
	CHECK(is_device(fd));
}

static void spawned(void)
{
	char *argv[] = { (char *)"true", NULL };
	int fd = open_device(), st;
	pid_t pid;

	CHECK(posix_spawnp(&pid, "true", NULL, NULL, argv, environ) == 0);
	CHECK(waitpid(pid, &st, 0) == pid && st == 0 && is_device(fd));
}

#define NOT_WHOLE 2

/*
 * The child checks that it can use and close the parent's context: a context without objects is
 * opened anew in the child. The parent's context must work afterwards. Returns false if the child
 * could not take over anything and its writes failed with EIO. This may happen only after clone(),
 * which runs no atfork handlers, so that the child may get a copy of the engine that another thread
 * was changing.
 */
static bool child_of(pid_t pid, int fd, bool forked)
{
	int st;

	CHECK(pid >= 0);
	if (!pid) {
		CHECK(write(fd, "12345678", 8) == -1);
		if (!forked && errno == EIO)
			_exit(NOT_WHOLE);
		CHECK(errno == EINVAL && is_device(fd));
		CHECK(write_faults(fd) && close(fd) == 0);
		CHECK(write(fd, "", 1) == -1 && errno == EBADF);
		_exit(0);
	}
	CHECK(waitpid(pid, &st, 0) == pid && WIFEXITED(st));
	CHECK(is_device(fd) && write_faults(fd));
	CHECK(WEXITSTATUS(st) == 0 || WEXITSTATUS(st) == NOT_WHOLE);
	return WEXITSTATUS(st) == 0;
}

static void forked_child(void)
{
	int before = warmed_up(), fd = open_device();

	child_of(fork(), fd, true);
	CHECK(close(fd) == 0 && count_fds() == before);
}

/* clone() runs no atfork handlers. */
static void cloned_child(void)
{
	int fd = open_device(), tries = 0;

	while (!child_of((pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0), fd, false))
		CHECK(++tries < 50);
}

static const struct testcase cases[] = {
	{ "what-stat-says", what_stat_says, 0 },
	{ "what-open-says", what_open_says, 0 },
	{ "read-and-write", read_and_write, 0 },
	{ "errno-is-kept", errno_is_kept, 0 },
	{ "dups-share-the-file", dups_share_the_file, 0 },
	{ "dup2-replaces", dup2_replaces, 0 },
	{ "ranges", ranges, 0 },
	{ "closed-behind-our-back", closed_behind_our_back, 0 },
	{ "reopened", reopened, 0 },
	{ "vfork-child-closes", vfork_child_closes, 0 },
	{ "vfork-child-dups", vfork_child_dups, 0 },
	{ "spawned", spawned, 0 },
	{ "forked-child", forked_child, 0 },
	{ "cloned-child", cloned_child, 0 },
};

int main(int argc, char **argv)
{
	return run_cases(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
