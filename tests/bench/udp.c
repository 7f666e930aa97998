/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Performance of plain UDP sockets between two hosts: the limit for ruse's wire. Each end is one
 * process that polls, as perftest does. A train is a buffer that the kernel sends as many datagrams
 * (UDP_SEGMENT), and that the receiver's kernel merges again (UDP_GRO).
 *
 *   bench-udp recv PORT [roce]           receives trains until the sender stops
 *   bench-udp send ADDRESS PORT SECONDS [roce]  sends trains
 *   bench-udp pong PORT [roce]           returns each message
 *   bench-udp ping ADDRESS PORT ROUNDS [roce]
 *
 * With roce, send and recv transfer the packets of RDMA WRITEs of 64 KiB: a FIRST packet, which is
 * longer, and then a train. Each end does the least work that RoCEv2 needs for them: it copies the
 * bytes and computes a CRC-32. With roce, a ping and its answer are trains of two packets, a SEND
 * and an ACK. Their receiver also asks the kernel for the fields of the IP header that an ICRC
 * covers or a GRH contains.
 *
 * recv prints "udp_gso VALUE GB/s", with roce "udp_roce VALUE GB/s". ping prints the median as
 * "udp_half_rtt VALUE ns", with roce as "udp_roce_half_rtt VALUE ns".
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <libdeflate.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define PACKET 4112		/* a MIDDLE packet of path MTU 4096: BTH, payload, ICRC */
#define TRAIN (15 * PACKET)	/* as many as fit into a datagram of 64 KiB */
#define FIRST (PACKET + 16)	/* with a RETH */
#define RCVBUF (8 << 20)
#define SMALL 20		/* BTH, two bytes padded to four, ICRC */
#define QUIET_NS 300000000ull	/* after this silence the sender has ended */

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static int bound(const char *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };
	int s = socket(AF_INET, SOCK_DGRAM, 0), size = RCVBUF, on = 1;

	if (setsockopt(s, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)))
		setsockopt(s, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (setsockopt(s, SOL_UDP, UDP_GRO, &on, sizeof(on)))
		err(1, "UDP_GRO");
	if (bind(s, (struct sockaddr *)&a, sizeof(a)))
		err(1, "bind");
	return s;
}

static struct sockaddr_in address_of(const char *address, const char *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };

	if (inet_pton(AF_INET, address, &a.sin_addr) != 1)
		errx(1, "%s is no address", address);
	return a;
}

static int connected(const char *address, const char *port)
{
	struct sockaddr_in a = address_of(address, port);
	int s = socket(AF_INET, SOCK_DGRAM, 0);

	if (connect(s, (struct sockaddr *)&a, sizeof(a)))
		err(1, "connect");
	return s;
}

/* The work of a RoCEv2 sender or receiver on the bytes of its packets: copy and CRC. */
static void roce_work(char *to, const char *from, size_t len)
{
	for (size_t off = 0; off < len; off += PACKET) {
		size_t n = len - off < PACKET ? len - off : PACKET;

		memcpy(to + off, from + off, n);
		__asm__ volatile("" : : "r"(libdeflate_crc32(0, to + off, n)));
	}
}

static int receive(const char *port, bool roce)
{
	static char buf[1 << 16], memory[1 << 16];
	uint64_t first = 0, last = 0, bytes = 0, now;
	int s = bound(port);

	for (;;) {
		ssize_t n = recv(s, buf, sizeof(buf), MSG_DONTWAIT);

		now = now_ns();
		if (n < 0 && last && now - last > QUIET_NS)
			break;
		if (n < 0)
			continue;
		if (roce)
			roce_work(memory, buf, (size_t)n);
		if (!first)
			first = now;
		else
			bytes += (uint64_t)n;
		last = now;
	}
	printf("%s %.3f GB/s\n", roce ? "udp_roce" : "udp_gso",
	       (double)bytes / (double)(last - first));
	return 0;
}

static void check_sent(long n)
{
	if (n < 0 && errno != ENOBUFS && errno != ECONNREFUSED)
		err(1, "send");
}

/* Sends WRITEs of 64 KiB until `end`: a FIRST packet and a train each. */
static void transmit_roce(int s, uint64_t end)
{
	static char buf[FIRST + TRAIN], memory[FIRST + TRAIN];
	union {
		struct cmsghdr h;
		char buf[CMSG_SPACE(sizeof(uint16_t))];
	} cut = { .h = { CMSG_LEN(sizeof(uint16_t)), SOL_UDP, UDP_SEGMENT } };
	struct iovec iov[2] = { { buf, FIRST }, { buf + FIRST, TRAIN } };
	struct mmsghdr msg[2] = {
		{ .msg_hdr = { .msg_iov = &iov[0], .msg_iovlen = 1 } },
		{ .msg_hdr = { .msg_iov = &iov[1], .msg_iovlen = 1, .msg_control = &cut,
			       .msg_controllen = sizeof(cut) } },
	};
	uint16_t size = PACKET;

	memcpy(CMSG_DATA(&cut.h), &size, sizeof(size));
	while (now_ns() < end) {
		roce_work(buf, memory, sizeof(buf));
		check_sent(sendmmsg(s, msg, 2, 0));
	}
}

static int transmit(const char *address, const char *port, int seconds, bool roce)
{
	static char buf[TRAIN];
	int s = connected(address, port), size = PACKET;
	uint64_t end = now_ns() + (uint64_t)seconds * 1000000000ull;

	if (roce) {
		transmit_roce(s, end);
		return 0;
	}
	if (setsockopt(s, SOL_UDP, UDP_SEGMENT, &size, sizeof(size)))
		err(1, "UDP_SEGMENT");
	while (now_ns() < end)
		check_sent(send(s, buf, sizeof(buf), 0));
	return 0;
}

/* A socket that receives addresses, hop limit and traffic class of each packet. */
static int bound_roce(const char *port)
{
	int s = bound(port), on = 1, df = IP_PMTUDISC_DO;

	if (setsockopt(s, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on)) ||
	    setsockopt(s, IPPROTO_IP, IP_RECVTTL, &on, sizeof(on)) ||
	    setsockopt(s, IPPROTO_IP, IP_RECVTOS, &on, sizeof(on)) ||
	    setsockopt(s, IPPROTO_IP, IP_MTU_DISCOVER, &df, sizeof(df)))
		err(1, "setsockopt");
	return s;
}

/* Sends one packet, or with roce a train of two; to: NULL if the socket is connected. */
static void hit(int s, struct sockaddr_in *to, bool roce)
{
	static char buf[2 * SMALL];
	union {
		struct cmsghdr h;
		char buf[CMSG_SPACE(sizeof(uint16_t))];
	} cut = { .h = { CMSG_LEN(sizeof(uint16_t)), SOL_UDP, UDP_SEGMENT } };
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr msg = { .msg_name = to, .msg_namelen = sizeof(*to), .msg_iov = &iov,
			      .msg_iovlen = 1, .msg_control = &cut, .msg_controllen = sizeof(cut) };
	uint16_t size = SMALL;

	memcpy(CMSG_DATA(&cut.h), &size, sizeof(size));
	if (roce && sendmsg(s, &msg, 0) != sizeof(buf))
		err(1, "sendmsg");
	if (!roce && sendto(s, buf, SMALL, 0, (void *)to, to ? sizeof(*to) : 0) != SMALL)
		err(1, "sendto");
}

/* Receives what has arrived; returns its length, or -1 if there is nothing. */
static ssize_t come(int s, struct sockaddr_in *from, bool roce)
{
	char buf[2 * SMALL], ctl[256];
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr msg = { .msg_name = from, .msg_namelen = sizeof(*from), .msg_iov = &iov,
			      .msg_iovlen = 1, .msg_control = ctl, .msg_controllen = sizeof(ctl) };
	socklen_t len = sizeof(*from);

	return roce ? recvmsg(s, &msg, MSG_DONTWAIT) :
		      recvfrom(s, buf, SMALL, MSG_DONTWAIT, (void *)from, from ? &len : NULL);
}

/* Receives one whole message; false: it did not arrive within ns (0: no limit). */
static bool caught(int s, struct sockaddr_in *from, bool roce, uint64_t ns)
{
	uint64_t start = now_ns();

	for (ssize_t got = 0; got < (roce ? 2 * SMALL : SMALL);) {
		ssize_t n = come(s, from, roce);

		if (n > 0)
			got += n;
		else if (ns && now_ns() - start > ns)
			return false;
	}
	return true;
}

static int pong(const char *port, bool roce)
{
	int s = roce ? bound_roce(port) : bound(port);
	struct sockaddr_in from;

	for (uint64_t ns = 0; caught(s, &from, roce, ns); ns = 3 * QUIET_NS)
		hit(s, &from, roce);
	return 0;
}

static int smaller(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int ping(const char *address, const char *port, int rounds, bool roce)
{
	struct sockaddr_in to = address_of(address, port);
	uint64_t *t = calloc((size_t)rounds, sizeof(*t));
	int s = roce ? bound_roce("0") : connected(address, port);
	struct sockaddr_in from;

	if (!t || rounds <= 0)
		errx(1, "how many rounds?");
	for (int i = 0; i < rounds; i++) {
		uint64_t start = now_ns();

		hit(s, roce ? &to : NULL, roce);
		if (!caught(s, roce ? &from : NULL, roce, 10 * QUIET_NS))
			errx(1, "no answer");
		t[i] = now_ns() - start;
	}
	qsort(t, (size_t)rounds, sizeof(*t), smaller);
	printf("udp%s_half_rtt %.0f ns\n", roce ? "_roce" : "", (double)t[rounds / 2] / 2);
	free(t);
	return 0;
}

int main(int argc, char **argv)
{
	bool roce = argc > 3 && !strcmp(argv[argc - 1], "roce");

	if (argc == 3 + roce && !strcmp(argv[1], "recv"))
		return receive(argv[2], roce);
	if (argc == 5 + roce && !strcmp(argv[1], "send"))
		return transmit(argv[2], argv[3], atoi(argv[4]), roce);
	if (argc == 3 + roce && !strcmp(argv[1], "pong"))
		return pong(argv[2], roce);
	if (argc == 5 + roce && !strcmp(argv[1], "ping"))
		return ping(argv[2], argv[3], atoi(argv[4]), roce);
	errx(2, "usage: bench-udp recv PORT [roce] | send ADDRESS PORT SECONDS [roce] | "
		"pong PORT [roce] | ping ADDRESS PORT ROUNDS [roce]");
}
