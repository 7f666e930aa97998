/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * UD through libibverbs: datagrams within a process, from a QP to itself, and to another process,
 * which is killed, replaced by a new one, or stopped; and multicast to the QPs of a process.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "verbs.h"

#define QKEY 0x1ee7
#define SLOT 2048u
#define GRH 40

struct ud {
	struct vctx v;
	struct ibv_mr *mr;
	uint8_t *buf;	/* SLOT bytes to send from, then SLOT bytes for the receives of each QP */
	struct ibv_qp *qp[3];
	struct vdest self;
};

static void must(int err, const char *what)
{
	if (err)
		die("%s: %s", what, strerror(err));
}

static struct ibv_qp *ud_qp(struct ud *u)
{
	struct ibv_qp_init_attr a = {
		.send_cq = u->v.cq, .recv_cq = u->v.cq, .qp_type = IBV_QPT_UD, .sq_sig_all = 1,
		.cap = { .max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };
	struct ibv_qp *qp = ibv_create_qp(u->v.pd, &a);

	if (!qp)
		die("create_qp: %s", strerror(errno));
	must(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			   IBV_QP_QKEY), "INIT");
	attr.qp_state = IBV_QPS_RTR;
	must(ibv_modify_qp(qp, &attr, IBV_QP_STATE), "RTR");
	attr.qp_state = IBV_QPS_RTS;
	must(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), "RTS");
	return qp;
}

static void ud_open(struct ud *u)
{
	memset(u, 0, sizeof(*u));
	v_open(&u->v, &vcfg_default);
	u->buf = aligned_alloc(4096, 4 * SLOT);
	u->mr = ibv_reg_mr(u->v.pd, u->buf, 4 * SLOT, IBV_ACCESS_LOCAL_WRITE);
	if (!u->mr)
		die("reg_mr: %s", strerror(errno));
	for (int i = 0; i < 3; i++)
		u->qp[i] = ud_qp(u);
	v_dest(&u->v, u->qp[0], &u->self);
}

static void ud_close(struct ud *u)
{
	for (int i = 0; i < 3; i++)
		must(ibv_destroy_qp(u->qp[i]), "destroy_qp");
	must(ibv_dereg_mr(u->mr), "dereg_mr");
	v_close(&u->v);
	free(u->buf);
}

static struct ibv_ah *ud_ah(struct ud *u, const union ibv_gid *gid)
{
	struct ibv_ah_attr a = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = *gid, .sgid_index = GID_INDEX, .hop_limit = 7 },
	};
	struct ibv_ah *ah = ibv_create_ah(u->v.pd, &a);

	if (!ah)
		die("create_ah: %s", strerror(errno));
	return ah;
}

static void post_recv(struct ud *u, int i)
{
	struct ibv_sge sge = { (uintptr_t)u->buf + (uint32_t)(i + 1) * SLOT, SLOT, u->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = (uint64_t)i, .sg_list = &sge, .num_sge = 1 }, *bad;

	memset((void *)(uintptr_t)sge.addr, 0, SLOT);
	must(ibv_post_recv(u->qp[i], &wr, &bad), "post_recv");
}

/* Posts a datagram of 500 bytes, which depend on the seed. */
static void send_to(struct ud *u, int from, struct ibv_ah *ah, uint32_t qpn, uint64_t seed)
{
	struct ibv_sge sge = { (uintptr_t)u->buf, 500, u->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = 100, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND_WITH_IMM,
		.imm_data = htonl(0xcafe), .wr.ud = { ah, qpn, QKEY },
	}, *bad;

	fill(u->buf, 500, seed);
	must(ibv_post_send(u->qp[from], &wr, &bad), "post_send");
}

/* Waits for the send completions and one receive on each QP of the mask. */
static void collect(struct ud *u, unsigned int mask, int sends, uint32_t src, uint64_t seed)
{
	struct ibv_wc wc;

	while (mask || sends) {
		if (v_wait(u->v.cq, &wc, 20))
			die("completion %d: %s", (int)wc.wr_id, ibv_wc_status_str(wc.status));
		if (wc.wr_id == 100) {
			sends--;
			continue;
		}
		if (!(mask & 1u << wc.wr_id))
			die("QP %d got what is not its own", (int)wc.wr_id);
		mask &= ~(1u << wc.wr_id);
		if (wc.byte_len != 500 + GRH || wc.src_qp != src ||
		    wc.wc_flags != (IBV_WC_GRH | IBV_WC_WITH_IMM) ||
		    ntohl(wc.imm_data) != 0xcafe || wc.slid || wc.pkey_index)
			die("QP %d: completion of %u bytes of QP %#x flags %#x", (int)wc.wr_id,
			    wc.byte_len, wc.src_qp, wc.wc_flags);
		/*
		 * As with RoCE adapters, the SL of a completion tells the kind of the GRH: 9 for
		 * IPv6, 10 for IPv4.
		 */
		if (wc.sl != (u->buf[(wc.wr_id + 1) * SLOT] >> 4 == 6 ? 9 : 10))
			die("QP %d: SL %d", (int)wc.wr_id, wc.sl);
		check(u->buf + (wc.wr_id + 1) * SLOT + GRH, 500, seed, "datagram");
	}
	if (ibv_poll_cq(u->v.cq, 1, &wc))
		die("one completion too many, of %d", (int)wc.wr_id);
}

static void test_self(struct ud *u)
{
	struct ibv_ah *ah = ud_ah(u, &u->self.gid);

	for (int to = 0; to < 3; to++) {
		post_recv(u, to);
		send_to(u, 0, ah, u->qp[to]->qp_num, (uint64_t)to + 1);
		collect(u, 1u << to, 1, u->qp[0]->qp_num, (uint64_t)to + 1);
	}
	/* A QP number that no QP has. */
	send_to(u, 0, ah, u->qp[0]->qp_num ^ 0x3ff000, 9);
	collect(u, 0, 1, 0, 0);
	must(ibv_destroy_ah(ah), "destroy_ah");
}

static void test_mcast(struct ud *u, const char *text)
{
	struct ibv_ah *ah;
	union ibv_gid mgid;

	inet_pton(AF_INET6, text, &mgid);
	ah = ud_ah(u, &mgid);
	for (int i = 0; i < 3; i++)
		post_recv(u, i);
	/* The multicast group has no members. */
	send_to(u, 0, ah, 0xffffff, 1);
	collect(u, 0, 1, 0, 0);
	must(ibv_attach_mcast(u->qp[0], &mgid, 0), "attach");
	must(ibv_attach_mcast(u->qp[1], &mgid, 0), "attach");
	/* A member also receives its own datagram; a QP that is no member can send. */
	send_to(u, 0, ah, 0xffffff, 2);
	collect(u, 3, 1, u->qp[0]->qp_num, 2);
	post_recv(u, 0);
	post_recv(u, 1);
	send_to(u, 2, ah, 0xffffff, 3);
	collect(u, 3, 1, u->qp[2]->qp_num, 3);
	/* The GRH at the receiver holds the multicast group's address. */
	if (mgid.raw[0] == 0xff ? memcmp(u->buf + SLOT + 24, mgid.raw, 16) :
				  memcmp(u->buf + SLOT + 36, mgid.raw + 12, 4))
		die("%s: not the destination of the GRH", text);
	must(ibv_detach_mcast(u->qp[1], &mgid, 0), "detach");
	post_recv(u, 0);
	send_to(u, 2, ah, 0xffffff, 4);
	collect(u, 1, 1, u->qp[2]->qp_num, 4);
	must(ibv_detach_mcast(u->qp[0], &mgid, 0), "detach");
	if (ibv_detach_mcast(u->qp[0], &mgid, 0) != EINVAL)
		die("detached twice");
	must(ibv_destroy_ah(ah), "destroy_ah");
	/* QP 2 still has its receive posted. New QPs let the next test begin with empty queues. */
	for (int i = 0; i < 3; i++) {
		must(ibv_destroy_qp(u->qp[i]), "destroy_qp");
		u->qp[i] = ud_qp(u);
	}
}

/* The peer process: sends its address, then answers each datagram with a byte on the socket. */
static void peer(int sock)
{
	struct vdest d;
	struct ud u;

	ud_open(&u);
	v_dest(&u.v, u.qp[0], &d);
	post_recv(&u, 0);
	v_put(sock, &d, sizeof(d));
	for (;;) {
		struct ibv_wc wc;
		uint64_t seed;

		if (v_wait(u.v.cq, &wc, 60))
			die("peer: %s", ibv_wc_status_str(wc.status));
		v_get(sock, &seed, sizeof(seed));
		check(u.buf + SLOT + GRH, 500, seed, "datagram at the peer");
		post_recv(&u, 0);
		v_put(sock, "k", 1);
	}
}

static pid_t start_peer(int *sock)
{
	int sv[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv))
		die("socketpair");
	pid = fork();
	if (!pid) {
		close(sv[0]);
		peer(sv[1]);
		_exit(0);
	}
	close(sv[1]);
	*sock = sv[0];
	return pid;
}

static void exchange(struct ud *u, struct ibv_ah *ah, int sock, uint32_t qpn, uint64_t seed)
{
	char c;

	send_to(u, 0, ah, qpn, seed);
	v_put(sock, &seed, sizeof(seed));
	v_get(sock, &c, 1);
	collect(u, 0, 1, 0, 0);
}

/* Kills the process and waits for its end. */
static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	if (waitpid(pid, NULL, 0) != pid)
		die("waitpid");
}

static void test_peers(void)
{
	int sock[2];
	pid_t pid[2] = { start_peer(&sock[0]), start_peer(&sock[1]) };
	struct vdest d[2];
	struct ibv_ah *ah;
	struct ud u;

	ud_open(&u);
	ah = ud_ah(&u, &u.self.gid);
	for (int i = 0; i < 2; i++)
		v_get(sock[i], &d[i], sizeof(d[i]));
	/* Two destinations alternately from one QP. */
	for (uint64_t i = 0; i < 2000; i++)
		exchange(&u, ah, sock[i & 1], d[i & 1].qpn, i);
	/* Datagrams to a dead process are lost without an error and do not delay the others. */
	stop(pid[0]);
	for (uint64_t i = 0; i < 50; i++) {
		send_to(&u, 0, ah, d[0].qpn, i);
		collect(&u, 0, 1, 0, 0);
		exchange(&u, ah, sock[1], d[1].qpn, i);
	}
	/* A new process replaces the dead one. Its QP number is a new one, or that of the dead process. */
	close(sock[0]);
	pid[0] = start_peer(&sock[0]);
	v_get(sock[0], &d[0], sizeof(d[0]));
	for (uint64_t i = 0; i < 200; i++)
		exchange(&u, ah, sock[i & 1], d[i & 1].qpn, i);
	/*
	 * A peer is stopped before the first datagram to it, so that it cannot answer the request
	 * to set up a link (shared memory between the two processes). Datagrams to it complete and
	 * do not delay the others.
	 */
	stop(pid[0]);
	close(sock[0]);
	pid[0] = start_peer(&sock[0]);
	v_get(sock[0], &d[0], sizeof(d[0]));
	kill(pid[0], SIGSTOP);
	for (uint64_t i = 0; i < 10; i++) {
		send_to(&u, 0, ah, d[0].qpn, i);
		collect(&u, 0, 1, 0, 0);
		exchange(&u, ah, sock[1], d[1].qpn, i);
	}
	stop(pid[0]);
	stop(pid[1]);
	must(ibv_destroy_ah(ah), "destroy_ah");
	ud_close(&u);
}

int main(void)
{
	struct ud u;

	test_peers();
	ud_open(&u);
	test_self(&u);
	test_mcast(&u, "ff0e::1234");
	test_mcast(&u, "::ffff:224.1.2.3");
	ud_close(&u);
	puts("ok");
	return 0;
}
