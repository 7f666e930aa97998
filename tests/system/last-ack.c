/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The acknowledgement of a program's last message.
 *
 * last-ack return|_exit PORT    answers each message at once, except the last one: when it arrives, the
 *                               program ends by returning from main() or by _exit()
 * last-ack ask PORT SERVER      sends the messages and waits for the answers; the last message must
 *                               complete as well
 *
 * The ACKs of a program that always answers at once are piggybacked on its answers. The last
 * message gets no answer, so its ACK must be sent before the program ends: afterwards nothing could
 * acknowledge a repeated message.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "verbs.h"

#define MESSAGES 200

static struct vctx v = { .sock = -1 };

static void post_recvs(void)
{
	static struct ibv_recv_wr wr, *bad;

	/* Without payload no memory is needed. */
	for (int i = 0; i < MESSAGES; i++)
		if (ibv_post_recv(v.qp, &wr, &bad))
			die("post_recv");
}

static void post_send(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad;

	if (ibv_post_send(v.qp, &wr, &bad))
		die("post_send");
}

/*
 * Waits for the next completion of a receive or of a send; completions of the other kind are
 * counted.
 */
static void wait_for(enum ibv_wc_opcode opcode, const char *what)
{
	static int ahead[2];	/* completions polled while the other kind was waited for: [0] of sends, [1] of receives */
	struct ibv_wc wc;

	while (!ahead[opcode == IBV_WC_RECV]) {
		if (v_wait(v.cq, &wc, 60) != IBV_WC_SUCCESS)
			die("%s: %s", what, ibv_wc_status_str(wc.status));
		ahead[wc.opcode == IBV_WC_RECV]++;
	}
	ahead[opcode == IBV_WC_RECV]--;
}

static void answer(const char *way)
{
	for (int i = 1; i < MESSAGES; i++) {
		wait_for(IBV_WC_RECV, "receive");
		post_send();
		wait_for(IBV_WC_SEND, "answer");
	}
	wait_for(IBV_WC_RECV, "last receive");
	if (!strcmp(way, "_exit"))
		_exit(0);
}

static void ask(void)
{
	for (int i = 1; i < MESSAGES; i++) {
		post_send();
		wait_for(IBV_WC_SEND, "message");
		wait_for(IBV_WC_RECV, "its answer");
	}
	post_send();
	wait_for(IBV_WC_SEND, "last message");
}

int main(int argc, char **argv)
{
	struct vcfg cfg = vcfg_default;
	struct vdest mine, theirs;

	if (argc != 3 && argc != 4)
		die("last-ack return|_exit PORT | ask PORT SERVER");
	cfg.max_wr = MESSAGES;
	cfg.cqe = 2 * MESSAGES;
	/* An ACK timeout of 17 s without retries: a lost ACK fails the QP. */
	cfg.timeout = 22;
	cfg.retry = 0;
	v_open(&v, &cfg);
	v.sock = v_rendezvous(argv[2], argc == 4 ? argv[3] : NULL);
	v_connect(&v, &mine, &theirs);
	post_recvs();
	v_sync(v.sock);
	if (argc == 4)
		ask();
	else
		answer(argv[1]);
	return 0;
}
