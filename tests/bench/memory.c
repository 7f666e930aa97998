/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a program's memory costs it: malloc() and free() of 64 bytes and of 1 MiB, fork() with 1 GiB of touched
 * memory, and the rates of reading, writing and random accesses in this memory. All of it is malloc()'s.
 * tests/bench/run runs it as programs run by default and with RUSE_MEMORY=private. Prints lines "name value unit"; the
 * argument is appended to each name.
 */
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SIZE ((size_t)1 << 30)
#define ACCESSES 10000000u

static const char *suffix = "";
static volatile uint64_t sink;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void tell(const char *name, double value, const char *unit)
{
	printf("%s%s %.3f %s\n", name, suffix, value, unit);
}

/* touch: bytes of each block that are written. */
static void allocations(const char *name, size_t size, uint32_t count, size_t touch)
{
	double t = now();

	for (uint32_t i = 0; i < count; i++) {
		char *p = malloc(size);

		if (!p)
			exit(1);
		memset(p, 1, touch);
		__asm__ __volatile__("" : : "r"(p) : "memory");
		free(p);
	}
	tell(name, (now() - t) / count * 1e9, "ns");
}

/* The time that the parent is in fork(); the child changes nothing. */
static void forks(void)
{
	double t = 0, before;
	int n = 3;

	for (int i = 0; i < n; i++) {
		pid_t pid;

		before = now();
		pid = fork();
		if (!pid)
			_exit(0);
		t += now() - before;
		if (pid < 0) {
			perror("memory: fork");
			exit(1);
		}
		waitpid(pid, NULL, 0);
	}
	tell("mem_fork_1gib", t / n * 1e3, "ms");
}

static void rates(uint64_t *p)
{
	uint64_t sum = 0, at = 1;
	double t;

	t = now();
	memset(p, 2, SIZE);
	tell("mem_write", (double)SIZE / (now() - t) / 1e9, "GB/s");
	t = now();
	for (size_t i = 0; i < SIZE / 8; i += 8)
		sum += p[i] + p[i + 1] + p[i + 2] + p[i + 3] + p[i + 4] + p[i + 5] + p[i + 6] +
		       p[i + 7];
	tell("mem_read", (double)SIZE / (now() - t) / 1e9, "GB/s");
	t = now();
	for (uint32_t i = 0; i < ACCESSES; i++) {
		/* The next place depends on what was read. */
		at = at * 6364136223846793005 + (p[(at >> 20) & (SIZE / 8 - 1)] | 1);
		sum += at;
	}
	tell("mem_random", (now() - t) / ACCESSES * 1e9, "ns");
	sink = sum;
}

int main(int argc, char **argv)
{
	struct ibv_device **devices;
	double t;
	void *p;
	int n;

	if (argc > 1)
		suffix = argv[1];
	/* Only a program that has looked for RDMA devices can have an arena. */
	devices = ibv_get_device_list(&n);
	if (devices)
		ibv_free_device_list(devices);
	allocations("mem_malloc_64", 64, 10000000, 8);
	allocations("mem_malloc_1m", 1 << 20, 100000, 8);
	allocations("mem_malloc_1m_all", 1 << 20, 5000, 1 << 20);
	p = malloc(SIZE);
	if (!p) {
		perror("memory");
		return 1;
	}
	t = now();
	memset(p, 1, SIZE);
	tell("mem_first_touch", (double)SIZE / (now() - t) / 1e9, "GB/s");
	rates(p);
	forks();
	return 0;
}
