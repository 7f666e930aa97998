/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every operation in every size class, with each byte compared.
 *
 *   verify [loop]      two processes (loop: two QPs of one), run under ruse
 *   verify tcp PORT [SERVER]   two hosts: the server, or with SERVER the client
 *
 *   client  -- SEND, SEND imm, WRITE, WRITE imm, READ -->  server
 *
 * RUSE_NO_CMA and RUSE_NO_DIRECT, if set, make libruse copy the data between processes in another
 * way. VERIFY_MAX limits the largest message (default 64 MiB).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "verbs.h"

#define GUARD 64	/* bytes before and after a message that must not change */

struct side {
	struct vctx v;
	struct ibv_qp *qp;
	struct vdest mine, theirs;
	uint8_t *buf;
	struct ibv_mr *mr;
	size_t size;
};

static const size_t sizes[] = {
	0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 63, 64, 65, 79, 80, 81, 100, 127, 128, 129, 255, 256,
	257, 511, 512, 1000, 1023, 1024, 1025, 2047, 2048, 4095, 4096, 4097, 5000, 8191, 8192,
	8193, 12288, 16383, 16384, 16385, 32767, 32768, 32769, 65535, 65536, 65537, 100000, 131071,
	131072, 131073, 262144, 262145, 524288, 1000001, 1048575, 1048576, 1048577, 2097152,
	4194305, 8388608, 8388609, 16777216, 33554433, 67108864,
};

enum op { OP_SEND, OP_SEND_IMM, OP_WRITE, OP_WRITE_IMM, OP_READ, OP_N };
static const char *const op_name[] = { "SEND", "SEND imm", "WRITE", "WRITE imm", "READ" };

static void region(struct side *s, size_t max)
{
	s->size = max + 2 * GUARD;
	s->buf = mmap(NULL, s->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s->buf == MAP_FAILED)
		die("mmap");
	s->mr = ibv_reg_mr(s->v.pd, s->buf, s->size, IBV_ACCESS_LOCAL_WRITE |
			   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
	if (!s->mr)
		die("reg_mr: %s", strerror(errno));
	s->mine.addr = (uintptr_t)s->buf;
	s->mine.rkey = s->mr->rkey;
}

/* Splits len bytes at buf into n pieces of odd lengths. */
static int cut(struct side *s, struct ibv_sge *sge, int n, size_t len)
{
	size_t at = 0;

	for (int i = 0; i < n; i++) {
		size_t part = i == n - 1 ? len - at : (len - at) / 3 | (len > 16);

		if (part > len - at)
			part = len - at;
		sge[i] = (struct ibv_sge){ (uintptr_t)s->buf + GUARD + at, (uint32_t)part,
					   s->mr->lkey };
		at += part;
	}
	return n;
}

static void post_recv(struct side *s, size_t len, int nsge)
{
	struct ibv_sge sge[4];
	struct ibv_recv_wr wr = { .wr_id = len, .sg_list = sge, .num_sge = cut(s, sge, nsge, len) };
	struct ibv_recv_wr *bad;

	if (ibv_post_recv(s->qp, &wr, &bad))
		die("post_recv");
}

static void post_send(struct side *s, enum op op, size_t len, int nsge, bool inl)
{
	static const enum ibv_wr_opcode code[] = {
		IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_RDMA_READ,
	};
	struct ibv_sge sge[4];
	struct ibv_send_wr wr = {
		.wr_id = len + 1, .sg_list = sge, .num_sge = cut(s, sge, nsge, len),
		.opcode = code[op], .imm_data = (uint32_t)(len * 3 + 7),
		.send_flags = IBV_SEND_SIGNALED | (inl ? IBV_SEND_INLINE : 0),
		.wr.rdma = { s->theirs.addr + GUARD, s->theirs.rkey },
	};
	struct ibv_send_wr *bad;
	int ret = ibv_post_send(s->qp, &wr, &bad);

	if (ret)
		die("post_send %s %zu: %s", op_name[op], len, strerror(ret));
	if (inl)	/* inline data is copied by the call */
		memset(s->buf + GUARD, 0xee, len);
}

static void expect(struct ibv_wc *wc, enum ibv_wc_opcode opcode, const char *what, size_t len)
{
	if (wc->status || wc->opcode != opcode)
		die("%s %zu: status %s, opcode %d", what, len, ibv_wc_status_str(wc->status),
		    wc->opcode);
}

static void client_step(struct side *s, enum op op, size_t len, int nsge, bool inl)
{
	static const enum ibv_wc_opcode code[] = {
		IBV_WC_SEND, IBV_WC_SEND, IBV_WC_RDMA_WRITE, IBV_WC_RDMA_WRITE, IBV_WC_RDMA_READ,
	};
	struct ibv_wc wc;

	memset(s->buf, 0x5a, s->size < len + 2 * GUARD ? s->size : len + 2 * GUARD);
	if (op != OP_READ)
		fill(s->buf + GUARD, len, len + op);
	post_send(s, op, len, nsge, inl);
	v_wait(s->v.cq, &wc, 60);
	expect(&wc, code[op], op_name[op], len);
	if (wc.wr_id != len + 1)
		die("%s %zu: wr_id %lu", op_name[op], len, (unsigned long)wc.wr_id);
	if (op == OP_READ)
		check(s->buf + GUARD, len, len + op, "READ");
}

static void server_prepare(struct side *s, enum op op, size_t len, int nsge)
{
	memset(s->buf, 0x5a, len + 2 * GUARD);
	if (op == OP_READ)
		fill(s->buf + GUARD, len, len + op);
	if (op == OP_SEND || op == OP_SEND_IMM || op == OP_WRITE_IMM)
		post_recv(s, op == OP_WRITE_IMM ? 0 : len, nsge);
}

static void server_check(struct side *s, enum op op, size_t len)
{
	struct ibv_wc wc;

	if (op == OP_SEND || op == OP_SEND_IMM || op == OP_WRITE_IMM) {
		v_wait(s->v.cq, &wc, 60);
		expect(&wc, op == OP_WRITE_IMM ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV,
		       op_name[op], len);
		if (wc.byte_len != len)
			die("%s: %u bytes of %zu", op_name[op], wc.byte_len, len);
		if (op != OP_SEND && (!(wc.wc_flags & IBV_WC_WITH_IMM) ||
				      wc.imm_data != (uint32_t)(len * 3 + 7)))
			die("%s %zu: immediate", op_name[op], len);
	}
	check(s->buf + GUARD, len, len + op, op_name[op]);
	for (size_t i = 0; i < GUARD; i++)
		if (s->buf[i] != 0x5a || s->buf[GUARD + len + i] != 0x5a)
			die("%s %zu: wrote outside", op_name[op], len);
}

/* The same steps on both sides: sync, server prepares, sync, client acts, sync, server checks. */
static unsigned int walk(struct side *c, struct side *s, size_t max)
{
	unsigned int steps = 0;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && sizes[i] <= max; i++)
		for (int op = 0; op < OP_N; op++)
			for (int variant = 0; variant < 3; variant++) {
				size_t len = sizes[i];
				int nsge = variant == 1 ? 4 : 1;
				bool inl = variant == 2;

				if ((inl && (len > 64 || op == OP_READ)) ||
				    (variant == 1 && len < 8))
					continue;
				if (s)
					server_prepare(s, op, len, nsge);
				if (!c || !s)
					v_sync((c ? c : s)->v.sock);
				if (c)
					client_step(c, op, len, nsge, inl);
				if (!c || !s)
					v_sync((c ? c : s)->v.sock);
				if (s)
					server_check(s, op, len);
				steps++;
			}
	return steps;
}

static unsigned int two_hosts(struct vcfg *cfg, size_t max, int sock, bool client)
{
	struct side s = { .v.sock = sock };
	unsigned int steps;

	v_open(&s.v, cfg);
	s.qp = s.v.qp;
	region(&s, max);
	v_connect(&s.v, &s.mine, &s.theirs);
	steps = client ? walk(&s, NULL, max) : walk(NULL, &s, max);
	v_sync(sock);
	ibv_dereg_mr(s.mr);
	v_close(&s.v);
	return steps;
}

static unsigned int two_processes(struct vcfg *cfg, size_t max)
{
	struct side s = { 0 };
	unsigned int steps;
	int sk[2], status = 0;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sk))
		die("socketpair");
	pid = fork();
	s.v.sock = sk[!pid];
	close(sk[!!pid]);
	v_open(&s.v, cfg);
	s.qp = s.v.qp;
	region(&s, max);
	v_connect(&s.v, &s.mine, &s.theirs);
	steps = pid ? walk(&s, NULL, max) : walk(NULL, &s, max);
	v_sync(s.v.sock);
	ibv_dereg_mr(s.mr);
	v_close(&s.v);
	if (!pid)
		exit(0);
	if (waitpid(pid, &status, 0) != pid || status)
		die("server failed");
	return steps;
}

static unsigned int one_process(struct vcfg *cfg, size_t max)
{
	struct side c = { 0 }, s;
	unsigned int steps;

	v_open(&c.v, cfg);
	s = c;
	/* A CQ for each side tells their completions apart. */
	s.v.cq = ibv_create_cq(c.v.ctx, (int)cfg->cqe, NULL, NULL, 0);
	if (!s.v.cq)
		die("create_cq");
	s.v.qp = s.qp = v_qp(&s.v);
	c.qp = c.v.qp;
	region(&c, max);
	region(&s, max);
	c.theirs = s.mine;
	s.theirs = c.mine;
	v_connect_self(&c.v, c.qp, s.qp);
	steps = walk(&c, &s, max);
	ibv_dereg_mr(c.mr);
	ibv_dereg_mr(s.mr);
	ibv_destroy_qp(s.qp);
	ibv_destroy_cq(s.v.cq);
	v_close(&c.v);
	return steps;
}

int main(int argc, char **argv)
{
	static const enum ibv_mtu mtus[] = { IBV_MTU_256, IBV_MTU_1024, IBV_MTU_4096 };
	const char *env = getenv("VERIFY_MAX");
	size_t max = env ? strtoul(env, NULL, 0) : 64u << 20;
	bool loop = argc > 1 && !strcmp(argv[1], "loop");
	bool tcp = argc > 2 && !strcmp(argv[1], "tcp");
	int sock = tcp ? v_rendezvous(argv[2], argv[3]) : -1;
	unsigned int steps = 0;

	for (int i = 0; i < 3; i++) {
		struct vcfg cfg = vcfg_default;

		cfg.mtu = mtus[i];
		steps += tcp ? two_hosts(&cfg, max, sock, argc > 3) :
			 loop ? one_process(&cfg, max) : two_processes(&cfg, max);
		max = max > 4u << 20 ? 4u << 20 : max;	/* only the first MTU gets messages over 4 MiB */
	}
	printf("verify: %u transfers, every byte right\n", steps);
	return 0;
}
