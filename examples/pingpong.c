/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RC ping-pong with libibverbs: `pingpong` is the server, `pingpong HOST` the client. By TCP each
 * end gets what its QP must know of the peer's QP; the messages go by RDMA. */
#include <err.h>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <stdio.h>
#include <time.h>

enum { ROUNDS = 1000, GID_INDEX = 1 };	/* GID 1 is the first address of the interface */
struct address { uint32_t qpn; union ibv_gid gid; };	/* sent by TCP, in network byte order */
static struct numbers { int sent, received; } number;	/* 8 bytes of registered memory */

/* Returns a TCP socket that is connected to host, or to a client if host is NULL. */
static int tcp(const char *host)
{
	struct addrinfo hints = { .ai_family = AF_INET, .ai_flags = AI_PASSIVE }, *to;
	int rc = getaddrinfo(host, "18515", &hints, &to), sock = socket(AF_INET, SOCK_STREAM, 0);

	if (rc)
		errx(1, "%s: %s", host, gai_strerror(rc));
	setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	if (host ? connect(sock, to->ai_addr, to->ai_addrlen) :
		   bind(sock, to->ai_addr, to->ai_addrlen) || listen(sock, 1))
		err(1, "%s", host ? host : "listen");
	return host ? sock : accept(sock, NULL, NULL);
}

/* Sends mine and waits for theirs, which has the same length. */
static void swap(int sock, const void *mine, void *theirs, ssize_t length)
{
	if (send(sock, mine, length, MSG_NOSIGNAL) != length ||
	    recv(sock, theirs, length, MSG_WAITALL) != length)
		errx(1, "the TCP connection has failed");
}

/* RESET -> INIT -> RTR (ready to receive) -> RTS (ready to send) */
static void connect_qp(struct ibv_qp *qp, const struct address *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .path_mtu = IBV_MTU_1024,
		.dest_qp_num = ntohl(peer->qpn), .min_rnr_timer = 12, .timeout = 14, .retry_cnt = 7,
		.rnr_retry = 7, .ah_attr = { .is_global = 1, .port_num = 1, .grh.hop_limit = 64,
					     .grh.sgid_index = GID_INDEX, .grh.dgid = peer->gid },
	};
	const int masks[] = {	/* the attributes that each state needs */
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
		IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
		IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
	};

	for (int i = 0; i < 3; i++, attr.qp_state++)
		if ((errno = ibv_modify_qp(qp, &attr, masks[i])))
			err(1, "modify QP to state %d", attr.qp_state);
}

/* Posts a receive into the number, or a send of it. */
static void post(struct ibv_qp *qp, struct ibv_mr *mr, int *number, int is_send)
{
	struct ibv_sge sge = { .addr = (uintptr_t)number, .length = sizeof(int), .lkey = mr->lkey };
	struct ibv_send_wr send = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *s;
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *r;

	if ((errno = is_send ? ibv_post_send(qp, &send, &s) : ibv_post_recv(qp, &recv, &r)))
		err(1, "post");
}

static void wait_for_completion(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(cq, 1, &wc)))
		;
	if (n < 0 || wc.status != IBV_WC_SUCCESS)
		errx(1, "completion: %s", n < 0 ? "error" : ibv_wc_status_str(wc.status));
}

int main(int argc, char **argv)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	struct ibv_context *ctx = devices && *devices ? ibv_open_device(*devices) : NULL;
	struct ibv_pd *pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	struct ibv_mr *mr = pd ? ibv_reg_mr(pd, &number, 8, IBV_ACCESS_LOCAL_WRITE) : NULL;
	struct ibv_cq *cq = ctx ? ibv_create_cq(ctx, 2, NULL, NULL, 0) : NULL;
	struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
					 .cap = { 1, 1, 1, 1, 0 }, .sq_sig_all = 1 };
	struct ibv_qp *qp = mr && cq ? ibv_create_qp(pd, &init) : NULL;
	struct address mine = { .qpn = htonl(qp ? qp->qp_num : 0) }, peer;
	struct timespec t[2];
	int sock, client = argc > 1;

	if (!qp || ibv_query_gid(ctx, 1, GID_INDEX, &mine.gid))
		err(1, "no device, or no GID %d", GID_INDEX);
	sock = tcp(argv[1]);
	swap(sock, &mine, &peer, sizeof(mine));
	connect_qp(qp, &peer);
	post(qp, mr, &number.received, 0);
	swap(sock, "", &peer, 1);	/* both ends can receive */
	clock_gettime(CLOCK_MONOTONIC, &t[0]);
	for (int i = 0; i < 2 * ROUNDS; i++) {
		if (i % 2 != client) {	/* this end's turn to send */
			number.sent = i;
			post(qp, mr, &number.sent, 1);
		}
		wait_for_completion(cq);	/* two turns: a send and a receive, in any order */
		if (i % 2 != client)
			continue;
		if (number.received != i)
			errx(1, "turn %d: received %d", i, number.received);
		post(qp, mr, &number.received, 0);
	}
	clock_gettime(CLOCK_MONOTONIC, &t[1]);
	swap(sock, "", &peer, 1);	/* neither end leaves before the other one is done */
	printf("%d round trips, %.2f us each\n", ROUNDS,
	       ((t[1].tv_sec - t[0].tv_sec) * 1e9 + t[1].tv_nsec - t[0].tv_nsec) / 1e3 / ROUNDS);
	if ((errno = ibv_destroy_qp(qp)) || (errno = ibv_destroy_cq(cq)) ||
	    (errno = ibv_dereg_mr(mr)) || (errno = ibv_dealloc_pd(pd)) || ibv_close_device(ctx))
		err(1, "destroy");
	ibv_free_device_list(devices);
	return 0;
}
