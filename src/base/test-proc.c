/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/proc.h"
#include "base/testing.h"

static void test_state(void **state)
{
	char path[64];
	pid_t pid;

	assert_int_equal(prctl(PR_SET_NAME, "a ) S (b", 0, 0, 0), 0);
	assert_int_equal(proc_state("/proc/self/stat"), 'R');
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	assert_int_equal(proc_state(path), 'T');
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(proc_state(path), -ENOENT);
	assert_int_equal(proc_state("/dev/null"), -EPROTO);
}

/* A child is not older than this process; its own time does not change. */
static void test_start_time(void **state)
{
	uint64_t own = proc_start_time(getpid()), child;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		pause();
		_exit(0);
	}
	child = proc_start_time(pid);
	assert_true(own > 0 && child >= own);
	assert_int_equal(proc_start_time(pid), child);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(proc_start_time(pid), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_state),
		cmocka_unit_test(test_start_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
