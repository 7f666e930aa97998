/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pair.h says what the functions are for; the tutorial explains the steps with pingpong.c. */
#include "pair.h"
#include <netdb.h>
#include <string.h>
#include <unistd.h>

void must(int rc, const char *what)
{
	errno = rc;
	if (rc)
		err(1, "%s", what);
}

void *must_have(void *object, const char *what)
{
	if (!object)
		err(1, "%s", what);
	return object;
}

/* Returns a TCP socket that is connected to host, or to a client if host is NULL. */
static int tcp(const char *host)
{
	struct addrinfo hints = { .ai_family = AF_INET, .ai_flags = AI_PASSIVE }, *to;
	int sock = socket(AF_INET, SOCK_STREAM, 0), peer;

	if (getaddrinfo(host, "18515", &hints, &to))
		errx(1, "%s: unknown host", host);
	setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	if (host ? connect(sock, to->ai_addr, to->ai_addrlen) :
		   bind(sock, to->ai_addr, to->ai_addrlen) || listen(sock, 1))
		err(1, "%s", host ? host : "listen");
	freeaddrinfo(to);
	peer = host ? sock : accept(sock, NULL, NULL);
	if (peer < 0)
		err(1, "accept");
	if (!host)
		close(sock);
	return peer;
}

void swap(struct pair *p, const void *mine, void *theirs, ssize_t length)
{
	if (send(p->sock, mine, length, MSG_NOSIGNAL) != length ||
	    recv(p->sock, theirs, length, MSG_WAITALL) != length)
		errx(1, "the TCP connection has failed");
}

void meet(struct pair *p)
{
	char theirs;

	swap(p, "", &theirs, 1);
}

void pair_open(struct pair *p, enum ibv_qp_type type, void *memory, size_t length,
	       int access, int depth)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	struct ibv_qp_init_attr init = { .qp_type = type, .cap = { depth, depth, 1, 1, 0 },
					 .sq_sig_all = 1 };

	p->ctx = must_have(devices && *devices ? ibv_open_device(*devices) : NULL, "no device");
	ibv_free_device_list(devices);
	p->pd = must_have(ibv_alloc_pd(p->ctx), "ibv_alloc_pd");
	p->mr = must_have(ibv_reg_mr(p->pd, memory, length, IBV_ACCESS_LOCAL_WRITE | access),
			  "ibv_reg_mr");
	p->channel = must_have(ibv_create_comp_channel(p->ctx), "ibv_create_comp_channel");
	p->cq = must_have(ibv_create_cq(p->ctx, 2 * depth, NULL, p->channel, 0), "ibv_create_cq");
	init.send_cq = init.recv_cq = p->cq;
	p->qp = must_have(ibv_create_qp(p->pd, &init), "ibv_create_qp");
}

struct address pair_meet(struct pair *p, const char *host)
{
	struct address peer, mine = { .address = htobe64((uintptr_t)p->mr->addr),
				      .qpn = htonl(p->qp->qp_num), .rkey = htonl(p->mr->rkey) };

	if (ibv_query_gid(p->ctx, 1, GID_INDEX, &mine.gid))
		err(1, "no GID %d", GID_INDEX);
	p->sock = tcp(host);
	swap(p, &mine, &peer, sizeof(mine));
	peer.address = be64toh(peer.address);
	peer.qpn = ntohl(peer.qpn);
	peer.rkey = ntohl(peer.rkey);
	return peer;
}

void pair_connect(struct pair *p, const struct address *peer, int access)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = access,
		.path_mtu = IBV_MTU_1024, .dest_qp_num = peer->qpn, .min_rnr_timer = 12,
		.timeout = 14, .retry_cnt = 7, .rnr_retry = 7,
		.max_rd_atomic = 1, .max_dest_rd_atomic = 1,	/* READs at the same time */
		.ah_attr = { .is_global = 1, .port_num = 1, .grh.hop_limit = 64,
			     .grh.sgid_index = GID_INDEX, .grh.dgid = peer->gid },
	};
	const int masks[] = {
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
		IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
		IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
	};

	for (int i = 0; i < 3; i++, attr.qp_state++)
		must(ibv_modify_qp(p->qp, &attr, masks[i]), "modify QP to INIT, RTR or RTS");
}

void check_status(const struct ibv_wc *wc)
{
	if (wc->status != IBV_WC_SUCCESS)
		errx(1, "work request %d: %s (vendor error 0x%x)", (int)wc->wr_id,
		     ibv_wc_status_str(wc->status), wc->vendor_err);
}

struct ibv_wc wait_for_completion(struct pair *p)
{
	struct ibv_wc wc;
	char byte;
	int n;

	/* For a receive no error comes if the peer has ended: RDMA does not tell, TCP does. */
	while (!(n = ibv_poll_cq(p->cq, 1, &wc)))
		if (!recv(p->sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT))
			errx(1, "the peer has ended");
	if (n < 0)
		errx(1, "ibv_poll_cq");
	check_status(&wc);
	return wc;
}

/* In the reverse order: an object can be destroyed when no other one uses it. */
void pair_close(struct pair *p)
{
	meet(p);	/* neither end leaves before the other one is done */
	must(ibv_destroy_qp(p->qp), "ibv_destroy_qp");
	must(ibv_destroy_cq(p->cq), "ibv_destroy_cq");
	must(ibv_destroy_comp_channel(p->channel), "ibv_destroy_comp_channel");
	must(ibv_dereg_mr(p->mr), "ibv_dereg_mr");
	must(ibv_dealloc_pd(p->pd), "ibv_dealloc_pd");
	must(ibv_close_device(p->ctx), "ibv_close_device");
	close(p->sock);
}
