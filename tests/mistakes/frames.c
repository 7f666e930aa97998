/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Two calls that fail, each in a function that is called by call(). The lines with "line of" are those of frames.py. */
#include <stdio.h>
#include <stdlib.h>

#include <infiniband/verbs.h>

static struct ibv_context *ctx;
static struct ibv_pd *pd;

/* ibv_reg_mr() is an inline function of the header. */
static __attribute__((noinline)) int frames_mr(void)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, (void *)4096, 4096, 0);	/* line of frames_mr */

	return mr != NULL;
}

static __attribute__((noinline)) int frames_cq(void)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 1 << 30, NULL, NULL, 0);	/* line of frames_cq */

	return cq != NULL;
}

static __attribute__((noinline)) int call(int (*fn)(void))
{
	int rc = fn();	/* line of call */

	return rc + 1;
}

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int rc;

	ctx = list && list[0] ? ibv_open_device(list[0]) : NULL;
	pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	if (!pd)
		return 1;
	rc = call(frames_mr);
	rc += call(frames_cq);
	printf("%d\n", rc);
	return rc != 2;
}
