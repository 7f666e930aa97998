/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Helpers for the tests of libruse.so's hooks. The tests are C programs without libibverbs that
 * open the device and use it by open(), write(), close() and similar functions. Each case runs in a
 * new process (fork and exec), as the state under test lasts as long as the process.
 */
#ifndef TESTS_PRELOAD_H
#define TESTS_PRELOAD_H

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fcntl.h>

#define DEVICE "/dev/infiniband/uverbs0"

#define CHECK(cond)                                                            \
	do {                                                                   \
		if (!(cond)) {                                                 \
			printf("%s:%d: %s (errno %d: %s)\n", __FILE__, __LINE__, #cond, errno, \
			       strerror(errno));                               \
			fflush(stdout);                                        \
			_exit(1);                                              \
		}                                                              \
	} while (0)

struct testcase {
	const char *name;
	void (*fn)(void);
	int signal;		/* the signal that must end the process; 0: it must exit with status 0 */
};

static inline int open_device(void)
{
	int fd = open(DEVICE, O_RDWR | O_CLOEXEC);

	CHECK(fd >= 0);
	return fd;
}

/* A page that is not accessible. */
static inline void *no_page(void)
{
	void *p = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

/*
 * True if a command at an inaccessible address fails with EFAULT, as the engine's checked copy
 * does. A memfd that libruse does not know would also return EFAULT; see is_device().
 */
static inline int write_faults(int fd)
{
	return write(fd, no_page(), 64) == -1 && errno == EFAULT;
}

/*
 * True if a write shorter than a command's header fails with EINVAL; a plain memfd would take it.
 */
static inline int is_device(int fd)
{
	errno = 0;
	return write(fd, "x", 1) == -1 && errno == EINVAL;
}

/* Number of open descriptors of the process. */
static inline int count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	CHECK(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static inline int run_case(const char *self, const struct testcase *c)
{
	pid_t pid = fork();
	int st;

	if (!pid) {
		execl(self, self, c->name, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &st, 0) != pid)
		return 1;
	if (c->signal ? WIFSIGNALED(st) && WTERMSIG(st) == c->signal :
			WIFEXITED(st) && !WEXITSTATUS(st)) {
		printf("ok   %s\n", c->name);
		return 0;
	}
	printf("FAIL %s: %s %d\n", c->name, WIFSIGNALED(st) ? "signal" : "exit status",
	       WIFSIGNALED(st) ? WTERMSIG(st) : WEXITSTATUS(st));
	return 1;
}

/* Runs every case, or the one named by argv[1]. SIGALRM ends a case that hangs. */
static inline int run_cases(int argc, char **argv, const struct testcase *cases, size_t n)
{
	int failed = 0;

	for (size_t i = 0; i < n; i++) {
		if (argc < 2) {
			failed += run_case("/proc/self/exe", &cases[i]);
		} else if (!strcmp(argv[1], cases[i].name)) {
			alarm(60);
			cases[i].fn();
			return 0;
		}
		fflush(stdout);
	}
	return argc < 2 ? failed != 0 : 2;
}

#endif
