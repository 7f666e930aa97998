/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Unreliable service between two hosts on a lossy network:
 *
 *   unrel uc|ud N PORT [SERVER]	the receiver, or with SERVER the sender
 *
 * The sender sends N messages of UC (of up to several packets) or N datagrams. The receiver
 * checks each byte and prints how many arrived; less than a third is a failure. Packets that the
 * network duplicates or delays arrive twice or late, also with UC, which accepts any PSN that
 * starts a message (IBA 9.8.2.2.1).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "verbs.h"

#define QKEY 0x1234
#define GRH 40u
#define SLOT 8192u
#define DEPTH 64u
#define MTU 1024u

static struct vctx v;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static uint8_t *buf;
static bool ud;

/* Message i holds its number and then bytes of its own. */
static uint32_t length(uint32_t i)
{
	return ud ? 8 + i % (MTU - 8) : 8 + i * 37 % (SLOT - 64);
}

static void create(void)
{
	struct ibv_qp_init_attr ia = {
		.send_cq = v.cq, .recv_cq = v.cq, .qp_type = ud ? IBV_QPT_UD : IBV_QPT_UC,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	qp = ibv_create_qp(v.pd, &ia);
	if (!qp || ibv_modify_qp(qp, &a, mask | (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)))
		die("QP: %m");
}

static void connect_qp(const struct vdest *mine, const struct vdest *to)
{
	const char *gid = getenv("VERBS_GID");
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = to->qpn,
		.rq_psn = to->psn, .sq_psn = mine->psn,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = to->gid, .hop_limit = 64,
				      .sgid_index = (uint8_t)(gid ? atoi(gid) : GID_INDEX) } },
	};
	int rtr = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;

	if (ibv_modify_qp(qp, &a, IBV_QP_STATE | (ud ? 0 : rtr)))
		die("RTR: %m");
	a.qp_state = IBV_QPS_RTS;
	if (ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN))
		die("RTS: %m");
}

static void post_recv(uint64_t slot)
{
	struct ibv_sge sge = { (uintptr_t)buf + slot * SLOT, SLOT, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(qp, &wr, &bad))
		die("post_recv: %m");
}

static void look(const struct ibv_wc *wc, uint32_t n)
{
	uint32_t skip = ud ? GRH : 0;
	const uint8_t *at = buf + wc->wr_id * SLOT + skip;
	uint64_t i;

	if (wc->status || wc->byte_len < skip + 8)
		die("%s, %u bytes", ibv_wc_status_str(wc->status), wc->byte_len);
	memcpy(&i, at, 8);
	if (i >= n || wc->byte_len != skip + length((uint32_t)i))
		die("message %lu of %u bytes", (unsigned long)i, wc->byte_len);
	check(at + 8, length((uint32_t)i) - 8, i, "message");
}

/* Receives until nothing has come for a while after the sender's end. */
static void receive(uint32_t n, int sock)
{
	uint32_t got = 0, idle = 0;
	bool done = false;
	char c;

	for (;;) {
		struct ibv_wc wc;

		if (ibv_poll_cq(v.cq, 1, &wc)) {
			look(&wc, n);
			post_recv(wc.wr_id);
			idle = 0;
			got++;
			continue;
		}
		done = done || recv(sock, &c, 1, MSG_DONTWAIT) == 1;
		if (done && ++idle > 5000)
			break;
		usleep(50);
	}
	if (got < n / 3)
		die("%u of %u messages", got, n);
	printf("%u of %u messages, every byte right\n", got, n);
}

static void transmit(uint32_t n, int sock, const struct vdest *to)
{
	const char *gid = getenv("VERBS_GID");
	struct ibv_ah_attr aa = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = to->gid, .hop_limit = 64,
			 .sgid_index = (uint8_t)(gid ? atoi(gid) : GID_INDEX) },
	};
	struct ibv_ah *ah = ibv_create_ah(v.pd, &aa);
	struct ibv_wc wc;

	if (!ah)
		die("create_ah: %m");
	for (uint64_t i = 0; i < n; i++) {
		struct ibv_sge sge = { (uintptr_t)buf, length((uint32_t)i), mr->lkey };
		struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
					  .send_flags = IBV_SEND_SIGNALED }, *bad;

		if (ud) {
			wr.wr.ud.ah = ah;
			wr.wr.ud.remote_qpn = to->qpn;
			wr.wr.ud.remote_qkey = QKEY;
		}
		memcpy(buf, &i, 8);
		fill(buf + 8, sge.length - 8, i);
		if (ibv_post_send(qp, &wr, &bad) || v_wait(v.cq, &wc, 20))
			die("send");
		/* Slower than any receiver, so that missing messages were lost on the network. */
		usleep(200);
	}
	v_put(sock, "d", 1);
	ibv_destroy_ah(ah);
}

int main(int argc, char **argv)
{
	struct vcfg cfg = vcfg_default;
	struct vdest mine, theirs;
	uint32_t n;
	int sock;

	if (argc < 4 || (strcmp(argv[1], "uc") && strcmp(argv[1], "ud")))
		die("usage: unrel uc|ud N PORT [SERVER]");
	ud = !strcmp(argv[1], "ud");
	n = (uint32_t)atoi(argv[2]);
	sock = v_rendezvous(argv[3], argv[4]);
	v_open(&v, &cfg);
	buf = aligned_alloc(4096, (size_t)DEPTH * SLOT);
	mr = buf ? ibv_reg_mr(v.pd, buf, (size_t)DEPTH * SLOT, IBV_ACCESS_LOCAL_WRITE) : NULL;
	if (!mr)
		die("reg_mr: %m");
	create();
	for (uint64_t i = 0; argc == 4 && i < DEPTH; i++)
		post_recv(i);
	v_dest(&v, qp, &mine);
	v_put(sock, &mine, sizeof(mine));
	v_get(sock, &theirs, sizeof(theirs));
	connect_qp(&mine, &theirs);
	v_sync(sock);
	if (argc > 4)
		transmit(n, sock, &theirs);
	else
		receive(n, sock);
	v_sync(sock);
	if (ibv_destroy_qp(qp))
		die("destroy_qp: %m");
	ibv_dereg_mr(mr);
	v_close(&v);
	return 0;
}
