/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Commands to /dev/infiniband/rdma_cm for tests of the descriptor and its ABI. */
#ifndef TESTS_UCMA_H
#define TESTS_UCMA_H

#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <rdma/rdma_user_cm.h>
#include <stdint.h>
#include "preload.h"

#define RDMA_CM "/dev/infiniband/rdma_cm"
#define PS_TCP 0x106
#define QPT_RC 2

static inline int open_cm(int flags)
{
	int fd = open(RDMA_CM, O_RDWR | O_CLOEXEC | flags);

	CHECK(fd >= 0);
	return fd;
}

/* Writes a command; returns 0 or -errno. in: payload length in the header. */
static inline int command(int fd, uint32_t cmd, const void *payload, size_t in, size_t out)
{
	struct {
		struct rdma_ucm_cmd_hdr hdr;
		uint8_t payload[512];
	} c = { .hdr = { .cmd = cmd, .in = (uint16_t)in, .out = (uint16_t)out } };
	ssize_t n;

	CHECK(in <= sizeof(c.payload));
	memcpy(c.payload, payload, in);
	n = write(fd, &c, sizeof(c.hdr) + in);
	CHECK(n == -1 || n == (ssize_t)(sizeof(c.hdr) + in));
	return n < 0 ? -errno : 0;
}

#define COMMAND(fd, cmd, payload, out) command(fd, cmd, &(payload), sizeof(payload), out)

static inline int create_id(int fd, uint32_t *id)
{
	struct rdma_ucm_create_id_resp resp;
	struct rdma_ucm_create_id c = { .uid = 4711, .response = (uintptr_t)&resp, .ps = PS_TCP,
					.qp_type = QPT_RC };
	int ret = COMMAND(fd, RDMA_USER_CM_CMD_CREATE_ID, c, sizeof(resp));

	*id = resp.id;
	return ret;
}

static inline int destroy_id(int fd, uint32_t id)
{
	struct rdma_ucm_destroy_id_resp resp;
	struct rdma_ucm_destroy_id c = { .response = (uintptr_t)&resp, .id = id };

	return COMMAND(fd, RDMA_USER_CM_CMD_DESTROY_ID, c, sizeof(resp));
}

static inline int bind_loopback(int fd, uint32_t id, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct rdma_ucm_bind c = { .id = id, .addr_size = sizeof(in) };

	memcpy(&c.addr, &in, sizeof(in));
	return COMMAND(fd, RDMA_USER_CM_CMD_BIND, c, 0);
}

static inline int listen_on(int fd, uint32_t id)
{
	struct rdma_ucm_listen c = { .id = id, .backlog = 8 };

	return COMMAND(fd, RDMA_USER_CM_CMD_LISTEN, c, 0);
}

/* Starts a resolution, which ends with ADDR_RESOLVED or ADDR_ERROR. */
static inline int resolve_loopback(int fd, uint32_t id, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct rdma_ucm_resolve_addr c = { .id = id, .timeout_ms = 2000, .dst_size = sizeof(in) };

	memcpy(&c.dst_addr, &in, sizeof(in));
	return COMMAND(fd, RDMA_USER_CM_CMD_RESOLVE_ADDR, c, 0);
}

static inline int get_event(int fd, struct rdma_ucm_event_resp *ev)
{
	struct rdma_ucm_get_event c = { .response = (uintptr_t)ev };

	memset(ev, 0, sizeof(*ev));
	return COMMAND(fd, RDMA_USER_CM_CMD_GET_EVENT, c, sizeof(*ev));
}

static inline int readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && p.revents & POLLIN;
}

#endif
