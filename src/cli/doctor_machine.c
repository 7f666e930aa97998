/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Checks of kernel features and system settings. Most checks try the operation that ruse needs. If
 * the operation would change the calling process (its namespaces, its time slice), or involves
 * other processes, child processes execute it.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cpus.h"
#include "base/memfd.h"
#include "base/tuning.h"
#include "cli/cli.h"
#include "cli/doctor.h"

#define ROCE_PORT 4791

void doctor_memfd(struct finding *f)
{
	static const char meaning[] = "queues and links are shared memory files that cannot be shrunk";
	int fd = memfd_sealed("ruse-doctor", PAGE);

	if (fd < 0)
		doctor_found(f, CHECK_FAIL, meaning, "%s", strerror(-fd));
	else
		doctor_found(f, CHECK_OK, meaning, "memfd_create and F_SEAL_SHRINK work");
	if (fd >= 0)
		close(fd);
}

int doctor_read_other(pid_t pid, const void *p)
{
	char c;
	struct iovec local = { &c, 1 }, remote = { (void *)p, 1 };

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == 1 ? 0 : -errno;
}

/*
 * Neither of the two child processes is the parent of the other, as is usual for two programs of a user. The first one
 * permits access by prctl(PR_SET_PTRACER), because of Yama.
 */
int doctor_siblings(int (*fn)(pid_t pid, const void *arg), const void *arg)
{
	pid_t target, reader;
	int ready[2], status = 0;
	char c;

	if (pipe2(ready, O_CLOEXEC))
		return -errno;
	target = fork();
	if (!target) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
		if (write(ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	if (target < 0 || read(ready[0], &c, 1) != 1) {
		close(ready[0]);
		return -ECHILD;
	}
	close(ready[0]);
	reader = fork();
	if (!reader)
		_exit(-fn(target, arg));
	if (reader > 0)
		waitpid(reader, &status, 0);
	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
	return reader > 0 && WIFEXITED(status) ? -WEXITSTATUS(status) : -ECHILD;
}

void doctor_cross_memory(struct finding *f)
{
	static const char byte = 'r';
	int rc = doctor_siblings(doctor_read_other, &byte);
	int yama = -1;
	FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	char text[32] = "no Yama";

	if (file) {
		if (fscanf(file, "%d", &yama) == 1)
			snprintf(text, sizeof(text), "Yama ptrace_scope %d", yama);
		fclose(file);
	}
	if (!rc)
		doctor_found(f, CHECK_OK, "large messages between processes are copied once",
			     "process_vm_readv of another process works (%s)", text);
	else
		doctor_found(f, CHECK_WARN, yama >= 2 ?
		      "large messages are copied twice; to avoid it: sysctl kernel.yama.ptrace_scope=1" :
		      "large messages are copied twice, through a ring: slower, but correct",
		      "process_vm_readv of another process: %s (%s)", strerror(-rc), text);
}

void doctor_port(struct finding *f)
{
	struct sockaddr_in6 sa = { .sin6_family = AF_INET6, .sin6_port = htons(ROCE_PORT) };
	struct sockaddr_in sa4 = { .sin_family = AF_INET, .sin_port = htons(ROCE_PORT) };
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int rc, err;

	if (fd >= 0) {
		rc = bind(fd, (struct sockaddr *)&sa, sizeof(sa));
	} else {
		fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		rc = bind(fd, (struct sockaddr *)&sa4, sizeof(sa4));
	}
	err = errno;
	if (!rc)
		doctor_found(f, CHECK_OK, "used by links to other hosts (RoCEv2)", "free");
	else if (err == EADDRINUSE && cli_rused_has_port())
		doctor_found(f, CHECK_OK, "used by links to other hosts (RoCEv2)", "in use by this rused");
	else
		doctor_found(f, CHECK_WARN, err == EADDRINUSE ?
		      "in use by another rused, kernel rxe or a program: ruse has no links to other hosts" :
		      "ruse has no links to other hosts; links within this host work", "%s", strerror(err));
	if (fd >= 0)
		close(fd);
}

void doctor_namespaces(struct finding *f)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		_exit(unshare(CLONE_NEWUSER | CLONE_NEWNET) ? errno : 0);
	if (pid > 0)
		waitpid(pid, &status, 0);
	if (pid > 0 && WIFEXITED(status) && !WEXITSTATUS(status))
		doctor_found(f, CHECK_OK, "`unshare -Urn` starts another host on this machine, with its own rused and device",
			     "user and network namespaces can be created");
	else
		doctor_found(f, CHECK_WARN, "for several hosts on this machine, set a different RUSE_DIR for each",
			     "%s", pid > 0 && WIFEXITED(status) ? strerror(WEXITSTATUS(status)) : "cannot fork");
}

/* struct sched_attr of <linux/sched/types.h>, which cannot be included with <sched.h>. */
struct slice_attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

void doctor_slice(struct finding *f)
{
	struct slice_attr want = { .size = sizeof(want), .runtime = TUNE_SLICE }, have = { 0 };
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		/* The child sets its own time slice, so that of the parent is unchanged. */
		if (syscall(SYS_sched_setattr, 0, &want, 0) ||
		    syscall(SYS_sched_getattr, 0, &have, sizeof(have), 0))
			_exit(1);
		_exit(have.runtime == TUNE_SLICE ? 0 : 1);
	}
	if (pid > 0)
		waitpid(pid, &status, 0);
	if (pid > 0 && WIFEXITED(status) && !WEXITSTATUS(status))
		doctor_found(f, CHECK_OK, "the progress thread wakes within 0.1 ms even when all processors are busy",
			     "0.1 ms, set by sched_setattr (EEVDF)");
	else
		doctor_found(f, CHECK_WARN,
			     "the progress thread may wait 2 ms or more while all processors are busy; Linux 6.12 avoids it",
			     "the scheduler does not support time slices per thread");
}

void doctor_cpus(struct finding *f)
{
	uint32_t n = cpus_usable();

	doctor_found(f, n < 2 ? CHECK_WARN : CHECK_OK, n < 2 ?
	      "two programs that poll share one processor: correct, but slow" :
	      "two programs that poll can run at the same time", "%u usable", n);
}

void doctor_memlock(struct finding *f)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_MEMLOCK, &r) || r.rlim_cur == RLIM_INFINITY)
		doctor_found(f, CHECK_OK, "ruse does not need it: memory regions are not pinned", "no limit");
	else
		doctor_found(f, CHECK_OK, "ruse does not need it: memory regions are not pinned",
			     "limit %llu KiB", (unsigned long long)r.rlim_cur >> 10);
}
