/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Damage in the queues that a program shares with its device, and work requests whose address handle is
 * gone. A stray write of a program may damage a queue; here a posted work request is found in it by its
 * wr_id.
 */
#include <errno.h>
#include <rdma/rdma_user_rxe.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include "mistakes.h"

#define MARK 0x6d61726b65642100ull	/* wr_id of a work request that is damaged */
#define MANY 100			/* scatter/gather entries, more than any queue here allows */

#define PAGES (1u << 18)		/* looked at together: 1 GiB */

/* Writes `to` at `off` bytes after each wr_id MARK in the resident pages of a mapping. Returns their number. */
static int damage_in(char *from, char *end, size_t off, uint32_t to)
{
	static unsigned char resident[PAGES];
	size_t n = (size_t)(end - from) / 4096 < PAGES ? (size_t)(end - from) / 4096 : PAGES;
	int found = 0;

	if (mincore(from, n * 4096, resident))
		return 0;
	for (char *p = from; p < from + n * 4096; p += 8) {
		if (!(resident[(size_t)(p - from) / 4096] & 1)) {
			p += 4096 - 8;
		} else if (*(volatile uint64_t *)p == MARK) {
			*(volatile uint32_t *)(p + off) = to;
			found++;
		}
	}
	return found;
}

/* The same in the queues, which are in shared mappings of files for verbs. A WQE does not cross a page. */
static void damage(size_t off, uint32_t to)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long from, end;
	char line[512], perms[8];
	int found = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx %7s", &from, &end, perms) != 3 || strcmp(perms, "rw-s") ||
		    !strstr(line, "uverbs"))
			continue;
		for (; from < end && !found; from += PAGES * 4096ul)
			found += damage_in((char *)from, (char *)end, off, to);
	}
	if (f)
		fclose(f);
	if (!found)
		failed("damage", ENOENT);
}

static void damaged_recv(struct ibv_srq *srq)
{
	struct ibv_sge s = { (uintptr_t)buf, 64, mr->lkey };
	struct ibv_recv_wr w = { .wr_id = MARK, .sg_list = &s, .num_sge = 1 }, *bad;
	int rc = srq ? ibv_post_srq_recv(srq, &w, &bad) : ibv_post_recv(qp, &w, &bad);

	if (rc)
		failed("post_recv", rc);
	damage(offsetof(struct rxe_recv_wqe, dma.num_sge), MANY);
}

static void recv_damaged(void)
{
	damaged_recv(NULL);
}

static void make_srq(void)
{
	struct ibv_srq_init_attr a = { .attr = { .max_wr = 8, .max_sge = 1 } };

	e.srq = ibv_create_srq(pd, &a);
	if (!e.srq)
		failed("create_srq", errno);
}

static void with_srq(void)
{
	e.setup_late = server ? make_srq : NULL;
}

static void with_empty_srq(void)
{
	with_srq();
	e.rnr_retry = 1;
}

/* Another QP of the SRQ has met the damaged work request before. */
static void srq_damaged(void)
{
	struct ibv_qp *far = qp;

	damaged_recv(e.srq);
	qp = own_loop(e.srq);
	post_send(&(struct wr){ .op = IBV_WR_SEND, .len = 16 });
	completions(500);
	qp = far;
}

static void send_it(void)
{
	post_send(&(struct wr){ .op = IBV_WR_SEND, .len = 16 });
}

/* In SQD, send work requests wait. */
static bool pause_sending(bool pause)
{
	struct ibv_qp_attr a = { .qp_state = pause ? IBV_QPS_SQD : IBV_QPS_RTS };

	return modify(pause ? "modify_qp SQD" : "modify_qp RTS", &a, IBV_QP_STATE);
}

static void send_damaged(void)
{
	if (!pause_sending(true))
		return;
	post_send(&(struct wr){ .op = IBV_WR_SEND, .len = 16, .wr_id = MARK });
	damage(offsetof(struct rxe_send_wqe, dma.num_sge), MANY);
	pause_sending(false);
}

static void ud(void)
{
	e.type = IBV_QPT_UD;
	e.recvs = server ? 4 : 0;
}

static void ah_gone(void)
{
	struct ibv_ah *ah = ah_of_peer();
	int rc;

	if (!pause_sending(true))
		return;
	post_send(&(struct wr){ .op = IBV_WR_SEND, .len = 64, .ah = ah, .qkey = 0x11 });
	rc = ibv_destroy_ah(ah);
	if (rc)
		failed("destroy_ah", rc);
	pause_sending(false);
}

static const struct mistake table[] = {
	{ "recv-damaged", NULL, recv_damaged, send_it, 0 },
	{ "srq-damaged", with_srq, srq_damaged, send_it, 0 },
	{ "srq-empty", with_empty_srq, NULL, send_it, 0 },
	{ "send-damaged", NULL, NULL, send_damaged, 0 },
	{ "ud-ah-gone", ud, NULL, ah_gone, 100 },
};

const struct mistakes queue_mistakes = { table, sizeof(table) / sizeof(*table) };
