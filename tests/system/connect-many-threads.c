/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Many client threads that connect to one listener at the same moment, round after round. The
 * listener is in another process and has one thread. Each thread has its own event channel. Each
 * connection carries one SEND, whose data the server compares, and is closed in order.
 *
 * A round's time is that from the first thread's start until all connections are established.
 * The program prints it, and the time of each step in a thread, in ms.
 *
 *   connect-many-threads ADDRESS PORT ROUNDS [THREADS]		the server
 *   connect-many-threads -c ADDRESS PORT ROUNDS [THREADS]	the client
 */
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "verbs.h"

#define WAIT_S 120	/* seconds that an event may take; long, as an overloaded machine is slow */
#define LEN 64

enum step { CHANNEL, ID, ADDRESS, ROUTE, QP, CONNECT, STEPS };
static const char *const names[STEPS] = { "open channel", "create id", "resolve address",
					  "resolve route", "create QP", "connect" };

struct client {
	pthread_t thread;
	unsigned int n;
	double (*at)[STEPS + 1];	/* times in ms, by round: of the start and of the end of each step */
	unsigned char buf[LEN];
};

/* One accepted connection. */
struct conn {
	struct ibv_mr *mr;
	uint64_t seed;
	unsigned char buf[LEN];
};

static struct sockaddr_in address;
static unsigned int rounds, threads = 32;
static pthread_barrier_t barrier;

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Takes one event, copies it without its private data, and acknowledges it. */
static struct rdma_cm_event next_event(struct rdma_event_channel *channel, uint64_t *seed)
{
	struct pollfd pfd = { .fd = channel->fd, .events = POLLIN };
	struct rdma_cm_event *ev, copy;

	if (poll(&pfd, 1, WAIT_S * 1000) != 1)
		die("no event within %d s", WAIT_S);
	if (rdma_get_cm_event(channel, &ev))
		die("rdma_get_cm_event: %m");
	copy = *ev;
	if (seed && copy.event == RDMA_CM_EVENT_CONNECT_REQUEST)
		memcpy(seed, copy.param.conn.private_data, sizeof(*seed));
	rdma_ack_cm_event(ev);
	return copy;
}

static void want(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct rdma_cm_event ev = next_event(channel, NULL);

	if (ev.event != type || ev.status)
		die("%s, status %d, instead of %s", rdma_event_str(ev.event), ev.status,
		    rdma_event_str(type));
}

static void create_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	if (rdma_create_qp(id, NULL, &attr))
		die("rdma_create_qp: %m");
}

static void destroy(struct rdma_cm_id *id, struct ibv_mr *mr)
{
	if (ibv_dereg_mr(mr))
		die("ibv_dereg_mr: %m");
	rdma_destroy_qp(id);
	if (rdma_destroy_id(id))
		die("rdma_destroy_id: %m");
}

/* The client */

static struct rdma_cm_id *connect_one(struct client *c, uint64_t seed, double at[STEPS + 1])
{
	struct rdma_event_channel *channel;
	struct rdma_conn_param p = { .private_data = &seed, .private_data_len = sizeof(seed),
				     .retry_count = 7, .rnr_retry_count = 7 };
	struct rdma_cm_id *id;

	at[CHANNEL] = now_ms();
	channel = rdma_create_event_channel();
	if (!channel)
		die("rdma_create_event_channel: %m");
	at[CHANNEL + 1] = now_ms();
	if (rdma_create_id(channel, &id, c, RDMA_PS_TCP))
		die("rdma_create_id: %m");
	at[ID + 1] = now_ms();
	if (rdma_resolve_addr(id, NULL, (struct sockaddr *)&address, WAIT_S * 1000))
		die("rdma_resolve_addr: %m");
	want(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	at[ADDRESS + 1] = now_ms();
	if (rdma_resolve_route(id, WAIT_S * 1000))
		die("rdma_resolve_route: %m");
	want(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	at[ROUTE + 1] = now_ms();
	create_qp(id);
	at[QP + 1] = now_ms();
	if (rdma_connect(id, &p))
		die("rdma_connect: %m");
	want(channel, RDMA_CM_EVENT_ESTABLISHED);
	at[CONNECT + 1] = now_ms();
	return id;
}

static void use(struct client *c, struct rdma_cm_id *id, uint64_t seed)
{
	struct rdma_event_channel *channel = id->channel;
	struct ibv_mr *mr = ibv_reg_mr(id->pd, c->buf, LEN, 0);
	struct ibv_sge sge = { (uintptr_t)c->buf, LEN, 0 };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;
	enum ibv_wc_status status;
	struct ibv_wc wc;

	if (!mr)
		die("ibv_reg_mr: %m");
	sge.lkey = mr->lkey;
	fill(c->buf, LEN, seed);
	if (ibv_post_send(id->qp, &wr, &bad))
		die("ibv_post_send: %m");
	status = v_wait(id->send_cq, &wc, WAIT_S);
	if (status)
		die("SEND: %s", ibv_wc_status_str(status));
	if (rdma_disconnect(id))
		die("rdma_disconnect: %m");
	want(channel, RDMA_CM_EVENT_DISCONNECTED);
	destroy(id, mr);
	rdma_destroy_event_channel(channel);
}

static void *client(void *arg)
{
	struct client *c = arg;

	for (unsigned int r = 0; r < rounds; r++) {
		uint64_t seed = (uint64_t)r << 32 | c->n;
		struct rdma_cm_id *id;

		pthread_barrier_wait(&barrier);
		id = connect_one(c, seed, c->at[r]);
		pthread_barrier_wait(&barrier);
		use(c, id, seed);
	}
	return NULL;
}

/* The server */

static void accept_it(struct rdma_cm_id *id, uint64_t seed)
{
	struct rdma_conn_param p = { .rnr_retry_count = 7 };
	struct conn *c = calloc(1, sizeof(*c));
	struct ibv_sge sge;
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	if (!c)
		die("no memory");
	id->context = c;
	c->seed = seed;
	create_qp(id);
	c->mr = ibv_reg_mr(id->pd, c->buf, LEN, IBV_ACCESS_LOCAL_WRITE);
	if (!c->mr)
		die("ibv_reg_mr: %m");
	sge = (struct ibv_sge){ (uintptr_t)c->buf, LEN, c->mr->lkey };
	if (ibv_post_recv(id->qp, &wr, &bad))
		die("ibv_post_recv: %m");
	if (rdma_accept(id, &p))
		die("rdma_accept: %m");
}

static void finish(struct rdma_cm_id *id)
{
	struct conn *c = id->context;
	enum ibv_wc_status status;
	struct ibv_wc wc;

	status = v_wait(id->recv_cq, &wc, WAIT_S);
	if (status || wc.byte_len != LEN)
		die("receive: %s, %u bytes", ibv_wc_status_str(status), wc.byte_len);
	check(c->buf, LEN, c->seed, "the message");
	if (rdma_disconnect(id))
		die("rdma_disconnect: %m");
	destroy(id, c->mr);
	free(c);
}

static void server(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	unsigned int established = 0, gone = 0, all = rounds * threads;
	struct rdma_cm_id *listener;

	if (!channel || rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(listener, (struct sockaddr *)&address) ||
	    rdma_listen(listener, (int)threads))
		die("the listener: %m");
	while (gone < all) {
		uint64_t seed = 0;
		struct rdma_cm_event ev = next_event(channel, &seed);

		switch ((int)ev.event) {
		case RDMA_CM_EVENT_CONNECT_REQUEST:
			accept_it(ev.id, seed);
			break;
		case RDMA_CM_EVENT_ESTABLISHED:
			established++;
			break;
		case RDMA_CM_EVENT_DISCONNECTED:
			finish(ev.id);
			gone++;
			break;
		case RDMA_CM_EVENT_TIMEWAIT_EXIT:
			break;
		default:
			die("server: %s, status %d", rdma_event_str(ev.event), ev.status);
		}
	}
	if (established != all)
		die("%u connections established, %u closed", established, gone);
	rdma_destroy_id(listener);
	rdma_destroy_event_channel(channel);
}

/* The figures */

static int order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print(const char *what, double *values, size_t n)
{
	qsort(values, n, sizeof(*values), order);
	printf("%-24s %9.2f %9.2f %9.2f %9.2f\n", what, values[0], values[n / 2],
	       values[(n * 99 + 99) / 100 - 1], values[n - 1]);
}

static void report(const struct client *c)
{
	double *values = calloc((size_t)rounds * threads, sizeof(*values)), first = 0;
	size_t n;

	if (!values)
		die("no memory");
	for (unsigned int r = 0; r < rounds; r++) {
		double start = c[0].at[r][0], end = 0;

		for (unsigned int i = 0; i < threads; i++) {
			start = c[i].at[r][0] < start ? c[i].at[r][0] : start;
			end = c[i].at[r][STEPS] > end ? c[i].at[r][STEPS] : end;
		}
		values[r] = end - start;
	}
	first = values[0];
	printf("%-24s %9s %9s %9s %9s\n", "ms", "min", "median", "p99", "max");
	print("round", values, rounds);
	for (enum step s = CHANNEL; s < STEPS; s++) {
		n = 0;
		for (unsigned int r = 0; r < rounds; r++)
			for (unsigned int i = 0; i < threads; i++)
				values[n++] = c[i].at[r][s + 1] - c[i].at[r][s];
		print(names[s], values, n);
	}
	printf("%-24s %9.2f\n", "first round", first);
	free(values);
}

static void run(void)
{
	struct client *c = calloc(threads, sizeof(*c));

	if (!c || pthread_barrier_init(&barrier, NULL, threads))
		die("no memory");
	for (unsigned int i = 0; i < threads; i++) {
		c[i].n = i;
		c[i].at = calloc(rounds, sizeof(*c[i].at));
		if (!c[i].at || pthread_create(&c[i].thread, NULL, client, &c[i]))
			die("no thread %u", i);
	}
	for (unsigned int i = 0; i < threads; i++)
		pthread_join(c[i].thread, NULL);
	report(c);
	for (unsigned int i = 0; i < threads; i++)
		free(c[i].at);
	free(c);
}

int main(int argc, char **argv)
{
	bool is_client = argc > 1 && !strcmp(argv[1], "-c");

	argv += is_client;
	argc -= is_client;
	if (argc < 4 || argc > 5)
		die("usage: connect-many-threads [-c] ADDRESS PORT ROUNDS [THREADS]");
	address.sin_family = AF_INET;
	address.sin_port = htons((uint16_t)atoi(argv[2]));
	rounds = (unsigned int)atoi(argv[3]);
	if (argc == 5)
		threads = (unsigned int)atoi(argv[4]);
	if (inet_pton(AF_INET, argv[1], &address.sin_addr) != 1 || !rounds || !threads)
		die("bad arguments");
	if (is_client)
		run();
	else
		server();
	return 0;
}
