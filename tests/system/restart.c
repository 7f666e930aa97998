/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Opens, connects and closes in a loop while kill.sh kills rused repeatedly: each command must
 * succeed or fail with an errno within ten seconds. Ends with the first pass without a failure
 * after FILE exists; earlier passes may fail.
 *
 *   restart FILE
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "verbs.h"

#define LIMIT_S 10

static unsigned int passes, failures;
static const char *command;
static struct timespec since;

static void begin(const char *what)
{
	command = what;
	clock_gettime(CLOCK_MONOTONIC, &since);
	alarm(3 * LIMIT_S);	/* a hang ends the program */
}

/* Checks the time that the command took, and the errno if it failed. */
static bool end(bool ok)
{
	int err = errno;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec - since.tv_sec > LIMIT_S)
		die("%s took more than %d s", command, LIMIT_S);
	if (!ok) {
		failures++;
		if (err <= 0 || err > 133)
			die("%s failed with errno %d", command, err);
	}
	return ok;
}

#define TRY(what, expr) (begin(what), errno = 0, end(expr))
/* For functions that return the errno. */
#define TRY_RET(what, expr) (begin(what), end((errno = (expr)) == 0))

/* Connects a QP to itself and sends one message. */
static bool connect_and_send(struct vctx *v)
{
	struct vdest d = { .qpn = v->qp->qp_num, .psn = 7 };
	struct ibv_wc wc;
	uint8_t buf[64];
	struct ibv_mr *mr;
	bool ok;

	if (!TRY("query_gid", ibv_query_gid(v->ctx, 1, GID_INDEX, &d.gid) == 0) ||
	    !TRY_RET("INIT", v_init(v->qp, IBV_ACCESS_REMOTE_WRITE)) ||
	    !TRY_RET("RTR", v_rtr(v->qp, &v->cfg, &d)) ||
	    !TRY_RET("RTS", v_rts(v->qp, &v->cfg, 7)))
		return false;
	if (!TRY("reg_mr", (mr = ibv_reg_mr(v->pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE)) != NULL))
		return false;
	{
		struct ibv_sge sge = { (uintptr_t)buf, sizeof(buf), mr->lkey };
		struct ibv_recv_wr rr = { .sg_list = &sge, .num_sge = 1 }, *badr;
		struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1,
					  .opcode = IBV_WR_SEND }, *bad;

		ok = TRY_RET("post_recv", ibv_post_recv(v->qp, &rr, &badr)) &&
		     TRY_RET("post_send", ibv_post_send(v->qp, &wr, &bad));
	}
	/* A connected QP does not need rused. */
	if (ok && v_wait(v->cq, &wc, LIMIT_S))
		die("receive: %s", ibv_wc_status_str(wc.status));
	return TRY_RET("dereg_mr", ibv_dereg_mr(mr)) && ok;
}

static bool with_device(struct ibv_device *dev)
{
	struct vctx v = { .cfg = vcfg_default };
	struct ibv_qp_init_attr a = {
		.qp_type = IBV_QPT_RC, .cap = { .max_send_wr = 4, .max_recv_wr = 4,
						.max_send_sge = 1, .max_recv_sge = 1 },
	};
	bool ok;

	if (!TRY("open_device", (v.ctx = ibv_open_device(dev)) != NULL))
		return false;
	ok = TRY("alloc_pd", (v.pd = ibv_alloc_pd(v.ctx)) != NULL) &&
	     TRY("create_cq", (v.cq = ibv_create_cq(v.ctx, 16, NULL, NULL, 0)) != NULL);
	a.send_cq = a.recv_cq = v.cq;
	ok = ok && TRY("create_qp", (v.qp = ibv_create_qp(v.pd, &a)) != NULL);
	ok = ok && connect_and_send(&v);
	/* Objects can be destroyed with and without rused. */
	if ((v.qp && !TRY_RET("destroy_qp", ibv_destroy_qp(v.qp))) ||
	    (v.cq && !TRY_RET("destroy_cq", ibv_destroy_cq(v.cq))) ||
	    (v.pd && !TRY_RET("dealloc_pd", ibv_dealloc_pd(v.pd))) ||
	    !TRY("close_device", ibv_close_device(v.ctx) == 0))
		die("%s: %s", command, strerror(errno));
	return ok;
}

static bool pass(void)
{
	struct ibv_device **list;
	int n = 0;
	bool ok;

	passes++;
	begin("get_device_list");
	errno = 0;
	list = ibv_get_device_list(&n);
	if (!list)
		return end(false);
	ok = end(true) && n > 0 && with_device(list[0]);
	failures += n == 0;
	ibv_free_device_list(list);
	return ok;
}

int main(int argc, char **argv)
{
	int ret = 1;

	if (argc != 2)
		return 2;
	while (access(argv[1], F_OK))
		pass();
	/* rused is no longer killed; allow some seconds until the last one is ready. */
	for (int i = 0; i < 50 && ret; i++) {
		ret = !pass();
		usleep(100000);
	}
	printf("restart: %u passes, %u failures%s\n", passes, failures,
	       ret ? "; never worked again" : "");
	return ret;
}
