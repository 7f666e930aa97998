/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Datagrams, which may be lost, come twice, and in another order. */
#include <poll.h>
#include <unistd.h>

#include "shake.h"

#define GRH 40u
#define SLOT 64u	/* bytes of a receive */
#define QUIET 300	/* ms without a datagram: the rest is lost */

static void post_slot(struct run *r, uint32_t slot)
{
	post_recv(r, 0, slot * SLOT, GRH + 4);
}

/* The number of the next datagram; 0: none has come for a while. */
static uint32_t next_number(struct run *r)
{
	struct pollfd p = { .fd = r->me.channel->fd, .events = POLLIN };
	struct ibv_cq *cq = r->me.recv_cq[0];
	void *context;
	struct ibv_wc wc;
	uint32_t number;

	while (!ibv_poll_cq(cq, 1, &wc)) {
		NEED(!ibv_req_notify_cq(cq, 0));
		if (ibv_poll_cq(cq, 1, &wc))
			break;
		if (!poll(&p, 1, QUIET))
			return 0;
		NEED(!ibv_get_cq_event(r->me.channel, &cq, &context));
		ibv_ack_cq_events(cq, 1);
	}
	NEED(wc.status == IBV_WC_SUCCESS && wc.byte_len == GRH + 4);
	memcpy(&number, r->me.buf + wc.wr_id + GRH, sizeof(number));
	post_slot(r, (uint32_t)(wc.wr_id / SLOT));
	return number;
}

/*
 * ud: each datagram is taken to come once and in order. Right: they are recognised by their numbers, and those that are missing are
 * asked for again.
 */
static void ud(struct run *r)
{
	bool have[ROUNDS + 1] = { false };
	uint32_t number;

	for (uint32_t i = 0; i < ROUNDS; i++)
		post_slot(r, i);
	say(r);
	for (uint32_t i = 1; r->wrong && i <= ROUNDS; i++) {
		number = next_number(r);
		if (number != i)
			failed(!number ? "a datagram is missing" : number < i ? "a datagram has come again" :
										 "a datagram was overtaken or is missing", i);
	}
	for (uint32_t missing = 1; !r->wrong && missing;) {
		while ((number = next_number(r)))
			have[number] = true;
		missing = 0;
		for (uint32_t i = 1; i <= ROUNDS && !missing; i++)
			if (!have[i])
				missing = i;
		NEED(write(r->fd, &missing, sizeof(missing)) == sizeof(missing));
	}
}

static void send_number(struct run *r, struct ibv_ah *ah, uint32_t number)
{
	struct ibv_sge sge = { (uintptr_t)r->me.buf, 4, r->me.mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_wc wc;

	memcpy(r->me.buf, &number, sizeof(number));
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = r->other.qpn[0];
	wr.wr.ud.remote_qkey = 0x111;
	NEED(!ibv_post_send(r->me.qp[0], &wr, &bad));
	poll_one(r->me.send_cq, &wc);
}

static void peer_ud(struct run *r)
{
	struct ibv_ah_attr attr = { .port_num = 1, .is_global = 1 };
	struct ibv_ah *ah;
	uint32_t missing;

	attr.grh.dgid = r->other.gid;
	attr.grh.sgid_index = r->me.gid_index;
	attr.grh.hop_limit = 1;
	NEED(ah = ibv_create_ah(r->me.pd, &attr));
	hear(r);
	for (uint32_t i = 1; i <= ROUNDS; i++)
		send_number(r, ah, i);
	do {
		if (r->wrong)
			break;
		NEED(read(r->fd, &missing, sizeof(missing)) == sizeof(missing));
		if (missing)
			send_number(r, ah, missing);
	} while (missing);
}

const struct named datagrams[] = {
	{ "ud", IBV_QPT_UD, false, ud, peer_ud },
	{ NULL, IBV_QPT_UD, false, NULL, NULL },
};
