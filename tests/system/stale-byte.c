/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A reader of events that is killed between two steps leaves its readiness byte in the file's socket (ipc/inbox.c).
 * The file then stays readable, so waits for an event end at once, and the byte hides the end of rused from them.
 * stale-byte.sh kills rused when this program says that it waits: the wait must end with EIO.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include "cmshare/ucma_shm.h"
#include "ucma.h"

/* The memory that rused shares for the file. */
static struct cmshare_file *file_shm(void)
{
	unsigned long start, end;
	char line[256];
	FILE *f = fopen("/proc/self/maps", "r");
	struct cmshare_file *shm = NULL;

	CHECK(f);
	while (!shm && fgets(line, sizeof(line), f))
		if (strstr(line, "/memfd:ruse-cm-file") && sscanf(line, "%lx-%lx", &start, &end) == 2)
			shm = (struct cmshare_file *)start;
	fclose(f);
	CHECK(shm);
	return shm;
}

static void resolve(int fd)
{
	uint32_t id;

	CHECK(create_id(fd, &id) == 0);
	CHECK(resolve_loopback(fd, id, 7471) == 0);
}

int main(void)
{
	struct pollfd p = { .fd = open_cm(0), .events = POLLIN };
	struct rdma_ucm_event_resp ev;
	struct cmshare_file *shm;

	resolve(p.fd);
	CHECK(poll(&p, 1, 10000) == 1);
	shm = file_shm();
	CHECK(shm->inbox.shown == 1);
	/* A reader has found the ring empty and cleared shown, and is killed. Then rused sends a byte of its own. */
	shm->inbox.shown = 0;
	resolve(p.fd);
	CHECK(get_event(p.fd, &ev) == 0);
	CHECK(get_event(p.fd, &ev) == 0);
	CHECK(fcntl(p.fd, F_SETFL, O_NONBLOCK) == 0);
	CHECK(get_event(p.fd, &ev) == -EAGAIN);
	CHECK(readable(p.fd));
	CHECK(fcntl(p.fd, F_SETFL, 0) == 0);
	puts("waits");
	fflush(stdout);
	CHECK(get_event(p.fd, &ev) == -EIO);
	return 0;
}
