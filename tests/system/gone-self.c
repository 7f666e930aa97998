/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * gone-self: two connected QPs of one process, and a message whose memory at one end is unmapped or protected. It ends with the
 * status that two processes get, without an ACK timeout.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include "verbs.h"

#define SIZE (1u << 20)
#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)

enum end { NEAR, FAR, ENDS };

static const struct row {
	const char *name;
	enum ibv_wr_opcode op;
	enum end gone;
	enum ibv_wc_status send, recv;	/* recv: only of SEND */
} rows[] = {
	{ "SEND, source", IBV_WR_SEND, NEAR, IBV_WC_LOC_PROT_ERR, 0 },
	{ "SEND, receive buffer", IBV_WR_SEND, FAR, IBV_WC_REM_OP_ERR, IBV_WC_LOC_PROT_ERR },
	{ "WRITE, source", IBV_WR_RDMA_WRITE, NEAR, IBV_WC_LOC_PROT_ERR, 0 },
	{ "WRITE, target", IBV_WR_RDMA_WRITE, FAR, IBV_WC_REM_ACCESS_ERR, 0 },
	{ "READ, target", IBV_WR_RDMA_READ, NEAR, IBV_WC_LOC_PROT_ERR, 0 },
	{ "READ, source", IBV_WR_RDMA_READ, FAR, IBV_WC_REM_ACCESS_ERR, 0 },
};

static struct vctx v = { .sock = -1 };

static void post(const struct row *r, struct ibv_qp *other, struct ibv_mr *mr[ENDS], uint32_t len)
{
	struct ibv_sge near = { (uintptr_t)mr[NEAR]->addr, len, mr[NEAR]->lkey };
	struct ibv_sge far = { (uintptr_t)mr[FAR]->addr, len, mr[FAR]->lkey };
	struct ibv_recv_wr rwr = { .wr_id = 2, .sg_list = &far, .num_sge = 1 }, *rbad;
	struct ibv_send_wr wr = {
		.wr_id = 1, .sg_list = &near, .num_sge = 1, .opcode = r->op,
		.send_flags = IBV_SEND_SIGNALED, .wr.rdma = { far.addr, mr[FAR]->rkey },
	}, *bad;

	if (r->op == IBV_WR_SEND && ibv_post_recv(other, &rwr, &rbad))
		die("post_recv");
	if (ibv_post_send(v.qp, &wr, &bad))
		die("post_send");
}

static void hide(const struct row *r, struct ibv_mr *mr, uint32_t len, bool protect)
{
	/* The last page only: the copy has begun when it meets it. */
	char *at = (char *)mr->addr + (len - 1) / 4096 * 4096;

	if (protect ? mprotect(at, 4096, PROT_NONE) : munmap(at, 4096))
		die("%s: %m", r->name);
}

static void run(const struct row *r, uint32_t len, bool protect)
{
	struct vcfg cfg = vcfg_default;
	struct ibv_mr *mr[ENDS];
	struct ibv_qp *other;
	struct ibv_wc wc;

	cfg.timeout = 0;
	v_open(&v, &cfg);
	other = v_qp(&v);
	v_connect_self(&v, v.qp, other);
	for (int i = 0; i < ENDS; i++) {
		void *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);

		mr[i] = p == MAP_FAILED ? NULL : ibv_reg_mr(v.pd, p, SIZE, ACCESS);
		if (!mr[i])
			die("reg_mr: %m");
	}
	post(r, other, mr, len);
	for (int i = 0; i < (r->op == IBV_WR_SEND ? 2 : 1); i++)
		if (v_wait(v.cq, &wc, 20))
			die("%s, %u bytes before: %s", r->name, len, ibv_wc_status_str(wc.status));
	hide(r, mr[r->gone], len, protect);
	post(r, other, mr, len);
	for (int i = 0; i < (r->recv ? 2 : 1); i++) {
		enum ibv_wc_status status = v_wait(v.cq, &wc, 20);

		if (status != (wc.wr_id == 1 ? r->send : r->recv))
			die("%s, %u bytes, %s: %s: %s", r->name, len, protect ? "mprotect" : "munmap",
			    wc.wr_id == 1 ? "request" : "receive", ibv_wc_status_str(status));
	}
	ibv_destroy_qp(other);
	for (int i = 0; i < ENDS; i++)
		ibv_dereg_mr(mr[i]);
	v_close(&v);
}

int main(void)
{
	static const uint32_t lens[] = { 64, 100, 5000, 100000, SIZE };
	int n = 0;

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (unsigned int k = 0; k < sizeof(lens) / sizeof(lens[0]); k++, n += 2) {
			run(&rows[i], lens[k], false);
			run(&rows[i], lens[k], true);
		}
	printf("%d messages\n", n);
	return 0;
}
