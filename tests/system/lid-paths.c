/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * InfiniBand ports with several LIDs (LMC): `lid-paths PORT` on one host, `lid-paths PORT SERVER` on another.
 * The client sends a datagram from each LID of its InfiniBand port to each LID of the server's, and the
 * server's completion must show both LIDs. Then it sends an RC message from its last LID to the
 * server's last.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "verbs.h"

#define QKEY 0x1234
#define GRH 40u
#define LEN 64u
#define SECONDS 30

struct hello {
	uint16_t lid, lmc;
	uint32_t ud, rc;
};

static struct vctx v;
static uint8_t *buf;
static struct ibv_mr *mr;
static struct hello mine, theirs;

static void rc_up(struct ibv_qp *qp, uint32_t from, uint32_t to)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = theirs.rc,
		.min_rnr_timer = 1, .max_dest_rd_atomic = 1,
		.ah_attr = { .dlid = (uint16_t)(theirs.lid + to), .src_path_bits = (uint8_t)from,
			     .port_num = 1 },
	}, is;
	struct ibv_qp_init_attr ia;

	if (v_init(qp, IBV_ACCESS_LOCAL_WRITE) ||
	    ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) ||
	    v_rts(qp, &v.cfg, 0))
		die("RC: %m");
	if (ibv_query_qp(qp, &is, IBV_QP_AV, &ia) || is.ah_attr.dlid != theirs.lid + to ||
	    is.ah_attr.src_path_bits != from)
		die("QUERY_QP: LID %u, path bits %u", is.ah_attr.dlid, is.ah_attr.src_path_bits);
}

static void post_recv(struct ibv_qp *qp)
{
	struct ibv_sge sge = { (uintptr_t)buf, LEN + GRH, mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(qp, &wr, &bad))
		die("post_recv: %m");
}

static void send(struct ibv_qp *qp, struct ibv_ah *ah)
{
	struct ibv_sge sge = { (uintptr_t)buf, LEN, mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;

	if (ah) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = theirs.ud;
		wr.wr.ud.remote_qkey = QKEY;
	}
	if (ibv_post_send(qp, &wr, &bad))
		die("post_send: %m");
}

static struct ibv_wc done(const char *what)
{
	struct ibv_wc wc;

	if (v_wait(v.cq, &wc, SECONDS))
		die("%s: status %u", what, wc.status);
	return wc;
}

static void datagram(struct ibv_qp *qp, bool server, uint32_t from, uint32_t to)
{
	struct ibv_ah_attr a = { .dlid = (uint16_t)(theirs.lid + to), .port_num = 1,
				 .src_path_bits = (uint8_t)from };
	struct ibv_ah *ah;
	struct ibv_wc wc;

	if (server)
		post_recv(qp);
	v_sync(v.sock);
	if (server) {
		wc = done("datagram");
		if (wc.slid != theirs.lid + from || wc.dlid_path_bits != to)
			die("from %u+%u to path %u came as from %u to path %u", theirs.lid, from, to,
			    wc.slid, wc.dlid_path_bits);
		return;
	}
	ah = ibv_create_ah(v.pd, &a);
	if (!ah)
		die("create_ah: %m");
	send(qp, ah);
	done("send");
	ibv_destroy_ah(ah);
}

int main(int argc, char **argv)
{
	bool server = argc == 2;
	struct ibv_port_attr pa;
	struct ibv_qp *ud;
	uint32_t from, to;

	if (argc < 2)
		die("usage: lid-paths PORT [SERVER]");
	v.sock = v_rendezvous(argv[1], server ? NULL : argv[2]);
	v_open(&v, &vcfg_default);
	buf = calloc(1, LEN + GRH);
	mr = ibv_reg_mr(v.pd, buf, LEN + GRH, IBV_ACCESS_LOCAL_WRITE);
	ud = v_ud_qp(&v, 1, QKEY);
	if (!mr || ibv_query_port(v.ctx, 1, &pa) || !pa.lmc)
		die("no port with an LMC");
	mine = (struct hello){ pa.lid, pa.lmc, ud->qp_num, v.qp->qp_num };
	v_put(v.sock, &mine, sizeof(mine));
	v_get(v.sock, &theirs, sizeof(theirs));
	for (from = 0; from < 1u << pa.lmc; from++)
		for (to = 0; to < 1u << pa.lmc; to++)
			datagram(ud, server, from, to);
	rc_up(v.qp, --from, --to);
	if (server)
		post_recv(v.qp);
	v_sync(v.sock);
	if (!server)
		send(v.qp, NULL);
	done("RC");
	v_sync(v.sock);
	puts("all paths");
	return 0;
}
