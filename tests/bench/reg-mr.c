/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Registration of 16 GiB that are mapped but not touched (a kernel would pin, and so allocate,
 * all of it). Prints the median of 201 registrations.
 */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define SIZE (16ull << 30)
#define ROUNDS 201

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int compare(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return d < 0 ? -1 : d > 0;
}

int main(void)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	struct ibv_context *ctx = devices && devices[0] ? ibv_open_device(devices[0]) : NULL;
	struct ibv_pd *pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	double times[ROUNDS];
	void *mem;
	int i;

	if (!pd) {
		fprintf(stderr, "reg-mr: no device\n");
		return 1;
	}
	mem = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mem == MAP_FAILED) {
		perror("reg-mr: mmap");
		return 1;
	}
	for (i = 0; i < ROUNDS; i++) {
		double t = now();
		struct ibv_mr *mr = ibv_reg_mr(pd, mem, SIZE, IBV_ACCESS_LOCAL_WRITE |
								      IBV_ACCESS_REMOTE_WRITE);

		times[i] = now() - t;
		if (!mr) {
			perror("reg-mr: ibv_reg_mr");
			return 1;
		}
		ibv_dereg_mr(mr);
	}
	qsort(times, ROUNDS, sizeof(times[0]), compare);
	printf("reg_mr_16gib %.3f us\n", times[ROUNDS / 2] * 1e6);
	ibv_dealloc_pd(pd);
	ibv_close_device(ctx);
	ibv_free_device_list(devices);
	return 0;
}
