/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Time of one rdma_cm command: CREATE_ID and DESTROY_ID alternately, first one after the other,
 * then with other system calls in between, as a program makes them. Under `ruse run` a command goes
 * to rused, otherwise to the kernel. For comparison the same run measures a system call and a
 * reading of the clock. Prints lines "name value unit".
 *
 *     trip [COMMANDS]
 */
#include <fcntl.h>
#include <rdma/rdma_user_cm.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BATCHES 21
#define RDMA_CM "/dev/infiniband/rdma_cm"
#define PS_TCP 0x106
#define QPT_RC 2

static int fd, between;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void command(uint32_t cmd, const void *payload, uint16_t in, uint16_t out)
{
	struct {
		struct rdma_ucm_cmd_hdr hdr;
		uint8_t payload[64];
	} c = { .hdr = { .cmd = cmd, .in = in, .out = out } };
	size_t len = sizeof(c.hdr) + in;

	for (uint16_t i = 0; i < in; i++)
		c.payload[i] = ((const uint8_t *)payload)[i];
	if (write(fd, &c, len) != (ssize_t)len) {
		perror("trip: command");
		exit(1);
	}
	for (int i = 0; i < between; i++)
		syscall(SYS_getppid);
}

static void commands(int n)
{
	for (int i = 0; i < n; i += 2) {
		struct rdma_ucm_create_id_resp created;
		struct rdma_ucm_destroy_id_resp gone;
		struct rdma_ucm_create_id c = { .response = (uintptr_t)&created, .ps = PS_TCP,
						.qp_type = QPT_RC };
		struct rdma_ucm_destroy_id d = { .response = (uintptr_t)&gone };

		command(RDMA_USER_CM_CMD_CREATE_ID, &c, sizeof(c), sizeof(created));
		d.id = created.id;
		command(RDMA_USER_CM_CMD_DESTROY_ID, &d, sizeof(d), sizeof(gone));
	}
}

static void calls(int n)
{
	while (n--)
		syscall(SYS_getppid);
}

static void clocks(int n)
{
	while (n--)
		now();
}

static int compare(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return d < 0 ? -1 : d > 0;
}

/* Prints the median of all batches, so that interrupted batches do not count. */
static void measure(const char *name, void (*fn)(int n), int n)
{
	double took[BATCHES];

	n = n < 2 * BATCHES ? 2 : n / BATCHES;
	fn(n);
	for (int i = 0; i < BATCHES; i++) {
		double began = now();

		fn(n);
		took[i] = (now() - began) / n;
	}
	qsort(took, BATCHES, sizeof(took[0]), compare);
	printf("%-40s %10.3f us\n", name, took[BATCHES / 2]);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 20000;

	fd = open(RDMA_CM, O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		perror("trip: " RDMA_CM);
		return 1;
	}
	measure("system call", calls, n);
	measure("clock", clocks, n);
	measure("command", commands, n);
	between = 16;
	measure("command and 16 system calls", commands, n);
	between = 0;
	measure("command", commands, n);
	return 0;
}
