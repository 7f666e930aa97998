/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/eventfd.h"
#include "base/testing.h"

/*
 * Checks fd_is_eventfd() on every kind of descriptor; only fd[0] is an eventfd. False: a check
 * failed.
 */
static bool all_kinds(void)
{
	uint64_t full = 0xfffffffffffffffe, got;
	int p[2], s[2], fd[9], n = 0;
	sigset_t set;
	bool right;

	sigemptyset(&set);
	if (pipe2(p, O_NONBLOCK) || socketpair(AF_UNIX, SOCK_STREAM, 0, s))
		return false;
	close(p[0]);
	close(s[0]);
	fd[n++] = eventfd(5, EFD_NONBLOCK);
	fd[n++] = p[1];
	fd[n++] = s[1];
	fd[n++] = memfd_create("test", MFD_CLOEXEC);
	fd[n++] = epoll_create1(0);
	fd[n++] = timerfd_create(CLOCK_MONOTONIC, 0);
	fd[n++] = signalfd(-1, &set, 0);
	fd[n++] = dup(STDOUT_FILENO);
	fd[n++] = -1;
	right = fd_is_eventfd(fd[0]);
	for (int i = 1; i < n; i++)
		right = right && !fd_is_eventfd(fd[i]);
	/*
	 * fd_is_eventfd() leaves the count unchanged, and does not block on an eventfd with a full
	 * count.
	 */
	right = right && read(fd[0], &got, sizeof(got)) == sizeof(got) && got == 5;
	right = right && fcntl(fd[0], F_SETFL, 0) == 0;
	right = right && write(fd[0], &full, sizeof(full)) == sizeof(full) && fd_is_eventfd(fd[0]);
	for (int i = 0; i < n; i++)
		close(fd[i]);
	return right;
}

static void kinds(void **state)
{
	assert_true(all_kinds());
}

/* The same without /proc: a child process calls chroot(), which only root can do. */
static void kinds_chroot(void **state)
{
	char dir[] = "/tmp/test-eventfd.XXXXXX";
	int status;
	pid_t child;

	assert_non_null(mkdtemp(dir));
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		if (chroot(dir) || chdir("/"))
			_exit(77);
		_exit(!all_kinds());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	rmdir(dir);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds), cmocka_unit_test(kinds_chroot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
