/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two processes open the device as root, create their QPs and then change their user ID, as
 * daemons do. As that user they connect the QPs to each other and send small and large messages in
 * both directions.
 *
 *	drop real|effective [first|second]
 *
 * real: both the real and the effective ID change (setuid); effective: only the effective one
 * (seteuid). first, second: only this process changes its ID, and the other one stays root.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "verbs.h"

#define NOBODY 65534
#define SIZE (256u << 10)

static const uint32_t sizes[] = { 100, SIZE };

static void transfer(struct vctx *v, const char *side, bool first)
{
	uint8_t *buf = aligned_alloc(4096, SIZE);
	struct ibv_mr *mr = buf ? ibv_reg_mr(v->pd, buf, SIZE, IBV_ACCESS_LOCAL_WRITE) : NULL;
	struct ibv_wc wc;

	if (!mr)
		die("%s: reg_mr: %s", side, strerror(errno));
	for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(*sizes); i++) {
		struct ibv_sge sge = { (uintptr_t)buf, sizes[i / 2], mr->lkey };
		struct ibv_recv_wr rw = { .sg_list = &sge, .num_sge = 1 }, *rbad;
		struct ibv_send_wr sw = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
					  .send_flags = IBV_SEND_SIGNALED }, *sbad;
		bool sends = i % 2 == first;

		if (!sends && ibv_post_recv(v->qp, &rw, &rbad))
			die("%s: post_recv", side);
		v_sync(v->sock);
		if (sends)
			fill(buf, sizes[i / 2], i);
		if (sends && ibv_post_send(v->qp, &sw, &sbad))
			die("%s: post_send", side);
		if (v_wait(v->cq, &wc, 60))
			die("%s: %s", side, ibv_wc_status_str(wc.status));
		if (!sends)
			check(buf, sizes[i / 2], i, side);
		v_sync(v->sock);
	}
	ibv_dereg_mr(mr);
	free(buf);
}

static void side(const char *name, int sock, bool effective, const char *only)
{
	struct vcfg cfg = vcfg_default;
	struct vctx v = { .sock = sock };
	struct vdest mine, theirs;

	v_open(&v, &cfg);
	if (only && strcmp(name, only))
		;		/* stays root */
	else if (effective ? seteuid(NOBODY) : setgid(NOBODY) || setuid(NOBODY))
		die("%s: change of the user: %s", name, strerror(errno));
	v_connect(&v, &mine, &theirs);
	transfer(&v, name, !strcmp(name, "first"));
	v_close(&v);
}

int main(int argc, char **argv)
{
	bool effective = argc > 1 && !strcmp(argv[1], "effective");
	const char *only = argc > 2 ? argv[2] : NULL;
	int s[2], status;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, s))
		die("socketpair: %s", strerror(errno));
	child = fork();
	if (child < 0)
		die("fork: %s", strerror(errno));
	close(s[!child]);
	side(child ? "first" : "second", s[!!child], effective, only);
	if (child && (waitpid(child, &status, 0) != child || status))
		die("second: status %#x", status);
	return 0;
}
