/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Opens the first device, creates a PD, a CQ and a QP, and sends a message to itself.
 *
 *	limits			without a change of its own limits
 *	limits KIB		first limits locked memory to KIB KiB, becomes an unprivileged user if it is
 *				root, and locks all later mappings (MCL_FUTURE)
 *
 * Ends with 0; with 2 if the device cannot be opened; with 1 after any other failure.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include "verbs.h"

#define NOBODY 65534

static void lock_future(rlim_t bytes)
{
	const struct rlimit rl = { bytes, bytes };

	if (setrlimit(RLIMIT_MEMLOCK, &rl))
		die("RLIMIT_MEMLOCK: %s", strerror(errno));
	if (!geteuid() && (setgid(NOBODY) || setuid(NOBODY)))
		die("setuid: %s", strerror(errno));
	if (mlockall(MCL_FUTURE))
		die("mlockall: %s", strerror(errno));
}

int main(int argc, char **argv)
{
	static uint8_t buf[64];
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct vcfg cfg = vcfg_default;
	struct ibv_context *ctx;
	struct ibv_wc wc;
	struct vctx v = { .sock = -1 };
	struct ibv_qp *peer;
	struct ibv_sge sge = { (uintptr_t)buf, sizeof(buf), 0 };
	struct ibv_recv_wr rw = { .sg_list = &sge, .num_sge = 1 }, *rbad;
	struct ibv_send_wr sw = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE }, *sbad;
	struct ibv_mr *mr;

	if (argc > 1)
		lock_future((rlim_t)atol(argv[1]) << 10);
	ctx = list && *list ? ibv_open_device(*list) : NULL;
	if (!ctx) {
		fprintf(stderr, "no device: %s\n", strerror(errno));
		return 2;
	}
	ibv_close_device(ctx);
	cfg.cqe = 16;
	cfg.max_wr = 8;
	v_open(&v, &cfg);
	peer = v_qp(&v);
	v_connect_self(&v, v.qp, peer);
	mr = ibv_reg_mr(v.pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);
	if (!mr)
		die("reg_mr: %s", strerror(errno));
	sge.lkey = mr->lkey;
	if (ibv_post_recv(peer, &rw, &rbad) || ibv_post_send(v.qp, &sw, &sbad))
		die("post: %s", strerror(errno));
	for (int i = 0; i < 2; i++)
		if (v_wait(v.cq, &wc, 60))
			die("%s", ibv_wc_status_str(wc.status));
	ibv_dereg_mr(mr);
	ibv_destroy_qp(peer);
	v_close(&v);
	puts("passed");
	return 0;
}
