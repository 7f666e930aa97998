/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Prints every field of the completions and of the GRHs that a message between two processes brings
 * about. wc-fields.sh compares the output over shared memory with that over UDP. Numbers of QPs are printed as the word
 * for the QP. vendor_err is the number of a reason, of which the two links know different ones.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "verbs.h"

#define QKEY 0x1ee7
#define GRH 40
#define LEN 100u

static uint8_t buf[4096];

struct end {
	struct vctx v;		/* its qp: RC */
	struct ibv_mr *mr;
	struct ibv_qp *uc, *ud;
};

/* What the other process is told. */
struct order {
	char what[40];
	bool mcast;
	int gid;
};

static const char *fields_qp(const struct end *e, uint32_t qpn)
{
	if (!qpn)
		return "0";
	return qpn == e->v.qp->qp_num ? "rc" : qpn == e->uc->qp_num ? "uc" :
	       qpn == e->ud->qp_num ? "ud" : "peer";
}

static void fields_print(const struct end *e, const char *what, const struct ibv_wc *wc, bool grh)
{
	printf("%s: %s opcode %d bytes %u imm %x vendor_err %s qp %s src %s flags %x", what,
	       ibv_wc_status_str(wc->status), wc->opcode, wc->byte_len,
	       wc->wc_flags & IBV_WC_WITH_IMM ? ntohl(wc->imm_data) : 0,
	       wc->vendor_err ? "a reason" : "0", fields_qp(e, wc->qp_num),
	       fields_qp(e, wc->src_qp), wc->wc_flags);
	printf(" pkey %u slid %u sl %u bits %u", wc->pkey_index, wc->slid, wc->sl,
	       wc->dlid_path_bits);
	if (grh) {
		printf(" GRH ");
		for (int i = 0; i < GRH; i++)
			printf("%02x", buf[i]);
	}
	printf("\n");
	fflush(stdout);
}

static void fields_wait(const struct end *e, const char *what, bool grh)
{
	struct ibv_wc wc;

	memset(&wc, 0, sizeof(wc));
	v_wait(e->v.cq, &wc, 30);
	fields_print(e, what, &wc, grh);
}

static struct ibv_qp *fields_uc(struct end *e)
{
	struct ibv_qp_init_attr a = {
		.send_cq = e->v.cq, .recv_cq = e->v.cq, .qp_type = IBV_QPT_UC,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *qp = ibv_create_qp(e->v.pd, &a);

	if (!qp || v_init(qp, IBV_ACCESS_REMOTE_WRITE))
		die("UC: %s", strerror(errno));
	return qp;
}

static void uc_connect(struct ibv_qp *qp, const union ibv_gid *gid, uint32_t to)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = to,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = *gid, .sgid_index = GID_INDEX } },
	};
	int rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;

	if (ibv_modify_qp(qp, &a, rtr))
		die("UC to RTR");
	a.qp_state = IBV_QPS_RTS;
	if (ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN))
		die("UC to RTS");
}

static void fields_open(struct end *e, int sock)
{
	v_open(&e->v, &vcfg_default);
	e->v.sock = sock;
	e->mr = ibv_reg_mr(e->v.pd, buf, sizeof(buf),
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	if (!e->mr)
		die("reg_mr");
	e->uc = fields_uc(e);
	e->ud = v_ud_qp(&e->v, 8, QKEY);
}

/* What an end tells the other one. */
struct hello {
	uint32_t uc, ud;
};

static void fields_connect(struct end *e, struct vdest *rc, struct hello *theirs)
{
	struct vdest mine = { .addr = (uintptr_t)buf, .rkey = e->mr->rkey };
	struct hello hello = { e->uc->qp_num, e->ud->qp_num };

	v_connect(&e->v, &mine, rc);
	v_put(e->v.sock, &hello, sizeof(hello));
	v_get(e->v.sock, theirs, sizeof(*theirs));
	uc_connect(e->uc, &rc->gid, theirs->uc);
	v_sync(e->v.sock);
}

static void recv_on(const struct end *e, struct ibv_qp *qp)
{
	struct ibv_sge sge = { (uintptr_t)buf, 1024, e->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;

	memset(buf, 0, sizeof(buf));
	if (ibv_post_recv(qp, &wr, &bad))
		die("post_recv");
}

static void fields_serve(int sock)
{
	struct end e = { 0 };
	struct hello theirs;
	struct vdest rc;
	struct order o;

	fields_open(&e, sock);
	fields_connect(&e, &rc, &theirs);
	for (;;) {
		struct ibv_qp *qp;
		union ibv_gid gid;

		v_get(sock, &o, sizeof(o));
		if (!o.what[0])
			exit(0);
		qp = !strncmp(o.what, "ud", 2) ? e.ud : !strncmp(o.what, "uc", 2) ? e.uc : e.v.qp;
		inet_pton(AF_INET6, o.gid == 1 ? "::ffff:239.1.2.3" : "ff0e::77", &gid);
		if (o.mcast && ibv_attach_mcast(qp, &gid, 0))
			die("attach: %s", strerror(errno));
		recv_on(&e, qp);
		v_put(sock, "r", 1);
		if (!strstr(o.what, "WRITE ") && !strstr(o.what, "READ") && !strstr(o.what, "ATOMIC"))
			fields_wait(&e, o.what, qp == e.ud);
		if (o.mcast && ibv_detach_mcast(qp, &gid, 0))
			die("detach: %s", strerror(errno));
		v_put(sock, "d", 1);
	}
}

/* Tells the other process, posts, and prints the completion after that of the receiver. */
static void fields_send(struct end *e, struct ibv_qp *qp, struct ibv_send_wr *wr,
			const struct order *o)
{
	uint32_t len = wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ? 8 : LEN;
	struct ibv_sge sge = { (uintptr_t)buf, len, e->mr->lkey };
	struct ibv_send_wr *bad;
	char c;

	v_put(e->v.sock, o, sizeof(*o));
	v_get(e->v.sock, &c, 1);
	wr->sg_list = &sge;
	wr->num_sge = 1;
	wr->send_flags = IBV_SEND_SIGNALED;
	if (ibv_post_send(qp, wr, &bad))
		die("%s: post_send", o->what);
	v_get(e->v.sock, &c, 1);
	fields_wait(e, o->what, false);
}

static void connected(struct end *e, const struct vdest *rc)
{
	static const struct { const char *what; enum ibv_wr_opcode opcode; bool bad; } row[] = {
		{ "rc SEND", IBV_WR_SEND, false }, { "rc SEND_IMM", IBV_WR_SEND_WITH_IMM, false },
		{ "rc WRITE_IMM", IBV_WR_RDMA_WRITE_WITH_IMM, false }, { "rc WRITE ", IBV_WR_RDMA_WRITE, false },
		{ "rc READ", IBV_WR_RDMA_READ, false }, { "rc ATOMIC", IBV_WR_ATOMIC_FETCH_AND_ADD, false },
		{ "uc SEND", IBV_WR_SEND, false }, { "uc SEND_IMM", IBV_WR_SEND_WITH_IMM, false },
		{ "uc WRITE_IMM", IBV_WR_RDMA_WRITE_WITH_IMM, false }, { "uc WRITE ", IBV_WR_RDMA_WRITE, false },
		{ "rc WRITE with a bad key", IBV_WR_RDMA_WRITE, true },
	};

	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		bool is_rc = row[i].what[0] == 'r';
		struct order o = { .mcast = false };
		struct ibv_send_wr wr = {
			.wr_id = 7, .opcode = row[i].opcode, .imm_data = htonl(0xabcd),
		};

		if (row[i].opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
			wr.wr.atomic.remote_addr = rc->addr;
			wr.wr.atomic.rkey = rc->rkey;
		} else {
			wr.wr.rdma.remote_addr = rc->addr + 2048;
			wr.wr.rdma.rkey = row[i].bad ? ~rc->rkey : rc->rkey;
		}
		strcpy(o.what, row[i].what);
		fields_send(e, is_rc ? e->v.qp : e->uc, &wr, &o);
	}
}

/* A datagram to QP `to` by an AH with these values. */
static void datagram(struct end *e, uint32_t to, const struct order *o,
		     const struct ibv_global_route *grh)
{
	struct ibv_ah_attr a = {
		.is_global = 1, .port_num = 1, .sl = 3, .static_rate = 2, .grh = *grh,
	};
	struct ibv_ah *ah = ibv_create_ah(e->v.pd, &a);
	struct ibv_send_wr wr = {
		.wr_id = 7, .opcode = IBV_WR_SEND_WITH_IMM, .imm_data = htonl(0xabcd),
	};

	if (!ah)
		die("%s: create_ah: %s", o->what, strerror(errno));
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = to;
	wr.wr.ud.remote_qkey = QKEY;
	fields_send(e, e->ud, &wr, o);
	ibv_destroy_ah(ah);
}

static void datagrams(struct end *e, uint32_t to)
{
	static const uint8_t hops[] = { 0, 1, 7, 255 }, classes[] = { 0, 0x88 };
	static const uint32_t flows[] = { 0, 0xabcde };

	for (int i = 0; i < 2 * 3 * 4 * 2 * 2; i++) {
		struct order o = { .mcast = i & 1, .gid = i / 2 % 3 };
		struct ibv_global_route grh = {
			.sgid_index = (uint8_t)o.gid, .hop_limit = hops[i / 6 % 4],
			.traffic_class = classes[i / 24 % 2], .flow_label = flows[i / 48],
		};

		if (ibv_query_gid(e->v.ctx, 1, o.gid, &grh.dgid))
			die("query_gid");
		if (o.mcast)
			inet_pton(AF_INET6, o.gid == 1 ? "::ffff:239.1.2.3" : "ff0e::77", &grh.dgid);
		if (o.mcast && !o.gid)
			continue;
		snprintf(o.what, sizeof(o.what), "ud%s gid %d hops %u class %x flow %x", o.mcast ? " mcast" : "", o.gid,
			 grh.hop_limit, grh.traffic_class, grh.flow_label);
		datagram(e, o.mcast ? 0xffffff : to, &o, &grh);
	}
}

int main(void)
{
	struct order end = { .what = "" };
	struct end e = { 0 };
	struct hello theirs;
	struct vdest rc;
	int sock[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock))
		die("socketpair");
	pid = fork();
	if (!pid) {
		close(sock[0]);
		fields_serve(sock[1]);
	}
	close(sock[1]);
	fields_open(&e, sock[0]);
	fields_connect(&e, &rc, &theirs);
	datagrams(&e, theirs.ud);
	connected(&e, &rc);
	v_put(sock[0], &end, sizeof(end));
	waitpid(pid, NULL, 0);
	return 0;
}
