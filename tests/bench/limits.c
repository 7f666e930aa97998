/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Limits of this machine for communication of two processes without any protocol: half the round
 * trip time of a word in shared memory, and the rates of process_vm_readv(), process_vm_writev()
 * and memcpy(), also between two mappings of one memfd. tests/bench/run compares its figures with
 * them. Prints lines "name value unit".
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shared/barrier.h"

#define BATCHES 501
#define BATCH 1000	/* round trips in a batch; so few that the median batch was not interrupted */
#define PINGS (BATCHES * BATCH)
#define COPY_BYTES (1ull << 30)	/* bytes moved for one figure */

/* Each word is alone in its cache line and outside of the other's adjacent-line prefetch. */
struct mailbox {
	unsigned long ping;
	char pad1[248];
	unsigned long pong;
	char pad2[248];
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void die(const char *what)
{
	fprintf(stderr, "limits: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void *map(size_t size, int flags)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);

	if (p == MAP_FAILED)
		die("mmap");
	memset(p, 1, size);
	return p;
}

static int compare(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return d < 0 ? -1 : d > 0;
}

/* Half a round trip of one word that both processes poll. */
static void pingpong(void)
{
	struct mailbox *m = map(sizeof(*m), MAP_SHARED);
	double t[BATCHES], start = 0;
	unsigned long i;
	pid_t pid;

	memset(m, 0, sizeof(*m));
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (i = 1; i <= PINGS; i++) {
			while (smp_load_acquire(&m->ping) != i)
				cpu_relax();
			smp_store_release(&m->pong, i);
		}
		_exit(0);
	}
	for (i = 1; i <= PINGS; i++) {
		if (i % BATCH == 1)
			start = now();
		smp_store_release(&m->ping, i);
		while (smp_load_acquire(&m->pong) != i)
			cpu_relax();
		if (i % BATCH == 0)
			t[i / BATCH - 1] = now() - start;
	}
	waitpid(pid, NULL, 0);
	qsort(t, BATCHES, sizeof(t[0]), compare);
	printf("shm_half_rtt %.1f ns\n", t[BATCHES / 2] / BATCH / 2 * 1e9);
}

/* Rate of copies to or from another process. */
static void cross(const char *name, size_t size, char *mine, char *other, pid_t pid, int write)
{
	struct iovec l = { mine, size }, r = { other, size };
	long n = (long)(COPY_BYTES / size);
	double t = now();
	long i;

	for (i = 0; i < n; i++) {
		ssize_t k = write ? process_vm_writev(pid, &l, 1, &r, 1, 0) :
				    process_vm_readv(pid, &l, 1, &r, 1, 0);

		if (k != (ssize_t)size)
			die(name);
	}
	t = now() - t;
	printf("%s_%zu %.3f GB/s\n", name, size, (double)n * (double)size / t / 1e9);
}

/* Rate of memcpy(). */
static void local(const char *name, size_t size, char *to, const char *from)
{
	long n = (long)(COPY_BYTES / size);
	double t = now();

	for (long k = 0; k < n; k++) {
		memcpy(to, from, size);
		__asm__ __volatile__("" : : "r"(to) : "memory");
	}
	t = now() - t;
	printf("%s_%zu %.3f GB/s\n", name, size, (double)n * (double)size / t / 1e9);
}

/* Between two mappings of one memfd, as of two processes that both map their memory. */
static void local_memfd(size_t size)
{
	int fd = memfd_create("limits", MFD_CLOEXEC);
	char *p[2];

	if (fd < 0 || ftruncate(fd, 2 << 20))
		die("memfd");
	for (int i = 0; i < 2; i++) {
		p[i] = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (p[i] == MAP_FAILED)
			die("mmap");
		memset(p[i], 1, 2 << 20);
	}
	local("memfd", size, p[0], p[1] + (1 << 20));
	for (int i = 0; i < 2; i++)
		munmap(p[i], 2 << 20);
	close(fd);
}

static void copies(void)
{
	static const size_t sizes[] = { 65536, 1 << 20 };
	/* Private memory: the child gets its own pages by writing. */
	char *a = map(1 << 20, MAP_PRIVATE), *b = map(1 << 20, MAP_PRIVATE);
	int ready[2];
	char c = 0;
	pid_t pid;
	size_t i;

	if (pipe(ready))
		die("pipe");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
		memset(a, 2, 1 << 20);
		if (write(ready[1], &c, 1) == 1)
			pause();
		_exit(1);
	}
	if (read(ready[0], &c, 1) != 1)
		die("read");
	for (i = 0; i < 2; i++) {
		size_t size = sizes[i];

		cross("vm_writev", size, b, a, pid, 1);
		cross("vm_readv", size, b, a, pid, 0);
		local("memcpy", size, b, a);
		local_memfd(size);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	pingpong();
	copies();
	return 0;
}
