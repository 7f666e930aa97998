/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages between two processes under fault injection: each completes with the right bytes, or
 * the QP fails with a status, both within PATIENCE.
 *
 *   fault COUNT LENGTH [pause]     SEND, WRITE, READ in turn, COUNT messages
 *
 * Prints "done COUNT", or the failed message's status and how many messages had completed before
 * it. With pause it prints "ready PID" after half of them and continues after a line on standard
 * input. FAULT_TIMEOUT is the timeout of the QPs as in IBV_QP_TIMEOUT; without it it is 10, 4 ms, for many attempts in a
 * short test, which a peer that gets no processor for 30 ms does not answer.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "verbs.h"

#define MAX (1u << 20)
#define PATIENCE 60	/* seconds for one message, including retries */

static uint8_t *buf;
static uint32_t count, len;

static struct ibv_mr *open_side(struct vctx *v, int sock, struct vdest *theirs)
{
	const char *timeout = getenv("FAULT_TIMEOUT");
	struct vcfg cfg = vcfg_default;
	struct vdest mine;
	struct ibv_mr *mr;

	cfg.timeout = (uint8_t)(timeout ? atoi(timeout) : 10);
	cfg.rnr_retry = 6;
	v_open(v, &cfg);
	v->sock = sock;
	v->qp = v_qp(v);
	buf = calloc(2, MAX);
	mr = ibv_reg_mr(v->pd, buf, 2 * MAX, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
			IBV_ACCESS_REMOTE_WRITE);
	if (!mr)
		die("reg_mr");
	mine.addr = (uintptr_t)buf;
	mine.rkey = mr->rkey;
	v_connect(v, &mine, theirs);
	return mr;
}

static void post(struct vctx *v, struct ibv_mr *mr, const struct vdest *to, uint32_t i)
{
	static const enum ibv_wr_opcode op[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ };
	struct ibv_sge sge = { (uintptr_t)buf, len, mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = i, .sg_list = &sge, .num_sge = 1, .opcode = op[i % 3],
		.send_flags = IBV_SEND_SIGNALED,
		/* READs use another range than WRITEs. */
		.wr.rdma = { to->addr + (i % 3 == 2 ? MAX : 0), to->rkey },
	};
	struct ibv_send_wr *bad;

	if (i % 3 == 2)
		memset(buf, 0, len);
	else
		fill(buf, len, i);
	if (ibv_post_send(v->qp, &wr, &bad))
		die("post_send");
}

/*
 * The server: checks its memory after each message; the client announces each message over the
 * socket.
 */
static void serve(int sock)
{
	struct vdest theirs;
	struct vctx v = { 0 };
	struct ibv_mr *mr = open_side(&v, sock, &theirs);
	struct ibv_recv_wr *bad;
	struct ibv_wc wc;
	uint32_t i;

	fill(buf + MAX, len, 77);
	for (;;) {
		struct ibv_sge sge = { (uintptr_t)buf, len, mr->lkey };
		struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

		v_get(sock, &i, sizeof(i));
		if (i == UINT32_MAX)
			break;
		memset(buf, 0, len);
		if (i % 3 == 0 && ibv_post_recv(v.qp, &wr, &bad))
			die("post_recv");
		v_put(sock, &i, sizeof(i));
		v_get(sock, &i, sizeof(i));	/* the client has polled the completion */
		if (i % 3 == 0 && (v_wait(v.cq, &wc, PATIENCE) || wc.byte_len != len))
			die("receive %u: %s, %u bytes", i, ibv_wc_status_str(wc.status),
			    wc.byte_len);
		if (i % 3 != 2)
			check(buf, len, i, "message");
		v_put(sock, &i, sizeof(i));
	}
	exit(0);
}

static void pause_here(void)
{
	char line[16];

	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		die("stdin");
}

int main(int argc, char **argv)
{
	struct vctx v = { 0 };
	struct vdest theirs;
	struct ibv_mr *mr;
	struct ibv_wc wc;
	uint32_t i, end = UINT32_MAX;
	int sock[2], status;
	pid_t pid;

	if (argc < 3)
		die("usage: fault COUNT LENGTH [pause]");
	count = (uint32_t)atoi(argv[1]);
	len = (uint32_t)atoi(argv[2]);
	if (len > MAX || socketpair(AF_UNIX, SOCK_STREAM, 0, sock))
		die("length");
	pid = fork();
	if (!pid)
		serve(sock[1]);
	mr = open_side(&v, sock[0], &theirs);
	for (i = 0; i < count; i++) {
		if (argc > 3 && i == count / 2)
			pause_here();
		v_put(v.sock, &i, sizeof(i));
		v_get(v.sock, &i, sizeof(i));
		post(&v, mr, &theirs, i);
		if (v_wait(v.cq, &wc, PATIENCE)) {
			printf("%s after %u\n", ibv_wc_status_str(wc.status), i);
			kill(pid, 9);
			return 0;
		}
		if (i % 3 == 2)
			check(buf, len, 77, "READ");
		v_put(v.sock, &i, sizeof(i));
		v_get(v.sock, &i, sizeof(i));
	}
	v_put(v.sock, &end, sizeof(end));
	if (waitpid(pid, &status, 0) != pid || status)
		die("the server failed");
	printf("done %u\n", count);
	return 0;
}
