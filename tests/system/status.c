/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Registers memory of each kind, each with a length of its own, prints "ready", and waits for the end of its input.
 * status.sh reads `ruse status` meanwhile.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "verbs.h"

#define PG 4096

static uint8_t static_data[300] = { 1 };

static struct ibv_mr *reg(struct vctx *v, void *p, size_t len)
{
	struct ibv_mr *mr = ibv_reg_mr(v->pd, p, len, IBV_ACCESS_LOCAL_WRITE);

	if (!mr)
		die("ibv_reg_mr of %zu bytes", len);
	return mr;
}

static void *block(size_t len)
{
	void *p = NULL;

	if (posix_memalign(&p, PG, len))
		die("posix_memalign");
	memset(p, 0, len);
	return p;
}

int main(void)
{
	uint8_t on_stack[100], *covered, *large;
	struct vctx v = { .sock = -1 };

	v_open(&v, &vcfg_default);
	reg(&v, block(10 * PG), 10 * PG);
	reg(&v, block(PG), 500);
	ibv_dereg_mr(reg(&v, block(PG), PG));
	reg(&v, on_stack, 100);
	reg(&v, malloc(200), 200);
	reg(&v, static_data, 300);
	covered = block(4 * PG);
	if (mmap(covered + PG, PG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		 -1, 0) != covered + PG)
		die("MAP_FIXED");
	reg(&v, covered, 3 * PG);
	large = block(16 << 20);
	reg(&v, large, 16 << 20);
	puts("ready");
	fflush(stdout);
	return getchar() != EOF;
}
