/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A library that makes any program one with an open RDMA device. Before main() it starts a thread that opens the first
 * device, registers page-aligned memory and stays, looking for changes of that memory. Where there is no device
 * (HOLDER=plain), the thread opens as many descriptors of another kind: what a program notices of an additional thread
 * and of additional descriptors is then the same with and without ruse.
 */
#include <infiniband/verbs.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCKS 3
static const size_t sizes[BLOCKS] = { 4096, 256 << 10, 4 << 20 };
static char *blocks[BLOCKS];
static sem_t ready;

static void fail(const char *what)
{
	dprintf(STDERR_FILENO, "holder: %s\n", what);
	abort();
}

static void device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	struct ibv_context *ctx;
	struct ibv_pd *pd;

	if (!list || !list[0] || !(ctx = ibv_open_device(list[0])) || !(pd = ibv_alloc_pd(ctx)))
		fail("no device");
	ibv_free_device_list(list);
	for (int i = 0; i < BLOCKS; i++)
		if (!ibv_reg_mr(pd, blocks[i], sizes[i], access))
			fail("ibv_reg_mr");
}

/* An open device has two descriptors: of commands and of asynchronous events. */
static void descriptors(void)
{
	if (eventfd(0, EFD_CLOEXEC) < 0 || eventfd(0, EFD_CLOEXEC) < 0)
		fail("eventfd");
}

/* A child of another user has no device: the run directory is not its own. */
static bool foreign(void)
{
	char *dir = getenv("RUSE_DIR");
	struct stat st;

	return dir && (stat(dir, &st) || st.st_uid != geteuid());
}

static void *hold(void *arg)
{
	char *how = getenv("HOLDER");

	for (int i = 0; i < BLOCKS; i++) {
		if (posix_memalign((void **)&blocks[i], 4096, sizes[i]))
			fail("posix_memalign");
		memset(blocks[i], 0x51 + i, sizes[i]);
	}
	if ((how && !strcmp(how, "plain")) || foreign())
		descriptors();
	else
		device();
	sem_post(&ready);
	for (;;) {
		for (int i = 0; i < BLOCKS; i++)
			for (size_t at = 0; at < sizes[i]; at += 512)
				if (blocks[i][at] != 0x51 + i)
					fail("the registered memory has changed");
		usleep(200000);
	}
	return arg;
}

__attribute__((constructor)) static void start(void)
{
	sigset_t all, before;
	pthread_t thread;

	/* Signals are the program's own threads' affair. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (sem_init(&ready, 0, 0) || pthread_create(&thread, NULL, hold, NULL) ||
	    pthread_detach(thread))
		fail("pthread_create");
	while (sem_wait(&ready))
		;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
