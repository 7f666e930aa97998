/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Common functions of the system tests' verbs programs: see verbs.h. Opens devices, creates and
 * connects QPs, exchanges addresses over a socket, and fills and checks buffers.
 */
#include <errno.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "verbs.h"

const struct vcfg vcfg_default = {
	.cqe = 256, .max_wr = 128, .max_sge = 4, .max_inline = 64, .mtu = IBV_MTU_1024,
	.timeout = 14, .retry = 7, .rnr_retry = 7, .min_rnr = 1, .rd_atomic = 4,
};

void die(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%d: ", (int)getpid());
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

void v_open(struct vctx *v, const struct vcfg *cfg)
{
	const char *want = getenv("VERBS_DEVICE");
	struct ibv_device **list = ibv_get_device_list(NULL);

	v->cfg = *cfg;
	v->ctx = NULL;
	for (int i = 0; list && list[i]; i++)
		if (!want || !strcmp(want, ibv_get_device_name(list[i]))) {
			v->ctx = ibv_open_device(list[i]);
			break;
		}
	if (!v->ctx)
		die("no device%s%s: %s", want ? " " : "", want ? want : "", strerror(errno));
	ibv_free_device_list(list);
	v->pd = ibv_alloc_pd(v->ctx);
	v->ch = cfg->channel ? ibv_create_comp_channel(v->ctx) : NULL;
	v->cq = ibv_create_cq(v->ctx, (int)cfg->cqe, NULL, v->ch, 0);
	if (!v->pd || !v->cq || (cfg->channel && !v->ch))
		die("PD, channel or CQ: %s", strerror(errno));
	v->qp = v_qp(v);
}

void v_close(struct vctx *v)
{
	if (v->qp && ibv_destroy_qp(v->qp))
		die("destroy_qp: %s", strerror(errno));
	if (ibv_destroy_cq(v->cq))
		die("destroy_cq: %s", strerror(errno));
	if (v->ch && ibv_destroy_comp_channel(v->ch))
		die("destroy_comp_channel: %s", strerror(errno));
	if (ibv_dealloc_pd(v->pd))
		die("dealloc_pd: %s", strerror(errno));
	if (ibv_close_device(v->ctx))
		die("close_device: %s", strerror(errno));
}

struct ibv_qp *v_qp(struct vctx *v)
{
	struct ibv_qp_init_attr a = {
		.send_cq = v->cq, .recv_cq = v->cq, .qp_type = IBV_QPT_RC,
		.sq_sig_all = v->cfg.sig_all,
		.cap = { .max_send_wr = v->cfg.max_wr, .max_recv_wr = v->cfg.max_wr,
			 .max_send_sge = v->cfg.max_sge, .max_recv_sge = v->cfg.max_sge,
			 .max_inline_data = v->cfg.max_inline },
	};
	struct ibv_qp *qp = ibv_create_qp(v->pd, &a);

	if (!qp)
		die("create_qp: %s", strerror(errno));
	return qp;
}

struct ibv_qp *v_ud_qp(struct vctx *v, uint32_t depth, uint32_t qkey)
{
	struct ibv_qp_init_attr ia = {
		.send_cq = v->cq, .recv_cq = v->cq, .qp_type = IBV_QPT_UD,
		.sq_sig_all = v->cfg.sig_all,
		.cap = { .max_send_wr = depth, .max_recv_wr = depth, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = qkey };
	int init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
	struct ibv_qp *qp = ibv_create_qp(v->pd, &ia);

	if (!qp)
		die("UD QP: %s", strerror(errno));
	if (ibv_modify_qp(qp, &a, init))
		die("UD QP to INIT: %s", strerror(errno));
	a.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(qp, &a, IBV_QP_STATE))
		die("UD QP to RTR: %s", strerror(errno));
	a.qp_state = IBV_QPS_RTS;
	if (ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN))
		die("UD QP to RTS: %s", strerror(errno));
	return qp;
}

/* The GID index: $VERBS_GID, or the first one that is an IPv4 address. */
static int v_gid(void)
{
	const char *gid = getenv("VERBS_GID");

	return gid ? atoi(gid) : GID_INDEX;
}

void v_dest(struct vctx *v, struct ibv_qp *qp, struct vdest *d)
{
	d->qpn = qp->qp_num;
	d->psn = (uint32_t)random() & 0xffffff;
	if (ibv_query_gid(v->ctx, 1, v_gid(), &d->gid))
		die("query_gid: %s", strerror(errno));
}

int v_init(struct ibv_qp *qp, int access)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = (unsigned int)access,
	};

	return ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_ACCESS_FLAGS);
}

int v_rtr(struct ibv_qp *qp, const struct vcfg *cfg, const struct vdest *to)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR, .path_mtu = cfg->mtu, .dest_qp_num = to->qpn,
		.rq_psn = to->psn, .max_dest_rd_atomic = cfg->rd_atomic,
		.min_rnr_timer = cfg->min_rnr,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = to->gid, .sgid_index = (uint8_t)v_gid(),
				      .hop_limit = 64 } },
	};

	return ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

int v_rts(struct ibv_qp *qp, const struct vcfg *cfg, uint32_t psn)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTS, .timeout = cfg->timeout, .retry_cnt = cfg->retry,
		.rnr_retry = cfg->rnr_retry, .sq_psn = psn, .max_rd_atomic = cfg->rd_atomic,
	};

	return ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

#define ALL_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | \
		    IBV_ACCESS_REMOTE_ATOMIC)

void v_connect(struct vctx *v, struct vdest *mine, struct vdest *theirs)
{
	int ret;

	v_dest(v, v->qp, mine);
	v_put(v->sock, mine, sizeof(*mine));
	v_get(v->sock, theirs, sizeof(*theirs));
	if ((ret = v_init(v->qp, ALL_ACCESS)) || (ret = v_rtr(v->qp, &v->cfg, theirs)) ||
	    (ret = v_rts(v->qp, &v->cfg, mine->psn)))
		die("modify_qp: %s", strerror(ret));
	v_sync(v->sock);
}

void v_connect_self(struct vctx *v, struct ibv_qp *a, struct ibv_qp *b)
{
	struct vdest da, db;
	int ret;

	v_dest(v, a, &da);
	v_dest(v, b, &db);
	if ((ret = v_init(a, ALL_ACCESS)) || (ret = v_init(b, ALL_ACCESS)) ||
	    (ret = v_rtr(a, &v->cfg, &db)) || (ret = v_rtr(b, &v->cfg, &da)) ||
	    (ret = v_rts(a, &v->cfg, da.psn)) || (ret = v_rts(b, &v->cfg, db.psn)))
		die("modify_qp: %s", strerror(ret));
}

enum ibv_wc_status v_wait(struct ibv_cq *cq, struct ibv_wc *wc, int seconds)
{
	time_t end = time(NULL) + seconds + 1;
	int n;

	for (unsigned int i = 0; ; i++) {
		n = ibv_poll_cq(cq, 1, wc);
		if (n < 0)
			die("poll_cq: %d", n);
		if (n)
			return wc->status;
		if (!(i & 1023) && time(NULL) > end)
			die("no completion within %d s", seconds);
	}
}

enum ibv_wc_status v_message(struct vctx *v, struct ibv_qp *a, struct ibv_qp *b, int flags)
{
	static uint8_t to[64], from[64];
	struct ibv_mr *mr = ibv_reg_mr(v->pd, to, sizeof(to), IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge rs = { (uintptr_t)to, sizeof(to), mr ? mr->lkey : 0 };
	struct ibv_sge ss = { (uintptr_t)from, sizeof(from), 0 };
	struct ibv_recv_wr rw = { .sg_list = &rs, .num_sge = 1 }, *rbad;
	struct ibv_send_wr sw = { .sg_list = &ss, .num_sge = 1, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_INLINE | (unsigned int)flags }, *sbad;
	enum ibv_wc_status status = IBV_WC_SUCCESS;
	struct ibv_wc wc;

	if (!mr || (b && ibv_post_recv(b, &rw, &rbad)) || ibv_post_send(a, &sw, &sbad))
		die("post: %s", strerror(errno));
	for (int i = 0; i < (b ? 2 : 0) && !status; i++)
		status = v_wait(v->cq, &wc, 60);
	ibv_dereg_mr(mr);
	return status;
}

int v_rendezvous(const char *port, const char *server)
{
	struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM,
				  .ai_flags = server ? 0 : AI_PASSIVE }, *ai;
	int one = 1, s, c;

	if (getaddrinfo(server, port, &hints, &ai))
		die("no address %s:%s", server ? server : "*", port);
	s = socket(ai->ai_family, SOCK_STREAM, 0);
	if (server) {
		if (connect(s, ai->ai_addr, ai->ai_addrlen))
			die("connect: %s", strerror(errno));
		freeaddrinfo(ai);
		return s;
	}
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(s, ai->ai_addr, ai->ai_addrlen) || listen(s, 1) || (c = accept(s, NULL, NULL)) < 0)
		die("listen: %s", strerror(errno));
	close(s);
	freeaddrinfo(ai);
	return c;
}

void v_put(int sock, const void *buf, size_t len)
{
	if (send(sock, buf, len, MSG_NOSIGNAL) != (ssize_t)len)
		die("the other side is gone");
}

void v_get(int sock, void *buf, size_t len)
{
	if (recv(sock, buf, len, MSG_WAITALL) != (ssize_t)len)
		die("the other side is gone");
}

void v_sync(int sock)
{
	char c = 's';

	v_put(sock, &c, 1);
	v_get(sock, &c, 1);
}

static uint64_t mix(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdull;
	return x ^ x >> 29;
}

void fill(void *buf, size_t len, uint64_t seed)
{
	uint8_t *p = buf;
	uint64_t w;

	for (size_t i = 0; i < len; i += 8) {
		w = mix(seed + i);
		memcpy(p + i, &w, len - i < 8 ? len - i : 8);
	}
}

void check(const void *buf, size_t len, uint64_t seed, const char *what)
{
	const uint8_t *p = buf;
	uint64_t w;

	for (size_t i = 0; i < len; i += 8) {
		w = mix(seed + i);
		if (memcmp(p + i, &w, len - i < 8 ? len - i : 8))
			die("wrong data: %s: wrong bytes at offset %zu of %zu", what, i, len);
	}
}
