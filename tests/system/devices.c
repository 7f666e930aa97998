/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections over several devices and addresses from one process.
 *
 *   devices serve PORT		creates a QP for each client, until it is killed
 *   devices drive SERVER PORT	runs commands from stdin; each prints one line
 *
 * The commands of drive:
 *
 *   open ID DEVICE ADDRESS THEIR-DEVICE THEIR-ADDRESS MTU
 *		makes connection number ID; prints "up" or the error
 *   run N ID...	N rounds: posts a WRITE and a READ on each of these connections, then waits for all.
 *		Prints "right", or after the first failed request "ID STATUS"
 *   event DEVICE	waits up to ten seconds for the device's next asynchronous event; prints the event's
 *		name or "none"
 *   quiet DEVICE	drops the device's pending events; prints "quiet"
 *   close ID	destroys connection number ID; prints "closed"
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "verbs.h"

#define MAX_CONN 16
#define MAX_DEV 4
#define LEN 20000u

struct dev {
	char name[64];
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
};

struct conn {
	int sock;
	struct dev *dev;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct vdest mine, theirs;
	struct ibv_mr *mr;
	uint8_t *buf;		/* client: LEN bytes that WRITEs send, then LEN for data of READs; server: LEN */
};

/* A client's request to the server. */
struct ask {
	char dev[64];
	union ibv_gid gid;
	uint32_t mtu;
};

static struct dev devs[MAX_DEV];
static struct conn conns[MAX_CONN];

static struct dev *device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct dev *d = devs;

	for (; d < devs + MAX_DEV && d->ctx; d++)
		if (!strcmp(d->name, name))
			return d;
	for (int i = 0; d < devs + MAX_DEV && list && list[i]; i++)
		if (!strcmp(name, ibv_get_device_name(list[i])))
			d->ctx = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	if (d == devs + MAX_DEV || !d->ctx)
		return NULL;
	snprintf(d->name, sizeof(d->name), "%s", name);
	d->pd = ibv_alloc_pd(d->ctx);
	if (!d->pd || fcntl(d->ctx->async_fd, F_SETFL, O_NONBLOCK))
		die("%s: %m", name);
	return d;
}

/* Index of this GID; -1: the device does not have it. */
static int gid_index(struct ibv_context *ctx, const union ibv_gid *want)
{
	union ibv_gid gid;

	for (int i = 0; !ibv_query_gid(ctx, 1, i, &gid); i++)
		if (!memcmp(&gid, want, sizeof(gid)))
			return i;
	return -1;
}

static union ibv_gid gid_of(const char *address)
{
	union ibv_gid gid = { .raw = { [10] = 0xff, [11] = 0xff } };

	if (inet_pton(AF_INET, address, gid.raw + 12) != 1 &&
	    inet_pton(AF_INET6, address, gid.raw) != 1)
		die("%s is no address", address);
	return gid;
}

static const char *create(struct conn *c, const char *dev, size_t len)
{
	struct ibv_qp_init_attr ia = {
		.qp_type = IBV_QPT_RC, .cap = { .max_send_wr = 8, .max_recv_wr = 1,
						.max_send_sge = 1, .max_recv_sge = 1 },
	};

	c->dev = device(dev);
	if (!c->dev)
		return "no such device";
	c->cq = ibv_create_cq(c->dev->ctx, 16, NULL, NULL, 0);
	ia.send_cq = ia.recv_cq = c->cq;
	c->qp = c->cq ? ibv_create_qp(c->dev->pd, &ia) : NULL;
	c->buf = calloc(1, len);
	c->mr = c->qp && c->buf ? ibv_reg_mr(c->dev->pd, c->buf, len, IBV_ACCESS_LOCAL_WRITE |
					     IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE) :
				  NULL;
	if (!c->mr)
		return "no CQ, QP or MR";
	c->mine = (struct vdest){ .qpn = c->qp->qp_num, .psn = (uint32_t)random() & 0xffffff,
				  .addr = (uintptr_t)c->buf, .rkey = c->mr->rkey };
	return NULL;
}

/* Brings the QP to RTS from this address; returns NULL or the error. */
static const char *bring_up(struct conn *c, const union ibv_gid *from, uint32_t mtu)
{
	int index = gid_index(c->dev->ctx, from), ret;
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
		.path_mtu = mtu == 4096 ? IBV_MTU_4096 : IBV_MTU_1024,
		.dest_qp_num = c->theirs.qpn, .rq_psn = c->theirs.psn, .sq_psn = c->mine.psn,
		.max_dest_rd_atomic = 4, .max_rd_atomic = 4, .min_rnr_timer = 1,
		.timeout = 16, .retry_cnt = 7, .rnr_retry = 7,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = c->theirs.gid, .hop_limit = 64 } },
	};

	if (index < 0)
		return "no such address";
	a.ah_attr.grh.sgid_index = (uint8_t)index;
	ret = ibv_modify_qp(c->qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			    IBV_QP_ACCESS_FLAGS);
	a.qp_state = IBV_QPS_RTR;
	if (!ret)
		ret = ibv_modify_qp(c->qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				    IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MIN_RNR_TIMER |
				    IBV_QP_MAX_DEST_RD_ATOMIC);
	a.qp_state = IBV_QPS_RTS;
	if (!ret)
		ret = ibv_modify_qp(c->qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				    IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
	return ret ? strerror(ret) : NULL;
}

static void destroy(struct conn *c)
{
	if (c->qp)
		ibv_destroy_qp(c->qp);
	if (c->mr)
		ibv_dereg_mr(c->mr);
	if (c->cq)
		ibv_destroy_cq(c->cq);
	free(c->buf);
	close(c->sock);
	memset(c, 0, sizeof(*c));
}

/* Answers a client's request with a new QP; qpn 0: there is none. */
static void accept_one(int listener)
{
	struct conn *c = conns;
	struct ask ask;
	const char *bad;

	while (c < conns + MAX_CONN && c->sock)
		c++;
	if (c == conns + MAX_CONN)
		die("too many");
	c->sock = accept(listener, NULL, NULL);
	v_get(c->sock, &ask, sizeof(ask));
	v_get(c->sock, &c->theirs, sizeof(c->theirs));
	bad = create(c, ask.dev, LEN);
	if (!bad)
		bad = bring_up(c, &ask.gid, ask.mtu);
	if (bad) {
		fprintf(stderr, "%s: %s\n", ask.dev, bad);
		c->mine.qpn = 0;
	}
	c->mine.gid = ask.gid;
	v_put(c->sock, &c->mine, sizeof(c->mine));
}

static void serve(const char *port)
{
	struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_PASSIVE }, *ai;
	struct pollfd p[MAX_CONN + 1];
	int one = 1, l;

	if (getaddrinfo(NULL, port, &hints, &ai))
		die("port %s", port);
	l = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(l, ai->ai_addr, ai->ai_addrlen) || listen(l, 4))
		die("listen: %m");
	for (;;) {
		p[MAX_CONN] = (struct pollfd){ .fd = l, .events = POLLIN };
		for (int i = 0; i < MAX_CONN; i++)
			p[i] = (struct pollfd){ .fd = conns[i].sock ? conns[i].sock : -1,
						.events = POLLIN };
		if (poll(p, MAX_CONN + 1, -1) < 0)
			die("poll: %m");
		/*
		 * A client sends nothing after its request, so its socket is readable only when the
		 * client has closed it.
		 */
		for (int i = 0; i < MAX_CONN; i++)
			if (p[i].revents)
				destroy(&conns[i]);
		if (p[MAX_CONN].revents)
			accept_one(l);
	}
}

static const char *do_open(struct conn *c, char **arg, const char *server, const char *port)
{
	struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM }, *ai;
	union ibv_gid from = gid_of(arg[1]);
	struct ask ask = { .gid = gid_of(arg[3]), .mtu = (uint32_t)atoi(arg[4]) };
	const char *bad = create(c, arg[0], 2 * LEN);

	if (bad)
		return bad;
	snprintf(ask.dev, sizeof(ask.dev), "%s", arg[2]);
	c->mine.gid = from;
	if (getaddrinfo(server, port, &hints, &ai))
		die("%s:%s", server, port);
	c->sock = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(c->sock, ai->ai_addr, ai->ai_addrlen))
		die("connect: %m");
	freeaddrinfo(ai);
	v_put(c->sock, &ask, sizeof(ask));
	v_put(c->sock, &c->mine, sizeof(c->mine));
	v_get(c->sock, &c->theirs, sizeof(c->theirs));
	if (!c->theirs.qpn)
		return "they cannot";
	bad = bring_up(c, &from, ask.mtu);
	return bad ? bad : "up";
}

static void post(struct conn *c, enum ibv_wr_opcode op, uint32_t at)
{
	struct ibv_sge sge = { (uintptr_t)c->buf + at, LEN, c->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = op, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { c->theirs.addr, c->theirs.rkey },
	}, *bad;

	if (ibv_post_send(c->qp, &wr, &bad))
		die("post_send: %m");
}

/* Posts on all connections at once, so that every device is busy. */
static void do_run(char **arg)
{
	struct conn *run[MAX_CONN];
	uint32_t rounds = (uint32_t)atoi(arg[0]);
	struct ibv_wc wc;
	int n = 0;

	for (char **id = arg + 1; *id && n < MAX_CONN; id++)
		run[n++] = &conns[atoi(*id) % MAX_CONN];
	for (uint32_t r = 0; r < rounds; r++) {
		for (int i = 0; i < n; i++) {
			fill(run[i]->buf, LEN, r + (uint32_t)i * 77);
			memset(run[i]->buf + LEN, 0, LEN);
			post(run[i], IBV_WR_RDMA_WRITE, 0);
			post(run[i], IBV_WR_RDMA_READ, LEN);
		}
		for (int i = 0; i < n; i++) {
			for (int k = 0; k < 2; k++)
				if (v_wait(run[i]->cq, &wc, 30)) {
					printf("%s %s\n", arg[1 + i], ibv_wc_status_str(wc.status));
					return;
				}
			check(run[i]->buf + LEN, LEN, r + (uint32_t)i * 77, "what came back");
		}
	}
	puts("right");
}

static void do_event(const char *name, int wait)
{
	struct dev *d = device(name);
	struct pollfd p = { .events = POLLIN };
	struct ibv_async_event ev;

	if (!d)
		die("no %s", name);
	p.fd = d->ctx->async_fd;
	if (poll(&p, 1, wait) == 1 && !ibv_get_async_event(d->ctx, &ev)) {
		ibv_ack_async_event(&ev);
		if (!wait)
			do_event(name, 0);
		else
			puts(ibv_event_type_str(ev.event_type));
	} else {
		puts(wait ? "none" : "quiet");
	}
}

static void drive(const char *server, const char *port)
{
	char line[256], *arg[20] = { 0 };

	while (fgets(line, sizeof(line), stdin)) {
		int n = 0;

		for (char *s = strtok(line, " \n"); s && n < 19; s = strtok(NULL, " \n"))
			arg[n++] = s;
		arg[n] = NULL;
		if (n == 7 && !strcmp(arg[0], "open"))
			puts(do_open(&conns[atoi(arg[1]) % MAX_CONN], arg + 2, server, port));
		else if (n > 2 && !strcmp(arg[0], "run"))
			do_run(arg + 1);
		else if (n == 2 && !strcmp(arg[0], "event"))
			do_event(arg[1], 10000);
		else if (n == 2 && !strcmp(arg[0], "quiet"))
			do_event(arg[1], 0);
		else if (n == 2 && !strcmp(arg[0], "close"))
			destroy(&conns[atoi(arg[1]) % MAX_CONN]), puts("closed");
		else
			die("what? %s", line);
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	srandom((unsigned int)getpid());
	if (argc == 3 && !strcmp(argv[1], "serve"))
		serve(argv[2]);
	else if (argc == 4 && !strcmp(argv[1], "drive"))
		drive(argv[2], argv[3]);
	else
		die("usage: devices serve PORT | drive SERVER PORT");
	return 0;
}
