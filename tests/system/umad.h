/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Helpers for tests of /dev/infiniband/umad0, its descriptor and its ABI. */
#ifndef TESTS_UMAD_H
#define TESTS_UMAD_H

#include <arpa/inet.h>
#include <poll.h>
#include <rdma/ib_user_mad.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include "preload.h"

#define UMAD "/dev/infiniband/umad0"
#define ISSM "/dev/infiniband/issm0"
#define HDR sizeof(struct ib_user_mad_hdr)
#define OLD_HDR sizeof(struct ib_user_mad_hdr_old)
#define MAD 256
#define WAIT_MS 20000		/* limit for a MAD that must arrive */

/* Management classes, IBA 13.4.4. */
enum { CLASS_SMP = 1, CLASS_SA = 3, CLASS_PERF = 4, CLASS_CM = 7, CLASS_VENDOR = 0x0a,
       CLASS_VENDOR_RMPP = 0x32 };
enum { GET = 1, SET = 2, SEND = 3, RESP = 0x80 };
/* Byte offsets in a MAD. */
enum { BASE_VERSION = 0, CLASS = 1, CLASS_VERSION = 2, METHOD = 3, STATUS = 4, TID = 8, ATTR = 16,
       RMPP_VERSION = 24, RMPP_TYPE = 25, RMPP_FLAGS = 26, RMPP_LEN = 32, OUI = 37,
       VENDOR_DATA = 40, SA_DATA = 56 };

struct packet {
	struct ib_user_mad_hdr hdr;
	uint8_t mad[MAD];
};

static inline int open_umad(int flags)
{
	int fd = open(UMAD, O_RDWR | O_CLOEXEC | flags);

	CHECK(fd >= 0);
	return fd;
}

/* True if the descriptor is readable within ms. */
static inline bool readable(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1 && p.revents & POLLIN;
}

static inline int result(int ret)
{
	return ret < 0 ? -errno : ret;
}

/*
 * Registers an agent and returns its id or -errno. If mgmt_class is not 0, the agent receives
 * requests of the methods 1 to 6 (Get to Report).
 */
static inline int reg(int fd, uint8_t qpn, uint8_t mgmt_class, uint8_t version, uint8_t rmpp)
{
	struct ib_user_mad_reg_req r = { .id = 0xffff, .qpn = qpn, .mgmt_class = mgmt_class,
					 .mgmt_class_version = version, .rmpp_version = rmpp,
					 .method_mask = { 0x7e }, .oui = { 0x00, 0x14, 0x05 } };
	int ret = result(ioctl(fd, IB_USER_MAD_REGISTER_AGENT, &r));

	return ret ? ret : (int)r.id;
}

static inline int reg2(int fd, struct ib_user_mad_reg_req2 *r)
{
	int ret = result(ioctl(fd, IB_USER_MAD_REGISTER_AGENT2, r));

	return ret ? ret : (int)r->id;
}

static inline int unreg(int fd, uint32_t id)
{
	return result(ioctl(fd, IB_USER_MAD_UNREGISTER_AGENT, &id));
}

/* Opens umad0, selects the long header, and registers an agent. */
static inline int open_agent(int flags, uint8_t mgmt_class, uint8_t version, uint8_t rmpp)
{
	int fd = open_umad(flags);

	CHECK(ioctl(fd, IB_USER_MAD_ENABLE_PKEY, NULL) == 0);
	CHECK(reg(fd, 1, mgmt_class, version, rmpp) == 0);
	return fd;
}

/* GID 0 of port 1, the link-local one. */
static inline void own_gid(uint8_t gid[16])
{
	FILE *f = fopen("/sys/class/infiniband/rxe_0/ports/1/gids/0", "r");
	char text[64];

	CHECK(f && fgets(text, sizeof(text), f) && inet_pton(AF_INET6, strtok(text, "\n"), gid) == 1);
	fclose(f);
}

/* A header to QP1 of the port itself. */
static inline void to_self(struct ib_user_mad_hdr *h, uint32_t timeout_ms)
{
	*h = (struct ib_user_mad_hdr){ .timeout_ms = timeout_ms, .qpn = htonl(1),
				       .qkey = htonl(0x80010000), .grh_present = 1,
				       .hop_limit = 64 };
	own_gid(h->gid);
}

/* A MAD to agent 0 of another file or of the same one. */
static inline void build(struct packet *p, uint8_t mgmt_class, uint8_t version, uint8_t method,
			 uint32_t tid, uint32_t timeout_ms)
{
	memset(p, 0, sizeof(*p));
	to_self(&p->hdr, timeout_ms);
	p->mad[BASE_VERSION] = 1;
	p->mad[CLASS] = mgmt_class;
	p->mad[CLASS_VERSION] = version;
	p->mad[METHOD] = method;
	p->mad[ATTR + 1] = 0x7f;
	tid = htonl(tid);
	memcpy(p->mad + TID + 4, &tid, 4);
}

static inline uint32_t low_tid(const uint8_t *mad)
{
	uint32_t tid;

	memcpy(&tid, mad + TID + 4, 4);
	return ntohl(tid);
}

static inline int put(int fd, const struct packet *p)
{
	ssize_t n = write(fd, p, sizeof(*p));

	CHECK(n == -1 || n == sizeof(*p));
	return n < 0 ? -errno : 0;
}

/* Reads a packet within WAIT_MS; returns its length or -errno. */
static inline int get(int fd, void *buf, size_t len)
{
	if (!readable(fd, WAIT_MS))
		return -ETIME;
	return result((int)read(fd, buf, len));
}

#endif
