/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Torture of registered memory: no lost and no foreign byte, whatever the program does with its memory.
 *
 *   memory SECONDS FILE [SEED]
 *
 * Threads allocate, free, reallocate, map, unmap, move, protect and advise memory, fork, start programs, read a file
 * into it directly and asynchronously, and wait on futexes in it, while it is registered, deregistered, and written
 * and read by another process (memory_peer.c). A thread knows the content of each page of its blocks (memory.h) and
 * compares after each step; so do the peer and the children. FILE is made for the direct reads.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "memory.h"

static uint64_t end_ms;
static struct worker workers[WORKERS];

/* Allocates and frees beside the workers, so that their forks find the locks of the allocator in use. */
static void *churn(void *arg)
{
	struct worker w = { .rng = (uintptr_t)arg };
	void *p[16] = { NULL };

	while (now_ms() < end_ms) {
		uint32_t i = below(&w, 16);

		free(p[i]);
		p[i] = malloc(16u << below(&w, 18));
		if (!p[i])
			die("malloc");
		memset(p[i], 1, 16);
	}
	for (int i = 0; i < 16; i++)
		free(p[i]);
	return NULL;
}

/* Is the block shared memory that peers can map? */
static bool in_memfd(const struct slot *s)
{
	unsigned long start, end;
	char line[512];
	bool found = false;
	FILE *f = fopen("/proc/self/maps", "re");

	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%lx-%lx", &start, &end) == 2 && (uintptr_t)s->p >= start &&
			(uintptr_t)s->p < end && strstr(line, "/memfd:");
	if (f)
		fclose(f);
	return found;
}

static void step(struct worker *w)
{
	struct slot *s = &w->slot[below(w, SLOTS)];
	uint32_t total = 0, lot;
	size_t i;

	if (!s->p) {
		memory_alloc(w, s);
		return;
	}
	for (i = 0; i < STEPS; i++)
		total += memory_steps[i].weight;
	lot = below(w, total);
	for (i = 0; lot >= memory_steps[i].weight; i++)
		lot -= memory_steps[i].weight;
	memory_steps[i].fn(w, s);
	w->count[i]++;
	w->steps++;
}

static void *work(void *arg)
{
	struct worker *w = arg;

	memory_open(&w->v, w->sock);
	if (syscall(SYS_io_setup, 4, &w->aio))
		die("io_setup: %m");
	while (now_ms() < end_ms)
		step(w);
	for (int i = 0; i < SLOTS; i++)
		if (w->slot[i].p) {
			w->blocks++;
			w->shared += in_memfd(&w->slot[i]);
			memory_free(w, &w->slot[i]);
		}
	ask(w, PEER_END, NULL, 0, 0, 0);
	syscall(SYS_io_destroy, w->aio);
	v_close(&w->v);
	return NULL;
}

/* Direct reads, if the file system has them. */
static int open_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	void *buf = valloc(FILE_PAGES * PG);

	page_fill(buf, FILE_PAGES, FILE_SEED);
	if (fd < 0 || write(fd, buf, FILE_PAGES * PG) != (ssize_t)(FILE_PAGES * PG) || fsync(fd))
		die("%s: %m", path);
	free(buf);
	close(fd);
	fd = open(path, O_RDONLY | O_DIRECT);
	if (fd < 0) {
		printf("memory: no O_DIRECT in this file system\n");
		fd = open(path, O_RDONLY);
	}
	return fd;
}

static void summary(void)
{
	uint32_t blocks = 0, shared = 0;

	printf("memory:");
	for (size_t i = 0; i < STEPS; i++) {
		uint64_t n = 0;

		for (int k = 0; k < WORKERS; k++)
			n += workers[k].count[i];
		printf(" %llu %s,", (unsigned long long)n, memory_steps[i].name);
		if (!n)
			die("no %s", memory_steps[i].name);
	}
	for (int k = 0; k < WORKERS; k++) {
		blocks += workers[k].blocks;
		shared += workers[k].shared;
	}
	printf(" no wrong byte; %u of %u blocks shared\n", shared, blocks);
}

int main(int argc, char **argv)
{
	int sock[WORKERS][2], other[WORKERS], fd;
	pthread_t other_thread;
	uint64_t seed;
	pid_t pid;

	if (argc < 3)
		die("usage: memory SECONDS FILE [SEED]");
	seed = argc > 3 ? strtoull(argv[3], NULL, 0) : (uint64_t)time(NULL) ^ (uint64_t)getpid();
	printf("memory: seed %llu\n", (unsigned long long)seed);
	fflush(stdout);
	for (int i = 0; i < WORKERS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock[i]))
			die("socketpair");
		other[i] = sock[i][1];
	}
	pid = fork();
	if (!pid) {
		for (int i = 0; i < WORKERS; i++)
			close(sock[i][0]);
		peer_run(other);
	}
	for (int i = 0; i < WORKERS; i++)
		close(sock[i][1]);
	end_ms = now_ms() + strtoull(argv[1], NULL, 0) * 1000;
	fd = open_file(argv[2]);
	for (int i = 0; i < WORKERS; i++) {
		workers[i].rng = (seed * WORKERS + (uint64_t)i + 1) * 0x9e3779b97f4a7c15;
		workers[i].sock = sock[i][0];
		workers[i].fd = fd;
		workers[i].seed = (uint32_t)(i + 1) << 29;
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			die("pthread_create");
	}
	if (pthread_create(&other_thread, NULL, churn, (void *)(uintptr_t)(seed | 1)))
		die("pthread_create");
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i].thread, NULL);
	pthread_join(other_thread, NULL);
	ended(pid, "the peer");
	summary();
	return 0;
}
