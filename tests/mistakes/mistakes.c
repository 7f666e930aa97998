/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Common mistakes of RDMA programs, one for each name in the table. Two processes run the same
 * mistake:
 *
 *	mistakes NAME server PORT
 *	mistakes NAME client PORT ADDRESS
 *	mistakes --list
 *
 * Each prints a line per completion, "wc WR_ID STATUS VENDOR_ERR", per event, "event TYPE", and per
 * call that fails, "call NAME ERRNO". mistakes.py compares the lines, and what `ruse explain` says.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include "mistakes.h"

bool server;
struct end e;
struct info me, peer;
struct ibv_context *ctx;
struct ibv_pd *pd;
struct ibv_cq *cq;
struct ibv_qp *qp;
struct ibv_mr *mr;
char *buf;
static int sock;

static void die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", server ? "server" : "client", what, strerror(errno));
	exit(1);
}

void failed(const char *call, int error)
{
	printf("call %s %d\n", call, error);
	fflush(stdout);
}

static void put(const void *p, size_t n)
{
	if (write(sock, p, n) != (ssize_t)n)
		die("write");
}

static void get(void *p, size_t n)
{
	if (recv(sock, p, n, MSG_WAITALL) != (ssize_t)n)
		die("recv");
}

/* Both ends have come here. */
static void meet(void)
{
	char c = 0;

	put(&c, 1);
	get(&c, 1);
}

static void connect_ends(int port, const char *address)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int l = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	if (!address) {
		setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		if (bind(l, (struct sockaddr *)&sa, sizeof(sa)) || listen(l, 1))
			die("listen");
		sock = accept(l, NULL, NULL);
		close(l);
		return;
	}
	sock = l;
	inet_pton(AF_INET, address, &sa.sin_addr);
	for (int i = 0; connect(sock, (struct sockaddr *)&sa, sizeof(sa)); i++) {
		if (i == 600)
			die("connect");
		usleep(100000);
		close(sock);
		sock = socket(AF_INET, SOCK_STREAM, 0);
	}
}

/* The n-th GID, from 0, that is an IPv4 address: that of the interface, not of its link. */
static int ipv4_gid(int n)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	union ibv_gid gid;

	for (int i = 0; i < 16; i++)
		if (!ibv_query_gid(ctx, 1, i, &gid) && !memcmp(gid.raw, mapped, sizeof(mapped)) &&
		    !n--)
			return i;
	return 0;
}

static void open_end(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_qp_init_attr a = {
		.qp_type = e.type,
		.cap = { .max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 2,
			 .max_recv_sge = 2, .max_inline_data = 64 },
	};

	if (!list || !list[0])
		die("no device");
	ctx = ibv_open_device(list[0]);
	pd = ibv_alloc_pd(ctx);
	buf = mmap(NULL, BUF, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mr = ibv_reg_mr(e.other_pd ? ibv_alloc_pd(ctx) : pd, buf, REG, e.mr_access);
	cq = ibv_create_cq(ctx, e.cqe, NULL, NULL, 0);
	a.send_cq = a.recv_cq = cq;
	if (e.setup_late)
		e.setup_late();
	a.srq = e.srq;
	qp = cq ? ibv_create_qp(pd, &a) : NULL;
	if (!ctx || !pd || !mr || !qp)
		die("open");
	ibv_query_gid(ctx, 1, ipv4_gid(0), &me.gid);
	if (e.gid_index < 0)
		e.gid_index = ipv4_gid(-1 - e.gid_index);
	me.qpn = qp->qp_num;
	me.rkey = mr->rkey;
	me.addr = (uintptr_t)buf;
}

bool modify(const char *name, struct ibv_qp_attr *a, int mask)
{
	int rc = ibv_modify_qp(qp, a, mask);

	if (rc)
		failed(name, rc);
	return !rc;
}

static bool to_init(void)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = e.qkey,
				 .qp_access_flags = (unsigned int)e.qp_access };

	return modify("modify_qp INIT", &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
		      (e.type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
}

static uint32_t dest_qpn(void)
{
	uint32_t qpn = peer.qpn ^ (uint32_t)e.qpn_xor;

	if (e.qpn_of_none)	/* the highest bits tell the process */
		qpn ^= (peer.qpn ^ me.qpn) >> 22 == 2 ? 0x400000 : 0x800000;
	return qpn;
}

static bool to_rtr(void)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024,
		.dest_qp_num = dest_qpn(), .rq_psn = (uint32_t)e.peer_psn,
		.max_dest_rd_atomic = (uint8_t)e.max_dest_rd, .min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = peer.gid, .sgid_index = (uint8_t)e.gid_index,
				      .hop_limit = 64 } },
	};
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;

	if (e.gid_unset)
		a.ah_attr.grh.dgid = (union ibv_gid){ 0 };
	if (e.type == IBV_QPT_UD)
		return modify("modify_qp RTR", &a, IBV_QP_STATE);
	if (e.type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return modify("modify_qp RTR", &a, mask);
}

static bool to_rts(void)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTS, .timeout = (uint8_t)e.timeout,
		.retry_cnt = (uint8_t)e.retry, .rnr_retry = (uint8_t)e.rnr_retry,
		.sq_psn = (uint32_t)e.psn, .max_rd_atomic = (uint8_t)e.max_rd,
	};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (e.type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	return modify("modify_qp RTS", &a, mask);
}

static void up(void)
{
	if (e.upto >= IBV_QPS_INIT && to_init() && e.upto >= IBV_QPS_RTR && to_rtr() &&
	    e.upto >= IBV_QPS_RTS)
		to_rts();
}

void post_recv(uint32_t len)
{
	struct ibv_sge s = { (uintptr_t)buf, len, mr->lkey };
	struct ibv_recv_wr w = { .wr_id = 7, .sg_list = &s, .num_sge = 1 }, *bad;
	int rc = ibv_post_recv(qp, &w, &bad);

	if (rc)
		failed("post_recv", rc);
}

int post_send(const struct wr *x)
{
	struct ibv_sge s = { (uintptr_t)buf + (uint64_t)x->off, x->len, mr->lkey ^ x->lkey_xor };
	struct ibv_send_wr w = { .wr_id = x->wr_id ? x->wr_id : 9, .sg_list = &s,
				 .num_sge = 1, .opcode = x->op,
				 .send_flags = (unsigned int)x->flags | IBV_SEND_SIGNALED }, *bad;
	int rc;

	if (e.type == IBV_QPT_UD) {
		w.wr.ud.ah = x->ah;
		w.wr.ud.remote_qpn = peer.qpn;
		w.wr.ud.remote_qkey = x->qkey;
	} else if (x->op == IBV_WR_SEND_WITH_INV) {
		w.invalidate_rkey = peer.rkey ^ x->rkey_xor;
	} else if (x->op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		w.wr.atomic.remote_addr = peer.addr + (uint64_t)x->remote_off;
		w.wr.atomic.rkey = peer.rkey ^ x->rkey_xor;
	} else {
		w.wr.rdma.remote_addr = peer.addr + (uint64_t)x->remote_off;
		w.wr.rdma.rkey = peer.rkey ^ x->rkey_xor;
	}
	rc = ibv_post_send(qp, &w, &bad);
	if (rc)
		failed("post_send", rc);
	return rc;
}

void completions(int ms)
{
	struct pollfd p = { ctx->async_fd, POLLIN, 0 };
	struct ibv_async_event ev;
	struct ibv_wc wc;

	for (int idle = 0; idle < ms;) {
		int n = ibv_poll_cq(cq, 1, &wc);

		if (n < 0) {
			failed("poll_cq", -n);
			break;
		}
		if (!n) {
			usleep(1000);
			idle++;
			continue;
		}
		printf("wc %d %d 0x%x\n", (int)wc.wr_id, wc.status, wc.vendor_err);
		fflush(stdout);
		idle = 0;
		ms = ms < 200 ? ms : 200;
	}
	while (poll(&p, 1, 20) > 0 && !ibv_get_async_event(ctx, &ev)) {
		printf("event %d\n", ev.event_type);
		ibv_ack_async_event(&ev);
	}
	fflush(stdout);
}

struct ibv_ah *ah_of_peer(void)
{
	struct ibv_ah_attr a = { .is_global = 1, .port_num = 1,
				 .grh = { .dgid = peer.gid, .sgid_index = (uint8_t)e.gid_index,
					  .hop_limit = 64 } };
	struct ibv_ah *ah = ibv_create_ah(pd, &a);

	if (!ah)
		failed("create_ah", errno);
	return ah;
}

static const struct mistakes *const all[] = {
	&mistakes, &window_mistakes, &queue_mistakes, &packet_mistakes,
};

#define LISTS (sizeof(all) / sizeof(*all))

static const struct mistake *find(const char *name)
{
	for (unsigned int l = 0; l < LISTS; l++)
		for (unsigned int i = 0; i < all[l]->n; i++)
			if (!strcmp(all[l]->list[i].name, name))
				return &all[l]->list[i];
	fprintf(stderr, "mistakes: there is no mistake '%s'\n", name);
	exit(2);
}

static void list_names(void)
{
	for (unsigned int l = 0; l < LISTS; l++)
		for (unsigned int i = 0; i < all[l]->n; i++)
			printf("%s\n", all[l]->list[i].name);
}

struct ibv_qp *own_loop(struct ibv_srq *of)
{
	struct ibv_qp_init_attr i = {
		.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq, .srq = of,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *was = qp, *q = ibv_create_qp(pd, &i);
	struct info far = peer;

	if (!q)
		die("own QP");
	qp = q;
	peer.qpn = q->qp_num;
	peer.gid = me.gid;
	if (!to_init() || !to_rtr() || !to_rts())
		die("own QP");
	qp = was;
	peer = far;
	return q;
}

/* The server has ended when its socket is closed. */
static void server_dies(void)
{
	char c;

	if (server) {
		completions(2000);
		_exit(0);
	}
	if (post_send(&(struct wr){ .op = IBV_WR_SEND, .len = 16 }))
		die("send");
	completions(1000);
	while (read(sock, &c, 1) > 0)
		;
}

int main(int argc, char **argv)
{
	const struct mistake *m;

	if (argc == 2 && !strcmp(argv[1], "--list")) {
		list_names();
		return 0;
	}
	if (argc < 4)
		return 2;
	m = find(argv[1]);
	server = !strcmp(argv[2], "server");
	connect_ends(atoi(argv[3]), server ? NULL : argv[4]);
	e = (struct end){
		.type = IBV_QPT_RC, .mr_access = ALL, .qp_access = REMOTE, .cqe = 128,
		.psn = 100, .peer_psn = 100, .gid_index = -1, .max_rd = 1, .max_dest_rd = 1,
		.rnr_retry = 2, .retry = 2, .timeout = 15, .upto = IBV_QPS_RTS, .qkey = 0x11,
		.recv_len = 4096,
	};
	if (m->setup)
		m->setup();
	open_end();
	put(&me, sizeof(me));
	get(&peer, sizeof(peer));
	up();
	for (int i = 0; i < e.recvs; i++)
		post_recv((uint32_t)e.recv_len);
	meet();
	if (server && m->server)
		m->server();
	put(&me, sizeof(me));
	get(&peer, sizeof(peer));
	if (e.dies)
		server_dies();
	if (!server) {
		m->client();
		completions(m->wait ? m->wait : 3000);
	}
	if (e.dies)
		return 0;
	meet();
	if (server)
		completions(100);
	meet();
	return 0;
}
