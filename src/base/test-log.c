/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/log.h"
#include "base/testing.h"

static int pipefd[2];
static int bugs;

static int setup(void **state)
{
	return pipe2(pipefd, O_NONBLOCK | O_CLOEXEC);
}

static int teardown(void **state)
{
	log_init("ruse", STDERR_FILENO);
	close(pipefd[0]);
	close(pipefd[1]);
	return 0;
}

static void expect(const char *want)
{
	char buf[2048];
	ssize_t n = read(pipefd[0], buf, sizeof(buf) - 1);

	buf[max(n, (ssize_t)0)] = 0;
	assert_string_equal(buf, want);
}

static void test_levels(void **state)
{
	unsetenv("RUSE_LOG");
	log_init("ruse", pipefd[1]);
	log_warn("port %d is taken", 4791);
	expect("ruse: warning: port 4791 is taken\n");
	log_info("not shown");
	expect("");
	setenv("RUSE_LOG", "debug", 1);
	log_init("rused", pipefd[1]);
	log_debug("x");
	expect("rused: debug: x\n");
	setenv("RUSE_LOG", "err", 1);
	log_init("rused", pipefd[1]);
	log_warn("not shown");
	log_err("y");
	expect("rused: error: y\n");
	setenv("RUSE_LOG", "info", 1);
	log_init("rused", pipefd[1]);
	log_debug("not shown");
	log_info("z");
	expect("rused: info: z\n");
	setenv("RUSE_LOG", "loud", 1);
	log_init("ruse", pipefd[1]);
	expect("ruse: warning: RUSE_LOG=loud is not one of err, warn, info, debug; it is ignored\n");
	unsetenv("RUSE_LOG");
}

static void test_long_line(void **state)
{
	char text[3000], got[3000];
	ssize_t n;

	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = 0;
	log_init("ruse", pipefd[1]);
	log_err("%s", text);
	n = read(pipefd[0], got, sizeof(got));
	assert_in_range(n, 256, 512);
	assert_int_equal(got[n - 1], '\n');
	assert_int_equal(got[n - 2], 'a');
	assert_null(memchr(got, 0, (size_t)n));
}

static void test_errno(void **state)
{
	log_init("ruse", pipefd[1]);
	errno = ENOENT;
	log_err("%m");
	assert_int_equal(errno, ENOENT);
	expect("ruse: error: No such file or directory\n");
	/* A bad descriptor has no effect, and errno is preserved. */
	log_init("ruse", -1);
	log_err("lost");
	assert_int_equal(errno, ENOENT);
}

static void count_bug(const char *what)
{
	assert_string_equal(what, "1 + 1 == 2");
	bugs++;
}

static void test_bug(void **state)
{
	log_init("ruse", pipefd[1]);
	assert_null(bug_set_handler(count_bug));
	assert_false(BUG_ON(1 + 1 == 3));
	assert_int_equal(bugs, 0);
	assert_true(BUG_ON(1 + 1 == 2));
	assert_int_equal(bugs, 1);
	assert_ptr_equal(bug_set_handler(NULL), count_bug);
}

/* Without a handler, as in rused and in tests, a bug aborts the process. */
static void test_bug_aborts(void **state)
{
	struct rlimit no_core = { 0, 0 };
	int status = 0;
	pid_t child;

	log_init("ruse", pipefd[1]);
	child = fork();
	if (!child) {
		setrlimit(RLIMIT_CORE, &no_core);
		BUG_ON(2 + 2 == 4);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_levels, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long_line, setup, teardown),
		cmocka_unit_test_setup_teardown(test_errno, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bug, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bug_aborts, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
