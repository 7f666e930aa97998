/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Does a command hold when it has ended? In each round: connects two processes by new QPs, runs BEFORE, runs COMMAND,
 * posts a WRITE at once, and runs AFTER.
 *
 *   holds ROUNDS TIMEOUT WANT COMMAND [BEFORE [AFTER]]
 *
 * TIMEOUT is the local ACK timeout of the QPs. WANT is the name of the WRITE's status, or of the errno of its post;
 * "same" is that of the first round. The commands are run by sh, with $PID, $PEER (of the idle process) and $QP.
 * Prints "held N of ROUNDS", and its status is 1 if a round had another status, or if AFTER fails.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "verbs.h"

#define PATIENCE 60	/* seconds */

static uint8_t buf[4096];

static struct ibv_mr *holds_open(struct vctx *v, int sock, int timeout)
{
	struct vcfg cfg = vcfg_default;
	struct ibv_mr *mr;

	cfg.timeout = (uint8_t)timeout;
	cfg.retry = 1;
	v_open(v, &cfg);
	v->sock = sock;
	mr = ibv_reg_mr(v->pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!mr)
		die("reg_mr");
	return mr;
}

static void holds_connect(struct vctx *v, struct ibv_mr *mr, struct vdest *theirs)
{
	struct vdest mine = { .addr = (uintptr_t)buf, .rkey = mr->rkey };

	if (ibv_destroy_qp(v->qp))
		die("destroy_qp");
	v->qp = v_qp(v);
	v_connect(v, &mine, theirs);
}

static void serve(int sock, int timeout)
{
	struct vctx v = { 0 };
	struct ibv_mr *mr = holds_open(&v, sock, timeout);
	struct vdest theirs;
	char c;

	/* On a busy machine it is later than the other to see a change. */
	if (nice(10) < 0)
		die("nice");
	while (recv(sock, &c, 1, 0) == 1)
		holds_connect(&v, mr, &theirs);
	exit(0);
}

static int run(const char *command)
{
	return command && *command ? system(command) : 0;
}

/* The name of what the WRITE ends with. */
static const char *write_one(struct vctx *v, struct ibv_mr *mr, const struct vdest *to)
{
	struct ibv_sge sge = { (uintptr_t)buf, 64, mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED, .wr.rdma = { to->addr, to->rkey },
	};
	int rc = ibv_post_send(v->qp, &wr, &bad);
	struct ibv_wc wc;

	return rc ? strerrorname_np(rc) : ibv_wc_status_str(v_wait(v->cq, &wc, PATIENCE));
}

int main(int argc, char **argv)
{
	const char *want, *got;
	struct vctx v = { 0 };
	struct vdest theirs;
	struct ibv_mr *mr;
	int sock[2], rounds, held = 0;
	char number[16];
	pid_t pid;

	if (argc < 5 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock))
		die("usage: holds ROUNDS TIMEOUT WANT COMMAND [BEFORE [AFTER]]");
	rounds = atoi(argv[1]);
	want = strcmp(argv[3], "same") ? argv[3] : NULL;
	pid = fork();
	if (!pid) {
		close(sock[0]);
		serve(sock[1], atoi(argv[2]));
	}
	close(sock[1]);
	snprintf(number, sizeof(number), "%d", (int)pid);
	setenv("PEER", number, 1);
	snprintf(number, sizeof(number), "%d", (int)getpid());
	setenv("PID", number, 1);
	mr = holds_open(&v, sock[0], atoi(argv[2]));
	for (int i = 0; i < rounds; i++) {
		v_put(v.sock, "n", 1);
		holds_connect(&v, mr, &theirs);
		snprintf(number, sizeof(number), "%u", v.qp->qp_num);
		setenv("QP", number, 1);
		if (run(argc > 5 ? argv[5] : NULL) || run(argv[4]))
			die("round %d: a command failed", i);
		got = write_one(&v, mr, &theirs);
		if (!want)
			want = got;
		if (strcmp(got, want))
			fprintf(stderr, "round %d: %s, not %s\n", i, got, want);
		else if (run(argc > 6 ? argv[6] : NULL))
			fprintf(stderr, "round %d: status of the last command\n", i);
		else
			held++;
	}
	printf("held %d of %d\n", held, rounds);
	close(v.sock);
	waitpid(pid, NULL, 0);
	return held != rounds;
}
