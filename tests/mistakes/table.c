/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The mistakes: what each changes at its ends, and what it does. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "mistakes.h"

/* n: bytes. The further arguments are members of struct wr. */
#define SEND(n, ...) post_send(&(struct wr){ .op = IBV_WR_SEND, .len = (n), __VA_ARGS__ })
#define WRITE(n, ...) post_send(&(struct wr){ .op = IBV_WR_RDMA_WRITE, .len = (n), __VA_ARGS__ })
#define READ(n, ...) post_send(&(struct wr){ .op = IBV_WR_RDMA_READ, .len = (n), __VA_ARGS__ })
#define ATOMIC(...) \
	post_send(&(struct wr){ .op = IBV_WR_ATOMIC_FETCH_AND_ADD, .len = 8, __VA_ARGS__ })

static void write_it(void)
{
	WRITE(4096);
}

static void read_it(void)
{
	READ(4096);
}

static void send_it(void)
{
	SEND(4096);
}

static void wrong_rkey(void)
{
	WRITE(4096, .rkey_xor = 0x5500);
}

static void old_rkey(void)
{
	WRITE(4096, .rkey_xor = 0x55);
}

static void swapped_rkey(void)
{
	WRITE(4096, .rkey_xor = peer.rkey ^ __builtin_bswap32(peer.rkey));
}

static void wrong_lkey(void)
{
	WRITE(4096, .lkey_xor = 0x5500);
}

static void remote_range(void)
{
	WRITE(4096, .remote_off = 6000);
}

static void local_range(void)
{
	WRITE(4096, .off = 6000);
}

static void remote_before(void)
{
	WRITE(4096, .remote_off = -64);
}

static void remote_offset(void)
{
	WRITE(4096, .remote_off = -(int64_t)peer.addr);
}

/* Runs a command of the machine, not under ruse. */
static void machine(const char *command)
{
	char line[256];

	snprintf(line, sizeof(line), "unset LD_PRELOAD; %s", command);
	if (system(line))
		failed(command, errno);
}

static void no_route(void)
{
	machine("ip link set lo down");
	SEND(16);
	completions(3000);
	machine("ip link set lo up");
}

static void fault_rule(void)
{
	machine("\"$RUSE\" fault add error REM_OP times 1 >/dev/null");
	WRITE(16);
}

/* The second packet of a message is lost. */
static void uc_lost(void)
{
	machine("\"$RUSE\" fault add drop nth 2 service UC dir out >/dev/null");
	SEND(4096);
}

static void atomic_it(void)
{
	ATOMIC();
}

static void atomic_odd(void)
{
	ATOMIC(.remote_off = 4);
}

static void inline_long(void)
{
	SEND(4096, .flags = IBV_SEND_INLINE);
}

static void inline_read(void)
{
	READ(8, .flags = IBV_SEND_INLINE);
}

static void mr_write_only(void)
{
	e.mr_access = server ? ALL & ~IBV_ACCESS_REMOTE_READ : ALL;
}

static void mr_read_only(void)
{
	e.mr_access = server ? ALL & ~IBV_ACCESS_REMOTE_WRITE : ALL;
}

static void mr_local_read(void)
{
	e.mr_access = server ? ALL : IBV_ACCESS_REMOTE_READ;
}

static void qp_no_write(void)
{
	e.qp_access = server ? IBV_ACCESS_REMOTE_READ : REMOTE;
}

static void qp_no_atomic(void)
{
	e.qp_access = server ? IBV_ACCESS_REMOTE_READ : REMOTE;
}

static void other_pd(void)
{
	e.other_pd = server;
}

static void local_other_pd(void)
{
	e.other_pd = !server;
}

static void recv_other_pd(void)
{
	other_pd();
	e.recvs = server;
}

static void recv_no_write(void)
{
	e.mr_access = server ? IBV_ACCESS_REMOTE_READ : ALL;
	e.recvs = server;
}

static void source_other(void)
{
	e.gid_index = server ? -1 : -2;
	e.recvs = server;
}

static void target_other(void)
{
	e.gid_index = server ? -2 : -1;
	e.recvs = server;
}

static void client_in_init(void)
{
	e.upto = server ? IBV_QPS_RTS : IBV_QPS_INIT;
}

static void server_in_init(void)
{
	e.upto = server ? IBV_QPS_INIT : IBV_QPS_RTS;
}

static void wrong_qpn(void)
{
	e.qpn_xor = server ? 0 : 0x123;
}

static void qpn_of_none(void)
{
	e.qpn_of_none = !server;
}

static void wrong_psn(void)
{
	e.peer_psn += server ? 77 : 0;
}

static void psn_behind(void)
{
	e.peer_psn -= server ? 50 : 0;
	e.recvs = server;
}

/* The server is connected to another QP than the client's. */
static void qpn_of_another(void)
{
	e.qpn_xor = server ? 0x123 : 0;
	e.recvs = server;
}

static void peer_ends(void)
{
	e.dies = true;
	e.recvs = server;
}

static void empty_gid(void)
{
	e.gid_index = server ? -1 : 9;
}

/* The link-local address at index 0; the server's GID is an IPv4 address. */
static void gid_of_ipv6(void)
{
	e.gid_index = server ? -1 : 0;
}

static void unset_gid(void)
{
	e.gid_unset = !server;
}

static void no_rd(void)
{
	e.max_rd = 0;
}

static void few_dest_rd(void)
{
	e.max_rd = server ? 1 : 8;
}

static void no_dest_rd(void)
{
	e.max_dest_rd = server ? 0 : 1;
}

static void small_recv(void)
{
	e.recvs = server;
	e.recv_len = 100;
}

static void small_cq(void)
{
	e.cqe = server ? 128 : 1;
	e.recvs = server ? 40 : 0;
}

static void no_recv(void)
{
	e.rnr_retry = 1;
}

static void few_recvs(void)
{
	e.rnr_retry = 1;
	e.recvs = server ? 2 : 0;
}

static void ud(void)
{
	e.type = IBV_QPT_UD;
	e.recvs = server ? 4 : 0;
}

static void ud_no_recv(void)
{
	e.type = IBV_QPT_UD;
}

static void ud_small(void)
{
	ud();
	e.recv_len = 64;
}

static void ud_qkey(void)
{
	ud();
	e.qkey = server ? 0x22 : 0x11;
}

static void uc(void)
{
	e.type = IBV_QPT_UC;
	e.qp_access = IBV_ACCESS_REMOTE_WRITE;
}

static void uc_in_init(void)
{
	uc();
	server_in_init();
}

static void uc_recv(void)
{
	uc();
	e.recvs = server;
}

static void dereg(void)
{
	ibv_dereg_mr(mr);
}

static void unmap(void)
{
	munmap(buf, BUF);
}

static void unmap_recv(void)
{
	post_recv(4096);
	munmap(buf, BUF);
}

static void dereg_write(void)
{
	dereg();
	WRITE(4096);
}

static void dereg_recv(void)
{
	post_recv(4096);
	dereg();
}

static void to_err(void)
{
	modify("ERR", &(struct ibv_qp_attr){ .qp_state = IBV_QPS_ERR }, IBV_QP_STATE);
}

static void recv_wrong_key(void)
{
	struct ibv_sge s = { (uintptr_t)buf, 4096, mr->lkey ^ 0x5500 };
	struct ibv_recv_wr w = { .wr_id = 7, .sg_list = &s, .num_sge = 1 }, *bad;

	ibv_post_recv(qp, &w, &bad);
}

static void recv_range(void)
{
	struct ibv_sge s = { (uintptr_t)buf + 6000, 4096, mr->lkey };
	struct ibv_recv_wr w = { .wr_id = 7, .sg_list = &s, .num_sge = 1 }, *bad;

	ibv_post_recv(qp, &w, &bad);
}

/* An own work request of the server fails before the client sends. */
static void fail_before(void)
{
	wrong_lkey();
	completions(500);
}

static void unmap_write(void)
{
	munmap(buf, BUF);
	WRITE(4096);
}

static void five_sends(void)
{
	for (int i = 0; i < 5; i++)
		SEND(16);
}

/* The completions of all five can come before the QP fails, so that nothing is left to be flushed: one more is. */
static void overrun(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;

	five_sends();
	for (int i = 0; i < 30000 && !ibv_query_qp(qp, &a, IBV_QP_STATE, &init); i++) {
		if (a.qp_state == IBV_QPS_ERR)
			break;
		usleep(1000);
	}
	SEND(16);
}

static void eight_reads(void)
{
	for (int i = 0; i < 8; i++)
		READ(64);
}

static void queue_full(void)
{
	for (int i = 0; i < 200 && !WRITE(4096); i++)
		;
}

static void err_send(void)
{
	SEND(4096);
	to_err();
	SEND(4096);
}

static void ud_send(void)
{
	SEND(64, .ah = ah_of_peer(), .qkey = 0x11);
}

static void ud_long(void)
{
	SEND(8192, .ah = ah_of_peer(), .qkey = 0x11);
}

static void ud_write(void)
{
	WRITE(64, .ah = ah_of_peer(), .qkey = 0x11);
}

static void reg_no_local(void)
{
	if (!ibv_reg_mr(pd, buf, REG, IBV_ACCESS_REMOTE_WRITE))
		failed("reg_mr", errno);
}

static void reg_unmapped(void)
{
	void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(p, 4096);
	if (!ibv_reg_mr(pd, p, 4096, ALL))
		failed("reg_mr", errno);
}

static void qp_too_large(void)
{
	struct ibv_qp_init_attr a = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
				      .cap = { .max_send_wr = 64, .max_recv_wr = 64,
					       .max_send_sge = 200, .max_recv_sge = 2 } };

	if (!ibv_create_qp(pd, &a))
		failed("create_qp", errno);
}

static void pd_in_use(void)
{
	int rc = ibv_dealloc_pd(pd);

	if (rc)
		failed("dealloc_pd", rc);
}

static const struct mistake table[] = {
	{ "rkey-wrong", NULL, NULL, wrong_rkey, 0 },
	{ "rkey-old", NULL, NULL, old_rkey, 0 },
	{ "rkey-dead", NULL, dereg, write_it, 0 },
	{ "rkey-pd", other_pd, NULL, write_it, 0 },
	{ "rkey-range", NULL, NULL, remote_range, 0 },
	{ "rkey-range-before", NULL, NULL, remote_before, 0 },
	{ "rkey-offset", NULL, NULL, remote_offset, 0 },
	{ "rkey-byte-order", NULL, NULL, swapped_rkey, 0 },
	{ "mr-lacks-write", mr_read_only, NULL, write_it, 0 },
	{ "mr-lacks-read", mr_write_only, NULL, read_it, 0 },
	{ "qp-lacks-write", qp_no_write, NULL, write_it, 0 },
	{ "qp-lacks-atomic", qp_no_atomic, NULL, atomic_it, 0 },
	{ "peer-unmapped", NULL, unmap, write_it, 0 },
	{ "atomic-odd", NULL, NULL, atomic_odd, 0 },
	{ "lkey-wrong", NULL, NULL, wrong_lkey, 0 },
	{ "lkey-range", NULL, NULL, local_range, 0 },
	{ "lkey-pd", local_other_pd, NULL, write_it, 0 },
	{ "lkey-dead", NULL, NULL, dereg_write, 0 },
	{ "lkey-lacks-write", mr_local_read, NULL, read_it, 0 },
	{ "local-unmapped", NULL, NULL, unmap_write, 0 },
	{ "recv-none", no_recv, NULL, send_it, 0 },
	{ "recv-few", few_recvs, NULL, five_sends, 0 },
	{ "recv-small", small_recv, NULL, send_it, 0 },
	{ "recv-key", NULL, recv_wrong_key, send_it, 0 },
	{ "recv-dead", NULL, dereg_recv, send_it, 0 },
	{ "recv-pd", recv_other_pd, NULL, send_it, 0 },
	{ "recv-lacks-write", recv_no_write, NULL, send_it, 0 },
	{ "recv-range", NULL, recv_range, send_it, 0 },
	{ "recv-unmapped", NULL, unmap_recv, send_it, 0 },
	{ "send-in-init", client_in_init, NULL, send_it, 100 },
	{ "peer-in-init", server_in_init, NULL, send_it, 0 },
	{ "peer-in-err", NULL, to_err, send_it, 0 },
	{ "peer-failed", NULL, fail_before, send_it, 0 },
	{ "qpn-wrong", wrong_qpn, NULL, send_it, 0 },
	{ "qpn-of-none", qpn_of_none, NULL, send_it, 0 },
	{ "psn-wrong", wrong_psn, NULL, send_it, 0 },
	{ "psn-behind", psn_behind, NULL, send_it, 0 },
	{ "qpn-of-another", qpn_of_another, NULL, send_it, 0 },
	{ "peer-ended", peer_ends, NULL, send_it, 0 },
	{ "no-route", NULL, NULL, no_route, 0 },
	{ "fault-rule", NULL, NULL, fault_rule, 0 },
	{ "gid-empty", empty_gid, NULL, pd_in_use, 100 },
	{ "gid-family", gid_of_ipv6, NULL, pd_in_use, 100 },
	{ "gid-unset", unset_gid, NULL, pd_in_use, 100 },
	{ "source-other-gid", source_other, NULL, send_it, 0 },
	{ "target-other-gid", target_other, NULL, send_it, 0 },
	{ "read-no-credit", no_rd, NULL, read_it, 0 },
	{ "read-few-resources", few_dest_rd, NULL, eight_reads, 0 },
	{ "read-no-resources", no_dest_rd, NULL, read_it, 0 },
	{ "inline-read", NULL, NULL, inline_read, 0 },
	{ "inline-long", NULL, NULL, inline_long, 100 },
	{ "queue-full", NULL, NULL, queue_full, 0 },
	{ "cq-overrun", small_cq, NULL, overrun, 0 },
	{ "flushed", NULL, NULL, err_send, 0 },
	{ "ud-qkey", ud_qkey, NULL, ud_send, 100 },
	{ "ud-recv-none", ud_no_recv, NULL, ud_send, 100 },
	{ "ud-recv-small", ud_small, NULL, ud_send, 100 },
	{ "ud-long", ud, NULL, ud_long, 100 },
	{ "ud-write", ud, NULL, ud_write, 100 },
	{ "uc-recv-none", uc, NULL, send_it, 100 },
	{ "uc-in-init", uc_in_init, NULL, send_it, 100 },
	{ "uc-lost", uc_recv, NULL, uc_lost, 100 },
	{ "uc-rkey", uc, NULL, wrong_rkey, 100 },
	{ "reg-no-local-write", NULL, NULL, reg_no_local, 100 },
	{ "reg-unmapped", NULL, NULL, reg_unmapped, 100 },
	{ "qp-too-large", NULL, NULL, qp_too_large, 100 },
	{ "pd-in-use", NULL, NULL, pd_in_use, 100 },
};

const struct mistakes mistakes = { table, sizeof(table) / sizeof(*table) };
