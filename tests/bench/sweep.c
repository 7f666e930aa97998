/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Latency and bandwidth of what ruse is drawn beside, over the size of the message (tests/bench/sweep.py):
 *
 *	bench-sweep memcpy			a copy between two buffers
 *	bench-sweep listen PORT tcp|udp		the other end of the next
 *	bench-sweep connect ADDRESS PORT tcp|udp	plain sockets: half round trips, and with TCP a stream
 *
 * Prints lines "lat_SIZE VALUE us" and "bw_SIZE VALUE GB/s". Latencies are medians.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SMALLEST 2ul
#define STEP 4
#define LARGEST (4ul << 20)
#define UDP_LARGEST 4096ul /* a datagram of the bench's network */
#define PINGS 4001
#define MOVED (256ul << 20) /* bytes moved for a bandwidth, and */
#define MOST 100000ul	    /* messages at most */
#define WAIT_S 30	    /* for the other end */

static char from[LARGEST], to[LARGEST];
static double times[PINGS];

static void die(const char *what)
{
	fprintf(stderr, "sweep: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static unsigned long pings(unsigned long size)
{
	return size > 65536 ? PINGS / 20 : PINGS;
}

static unsigned long count(unsigned long size)
{
	unsigned long n = MOVED / size;

	return n > MOST ? MOST : n;
}

static void put(int fd, unsigned long size)
{
	for (unsigned long done = 0; done < size;) {
		ssize_t n = send(fd, from + done, size - done, 0);

		if (n < 0)
			die("send");
		done += (unsigned long)n;
	}
}

static void get(int fd, unsigned long size)
{
	for (unsigned long done = 0; done < size;) {
		ssize_t n = recv(fd, to + done, size - done, 0);

		if (n <= 0)
			die(n ? "recv" : "the other end is gone");
		done += (unsigned long)n;
	}
}

static void latency(int fd, unsigned long size, bool first)
{
	unsigned long n = pings(size);

	for (unsigned long i = 0; i < n; i++) {
		double begin = now();

		if (first)
			put(fd, size);
		get(fd, size);
		if (!first)
			put(fd, size);
		times[i] = now() - begin;
	}
	qsort(times, n, sizeof(*times), compare);
	if (first)
		printf("lat_%lu %.4f us\n", size, times[n / 2] * 1e6 / 2);
}

/* The stream ends with a byte in the other direction. */
static void bandwidth(int fd, unsigned long size, bool first)
{
	unsigned long n = count(size);
	double begin = now();

	for (unsigned long i = 0; i < n; i++)
		first ? put(fd, size) : get(fd, size);
	if (!first) {
		put(fd, 1);
		return;
	}
	get(fd, 1);
	printf("bw_%lu %.4f GB/s\n", size, (double)(n * size) / (now() - begin) / 1e9);
}

static void copies(void)
{
	for (unsigned long size = SMALLEST; size <= LARGEST; size *= STEP) {
		unsigned long n = count(size);
		double begin = now(), each;

		for (unsigned long i = 0; i < n; i++) {
			memcpy(to, from, size);
			__asm__ volatile("" : : "r"(to), "r"(from) : "memory");
		}
		each = (now() - begin) / (double)n;
		printf("lat_%lu %.5f us\nbw_%lu %.4f GB/s\n", size, each * 1e6, size,
		       (double)size / each / 1e9);
	}
}

static int end(const char *address, const char *port, bool udp)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };
	struct timeval limit = { .tv_sec = WAIT_S };
	int fd = socket(AF_INET, udp ? SOCK_DGRAM : SOCK_STREAM, 0), one = 1, other;

	if (fd < 0)
		die("socket");
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (address && inet_pton(AF_INET, address, &sa.sin_addr) != 1)
		die(address);
	if (address ? connect(fd, (struct sockaddr *)&sa, sizeof(sa)) :
		      bind(fd, (struct sockaddr *)&sa, sizeof(sa)))
		die(address ? "connect" : "bind");
	if (address)
		return fd;
	if (udp) {
		socklen_t len = sizeof(sa);

		/* The first datagram stays: it is the first ping. */
		if (recvfrom(fd, to, 1, MSG_PEEK, (struct sockaddr *)&sa, &len) < 0 ||
		    connect(fd, (struct sockaddr *)&sa, len))
			die("udp");
		return fd;
	}
	if (listen(fd, 1))
		die("listen");
	other = accept(fd, NULL, NULL);
	if (other < 0)
		die("accept");
	setsockopt(other, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return other;
}

int main(int argc, char **argv)
{
	bool first = argc == 5 && !strcmp(argv[1], "connect");
	bool udp = argc >= 4 && !strcmp(argv[argc - 1], "udp");
	int fd, one = 1;

	memset(from, 1, sizeof(from));
	memset(to, 1, sizeof(to));
	if (argc == 2 && !strcmp(argv[1], "memcpy")) {
		copies();
		return 0;
	}
	if (!first && (argc != 4 || strcmp(argv[1], "listen"))) {
		fputs("usage: bench-sweep memcpy | listen PORT tcp|udp | connect ADDRESS PORT tcp|udp\n",
		      stderr);
		return 2;
	}
	fd = first ? end(argv[2], argv[3], udp) : end(NULL, argv[2], udp);
	if (!udp)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	for (unsigned long size = SMALLEST; size <= (udp ? UDP_LARGEST : LARGEST); size *= STEP) {
		latency(fd, size, first);
		if (!udp)
			bandwidth(fd, size, first);
	}
	return 0;
}
