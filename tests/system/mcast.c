/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Multicast between hosts: `mcast MGID GID-INDEX recv N` attaches two QPs, prints "ready" and
 * receives N datagrams on each; `send N` sends them. Payload and GRH of each datagram are
 * checked.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "verbs.h"

#define QKEY 0x1234
#define LEN 1000u
#define GRH 40u
#define SLOT 2048u
#define DEPTH 128u	/* receives posted to a QP: more than datagrams sent, so a receiver without CPU time loses none */

static struct vctx v;
static uint8_t *buf;
static struct ibv_mr *mr;
static union ibv_gid mgid;
static uint8_t gid_index;

static void post_recv(struct ibv_qp *qp, uint32_t slot)
{
	struct ibv_sge sge = { (uintptr_t)buf + slot * SLOT, SLOT, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(qp, &wr, &bad))
		die("post_recv: %m");
}

/* Checks a datagram. Any order is allowed: a host with several CPUs may reorder them. */
static void look(const struct ibv_wc *wc, bool *seen, uint32_t n)
{
	const uint8_t *at = buf + wc->wr_id * SLOT;
	uint32_t index;

	if (wc->byte_len != LEN + GRH || !(wc->wc_flags & IBV_WC_GRH))
		die("%u bytes, flags %#x", wc->byte_len, wc->wc_flags);
	if (mgid.raw[0] == 0xff ? memcmp(at + 24, mgid.raw, 16) : memcmp(at + 36, mgid.raw + 12, 4))
		die("the GRH names another group");
	memcpy(&index, at + GRH, sizeof(index));
	if (index >= n || seen[index])
		die("datagram %u came twice, or was never sent", index);
	seen[index] = true;
	check(at + GRH + sizeof(index), LEN - sizeof(index), index + 1, "datagram");
}

/* Prints the datagrams that a QP has not received. */
static void report(const bool *seen, int which, uint32_t n)
{
	fprintf(stderr, "QP %d has not:", which);
	for (uint32_t i = 0; i < n; i++)
		if (!seen[i])
			fprintf(stderr, " %u", i);
	fputs("\n", stderr);
}

static void receive(uint32_t n)
{
	struct ibv_qp *qp[2] = { v_ud_qp(&v, DEPTH, QKEY), v_ud_qp(&v, DEPTH, QKEY) };
	static bool seen[2][DEPTH];
	uint32_t got[2] = { 0 };
	struct ibv_wc wc;
	int got_one;
	time_t end;

	for (uint32_t i = 0; i < 2 * DEPTH; i++)
		post_recv(qp[i / DEPTH], i);
	for (int i = 0; i < 2; i++)
		if (ibv_attach_mcast(qp[i], &mgid, 0))
			die("attach: %m");
	puts("ready");
	fflush(stdout);
	while (got[0] < n || got[1] < n) {
		uint32_t which;

		for (end = time(NULL) + 20; !(got_one = ibv_poll_cq(v.cq, 1, &wc));)
			if (time(NULL) > end) {
				report(seen[0], 0, n);
				report(seen[1], 1, n);
				die("the rest does not come");
			}
		if (got_one < 0 || wc.status)
			die("%s", got_one < 0 ? "poll_cq" : ibv_wc_status_str(wc.status));
		which = (uint32_t)wc.wr_id / DEPTH;
		look(&wc, seen[which], n);
		got[which]++;
		post_recv(qp[which], (uint32_t)wc.wr_id);
	}
	for (int i = 0; i < 2; i++)
		if (ibv_detach_mcast(qp[i], &mgid, 0) || ibv_destroy_qp(qp[i]))
			die("detach, destroy: %m");
}

static void transmit(uint32_t n)
{
	struct ibv_ah_attr aa = { .is_global = 1, .port_num = 1 };
	struct ibv_qp *qp = v_ud_qp(&v, DEPTH, QKEY);
	struct ibv_wc wc;
	struct ibv_ah *ah;

	aa.grh = (struct ibv_global_route){ .dgid = mgid, .sgid_index = gid_index, .hop_limit = 1 };
	ah = ibv_create_ah(v.pd, &aa);
	if (!ah)
		die("create_ah: %m");
	for (uint32_t i = 0; i < n; i++) {
		struct ibv_sge sge = { (uintptr_t)buf, LEN, mr->lkey };
		struct ibv_send_wr wr = {
			.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
			.send_flags = IBV_SEND_SIGNALED, .wr.ud = { ah, 0xffffff, QKEY },
		}, *bad;

		memcpy(buf, &i, sizeof(i));
		fill(buf + sizeof(i), LEN - sizeof(i), i + 1);
		if (ibv_post_send(qp, &wr, &bad) || v_wait(v.cq, &wc, 20))
			die("send");
		usleep(1000);
	}
	if (ibv_destroy_qp(qp) || ibv_destroy_ah(ah))
		die("destroy: %m");
}

int main(int argc, char **argv)
{
	struct vcfg cfg = vcfg_default;

	if (argc != 5 || (uint32_t)atoi(argv[4]) > DEPTH ||
	    inet_pton(AF_INET6, argv[1], &mgid) != 1)
		die("usage: mcast MGID GID-INDEX recv|send N");
	gid_index = (uint8_t)atoi(argv[2]);
	cfg.cqe = 4 * DEPTH;
	v.sock = -1;
	v_open(&v, &cfg);
	buf = aligned_alloc(4096, 2 * DEPTH * SLOT);
	mr = buf ? ibv_reg_mr(v.pd, buf, 2 * DEPTH * SLOT, IBV_ACCESS_LOCAL_WRITE) : NULL;
	if (!mr)
		die("reg_mr: %m");
	if (!strcmp(argv[3], "recv"))
		receive((uint32_t)atoi(argv[4]));
	else
		transmit((uint32_t)atoi(argv[4]));
	ibv_dereg_mr(mr);
	v_close(&v);
	return 0;
}
