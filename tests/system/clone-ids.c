/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A child by a raw clone() changes its user IDs as soon as its parent has opened a device. libc tells all threads of such a
 * change, and the child has its parent's list of threads: it must not wait for one that its parent has only just begun.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "verbs.h"

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int status;
	pid_t pid;

	if (!list || !list[0] || !ibv_open_device(list[0]))
		die("no device");
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!pid) {
		alarm(20);
		_exit(setresuid((uid_t)-1, (uid_t)-1, (uid_t)-1) ? 1 : 7);
	}
	if (waitpid(pid, &status, 0) != pid)
		die("no child");
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 7)
		die("the child ends with %#x", status);
	return 0;
}
