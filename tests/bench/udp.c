/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What plain UDP sockets do between two hosts: the limit that ruse's wire is
 * compared with. Each end is one process that polls, as perftest's are.
 *
 *   bench-udp recv PORT [roce]           takes trains (UDP_GRO) until its sender ends
 *   bench-udp send ADDRESS PORT SECONDS [roce]  sends trains (UDP_SEGMENT)
 *   bench-udp pong PORT                  sends back what comes
 *   bench-udp ping ADDRESS PORT ROUNDS
 *
 * roce: as RDMA WRITEs of 64 KiB are packets, and with what nobody can leave out: a FIRST
 * packet, which is longer, before each train, and a copy and a CRC-32 at each end.
 * recv prints "udp_gso VALUE GB/s" or "udp_roce", ping "udp_half_rtt VALUE ns" (median).
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
#define TRAIN (15 * PACKET)	/* as many as go into one datagram's 64 KiB */
#define FIRST (PACKET + 16)	/* its RETH */
#define RCVBUF (8 << 20)
#define SMALL 20		/* BTH, two bytes padded to four, ICRC */
#define QUIET_NS 300000000ull	/* the sender has ended */

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

static int connected(const char *address, const char *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };
	int s = socket(AF_INET, SOCK_DGRAM, 0);

	if (inet_pton(AF_INET, address, &a.sin_addr) != 1)
		errx(1, "%s is no address", address);
	if (connect(s, (struct sockaddr *)&a, sizeof(a)))
		err(1, "connect");
	return s;
}

/* What a RoCEv2 sender or receiver does with the bytes of its packets. */
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

/* WRITEs of 64 KiB until then: a FIRST packet and a train each. */
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

static int pong(const char *port)
{
	struct sockaddr_in from;
	uint64_t last = 0;
	char buf[SMALL];
	int s = bound(port);

	for (;;) {
		socklen_t len = sizeof(from);
		ssize_t n = recvfrom(s, buf, sizeof(buf), MSG_DONTWAIT,
				     (struct sockaddr *)&from, &len);

		if (n < 0) {
			if (last && now_ns() - last > QUIET_NS)
				return 0;
			continue;
		}
		last = now_ns();
		if (sendto(s, buf, (size_t)n, 0, (struct sockaddr *)&from, len) != n)
			err(1, "sendto");
	}
}

static int smaller(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int ping(const char *address, const char *port, int rounds)
{
	uint64_t *t = calloc((size_t)rounds, sizeof(*t));
	int s = connected(address, port);
	char buf[SMALL] = { 0 };

	if (!t || rounds <= 0)
		errx(1, "how many rounds?");
	for (int i = 0; i < rounds; i++) {
		uint64_t start = now_ns();

		if (send(s, buf, sizeof(buf), 0) != SMALL)
			err(1, "send");
		while (recv(s, buf, sizeof(buf), MSG_DONTWAIT) != SMALL)
			if (now_ns() - start > 10 * QUIET_NS)
				errx(1, "no answer");
		t[i] = now_ns() - start;
	}
	qsort(t, (size_t)rounds, sizeof(*t), smaller);
	printf("udp_half_rtt %.0f ns\n", (double)t[rounds / 2] / 2);
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
	if (argc == 3 && !strcmp(argv[1], "pong"))
		return pong(argv[2]);
	if (argc == 5 && !strcmp(argv[1], "ping"))
		return ping(argv[2], argv[3], atoi(argv[4]));
	errx(2, "usage: bench-udp recv PORT [roce] | send ADDRESS PORT SECONDS [roce] | pong PORT | "
		"ping ADDRESS PORT ROUNDS");
}
