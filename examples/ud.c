/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Datagrams (UD): `ud` is the server, `ud HOST` the client, which sends numbers and wants each back.
 * A UD QP has no connection: one QP talks to all peers, and a lost datagram stays lost. */
#include "pair.h"
#include <time.h>

enum { ROUNDS = 100, SLOTS = 4, QKEY = 0x11111111, GRH = sizeof(struct ibv_grh) };
enum { PATIENCE_MS = 50, TRIES = 60 };	/* after 50 ms the client sends again */
/* The device puts the GRH, 40 bytes, before each datagram that it receives. wr_id is the slot's index. */
static struct slot {
	struct ibv_grh grh;
	int number;
	struct ibv_ah *ah;
} slots[SLOTS];

static void post_recv(struct pair *p, int i)
{
	struct ibv_sge sge = { .addr = (uintptr_t)&slots[i], .length = GRH + sizeof(int),
			       .lkey = p->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

	must(ibv_post_recv(p->qp, &wr, &bad), "ibv_post_recv");
}

/* Each datagram has its own destination: an address handle (AH), a QP number and a Q_Key. */
static void post_send(struct pair *p, int i, uint32_t qpn)
{
	struct ibv_sge sge = { .addr = (uintptr_t)&slots[i].number, .length = sizeof(int),
			       .lkey = p->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = i, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.wr.ud = { .ah = slots[i].ah, .remote_qpn = qpn, .remote_qkey = QKEY },
	};

	must(ibv_post_send(p->qp, &wr, &bad), "ibv_post_send");
}

/* A UD QP has no peer: its states need a Q_Key, and no address. */
static void to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };
	const int masks[] = { IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
			      IBV_QP_STATE, IBV_QP_STATE | IBV_QP_SQ_PSN };

	for (int i = 0; i < 3; i++, attr.qp_state++)
		must(ibv_modify_qp(qp, &attr, masks[i]), "modify QP to INIT, RTR or RTS");
}

/* Returns 0 if there is no completion. */
static int poll_cq(struct pair *p, struct ibv_wc *wc)
{
	int n = ibv_poll_cq(p->cq, 1, wc);

	if (n < 0)
		errx(1, "ibv_poll_cq");
	if (n)
		check_status(wc);
	return n;
}

/* Sends each datagram back to its sender, until the client says by TCP that it is done. */
static void serve(struct pair *p)
{
	struct ibv_wc wc;
	struct slot *slot;
	char byte;

	while (recv(p->sock, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0) {
		if (!poll_cq(p, &wc))
			continue;
		slot = &slots[wc.wr_id];
		if (wc.opcode == IBV_WC_SEND) {	/* only now the slot belongs to this program again */
			must(ibv_destroy_ah(slot->ah), "ibv_destroy_ah");
			post_recv(p, wc.wr_id);
			continue;
		}
		/* The completion and the GRH say where the datagram comes from. */
		slot->ah = must_have(ibv_create_ah_from_wc(p->pd, &wc, &slot->grh, 1), "ibv_create_ah_from_wc");
		post_send(p, wc.wr_id, wc.src_qp);
	}
	while (poll_cq(p, &wc))	/* the last answer's send, which has its AH until now */
		if (wc.opcode == IBV_WC_SEND)
			must(ibv_destroy_ah(slots[wc.wr_id].ah), "ibv_destroy_ah");
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Sends number by slot 0 until it comes back to another slot. Returns how often it was sent. */
static int ask(struct pair *p, int number, uint32_t qpn)
{
	int sent = 0, on_way = 0, answered = 0;
	long sent_at = 0;
	struct ibv_wc wc;

	slots[0].number = number;
	while (!answered || on_way) {
		/* UD repeats nothing, and no completion tells that a datagram was lost. */
		if (!on_way && now_ms() - sent_at > PATIENCE_MS) {
			if (sent == TRIES)
				errx(1, "no answer to %d datagrams", TRIES);
			post_send(p, 0, qpn);
			sent_at = now_ms();
			on_way = 1;
			sent++;
		}
		if (!poll_cq(p, &wc))
			continue;
		if (wc.opcode == IBV_WC_SEND) {
			on_way = 0;
			continue;
		}
		answered |= slots[wc.wr_id].number == number;	/* else a late answer to a repetition */
		post_recv(p, wc.wr_id);
	}
	return sent;
}

int main(int argc, char **argv)
{
	struct ibv_ah_attr to = { .is_global = 1, .port_num = 1, .grh.hop_limit = 64,
				  .grh.sgid_index = GID_INDEX };
	int sent = 0, is_client = argc > 1;
	struct address peer;
	struct pair p;

	pair_open(&p, IBV_QPT_UD, slots, sizeof(slots), 0, SLOTS);
	peer = pair_meet(&p, argv[1]);
	to_rts(p.qp);
	for (int i = is_client; i < SLOTS; i++)
		post_recv(&p, i);
	meet(&p);	/* a datagram for which no receive is posted would be lost */
	if (!is_client) {
		serve(&p);
	} else {
		to.grh.dgid = peer.gid;
		slots[0].ah = must_have(ibv_create_ah(p.pd, &to), "ibv_create_ah");
		for (int i = 0; i < ROUNDS; i++)
			sent += ask(&p, i, peer.qpn);
		printf("%d answers, %d datagrams sent again\n", ROUNDS, sent - ROUNDS);
		must(ibv_destroy_ah(slots[0].ah), "ibv_destroy_ah");
	}
	pair_close(&p);
	return 0;
}
