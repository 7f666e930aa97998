/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libc changes the ids of all threads by a signal of its own, and cancels threads by another. A thread that blocks them
 * makes setuid() wait for ever. Here a thread other than main() opens the device.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "verbs.h"

static sem_t opened;

static void *open_device(void *arg)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = list && list[0] ? ibv_open_device(list[0]) : NULL;
	struct ibv_cq *cq = ctx ? ibv_create_cq(ctx, 8, NULL, NULL, 0) : NULL;

	if (!cq)
		die("no device");
	sem_post(&opened);
	for (;;)
		pause();
	return arg;
}

int main(void)
{
	pthread_t t;
	void *result;

	alarm(60);
	sem_init(&opened, 0, 0);
	if (pthread_create(&t, NULL, open_device, NULL))
		die("no thread");
	while (sem_wait(&opened))
		;
	if (setregid((gid_t)-1, (gid_t)-1) || setreuid((uid_t)-1, (uid_t)-1) || setgid(getgid()) ||
	    setuid(getuid()))
		die("ids: %s", strerror(errno));
	if (pthread_cancel(t) || pthread_join(t, &result) || result != PTHREAD_CANCELED)
		die("not cancelled");
	puts("done");
	return 0;
}
