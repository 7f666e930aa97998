/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A process ends with its last thread, after main() has ended by pthread_exit(), and exit() runs its handlers.
 *
 *   last-thread MODE   `open`: opens a device first; `later`: a thread does when main() has ended; `fork`: as open, in a
 *                      child that a thread has forked, where that thread is the main one
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "verbs.h"

static const char *mode;
static struct vctx device;

static void bye(void)
{
	puts("exit handler");
}

static void *ends_last(void *arg)
{
	(void)arg;
	usleep(100000);
	puts("the last thread ends");
	return NULL;
}

static void begin_last(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, ends_last, NULL))
		die("pthread_create: %m");
}

static void *opens(void *arg)
{
	(void)arg;
	usleep(100000);
	v_open(&device, &vcfg_default);
	begin_last();
	return NULL;
}

static void *forks(void *arg)
{
	int status;

	(void)arg;
	fflush(stdout);
	if (!fork()) {
		puts("child");
		v_open(&device, &vcfg_default);
		begin_last();
		pthread_exit(NULL);
	}
	wait(&status);
	printf("child: %d\n", status);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t;

	mode = argc > 1 ? argv[1] : "";
	atexit(bye);
	puts("main ends");
	fflush(stdout);
	if (!strcmp(mode, "open")) {
		v_open(&device, &vcfg_default);
		begin_last();
	} else if (pthread_create(&t, NULL, !strcmp(mode, "fork") ? forks : opens, NULL)) {
		die("pthread_create: %m");
	}
	/* A fork beside pthread_exit() may copy libgcc's unwinder in the middle of its work. */
	if (!strcmp(mode, "fork"))
		pthread_join(t, NULL);
	pthread_exit(NULL);
}
