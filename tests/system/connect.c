/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connections through librdmacm that end in every way: accepted, rejected, ignored, closed by
 * either side with and without DISCONNECT, over RC and SIDR. Private data of all lengths is
 * compared byte by byte. PORT + 1 must have no listener.
 *
 * connect ADDRESS PORT         the server
 * connect -c ADDRESS PORT      the client; the first byte of private data is its wish (enum wish)
 * connect -d ADDRESS PORT      a client that ends as soon as it is connected
 */
#include <arpa/inet.h>
#include <netdb.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_MS 60000 /* ms that an event may take; long, as an emulated guest is slow */

/*
 * Maximum length in bytes of a program's private data in RC's REQ, REP and REJ and in SIDR_REQ and
 * SIDR_REP.
 */
enum { REQ_DATA = 56, REP_DATA = 196, REJ_DATA = 148, SIDR_REQ_DATA = 180, SIDR_REP_DATA = 136 };
/* Statuses of REJECTED (reasons of a REJ) and UNREACHABLE (statuses of a SIDR_REP). */
enum { REJ_NOBODY = 8, REJ_CONSUMER = 28, SIDR_NOBODY = 1, SIDR_REJECT = 2 };

/*
 * What the client asks the server to do with a request. Where a comment names no subject, it says
 * what the server does.
 */
enum wish {
	STOP,
	CLIENT_LEAVES,	/* accepts, the client disconnects */
	SERVER_LEAVES,	/* accepts, then disconnects itself */
	SERVER_FREES,	/* accepts, then destroys its id */
	CLIENT_DIES,	/* accepts, the client's process ends */
	REJECT,
	REJECT_SHORT,
	FORGET,		/* destroys the request's id */
	WISHES
};

#define CHECK(cond, ...) do { \
	if (!(cond)) { \
		fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); \
		fprintf(stderr, __VA_ARGS__); \
		fprintf(stderr, "\n"); \
		exit(1); \
	} \
} while (0)

static struct rdma_event_channel *channel;

static unsigned char byte(enum wish wish, int who, int i)
{
	return i ? (unsigned char)(i * 13 + wish * 31 + who * 101) : (unsigned char)wish;
}

static const void *fill(enum wish wish, int who, int len)
{
	static unsigned char data[256];

	for (int i = 0; i < len; i++)
		data[i] = byte(wish, who, i);
	return data;
}

/* Checks private data: `len` must be `size`; the first `sent` bytes must be those of side `who`, the rest zero. */
static void check_data(const void *data, unsigned int len, enum wish wish, int who, int sent,
		       unsigned int size)
{
	const unsigned char *p = data;

	CHECK(len == size, "wish %d: %u bytes of private data, not %u", wish, len, size);
	for (int i = 0; i < (int)len; i++) {
		unsigned char want = i < sent ? byte(wish, who, i) : 0;

		CHECK(p[i] == want, "wish %d: private data byte %d: %02x, not %02x", wish, i, p[i],
		      want);
	}
}

static struct rdma_cm_event *next_event(void)
{
	struct pollfd pfd = { .fd = channel->fd, .events = POLLIN };
	struct rdma_cm_event *ev;

	CHECK(poll(&pfd, 1, WAIT_MS) == 1, "no event within %d s", WAIT_MS / 1000);
	CHECK(!rdma_get_cm_event(channel, &ev), "rdma_get_cm_event: %m");
	return ev;
}

static struct rdma_cm_event *want_event(enum rdma_cm_event_type type, int status)
{
	struct rdma_cm_event *ev = next_event();

	CHECK(ev->event == type && ev->status == status, "%s, status %d, instead of %s, %d",
	      rdma_event_str(ev->event), ev->status, rdma_event_str(type), status);
	return ev;
}

static void want(enum rdma_cm_event_type type)
{
	rdma_ack_cm_event(want_event(type, 0));
}

static void create_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = id->ps == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	CHECK(!rdma_create_qp(id, NULL, &attr), "rdma_create_qp: %m");
}

static void destroy(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	CHECK(!rdma_destroy_id(id), "rdma_destroy_id: %m");
}

static struct addrinfo *address(const char *host, int port)
{
	struct addrinfo *ai, hints = { .ai_flags = AI_NUMERICHOST };
	char service[16];

	snprintf(service, sizeof(service), "%d", port);
	CHECK(!getaddrinfo(host, service, &hints, &ai), "%s", host);
	return ai;
}

static struct rdma_cm_id *start(const char *host, int port, enum rdma_port_space ps, int reqs)
{
	struct addrinfo *ai = address(host, port);
	struct rdma_cm_id *id;

	CHECK(!rdma_create_id(channel, &id, NULL, ps), "rdma_create_id: %m");
	if (reqs) {
		CHECK(!rdma_bind_addr(id, ai->ai_addr), "rdma_bind_addr: %m");
		CHECK(!rdma_listen(id, reqs), "rdma_listen: %m");
	} else {
		CHECK(!rdma_resolve_addr(id, NULL, ai->ai_addr, 10000), "rdma_resolve_addr: %m");
		want(RDMA_CM_EVENT_ADDR_RESOLVED);
		CHECK(!rdma_resolve_route(id, 10000), "rdma_resolve_route: %m");
		want(RDMA_CM_EVENT_ROUTE_RESOLVED);
		create_qp(id);
	}
	freeaddrinfo(ai);
	return id;
}

/* The client */

static void request(struct rdma_cm_id *id, enum wish wish, int len)
{
	struct rdma_conn_param p = {
		.private_data = fill(wish, 0, len), .private_data_len = (unsigned char)len,
		.retry_count = 7, .rnr_retry_count = 7, .responder_resources = 2,
		.initiator_depth = 3,
	};

	CHECK(!rdma_connect(id, &p), "rdma_connect: %m");
}

static void established(const struct rdma_cm_event *ev, enum wish wish)
{
	int sent = wish == SERVER_LEAVES ? 0 : wish == SERVER_FREES ? 3 : REP_DATA;

	check_data(ev->param.conn.private_data, ev->param.conn.private_data_len, wish, 1, sent,
		   REP_DATA);
	/* The server accepts the offered values. */
	CHECK(ev->param.conn.responder_resources == 2 && ev->param.conn.initiator_depth == 3,
	      "responder resources %d, initiator depth %d", ev->param.conn.responder_resources,
	      ev->param.conn.initiator_depth);
}

static void rc_client(const char *host, int port, enum wish wish)
{
	struct rdma_cm_id *id = start(host, port, RDMA_PS_TCP, 0);
	struct rdma_cm_event *ev;

	request(id, wish, wish == REJECT_SHORT ? 1 : REQ_DATA);
	if (wish == STOP || wish >= REJECT) {
		ev = want_event(RDMA_CM_EVENT_REJECTED, REJ_CONSUMER);
		check_data(ev->param.conn.private_data, ev->param.conn.private_data_len, wish, 1,
			   wish == REJECT ? REJ_DATA : wish == REJECT_SHORT ? 1 : 0, REJ_DATA);
		rdma_ack_cm_event(ev);
	} else {
		ev = want_event(RDMA_CM_EVENT_ESTABLISHED, 0);
		established(ev, wish);
		rdma_ack_cm_event(ev);
		if (wish == CLIENT_DIES)
			_exit(0);
		if (wish == CLIENT_LEAVES)
			CHECK(!rdma_disconnect(id), "rdma_disconnect: %m");
		want(RDMA_CM_EVENT_DISCONNECTED);
	}
	destroy(id);
	printf("connect: RC %d\n", wish);
}

static void dying_client(const char *host, int port)
{
	char service[16];
	int status;
	pid_t pid;

	snprintf(service, sizeof(service), "%d", port);
	pid = fork();
	CHECK(pid >= 0, "fork: %m");
	if (!pid) {
		execl("/proc/self/exe", "connect", "-d", host, service, NULL);
		_exit(127);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status, "the dying client: %x", status);
}

static void ud_client(const char *host, int port, enum wish wish)
{
	struct rdma_cm_id *id = start(host, port, RDMA_PS_UDP, 0);
	struct rdma_cm_event *ev;

	request(id, wish, SIDR_REQ_DATA);
	if (wish == REJECT) {
		ev = want_event(RDMA_CM_EVENT_UNREACHABLE, SIDR_REJECT);
	} else {
		ev = want_event(RDMA_CM_EVENT_ESTABLISHED, 0);
		CHECK(ev->param.ud.qp_num > 1 && ev->param.ud.qkey == RDMA_UDP_QKEY,
		      "QP %u, Q_Key %#x", ev->param.ud.qp_num, ev->param.ud.qkey);
	}
	check_data(ev->param.ud.private_data, ev->param.ud.private_data_len, wish, 1, SIDR_REP_DATA,
		   SIDR_REP_DATA);
	rdma_ack_cm_event(ev);
	destroy(id);
	printf("connect: UD %d\n", wish);
}

static void no_listener(const char *host, int port)
{
	struct rdma_cm_id *id = start(host, port, RDMA_PS_TCP, 0);

	request(id, REJECT, 0);
	rdma_ack_cm_event(want_event(RDMA_CM_EVENT_REJECTED, REJ_NOBODY));
	destroy(id);
	id = start(host, port, RDMA_PS_UDP, 0);
	request(id, REJECT, 0);
	rdma_ack_cm_event(want_event(RDMA_CM_EVENT_UNREACHABLE, SIDR_NOBODY));
	destroy(id);
	printf("connect: no listener\n");
}

static void client(const char *host, int port)
{
	no_listener(host, port + 1);
	dying_client(host, port);
	for (enum wish w = STOP + 1; w < WISHES; w++) {
		if (w != CLIENT_DIES)
			rc_client(host, port, w);
	}
	ud_client(host, port, CLIENT_LEAVES);
	ud_client(host, port, REJECT);
	rc_client(host, port, STOP);
	printf("connect: all connections\n");
}

/* The server */

struct conn {
	enum wish wish;
};

static void accept_it(struct rdma_cm_id *id, enum wish wish, int len)
{
	struct rdma_conn_param p = {
		.private_data = fill(wish, 1, len), .private_data_len = (unsigned char)len,
		.rnr_retry_count = 7, .responder_resources = RDMA_MAX_RESP_RES,
		.initiator_depth = RDMA_MAX_INIT_DEPTH,
	};
	struct conn *c = calloc(1, sizeof(*c));

	CHECK(c, "no memory");
	c->wish = wish;
	id->context = c;
	create_qp(id);
	if (id->ps == RDMA_PS_UDP)
		p.qp_num = id->qp->qp_num;
	CHECK(!rdma_accept(id, &p), "rdma_accept: %m");
}

static void refuse(struct rdma_cm_id *id, enum wish wish, int len)
{
	CHECK(!rdma_reject(id, fill(wish, 1, len), (unsigned char)len), "rdma_reject: %m");
	destroy(id);
}

static enum wish ud_request(struct rdma_cm_id *id, const struct rdma_ud_param *p)
{
	enum wish wish = *(const unsigned char *)p->private_data;

	check_data(p->private_data, p->private_data_len, wish, 0, SIDR_REQ_DATA, SIDR_REQ_DATA);
	if (wish == REJECT) {
		refuse(id, wish, SIDR_REP_DATA);
	} else {
		accept_it(id, wish, SIDR_REP_DATA);
		/*
		 * SIDR establishes no connection, so no DISCONNECTED event follows: destroy the id
		 * here.
		 */
		free(id->context);
		destroy(id);
	}
	return wish;
}

/*
 * Handles a request and returns the wish. The event was acknowledged before, as destroying an id
 * waits for that.
 */
static enum wish rc_request(struct rdma_cm_id *id, const struct rdma_conn_param *p)
{
	enum wish wish = *(const unsigned char *)p->private_data;

	check_data(p->private_data, p->private_data_len, wish, 0,
		   wish == REJECT_SHORT ? 1 : REQ_DATA, REQ_DATA);
	CHECK(p->responder_resources == 3 && p->initiator_depth == 2 && p->retry_count == 7 &&
	      p->rnr_retry_count == 7, "responder resources %d, initiator depth %d, retries %d %d",
	      p->responder_resources, p->initiator_depth, p->retry_count, p->rnr_retry_count);
	switch (wish) {
	case STOP:
		refuse(id, wish, 0);
		break;
	case FORGET:
		destroy(id);
		break;
	case REJECT:
		refuse(id, wish, REJ_DATA);
		break;
	case REJECT_SHORT:
		refuse(id, wish, 1);
		break;
	case CLIENT_LEAVES:
	case CLIENT_DIES:
		accept_it(id, wish, REP_DATA);
		break;
	case SERVER_LEAVES:
		accept_it(id, wish, 0);
		break;
	case SERVER_FREES:
		accept_it(id, wish, 3);
		break;
	case WISHES:
		break;
	}
	return wish;
}

static void drop(struct rdma_cm_id *id)
{
	free(id->context);
	destroy(id);
}

/* Handles one event; false: the client wants to stop. */
static bool serve_one(int *established, int *gone)
{
	struct rdma_cm_event *ev = next_event(), e = *ev;
	unsigned char data[256] = { 0 };
	bool ud = e.id->ps == RDMA_PS_UDP;
	struct conn *c = e.id->context;
	enum wish wish;

	if (e.event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		const void **p = ud ? &e.param.ud.private_data : &e.param.conn.private_data;

		memcpy(data, *p, ud ? e.param.ud.private_data_len : e.param.conn.private_data_len);
		*p = data;
	}
	rdma_ack_cm_event(ev);
	switch ((int)e.event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		wish = ud ? ud_request(e.id, &e.param.ud) : rc_request(e.id, &e.param.conn);
		return wish != STOP;
	case RDMA_CM_EVENT_ESTABLISHED:
		++*established;
		if (c->wish == SERVER_FREES) {
			++*gone;
			drop(e.id);
		} else if (c->wish == SERVER_LEAVES) {
			CHECK(!rdma_disconnect(e.id), "rdma_disconnect: %m");
		}
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		++*gone;
		drop(e.id);
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default:
		CHECK(0, "%s", rdma_event_str(e.event));
	}
	return true;
}

static void server(const char *host, int port)
{
	struct rdma_cm_id *ud = start(host, port, RDMA_PS_UDP, 8);
	struct rdma_cm_id *rc = start(host, port, RDMA_PS_TCP, 8);
	int established = 0, gone = 0;

	while (serve_one(&established, &gone))
		;
	CHECK(established == 4 && gone == 4, "%d established, %d gone", established, gone);
	destroy(ud);
	destroy(rc);
	printf("connect: all served\n");
}

int main(int argc, char **argv)
{
	int opt = argc > 1 && argv[1][0] == '-' ? argv[1][1] : 0;

	argv += !!opt;
	CHECK(argc - !!opt == 3, "connect [-c | -d] ADDRESS PORT");
	/* Keep the output even if the process is killed. */
	setlinebuf(stdout);
	channel = rdma_create_event_channel();
	CHECK(channel, "rdma_create_event_channel: %m");
	if (opt == 'd')
		rc_client(argv[1], atoi(argv[2]), CLIENT_DIES);
	else
		(opt ? client : server)(argv[1], atoi(argv[2]));
	rdma_destroy_event_channel(channel);
	return 0;
}
