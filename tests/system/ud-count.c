/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counts datagrams: `ud-count N SECONDS` creates a UD QP with Q_Key 0x1234, prints "qpn 0x..."
 * and receives datagrams of 256 bytes, where byte i of the r-th is (r + i) & 255 for any r. Ends
 * with status 0 after N datagrams, or when none has come for SECONDS; prints their number.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "verbs.h"

#define QKEY 0x1234
#define LEN 256u
#define GRH 40u
#define SLOT 512u
#define DEPTH 4096u

int main(int argc, char **argv)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };
	int init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
	struct vcfg cfg = vcfg_default;
	struct ibv_qp_init_attr ia = { .qp_type = IBV_QPT_UD };
	uint32_t got = 0, want;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	struct vctx v = { .sock = -1 };
	uint8_t *buf;
	time_t last;

	if (argc != 3)
		die("usage: ud-count N SECONDS");
	want = (uint32_t)atoi(argv[1]);
	cfg.cqe = DEPTH;
	v_open(&v, &cfg);
	buf = aligned_alloc(4096, (size_t)DEPTH * SLOT);
	mr = buf ? ibv_reg_mr(v.pd, buf, (size_t)DEPTH * SLOT, IBV_ACCESS_LOCAL_WRITE) : NULL;
	ia.send_cq = ia.recv_cq = v.cq;
	ia.cap = (struct ibv_qp_cap){ .max_send_wr = 1, .max_recv_wr = DEPTH, .max_send_sge = 1,
				      .max_recv_sge = 1 };
	qp = mr ? ibv_create_qp(v.pd, &ia) : NULL;
	if (!qp || ibv_modify_qp(qp, &a, init))
		die("UD QP: %m");
	for (uint32_t i = 0; i < DEPTH; i++) {
		struct ibv_sge sge = { (uintptr_t)buf + i * SLOT, SLOT, mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

		if (ibv_post_recv(qp, &wr, &bad))
			die("post_recv: %m");
	}
	a.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(qp, &a, IBV_QP_STATE))
		die("RTR: %m");
	printf("qpn %#x\n", qp->qp_num);
	fflush(stdout);
	for (last = time(NULL); got < want && time(NULL) - last <= atoi(argv[2]);) {
		struct ibv_wc wc;
		const uint8_t *p;

		if (!ibv_poll_cq(v.cq, 1, &wc)) {
			usleep(100);
			continue;
		}
		p = buf + wc.wr_id * SLOT + GRH;
		if (wc.status || wc.byte_len != LEN + GRH)
			die("%s, %u bytes", ibv_wc_status_str(wc.status), wc.byte_len);
		for (uint32_t i = 0; i < LEN; i++)
			if (p[i] != (uint8_t)(p[0] + i))
				die("byte %u of datagram %u is %#x", i, got, p[i]);
		got++;
		last = time(NULL);
	}
	printf("got %u\n", got);
	ibv_destroy_qp(qp);
	ibv_dereg_mr(mr);
	v_close(&v);
	return 0;
}
