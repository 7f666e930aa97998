/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * delivered PORT          the receiver: tells the sender of each completion
 * delivered PORT SERVER   the sender: when it is told that its message has arrived, it resets its QP,
 *                         moves it to ERR or destroys it, and then polls its CQ
 *
 * A message that has completed at the receiver is no longer outstanding at the sender, even if the
 * sender has not polled its CQ since it posted the send: it must complete with success and not be flushed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "verbs.h"

#define ROUNDS 60

static struct vctx v = { .sock = -1 };

static void post_recv(void)
{
	struct ibv_recv_wr wr = { 0 }, *bad;

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
 * Polls the empty CQ so often that the library counts the program as polling
 * (doc/design/polling.md): segments that arrive after that wait for the program's next poll.
 */
static void poll_nothing(void)
{
	struct ibv_wc wc;

	for (int i = 0; i < 200; i++)
		if (ibv_poll_cq(v.cq, 1, &wc))
			die("a completion of nothing");
}

static void end(int round)
{
	struct ibv_qp_attr a = { .qp_state = round & 1 ? IBV_QPS_ERR : IBV_QPS_RESET };

	if (round % 3) {
		if (ibv_modify_qp(v.qp, &a, IBV_QP_STATE))
			die("modify_qp");
	} else {
		if (ibv_destroy_qp(v.qp))
			die("destroy_qp");
		v.qp = NULL;
	}
}

static void sender(int round)
{
	struct ibv_wc wc;

	poll_nothing();
	post_send();
	v_sync(v.sock);
	end(round);
	if (ibv_poll_cq(v.cq, 1, &wc) != 1)
		die("round %d: no completion of what was delivered", round);
	if (wc.status != IBV_WC_SUCCESS)
		die("round %d: %s", round, ibv_wc_status_str(wc.status));
}

static void receiver(void)
{
	struct ibv_wc wc;

	if (v_wait(v.cq, &wc, 60) != IBV_WC_SUCCESS)
		die("receive: %s", ibv_wc_status_str(wc.status));
	v_sync(v.sock);
}

int main(int argc, char **argv)
{
	struct vdest mine, theirs;

	if (argc != 2 && argc != 3)
		die("delivered PORT [SERVER]");
	v_open(&v, &vcfg_default);
	v.sock = v_rendezvous(argv[1], argc == 3 ? argv[2] : NULL);
	for (int i = 0; i < ROUNDS; i++) {
		if (i)
			v.qp = v_qp(&v);
		v_connect(&v, &mine, &theirs);
		if (argc == 2)
			post_recv();
		v_sync(v.sock);
		if (argc == 3)
			sender(i);
		else
			receiver();
		v_sync(v.sock);
		if (v.qp && ibv_destroy_qp(v.qp))
			die("destroy_qp");
		v.qp = NULL;
	}
	v_close(&v);
	return 0;
}
