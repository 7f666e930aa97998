/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets that no requester or responder sends that is right: they come from a program of the peer's host,
 * through a UDP socket.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "mistakes.h"

#define PORT 4791
#define PKEY 0xffff

/* Opcodes of RC (IBA 9.2.1). */
enum {
	SEND_FIRST = 0x00, SEND_MIDDLE = 0x01, SEND_ONLY = 0x04, WRITE_ONLY = 0x0a,
	READ_REQUEST = 0x0c, READ_RESPONSE_ONLY = 0x10, FETCH_ADD = 0x14, FLUSH = 0x1c,
};

static uint32_t crc32_add(uint32_t crc, const uint8_t *p, size_t n)
{
	while (n--) {
		crc ^= *p++;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return crc;
}

/* The ICRC (IBA A17.3.3) of an IPv4 packet with identification 0. udp: its n bytes from the BTH to the ICRC. */
static uint32_t icrc(const uint8_t src[4], const uint8_t dst[4], uint16_t sport, const uint8_t *udp,
		     size_t n)
{
	uint16_t total = (uint16_t)(20 + 8 + n + 4), len = (uint16_t)(8 + n + 4);
	uint8_t h[8 + 20 + 8] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0x45, 0xff, (uint8_t)(total >> 8), (uint8_t)total, 0, 0, 0x40, 0,
		0xff, 17, 0xff, 0xff,
		src[0], src[1], src[2], src[3], dst[0], dst[1], dst[2], dst[3],
		(uint8_t)(sport >> 8), (uint8_t)sport, PORT >> 8, PORT & 0xff,
		(uint8_t)(len >> 8), (uint8_t)len, 0xff, 0xff,
	};
	uint8_t bth[12];
	uint32_t crc;

	memcpy(bth, udp, sizeof(bth));
	bth[4] = 0xff;	/* the bits that a switch may change */
	crc = crc32_add(~0u, h, sizeof(h));
	crc = crc32_add(crc, bth, sizeof(bth));
	return ~crc32_add(crc, udp + sizeof(bth), n - sizeof(bth));
}

static void put32(uint8_t *p, uint32_t v)
{
	v = htonl(v);
	memcpy(p, &v, sizeof(v));
}

/* Sends a packet to the peer's QP: BTH, n bytes of further headers and payload. */
static void packet(uint8_t opcode, uint16_t pkey, uint32_t psn, const void *rest, size_t n)
{
	struct sockaddr_in from = { .sin_family = AF_INET }, to = from;
	uint8_t p[12 + 512 + 4] = { opcode, 0, (uint8_t)(pkey >> 8), (uint8_t)pkey };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), mode = IP_PMTUDISC_DO;
	socklen_t len = sizeof(from);
	uint32_t crc;

	memcpy(&from.sin_addr, me.gid.raw + 12, 4);
	memcpy(&to.sin_addr, peer.gid.raw + 12, 4);
	to.sin_port = htons(PORT);
	setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &mode, sizeof(mode));
	put32(p + 4, peer.qpn);
	put32(p + 8, psn | 1u << 31);	/* asks for an acknowledgement */
	memcpy(p + 12, rest, n);
	if (bind(fd, (struct sockaddr *)&from, sizeof(from)) ||
	    getsockname(fd, (struct sockaddr *)&from, &len))
		failed("bind", errno);
	crc = icrc(me.gid.raw + 12, peer.gid.raw + 12, ntohs(from.sin_port), p, 12 + n);
	for (int i = 0; i < 4; i++)
		p[12 + n + (size_t)i] = (uint8_t)(crc >> 8 * i);
	if (sendto(fd, p, 12 + n + 4, 0, (struct sockaddr *)&to, sizeof(to)) < 0)
		failed("sendto", errno);
	close(fd);
}

/* A RETH (IBA 9.3.3). */
static void reth(uint8_t *p, uint64_t va, uint32_t len)
{
	put32(p, (uint32_t)(va >> 32));
	put32(p + 4, (uint32_t)va);
	put32(p + 8, peer.rkey);
	put32(p + 12, len);
}

static const uint8_t zeros[512];

static void middle_first(void)
{
	packet(SEND_MIDDLE, PKEY, 100, zeros, 64);
}

static void short_first(void)
{
	packet(SEND_FIRST, PKEY, 100, zeros, 64);
}

static void write_longer(void)
{
	uint8_t p[16 + 64] = { 0 };

	reth(p, peer.addr, 200);
	packet(WRITE_ONLY, PKEY, 100, p, sizeof(p));
}

static void read_huge(void)
{
	uint8_t p[16];

	reth(p, peer.addr, 0xffffffff);
	packet(READ_REQUEST, PKEY, 100, p, sizeof(p));
}

static void atomic_odd(void)
{
	uint8_t p[28] = { 0 };

	reth(p, peer.addr + 4, 0);	/* an AtomicETH begins with address and key as well */
	packet(FETCH_ADD, PKEY, 100, p, sizeof(p));
}

static void flush_persistent(void)
{
	uint8_t p[4 + 16] = { 0, 0, 0, 0x02 };

	reth(p + 4, peer.addr, 64);
	packet(FLUSH, PKEY, 100, p, sizeof(p));
}

static void other_partition(void)
{
	packet(SEND_ONLY, 0x8001, 100, zeros, 64);
}

static void one_recv(void)
{
	e.recvs = server;
}

/* The server's QP drops the READ. */
static void silent_server(void)
{
	e.upto = server ? IBV_QPS_INIT : IBV_QPS_RTS;
	e.timeout = 18;
}

/* A READ of 200 bytes is answered with 64. */
static void answer_short(void)
{
	struct info own = me;
	uint8_t p[4 + 64] = { 0 };

	post_send(&(struct wr){ .op = IBV_WR_RDMA_READ, .len = 200 });
	me = peer;
	peer = own;
	packet(READ_RESPONSE_ONLY, PKEY, 100, p, sizeof(p));
}

static const struct mistake table[] = {
	{ "packet-middle-first", one_recv, NULL, middle_first, 200 },
	{ "packet-short-first", one_recv, NULL, short_first, 200 },
	{ "packet-write-longer", NULL, NULL, write_longer, 200 },
	{ "packet-read-huge", NULL, NULL, read_huge, 200 },
	{ "packet-atomic-odd", NULL, NULL, atomic_odd, 200 },
	{ "packet-flush", NULL, NULL, flush_persistent, 200 },
	{ "packet-other-partition", NULL, NULL, other_partition, 200 },
	{ "packet-answer-short", silent_server, NULL, answer_short, 0 },
};

const struct mistakes packet_mistakes = { table, sizeof(table) / sizeof(*table) };
