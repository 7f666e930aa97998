/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Cost of the preload for a program that does not use RDMA but uses the interposed functions for
 * its own files: no thread, no descriptor, no allocation, no fork handler, no signal handler, no
 * rused. The numbers are compared with those of the same program without the preload.
 */
#include <dirent.h>
#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include "preload.h"

struct cost {
	int tasks, fds, maps;
	size_t heap;
	bool handlers;
};

static int count(const char *dir)
{
	DIR *d = opendir(dir);
	int n = 0;

	CHECK(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/*
 * Counts anonymous mappings and memfds; mappings of libraries, including libruse.so, have a path.
 */
static int count_maps(void)
{
	static char buf[1 << 16];
	int fd = open("/proc/self/maps", O_RDONLY), n = 0, lines = 0;
	ssize_t got;

	CHECK(fd >= 0);
	while ((got = read(fd, buf + n, sizeof(buf) - 1 - n)) > 0)
		n += got;
	close(fd);
	buf[n] = '\0';
	for (char *line = strtok(buf, "\n"); line; line = strtok(NULL, "\n"))
		lines += strstr(line, "memfd:") || strstr(line, " rw-s ");
	return lines;
}

static void use_files(void)
{
	char buf[64];
	struct stat st;
	int fd[2], s;
	FILE *f = fopen("/proc/self/status", "r");

	CHECK(f && fgets(buf, sizeof(buf), f) && fclose(f) == 0);
	CHECK(stat("/dev/null", &st) == 0 && access("/sys/class/net", F_OK) <= 0);
	CHECK(stat("/sys/class/net/lo/device/infiniband", &st) == -1);
	CHECK(pipe(fd) == 0 && write(fd[1], "x", 1) == 1 && read(fd[0], buf, 1) == 1);
	s = dup2(fd[0], 40);
	CHECK(s == 40 && close(40) == 0 && close(fd[0]) == 0 && close(fd[1]) == 0);
	s = socket(AF_INET, SOCK_DGRAM, 0);
	CHECK(s >= 0 && close(s) == 0);
	CHECK(signal(SIGSEGV, SIG_DFL) == SIG_DFL);
}

static struct cost measure(void)
{
	struct cost c = { .heap = mallinfo2().uordblks };
	struct sigaction sa;

	use_files();
	CHECK(sigaction(SIGBUS, NULL, &sa) == 0);
	c.handlers = sa.sa_handler != SIG_DFL;
	c.tasks = count("/proc/self/task");
	c.fds = count("/proc/self/fd");
	c.maps = count_maps();
	return c;
}

int main(int argc, char **argv)
{
	const char *dir = getenv("RUSE_DIR");
	struct cost with, without;
	int fd[2], st;
	pid_t pid;

	with = measure();
	if (argc > 1)
		return write(1, &with, sizeof(with)) != sizeof(with);
	CHECK(getenv("LD_PRELOAD") && dir);
	CHECK(count(dir) == 2);
	CHECK(pipe2(fd, O_CLOEXEC) == 0);
	pid = fork();
	if (!pid) {
		unsetenv("LD_PRELOAD");
		dup2(fd[1], 1);
		execl("/proc/self/exe", argv[0], "bare", (char *)NULL);
		_exit(127);
	}
	CHECK(waitpid(pid, &st, 0) == pid && st == 0);
	CHECK(read(fd[0], &without, sizeof(without)) == sizeof(without));
	printf("with: %d threads, %d fds, %d maps, %zu bytes; without: %d, %d, %d, %zu\n",
	       with.tasks, with.fds, with.maps, with.heap, without.tasks, without.fds, without.maps,
	       without.heap);
	CHECK(with.tasks == without.tasks && with.maps == without.maps);
	CHECK(with.heap == without.heap && !with.handlers);
	CHECK(with.fds == without.fds);
	return 0;
}
