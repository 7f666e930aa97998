/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queues are created until the process has as much memory for them as it may have (RUSE_QUEUE_MEMORY, a few MiB).
 * Prints "NAME ERRNO" for each command that fails then, and nothing for those that must work, else it exits with 1.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "commands.h"

#define MOST 1024	/* QPs of the depths below; the bound of the test has room for some 50 */
#define LARGE 65536	/* entries of queues that have no room then */

static struct ibv_qp *qps[MOST];

/* Creates up to n QPs; *err is the errno of the first that fails. Returns the number of QPs. */
static int fill(struct ibv_pd *in, struct ibv_cq *with, int n, int *err)
{
	struct ibv_qp_init_attr a = { .send_cq = with, .recv_cq = with, .qp_type = IBV_QPT_RC,
				      .cap = { .max_send_wr = 128, .max_recv_wr = 128,
					       .max_send_sge = 4, .max_recv_sge = 4 } };

	*err = 0;
	for (int i = 0; i < n; i++) {
		qps[i] = ibv_create_qp(in, &a);
		if (qps[i])
			continue;
		*err = errno;
		return i;
	}
	return n;
}

static void drain(int n)
{
	while (n)
		must(ibv_destroy_qp(qps[--n]) ? NULL : cq, "ibv_destroy_qp");
}

/* n QPs of another context of the device have room. It is closed at the end, or when the process ends. */
static void elsewhere(int n, bool end)
{
	struct ibv_context *c = must(ibv_open_device(ctx->device), "ibv_open_device");
	struct ibv_pd *p = must(ibv_alloc_pd(c), "ibv_alloc_pd");
	struct ibv_cq *q = must(ibv_create_cq(c, 64, NULL, NULL, 0), "ibv_create_cq");
	int err;

	must(fill(p, q, n, &err) == n ? q : NULL, "the QPs of another context");
	if (end)
		_exit(0);
	drain(n);
	ibv_destroy_cq(q);
	ibv_dealloc_pd(p);
	must(ibv_close_device(c) ? NULL : cq, "ibv_close_device");
}

static int srq(void)
{
	struct ibv_srq_init_attr a = { .attr = { .max_wr = LARGE, .max_sge = 1 } };

	return null_error(ibv_create_srq(pd, &a));
}

void fill_all(void)
{
	int err, n = fill(pd, cq, MOST, &err), status;

	printf("qp %d\n", err);
	printf("cq %d\n", null_error(ibv_create_cq(ctx, LARGE, NULL, NULL, 0)));
	printf("resize %d\n", ibv_resize_cq(cq, LARGE));
	printf("srq %d\n", srq());
	fflush(stdout);
	must(n > 4 ? cq : NULL, "a few QPs before the first that fails");
	/* A child has only its own. */
	if (!fork())
		elsewhere(n - 4, true);
	must(wait(&status) > 0 && !status ? cq : NULL, "QPs of a child");
	drain(n);
	elsewhere(n - 4, false);
	must(fill(pd, cq, n, &err) == n ? cq : NULL, "as many QPs again");
	drain(n);
	must(ibv_resize_cq(cq, LARGE / 16) ? NULL : cq, "ibv_resize_cq");
}
