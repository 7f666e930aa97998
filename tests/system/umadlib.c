/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A program that uses libibumad, as the InfiniBand diagnostics do.
 *
 *   umadlib server DEV                 receives a request of any length, prints its length, answers it
 *   umadlib client DEV GIDINDEX GID N  sends N bytes; the answer must hold the same bytes
 *   umadlib no-agent DEV GIDINDEX GID  sends a Get of a class without an agent, prints the answer's status
 *   umadlib silent DEV GIDINDEX GID    sends a Get that gets no answer, prints the error
 *   umadlib qp DEV GIDINDEX GID        sends a MAD to a UD QP of its own; GID is its own address
 *   umadlib gone DEV                   prints "open", waits until the device is removed, prints "gone"
 *
 * Messages are of a vendor class, and use RMPP if they are long.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/umad.h>
#include <infiniband/umad_types.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "verbs.h"

#define VENDOR 0x32
#define PERF 4
#define HEAD 40			/* header length of this class */
#define MAD 256
#define WAIT_MS 30000

#define CHECK(cond)                                                            \
	do {                                                                   \
		if (!(cond)) {                                                 \
			fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #cond, \
				strerror(errno));                              \
			exit(1);                                               \
		}                                                              \
	} while (0)

static int port, agent;
static uint8_t oui[3] = { 0x00, 0x14, 0x05 };

static void open_dev(const char *dev, bool serve)
{
	long mask[16 / sizeof(long)] = { serve ? 1 << UMAD_METHOD_SEND : 0 };

	CHECK(umad_init() == 0);
	port = umad_open_port(dev, 1);
	CHECK(port >= 0);
	agent = umad_register_oui(port, VENDOR, UMAD_RMPP_VERSION, oui, mask);
	CHECK(agent >= 0);
}

/* A MAD in a buffer with room for len bytes after its header, addressed to QP1 at GID. */
static void *mad_to(const char *index, const char *gid, size_t len, uint8_t cls, uint8_t method)
{
	void *u = umad_alloc(1, umad_size() + HEAD + len + MAD);
	uint8_t *mad = umad_get_mad(u);
	ib_mad_addr_t a = { .gid_index = (uint8_t)atoi(index), .hop_limit = 64, .grh_present = 1 };

	CHECK(u);
	memset(u, 0, umad_size() + HEAD + len + MAD);
	CHECK(inet_pton(AF_INET6, gid, a.gid) == 1);
	CHECK(umad_set_addr(u, 0, 1, 0, 0x80010000) == 0);
	CHECK(umad_set_grh(u, &a) == 0);
	umad_get_mad_addr(u)->gid_index = a.gid_index;	/* umad_set_grh() does not set it */
	mad[0] = 1;
	mad[1] = cls;
	mad[2] = 1;
	mad[3] = method;
	mad[15] = 77;
	return u;
}

/* Receives a MAD of any length; a short buffer returns ENOSPC. *len: bytes after the header. */
static void *receive(int *len)
{
	void *u = umad_alloc(1, umad_size() + MAD);
	int room = MAD, id = -1;

	CHECK(u);
	for (;;) {
		*len = room;
		id = umad_recv(port, u, len, WAIT_MS);
		if (id >= 0 || errno != ENOSPC)
			break;
		CHECK(*len > room);
		room = *len;
		free(u);
		u = umad_alloc(1, umad_size() + (size_t)room);
		CHECK(u);
	}
	CHECK(id == agent);
	return u;
}

static void server(void)
{
	ib_mad_addr_t *a;
	int len, length;
	uint8_t *mad;
	void *u;

	printf("ready\n");
	fflush(stdout);
	u = receive(&len);
	mad = umad_get_mad(u);
	a = umad_get_mad_addr(u);
	CHECK(umad_status(u) == 0 && mad[3] == UMAD_METHOD_SEND && a->grh_present);
	length = len < MAD ? MAD : len;
	printf("%d bytes\n", length - HEAD);
	mad[3] = UMAD_METHOD_SEND | 0x80;
	CHECK(umad_send(port, agent, u, length, 5000, 3) == 0);
	/*
	 * An RMPP answer must be acknowledged before the process ends, and no event reports that.
	 */
	free(u);
	printf("answered\n");
	fflush(stdout);
	getchar();
}

static void client(char **argv)
{
	size_t n = (size_t)atol(argv[2]);
	void *u = mad_to(argv[0], argv[1], n, VENDOR, UMAD_METHOD_SEND), *r;
	uint8_t *mad = umad_get_mad(u), *back;
	int len;

	if (n > MAD - HEAD) {
		mad[24] = 1;	/* RMPP version, type DATA, active */
		mad[25] = 1;
		mad[26] = 1;
	}
	memcpy(mad + 37, oui, sizeof(oui));
	for (size_t i = 0; i < n; i++)
		mad[HEAD + i] = (uint8_t)(i * 13 + (i >> 8));
	CHECK(umad_send(port, agent, u, (int)(HEAD + n), 5000, 3) == 0);
	r = receive(&len);
	back = umad_get_mad(r);
	CHECK(umad_status(r) == 0 && back[3] == (UMAD_METHOD_SEND | 0x80) && back[15] == 77);
	CHECK((size_t)len >= HEAD + n && !memcmp(back + HEAD, mad + HEAD, n));
	printf("%zu bytes back\n", n);
	free(u);
	free(r);
}

static void request(char **argv, uint8_t cls, int timeout)
{
	void *u = mad_to(argv[0], argv[1], MAD - HEAD, cls, UMAD_METHOD_GET), *r;
	int id = umad_register(port, PERF, 1, 0, NULL), len = MAD;
	uint8_t *mad;

	CHECK(id >= 0);
	CHECK(umad_send(port, id, u, MAD, timeout, 1) == 0);
	r = umad_alloc(1, umad_size() + MAD);
	CHECK(r && umad_recv(port, r, &len, WAIT_MS) == id);
	mad = umad_get_mad(r);
	if (umad_status(r))
		printf("%s\n", strerror(umad_status(r)));
	else
		printf("status %02x%02x\n", mad[4], mad[5]);
	free(u);
	free(r);
}

#define GSI_QKEY 0x80010000

/* A MAD may be sent to a QP other than QP1. */
static void to_qp(char **argv)
{
	static uint8_t buf[40 + MAD];
	struct ibv_sge sge = { (uintptr_t)buf, sizeof(buf), 0 };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_wc wc;
	struct ibv_qp *qp;
	struct vctx v = { 0 };
	struct ibv_mr *mr;
	void *u;

	v_open(&v, &vcfg_default);
	mr = ibv_reg_mr(v.pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);
	qp = v_ud_qp(&v, 4, GSI_QKEY);
	CHECK(mr);
	sge.lkey = mr->lkey;
	CHECK(!ibv_post_recv(qp, &wr, &bad));
	u = mad_to(argv[0], argv[1], MAD - HEAD, VENDOR, UMAD_METHOD_SEND);
	CHECK(umad_set_addr(u, 0, (int)qp->qp_num, 0, GSI_QKEY) == 0);
	memcpy((uint8_t *)umad_get_mad(u) + 37, oui, sizeof(oui));
	CHECK(umad_send(port, agent, u, MAD, 0, 0) == 0);
	CHECK(v_wait(v.cq, &wc, 30) == IBV_WC_SUCCESS);
	CHECK(wc.byte_len == sizeof(buf) && wc.src_qp == 1);
	CHECK(buf[41] == VENDOR && buf[55] == 77);
	free(u);
	CHECK(!ibv_destroy_qp(qp) && !ibv_dereg_mr(mr));
	v_close(&v);
	printf("received\n");
}

static void gone(void)
{
	struct pollfd p = { .fd = umad_get_fd(port), .events = POLLIN };
	char buf[512];

	printf("open\n");
	fflush(stdout);
	CHECK(poll(&p, 1, WAIT_MS) == 1 && p.revents & POLLERR);
	CHECK(read(p.fd, buf, sizeof(buf)) == -1 && errno == EIO);
	CHECK(write(p.fd, buf, sizeof(buf)) == -1 && errno == EIO);
	CHECK(umad_register(port, PERF, 1, 0, NULL) < 0);
	CHECK(umad_close_port(port) == 0);
	printf("gone\n");
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";

	CHECK(argc > 2);
	open_dev(argv[2], !strcmp(what, "server"));
	if (!strcmp(what, "server"))
		server();
	else if (!strcmp(what, "client") && argc == 6)
		client(argv + 3);
	else if (!strcmp(what, "no-agent") && argc == 5)
		request(argv + 3, PERF, 10000);
	else if (!strcmp(what, "silent") && argc == 5)
		request(argv + 3, PERF, 100);
	else if (!strcmp(what, "qp") && argc == 5)
		to_qp(argv + 3);
	else if (!strcmp(what, "gone"))
		gone();
	else
		CHECK(!"known");
	return 0;
}
