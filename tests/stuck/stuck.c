/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Hangs of RDMA programs. "stuck NAME" connects two QPs, a to b, makes the hang, prints "ready", and waits until its
 * standard input ends. Both QPs are in this process, except in peer-stopped: there b is in a child, which stops.
 * "stuck ended" is no hang: a sends to b, which the program has moved to ERR, as when two ends disconnect.
 * "stuck repaired" is no hang: b is late, so that a's first packet is dropped and its repetition taken, and then ends in ERR.
 * "stuck wire-send INDEX" and "stuck wire-recv INDEX" are the ends on two hosts, with this GID index. Each prints its
 * QP number, GID and PID, and reads the first two of the other end.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infiniband/verbs.h>

static const char *name;
static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_comp_channel *channel;
static struct ibv_mr *mr;
static union ibv_gid gid;
static uint8_t gid_index;
static char buf[4096];

static void check(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static int is(const char *hang)
{
	return !strcmp(name, hang);
}

static void open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	check(list && list[0], "device");
	ctx = ibv_open_device(list[0]);
	check(ctx != NULL, "open");
	pd = ibv_alloc_pd(ctx);
	channel = is("arm") || is("event") || is("destroy-cq") ? ibv_create_comp_channel(ctx) : NULL;
	cq = ibv_create_cq(ctx, 64, NULL, channel, 0);
	mr = ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	check(cq && mr && !ibv_query_gid(ctx, 1, gid_index, &gid), "objects");
	if (is("event") || is("destroy-cq"))
		check(!ibv_req_notify_cq(cq, 0), "req_notify_cq");
}

static struct ibv_qp *make_qp(void)
{
	struct ibv_qp_init_attr a = {
		.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &a);
	struct ibv_qp_attr m = { .qp_state = IBV_QPS_INIT, .port_num = 1,
				 .qp_access_flags = IBV_ACCESS_REMOTE_READ };

	check(qp != NULL, "create_qp");
	check(!ibv_modify_qp(qp, &m, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				     IBV_QP_ACCESS_FLAGS), "INIT");
	return qp;
}

static void to_rtr(struct ibv_qp *qp, uint32_t peer)
{
	struct ibv_qp_attr m = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = peer,
		.rq_psn = 100, .max_dest_rd_atomic = 1, .min_rnr_timer = 31,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = gid, .sgid_index = gid_index,
				      .hop_limit = 64 } },
	};

	check(!ibv_modify_qp(qp, &m, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER), "RTR");
}

static void to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr m = {
		.qp_state = IBV_QPS_RTS, .sq_psn = is("psn") ? 200 : 100, .retry_cnt = 7,
		.rnr_retry = 7,
		.timeout = is("answer") || is("psn") || is("wire-send") ? 22 : is("peer-stopped") || is("repaired") ? 14 : 0,
		.max_rd_atomic = 1,
	};

	check(!ibv_modify_qp(qp, &m, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
				     IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_MAX_QP_RD_ATOMIC), "RTS");
}

static void receive(struct ibv_qp *qp, int n)
{
	struct ibv_sge s = { (uintptr_t)buf, 64, mr->lkey };
	struct ibv_recv_wr w = { .wr_id = 1, .sg_list = &s, .num_sge = 1 }, *bad;

	while (n--)
		check(!ibv_post_recv(qp, &w, &bad), "post_recv");
}

static void send_one(struct ibv_qp *qp, unsigned int flags)
{
	struct ibv_sge s = { (uintptr_t)buf, 64, mr->lkey };
	struct ibv_send_wr w = { .wr_id = 7, .sg_list = &s, .num_sge = 1, .opcode = IBV_WR_SEND,
				 .send_flags = flags }, *bad;

	check(!ibv_post_send(qp, &w, &bad), "post_send");
}

static void poll_one(void)
{
	struct ibv_wc wc;
	int n;

	do
		n = ibv_poll_cq(cq, 1, &wc);
	while (!n);
	check(n == 1 && wc.status == IBV_WC_SUCCESS, "completion");
}

static void ready(void)
{
	puts("ready");
	fflush(stdout);
}

static void pair(void)
{
	uint32_t mine, peer = 0;
	struct ibv_qp *qp;
	int s[2], parent;
	pid_t child;

	check(!socketpair(AF_UNIX, SOCK_STREAM, 0, s), "socketpair");
	child = fork();
	parent = child != 0;
	open_device();
	qp = make_qp();
	mine = qp->qp_num;
	check(write(s[parent], &mine, 4) == 4 && read(s[parent], &peer, 4) == 4, "exchange");
	to_rtr(qp, peer);
	if (!parent) {
		/* The parent's QP is connected: that needs this process. */
		check(read(s[0], &peer, 4) == 4, "read");
		raise(SIGSTOP);
		_exit(0);
	}
	to_rts(qp);
	check(write(s[1], &mine, 4) == 4, "write");
	check(waitpid(child, NULL, WUNTRACED) == child, "stop");
	send_one(qp, IBV_SEND_SIGNALED);
	ready();
}

static void wire(void)
{
	struct ibv_qp *qp;
	uint32_t peer;

	open_device();
	qp = make_qp();
	printf("%u ", qp->qp_num);
	for (int i = 0; i < 16; i++)
		printf("%02x", gid.raw[i]);
	printf(" %d\n", getpid());
	fflush(stdout);
	check(scanf("%u ", &peer) == 1, "QP number");
	for (int i = 0; i < 16; i++)
		check(scanf("%2hhx", &gid.raw[i]) == 1, "GID");
	to_rtr(qp, peer);
	to_rts(qp);
	if (is("wire-send"))
		send_one(qp, IBV_SEND_SIGNALED);
	ready();
}

/* The events of these two are not acknowledged. */
static void destroy_cq(struct ibv_qp *a, struct ibv_qp *b)
{
	struct ibv_cq *got;
	void *context;

	check(!ibv_get_cq_event(channel, &got, &context), "get_cq_event");
	check(!ibv_destroy_qp(a) && !ibv_destroy_qp(b), "destroy_qp");
	ibv_destroy_cq(cq);
}

static void destroy_qp(struct ibv_qp *qp)
{
	struct ibv_async_event ev;

	check(!ibv_get_async_event(ctx, &ev) && ev.event_type == IBV_EVENT_COMM_EST, "COMM_EST");
	ibv_destroy_qp(qp);
}

/* Ends both QPs as a program that is done. A receive of b is flushed. */
static void repaired(struct ibv_qp *a, struct ibv_qp *b)
{
	struct ibv_qp_attr err = { .qp_state = IBV_QPS_ERR };

	usleep(100000);
	to_rtr(b, a->qp_num);
	receive(b, 2);
	poll_one();
	poll_one();
	check(!ibv_modify_qp(b, &err, IBV_QP_STATE), "ERR");
	check(!ibv_destroy_qp(a) && !ibv_destroy_qp(b), "destroy_qp");
}

static void ended(struct ibv_qp *a, struct ibv_qp *b)
{
	struct ibv_qp_attr err = { .qp_state = IBV_QPS_ERR };

	check(!ibv_modify_qp(b, &err, IBV_QP_STATE), "ERR");
	send_one(a, IBV_SEND_SIGNALED);
	usleep(100000);
	check(!ibv_modify_qp(a, &err, IBV_QP_STATE), "ERR");
	check(!ibv_destroy_qp(a) && !ibv_destroy_qp(b), "destroy_qp");
}

static void alone(void)
{
	struct ibv_qp *a, *b;

	open_device();
	a = make_qp();
	b = make_qp();
	if (is("init")) {
		receive(b, 3);
		ready();
		return;
	}
	if (!is("state") && !is("repaired"))
		to_rtr(b, a->qp_num);
	to_rtr(a, is("no-timeout") || is("answer") ? b->qp_num + 1 : b->qp_num);
	if (!is("rtr")) {
		to_rts(a);
		if (!is("state") && !is("repaired") && !is("destroy-qp"))
			to_rts(b);
	}
	if (is("sqd")) {
		struct ibv_qp_attr m = { .qp_state = IBV_QPS_SQD };

		check(!ibv_modify_qp(a, &m, IBV_QP_STATE), "SQD");
	}
	if (is("recv"))
		receive(b, 5);
	if (is("poll") || is("arm") || is("event") || is("unsignaled") || is("idle") ||
	    is("destroy-cq") || is("destroy-qp"))
		receive(b, 1);
	if (!is("rtr") && !is("recv") && !is("ended"))
		send_one(a, is("unsignaled") ? 0 : IBV_SEND_SIGNALED);
	if (is("unsignaled"))
		poll_one();
	for (int i = 0; is("idle") && i < 2; i++)
		poll_one();
	ready();
	if (is("stopped"))
		raise(SIGSTOP);
	if (is("destroy-cq"))
		destroy_cq(a, b);
	if (is("destroy-qp"))
		destroy_qp(b);
	if (is("repaired"))
		repaired(a, b);
	if (is("ended"))
		ended(a, b);
}

int main(int argc, char **argv)
{
	char c;

	if (argc < 2)
		return 2;
	name = argv[1];
	gid_index = argc > 2 ? (uint8_t)atoi(argv[2]) : 0;
	if (argc > 2)
		wire();
	else if (is("peer-stopped"))
		pair();
	else
		alone();
	while (read(0, &c, 1) > 0)
		;
	return 0;
}
