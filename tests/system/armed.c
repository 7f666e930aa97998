/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * armed [strict]: a CQ that is armed while it holds a completion raises its event if the program
 * sleeps. If the program polls, there is no second event. strict: with RUSE_STRICT_ARM=1 there is none
 * either way.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>
#include "verbs.h"

#define LIMIT_MS 60000
#define NONE_MS 300	/* this long no event may come */
#define ROUNDS 200

static struct vctx v = { .sock = -1 };
static struct ibv_qp *peer;

static bool event(int ms)
{
	struct pollfd p = { .fd = v.ch->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *ctx;
	int n = poll(&p, 1, ms);

	if (n < 0)
		die("poll: %s", strerror(errno));
	if (!n)
		return false;
	if (ibv_get_cq_event(v.ch, &cq, &ctx))
		die("get_cq_event: %s", strerror(errno));
	ibv_ack_cq_events(cq, 1);
	return true;
}

static void arm(int solicited_only)
{
	int ret = ibv_req_notify_cq(v.cq, solicited_only);

	if (ret)
		die("req_notify_cq: %s", strerror(ret));
}

/* Leaves one completion, a receive's, in the armed CQ, and takes its event. */
static void message(int flags)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = flags }, *bad;
	struct ibv_recv_wr rwr = { 0 }, *rbad;

	arm(0);
	if (ibv_post_recv(peer, &rwr, &rbad) || ibv_post_send(v.qp, &wr, &bad))
		die("post");
	if (!event(LIMIT_MS))
		die("no event for a new completion");
}

static void poll_all(int want)
{
	struct ibv_wc wc[4];
	int n = ibv_poll_cq(v.cq, 4, wc);

	if (n != want)
		die("%d completions instead of %d", n, want);
}

static void sleeps(int flags, int solicited_only, bool want, const char *what)
{
	message(flags);
	arm(solicited_only);
	if (event(want ? LIMIT_MS : NONE_MS) != want)
		die("%s: %s", what, want ? "no event" : "an event");
	if (want && event(NONE_MS))
		die("%s: a second event", what);
	poll_all(1);
}

/* An occasional event is due where the program lost its CPU between the arm and the poll. */
static void polls(void)
{
	int more = 0;

	for (int i = 0; i < ROUNDS; i++) {
		message(0);
		arm(0);
		poll_all(1);
		more += event(0);
	}
	more += event(NONE_MS);
	if (more > ROUNDS / 4)
		die("%d events in vain in %d rounds", more, ROUNDS);
}

int main(int argc, char **argv)
{
	bool kind = argc == 1 || strcmp(argv[1], "strict");
	struct vcfg cfg = vcfg_default;

	cfg.channel = true;
	cfg.sig_all = false;
	v_open(&v, &cfg);
	peer = v_qp(&v);
	v_connect_self(&v, v.qp, peer);
	for (int i = 0; i < 3; i++) {
		sleeps(0, 0, kind, "armed for any");
		sleeps(IBV_SEND_SOLICITED, 1, kind, "armed for solicited, holds one");
		sleeps(0, 1, false, "armed for solicited, holds another");
	}
	polls();
	if (ibv_destroy_qp(peer))
		die("destroy_qp");
	v_close(&v);
	return 0;
}
