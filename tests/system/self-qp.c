/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A QP that is connected to itself, as loopback examples of several bindings are. Each error of its responder gives the
 * completions and the event that it gives between two QPs of this process: the request that was refused completes with
 * the status of the NAK, those before it with success, those after it are flushed.
 *
 *   self-qp [CASE]...
 *
 * Prints a line for each case; the status is 1 if the two differ.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "verbs.h"

#define LEN 64
#define SENDS 3
#define RECVS 2

/* The second of three requests is the wrong one. */
static const struct wrong {
	const char *name;
	enum ibv_wr_opcode opcode;
	uint32_t rkey_off;	/* added to the remote key */
	uint64_t addr_off;	/* added to the remote address */
	uint32_t recv_len;	/* bytes of a receive */
	uint32_t recv_key_off;	/* added to its local key */
	int access;		/* of the QPs */
} wrongs[] = {
	{ "write-key", IBV_WR_RDMA_WRITE, 1, 0, LEN, 0, 0 },
	{ "write-beyond", IBV_WR_RDMA_WRITE, 0, 1 << 20, LEN, 0, 0 },
	{ "write-imm-key", IBV_WR_RDMA_WRITE_WITH_IMM, 1, 0, LEN, 0, 0 },
	{ "write-access", IBV_WR_RDMA_WRITE, 0, 0, LEN, 0, IBV_ACCESS_REMOTE_READ },
	{ "read-key", IBV_WR_RDMA_READ, 1, 0, LEN, 0, 0 },
	{ "read-access", IBV_WR_RDMA_READ, 0, 0, LEN, 0, IBV_ACCESS_REMOTE_WRITE },
	{ "atomic-key", IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0, LEN, 0, 0 },
	{ "atomic-access", IBV_WR_ATOMIC_CMP_AND_SWP, 0, 0, LEN, 0,
	  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE },
	{ "send-too-long", IBV_WR_SEND, 0, 0, 8, 0, 0 },
	{ "send-receive-key", IBV_WR_SEND, 0, 0, LEN, 1, 0 },
	{ "send-inv-key", IBV_WR_SEND_WITH_INV, 1, 0, LEN, 0, 0 },
	{ "none", IBV_WR_RDMA_WRITE, 0, 0, LEN, 0, 0 },
};

static uint8_t buf[4096] __attribute__((aligned(4096)));
static struct vctx v;
static struct ibv_mr *mr;

static void post_recvs(struct ibv_qp *qp, const struct wrong *w)
{
	struct ibv_sge sge = { (uintptr_t)buf + 2048, w->recv_len, mr->lkey + w->recv_key_off };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };

	for (int i = 0; i < RECVS; i++) {
		wr.wr_id = SENDS + (uint64_t)i;
		if (ibv_post_recv(qp, &wr, &bad))
			die("post_recv");
	}
}

static void post_sends(struct ibv_qp *qp, const struct wrong *w)
{
	struct ibv_sge sge = { (uintptr_t)buf, LEN, mr->lkey };
	struct ibv_send_wr wr[SENDS] = { 0 }, *bad;

	for (int i = 0; i < SENDS; i++) {
		uint64_t addr = (uintptr_t)buf + 1024;
		uint32_t rkey = mr->rkey;

		wr[i].wr_id = (uint64_t)i;
		wr[i].sg_list = &sge;
		wr[i].num_sge = 1;
		wr[i].send_flags = IBV_SEND_SIGNALED;
		wr[i].next = i + 1 < SENDS ? &wr[i + 1] : NULL;
		/* The first is answered by a response of its own, where the QPs may read. */
		wr[i].opcode = w->access == IBV_ACCESS_REMOTE_WRITE ? IBV_WR_RDMA_WRITE :
								      IBV_WR_RDMA_READ;
		if (i == 1) {
			wr[i].opcode = w->opcode;
			addr += w->addr_off;
			rkey += w->rkey_off;
		}
		if (w->opcode == IBV_WR_SEND_WITH_INV && i == 1) {
			wr[i].invalidate_rkey = rkey;
		} else if (w->opcode >= IBV_WR_ATOMIC_CMP_AND_SWP && i == 1) {
			sge.length = 8;
			wr[i].wr.atomic.remote_addr = addr;
			wr[i].wr.atomic.rkey = rkey;
		} else {
			wr[i].wr.rdma.remote_addr = addr;
			wr[i].wr.rdma.rkey = rkey;
		}
	}
	if (ibv_post_send(qp, wr, &bad))
		die("post_send");
}

/* Connects qp to peer, which may be qp itself. */
static void join(struct ibv_qp *qp, struct ibv_qp *peer, const struct wrong *w)
{
	struct vdest to;
	int access = w->access ? w->access :
		     IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

	v_dest(&v, peer, &to);
	to.psn = 0x123456;
	if (v_init(qp, access) || v_rtr(qp, &v.cfg, &to) || v_rts(qp, &v.cfg, to.psn))
		die("connect");
}

/* What comes of the case at a, with its responder at b, as text. */
static void run(const struct wrong *w, struct ibv_qp *a, struct ibv_qp *b, char *text, size_t size)
{
	int status[SENDS + RECVS], n = 0;
	bool fails = strcmp(w->name, "none") != 0;
	struct pollfd p = { .fd = v.ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;
	size_t at = 0;

	memset(status, -1, sizeof(status));
	post_recvs(b, w);
	post_sends(a, w);
	while (n < SENDS + (fails ? RECVS : 0)) {
		struct ibv_wc wc;

		v_wait(v.cq, &wc, 60);
		status[wc.wr_id] = (int)wc.status;
		n++;
	}
	for (int i = 0; i < SENDS + RECVS; i++) {
		const char *before = i == 0 ? "sends:" : i == SENDS ? "; receives:" : ",";

		at += (size_t)snprintf(text + at, size - at, "%s %s", before, status[i] < 0 ? "none" :
				       ibv_wc_status_str((enum ibv_wc_status)status[i]));
	}
	/* The event came before the last completion. */
	while (poll(&p, 1, 0) == 1 && !ibv_get_async_event(v.ctx, &event)) {
		if (event.element.qp != b)
			die("an event of another QP");
		at += (size_t)snprintf(text + at, size - at, "; %s",
				       ibv_event_type_str(event.event_type));
		ibv_ack_async_event(&event);
	}
}

static bool same(const struct wrong *w)
{
	struct ibv_qp *a = v_qp(&v), *b = v_qp(&v), *self = v_qp(&v);
	char two[400], one[400];

	join(a, b, w);
	join(b, a, w);
	run(w, a, b, two, sizeof(two));
	join(self, self, w);
	run(w, self, self, one, sizeof(one));
	printf("%s: %s\n", w->name, two);
	if (strcmp(one, two))
		printf("%s, a QP connected to itself: %s\n", w->name, one);
	ibv_destroy_qp(a);
	ibv_destroy_qp(b);
	ibv_destroy_qp(self);
	return !strcmp(one, two);
}

int main(int argc, char **argv)
{
	struct vcfg cfg = vcfg_default;
	bool equal = true;

	v.sock = -1;
	v_open(&v, &cfg);
	mr = ibv_reg_mr(v.pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	if (!mr)
		die("reg_mr");
	for (size_t i = 0; i < sizeof(wrongs) / sizeof(*wrongs); i++) {
		bool asked = argc == 1;

		for (int k = 1; k < argc; k++)
			asked |= !strcmp(argv[k], wrongs[i].name);
		if (asked)
			equal &= same(&wrongs[i]);
	}
	return !equal;
}
