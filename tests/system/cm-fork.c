/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cm-fork PORT: librdmacm opens the devices in this process. Several forked children continue to use
 * these devices at the same time: each connects to the parent by rdma_cm and exchanges a message in
 * each direction.
 */
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN 3

#define CHECK(cond) do { \
	if (!(cond)) { \
		fprintf(stderr, "%s:%d: %s: %m\n", __FILE__, __LINE__, #cond); \
		exit(1); \
	} \
} while (0)

static struct sockaddr_in address(int port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static void create_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	CHECK(!rdma_create_qp(id, NULL, &attr));
}

/* Sends `what` and returns the byte that the other end has sent. */
static char exchange(struct rdma_cm_id *id, char *buf, struct ibv_mr *mr, char what)
{
	struct ibv_wc wc;

	buf[0] = what;
	CHECK(!rdma_post_send(id, NULL, buf, 1, mr, 0));
	CHECK(rdma_get_send_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
	CHECK(rdma_get_recv_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
	return buf[1];
}

static void leave(struct rdma_cm_id *id, struct ibv_mr *mr)
{
	rdma_disconnect(id);
	rdma_dereg_mr(mr);
	rdma_destroy_qp(id);
}

/* An id with a resolved address, for which librdmacm opens the device. */
static struct rdma_cm_id *resolve(int port)
{
	struct sockaddr_in in = address(port);
	struct rdma_cm_id *id;

	CHECK(!rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	CHECK(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&in, 5000));
	return id;
}

static void client(int port, int who)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	struct rdma_cm_id *id = resolve(port);
	struct ibv_mr *mr;
	static char buf[2];

	CHECK(!rdma_resolve_route(id, 5000));
	create_qp(id);
	mr = rdma_reg_msgs(id, buf, sizeof(buf));
	CHECK(mr && !rdma_post_recv(id, NULL, buf + 1, 1, mr));
	CHECK(!rdma_connect(id, &param));
	CHECK(exchange(id, buf, mr, (char)('a' + who)) == 'A' + who);
	leave(id, mr);
	CHECK(!rdma_destroy_id(id));
}

static void serve(struct rdma_cm_id *listener)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	struct ibv_wc wc;
	static char buf[2];

	CHECK(!rdma_get_request(listener, &id));
	create_qp(id);
	mr = rdma_reg_msgs(id, buf, sizeof(buf));
	CHECK(mr && !rdma_post_recv(id, NULL, buf + 1, 1, mr));
	CHECK(!rdma_accept(id, &param));
	CHECK(rdma_get_recv_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
	buf[0] = (char)(buf[1] - 'a' + 'A');
	CHECK(!rdma_post_send(id, NULL, buf, 1, mr, 0));
	CHECK(rdma_get_send_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
	leave(id, mr);
	CHECK(!rdma_destroy_id(id));
}

int main(int argc, char **argv)
{
	int port = argc == 2 ? atoi(argv[1]) : 7301, status;
	struct sockaddr_in in = address(port);
	struct rdma_cm_id *listener, *first = resolve(port);

	/*
	 * Destroy the id, so that no id exists at the forks of the first round. At those of the
	 * second round an id exists, and with it a PD of librdmacm.
	 */
	CHECK(!rdma_destroy_id(first));
	for (int round = 0; round < 2; round++) {
		first = round ? resolve(port) : NULL;
		CHECK(!rdma_create_id(NULL, &listener, NULL, RDMA_PS_TCP));
		CHECK(!rdma_bind_addr(listener, (struct sockaddr *)&in) &&
		      !rdma_listen(listener, CHILDREN));
		for (int i = 0; i < CHILDREN; i++) {
			pid_t pid = fork();

			CHECK(pid >= 0);
			if (!pid) {
				client(port, i);
				_exit(0);
			}
		}
		for (int i = 0; i < CHILDREN; i++)
			serve(listener);
		for (int i = 0; i < CHILDREN; i++)
			CHECK(wait(&status) > 0 && status == 0);
		CHECK(!rdma_destroy_id(listener) && (!first || !rdma_destroy_id(first)));
	}
	return 0;
}
