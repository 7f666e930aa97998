// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * gid-types CASE [N...]: GIDs of both RoCE versions, and traffic between them.
 *
 *	table		each GID by index, as each of the ways to ask for it tells
 *	rc A B		a SEND, then a WRITE, from a QP with sgid_index A to one with B: status and vendor error of each
 *	uc A B		a SEND on UC: received or lost
 *	ud A		a datagram of an AH with sgid_index A, to a QP with the same address: what the receiver gets
 *	far A ADDRESS	rc to a GID of another host
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "verbs.h"

#define GIDS 1024

static struct vctx v;
static uint8_t data[4096] __attribute__((aligned(64)));
static struct ibv_mr *mr;

static const char *type_name(uint32_t type)
{
	static const char *const names[] = { "IB", "v1", "v2" };

	return type < 3 ? names[type] : "?";
}

static int do_table(void)
{
	static struct ibv_gid_entry all[GIDS];
	struct ibv_port_attr port;
	struct ibv_gid_entry e;
	union ibv_gid gid;
	char text[INET6_ADDRSTRLEN];
	ssize_t n;

	if (ibv_query_port(v.ctx, 1, &port))
		die("query_port");
	n = ibv_query_gid_table(v.ctx, all, GIDS, 0);
	for (ssize_t i = 0; i < n; i++) {
		uint32_t index = all[i].gid_index;

		if (ibv_query_gid_ex(v.ctx, 1, index, &e, 0) ||
		    memcmp(&e, &all[i], sizeof(e)) || ibv_query_gid(v.ctx, 1, (int)index, &gid) ||
		    memcmp(&gid, &e.gid, sizeof(gid)))
			die("GID %u differs", index);
		inet_ntop(AF_INET6, gid.raw, text, sizeof(text));
		printf("%u %s %s\n", index, text, type_name(e.gid_type));
	}
	n = ibv_query_gid_ex(v.ctx, 1, (uint32_t)port.gid_tbl_len, &e, 0);
	printf("%d entries, then %s; ", port.gid_tbl_len, strerrorname_np((int)n));
	n = ibv_query_gid_ex(v.ctx, 1, (uint32_t)port.gid_tbl_len - 1, &e, 0);
	printf("the last: %s\n", strerrorname_np((int)n));
	return 0;
}

static void with_gid(const char *index)
{
	setenv("VERBS_GID", index, 1);
}

/* Connects a to b, with this sgid_index and short timeouts. */
static void connect_to(struct ibv_qp *a, struct ibv_qp *b, const char *index, const char *far)
{
	struct vcfg cfg = v.cfg;
	struct vdest to;

	with_gid(index);
	v_dest(&v, b, &to);
	to.psn = 0;
	if (far && inet_pton(AF_INET6, far, to.gid.raw) != 1)
		die("%s is no address", far);
	cfg.timeout = 10;
	cfg.retry = 1;
	if (v_init(a, IBV_ACCESS_REMOTE_WRITE) || v_rtr(a, &cfg, &to) || v_rts(a, &cfg, 0))
		die("connect: %s", strerror(errno));
}

static void post_recv(struct ibv_qp *qp)
{
	struct ibv_sge sge = { (uintptr_t)data, 1024, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 9, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(qp, &wr, &bad))
		die("post_recv");
}

static void post(struct ibv_qp *qp, enum ibv_wr_opcode opcode, struct ibv_ah *ah, uint32_t qpn)
{
	struct ibv_sge sge = { (uintptr_t)data + 2048, 64, mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = opcode,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;

	if (ah) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = qpn;
		wr.wr.ud.remote_qkey = 7;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)data;
		wr.wr.rdma.rkey = mr->rkey;
	}
	if (ibv_post_send(qp, &wr, &bad))
		die("post_send");
}

/* The completion of the send, wr_id 1. */
static void print_send(const char *name)
{
	struct ibv_wc wc;

	do
		v_wait(v.cq, &wc, 60);
	while (wc.wr_id != 1);
	printf("%s status %d vendor 0x%x\n", name, wc.status, wc.vendor_err);
}

/* Each operation on a new pair, as a failed QP executes nothing any more. */
static int do_pairs(const char *a, const char *b, const char *far)
{
	static const struct { enum ibv_wr_opcode opcode; const char *name; } ops[] = {
		{ IBV_WR_SEND, "SEND" }, { IBV_WR_RDMA_WRITE, "WRITE" },
	};

	for (size_t i = 0; i < 2; i++) {
		struct ibv_qp *qp[2] = { v_qp(&v), v_qp(&v) };

		connect_to(qp[1], qp[0], b, NULL);
		connect_to(qp[0], qp[1], a, far);
		post_recv(qp[1]);
		post(qp[0], ops[i].opcode, NULL, 0);
		print_send(ops[i].name);
		ibv_destroy_qp(qp[0]);
		ibv_destroy_qp(qp[1]);
	}
	return 0;
}

/* Waits for the reception, wr_id 9; false: none comes. */
static bool receive(struct ibv_wc *wc)
{
	for (int i = 0; i < 300; i++) {
		int n = ibv_poll_cq(v.cq, 1, wc);

		if (n > 0 && wc->wr_id == 9)
			return true;
		if (n <= 0)
			poll(NULL, 0, 1);
	}
	return false;
}

static struct ibv_qp *uc_qp(void)
{
	struct ibv_qp_init_attr init = { .send_cq = v.cq, .recv_cq = v.cq, .qp_type = IBV_QPT_UC,
					 .cap = { 4, 4, 1, 1, 0 } };
	struct ibv_qp *qp = ibv_create_qp(v.pd, &init);

	if (!qp || v_init(qp, 0))
		die("UC QP");
	return qp;
}

/* Connects a UC QP with sgid_index `from` to another one, whose GID has the index `to`. */
static void uc_connect(struct ibv_qp *qp, const struct ibv_qp *peer, const char *from,
		       const char *to)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024,
				    .dest_qp_num = peer->qp_num };

	attr.ah_attr = (struct ibv_ah_attr){ .is_global = 1, .port_num = 1 };
	attr.ah_attr.grh.sgid_index = (uint8_t)atoi(from);
	attr.ah_attr.grh.hop_limit = 64;
	if (ibv_query_gid(v.ctx, 1, atoi(to), &attr.ah_attr.grh.dgid) ||
	    ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN))
		die("UC QP to RTR");
	attr.qp_state = IBV_QPS_RTS;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN))
		die("UC QP to RTS");
}

static int do_uc(const char *a, const char *b)
{
	struct ibv_qp *from = uc_qp(), *to = uc_qp();

	uc_connect(from, to, a, b);
	uc_connect(to, from, b, a);
	post_recv(to);
	post(from, IBV_WR_SEND, NULL, 0);
	puts(receive(&(struct ibv_wc){ 0 }) ? "received" : "lost");
	return 0;
}

static int do_ud(const char *a)
{
	struct ibv_qp *from = v_ud_qp(&v, 4, 7), *to = v_ud_qp(&v, 4, 7);
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1,
				    .grh = { .sgid_index = (uint8_t)atoi(a), .hop_limit = 64 } };
	struct ibv_ah_attr back;
	const uint8_t *grh = data;
	struct ibv_wc wc;
	struct ibv_ah *ah;

	if (ibv_query_gid(v.ctx, 1, atoi(a), &attr.grh.dgid))
		die("query_gid");
	ah = ibv_create_ah(v.pd, &attr);
	if (!ah)
		die("create_ah: %s", strerror(errno));
	post_recv(to);
	post(from, IBV_WR_SEND, ah, to->qp_num);
	if (!receive(&wc)) {
		puts("lost");
		return 0;
	}
	if (ibv_init_ah_from_wc(v.ctx, 1, &wc, (struct ibv_grh *)data, &back))
		die("ibv_init_ah_from_wc: %s", strerror(errno));
	printf("received, sl %d, ", wc.sl);
	if (grh[0] >> 4 == 6)
		printf("IPv6, next header 0x%x, length %u", grh[6],
		       (unsigned int)grh[4] << 8 | grh[5]);
	else
		printf("IPv4, protocol %u", grh[29]);
	printf("; the answer has sgid_index %u\n", back.grh.sgid_index);
	return 0;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	v_open(&v, &vcfg_default);
	mr = ibv_reg_mr(v.pd, data, sizeof(data),
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!mr)
		die("reg_mr");
	if (!strcmp(name, "table"))
		return do_table();
	if (!strcmp(name, "rc") && argc == 4)
		return do_pairs(argv[2], argv[3], NULL);
	if (!strcmp(name, "far") && argc == 4)
		return do_pairs(argv[2], argv[2], argv[3]);
	if (!strcmp(name, "uc") && argc == 4)
		return do_uc(argv[2], argv[3]);
	if (!strcmp(name, "ud") && argc == 3)
		return do_ud(argv[2]);
	die("usage: gid-types CASE [N...]");
}
