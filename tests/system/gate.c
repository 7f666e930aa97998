/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs for the conditions of `ruse run --expect`. Each sends N messages of 64 bytes between two QPs of its own, and
 * then does what its name says.
 *
 * gate MODE [N [FILE]]: ok, device (opens a device, N is not used), leak (a QP and an MR), error (an RDMA WRITE whose status
 * is not read), text (a further message with a recognisable payload), kill, abort, fork (N children that send 1 message
 * each), daemon (goes on in the background until FILE exists, after it has written FILE.pid)
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "verbs.h"

#define LIMIT 600	/* seconds that a program in the background waits at most */

static struct vctx v;
static struct ibv_qp *peer;

static void begin(int n)
{
	v_open(&v, &vcfg_default);
	peer = v_qp(&v);
	v_connect_self(&v, v.qp, peer);
	for (int i = 0; i < n; i++)
		if (v_message(&v, v.qp, peer, IBV_SEND_SIGNALED))
			die("message %d fails", i);
}

static void end(void)
{
	if (ibv_destroy_qp(peer))
		die("destroy_qp: %s", strerror(errno));
	v_close(&v);
}

/* The rkey belongs to no region. */
static void fail(void)
{
	static uint8_t from[64];
	struct ibv_sge s = { (uintptr_t)from, sizeof(from), 0 };
	struct ibv_send_wr w = { .sg_list = &s, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED }, *bad;
	struct ibv_wc wc;

	w.wr.rdma.remote_addr = (uintptr_t)from;
	w.wr.rdma.rkey = 0xdead01;
	if (ibv_post_send(v.qp, &w, &bad))
		die("post: %s", strerror(errno));
	v_wait(v.cq, &wc, 60);
}

/* A message whose payload is found if it is anywhere. */
static void send_text(void)
{
	static char to[64], from[64];
	struct ibv_mr *mr = ibv_reg_mr(v.pd, to, sizeof(to), IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge rs = { (uintptr_t)to, sizeof(to), mr ? mr->lkey : 0 };
	struct ibv_sge ss = { (uintptr_t)from, sizeof(from), 0 };
	struct ibv_recv_wr rw = { .sg_list = &rs, .num_sge = 1 }, *rbad;
	struct ibv_send_wr sw = { .sg_list = &ss, .num_sge = 1, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED }, *sbad;
	struct ibv_wc wc;

	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = "SECRET-payload."[i % 15];
	if (!mr || ibv_post_recv(peer, &rw, &rbad) || ibv_post_send(v.qp, &sw, &sbad))
		die("post: %s", strerror(errno));
	for (int i = 0; i < 2; i++)
		if (v_wait(v.cq, &wc, 60))
			die("the message fails");
	if (memcmp(to, from, sizeof(to)))
		die("another payload");
	ibv_dereg_mr(mr);
}

static void daemonise(const char *file)
{
	char pid[4096];
	FILE *f;

	if (setsid() < 0)
		die("setsid: %s", strerror(errno));
	begin(1);
	snprintf(pid, sizeof(pid), "%s.pid", file);
	f = fopen(pid, "w");
	if (!f || fprintf(f, "%d\n", (int)getpid()) < 0 || fclose(f))
		die("%s: %s", pid, strerror(errno));
	for (int i = 0; i < LIMIT * 20 && access(file, F_OK); i++)
		usleep(50000);
	end();
}

static void children(int n)
{
	int status;

	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork: %s", strerror(errno));
		if (!pid) {
			begin(1);
			end();
			exit(0);
		}
	}
	while (wait(&status) > 0)
		if (status)
			die("a child fails");
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 0;

	if (!strcmp(mode, "fork")) {
		children(n);
		return 0;
	}
	if (!strcmp(mode, "daemon") && argc > 3) {
		if (!fork())
			daemonise(argv[3]);
		return 0;
	}
	if (!strcmp(mode, "device")) {
		v_open(&v, &vcfg_default);
		v_close(&v);
		return 0;
	}
	begin(n);
	if (!strcmp(mode, "kill"))
		raise(SIGKILL);
	if (!strcmp(mode, "abort"))
		abort();
	if (!strcmp(mode, "leak"))
		return ibv_reg_mr(v.pd, &v, sizeof(v), 0) ? 0 : 1;
	if (!strcmp(mode, "error"))
		fail();
	else if (!strcmp(mode, "text"))
		send_text();
	else if (strcmp(mode, "ok"))
		die("usage: gate MODE [N [FILE]]");
	end();
	return 0;
}
