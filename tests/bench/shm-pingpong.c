/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Latency of the shm link, beside the latency of shared memory itself: prints half round trips in
 * nanoseconds of a word that two processes poll, and of segments of growing size between two
 * polling endpoints. Payload is copied through the ring, or read by the receiver from the sender's
 * memory (process_vm_readv). Needs two processors.
 *
 * Argument: round trips in each of the 200 batches, of which the median is printed.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "link/shm.h"

#define BUF (1u << 20)

static uint8_t buf[BUF];
static uint64_t got;
static bool server;

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int copy(void *dst, const void *src, size_t len)
{
	memcpy(dst, src, len);
	return 0;
}

static int copy_iov(const struct iovec *dst, int ndst, uint64_t doff,
		    const struct iovec *src, int nsrc, uint64_t off, uint64_t len)
{
	return -EINVAL;	/* not called: each segment's iovec list has one entry */
}

static void send_one(struct link *l, uint32_t len, uint32_t psn)
{
	struct iovec iov = { .iov_base = buf, .iov_len = len };
	struct seg s = {
		.service = SEG_RC, .type = SEG_SEND, .flags = SEG_F_START | SEG_F_END,
		.pkey = 0xffff, .path_mtu = 4096, .dqpn = 0x4011, .sqpn = 0x8011,
		.psn = psn & 0xffffff, .npkts = seg_pkts(len, 4096), .len = len,
		.iov = &iov, .niov = 1,
	};

	while (l->ops->send(l, &s) == -EAGAIN)
		;
}

static void input(struct link *l, const struct seg *seg)
{
	struct iovec dst = { .iov_base = buf, .iov_len = BUF };

	if (seg->pull)
		seg->pull->copy(seg, 0, &dst, 1, seg->len);
	else if (seg->len)
		memcpy(buf, seg->iov->iov_base, seg->len);
	got++;
	if (server)
		send_one(l, seg->len, seg->psn);
}

static void nothing(struct link *l)
{
}

static const struct link_user_ops host = {
	.input = input,
	.writable = nothing, .down = nothing, .copy = copy, .copy_iov = copy_iov,
};

static struct shm_ep *endpoint(uint32_t proc, bool no_cma, int *epfd)
{
	struct shm_cfg cfg = { .host = &host, .nkeys = 16, .ncards = 16, .no_cma = no_cma };
	struct shm_ep *ep;

	*epfd = cfg.epfd = epoll_create1(EPOLL_CLOEXEC);
	if (shm_ep_create(&cfg, &ep)) {
		perror("shm_ep_create");
		exit(1);
	}
	shm_ep_set_proc(ep, proc);
	shm_ep_thread_start(ep);
	return ep;
}

static void pin(int n)
{
	cpu_set_t s;

	CPU_ZERO(&s);
	CPU_SET(n % (int)sysconf(_SC_NPROCESSORS_ONLN), &s);
	sched_setaffinity(0, sizeof(s), &s);
}

static void serve(int fd, bool no_cma)
{
	int epfd;
	struct shm_ep *ep = endpoint(2, no_cma, &epfd);
	struct epoll_event ev;

	pin(1);
	server = true;
	if (write(fd, shm_ep_sock(ep), 32) != 32)
		_exit(1);
	for (uint64_t i = 0;; i++) {
		if (shm_poll(ep, 16) || i % 1024)
			continue;
		if (epoll_wait(epfd, &ev, 1, 0) > 0)
			((struct link_fd *)ev.data.ptr)->event(ev.data.ptr, ev.events);
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* The median of many batches is robust against other load on the machine. */
#define BATCHES 200

static void report(const char *what, uint32_t len, double *batch, uint64_t turns)
{
	qsort(batch, BATCHES, sizeof(*batch), by_value);
	printf("%-5s %8u bytes  median %8.0f ns  best %8.0f ns\n", what, len,
	       batch[BATCHES / 2] / (double)turns / 2, batch[0] / (double)turns / 2);
}

static void links(bool no_cma, uint64_t turns)
{
	static const uint32_t sizes[] = { 8, 24, 64, 256, 2048, 4096, 6144, 8192, 12288, 16384,
					  32768, 65536, 131072, 1048576 };
	double batch[BATCHES];
	char sock[32];
	int fd[2], epfd;
	struct shm_ep *ep;
	struct link *l;
	pid_t pid;

	if (pipe(fd))
		exit(1);
	pid = fork();
	if (!pid)
		serve(fd[1], no_cma);
	pin(0);
	if (read(fd[0], sock, sizeof(sock)) != sizeof(sock))
		exit(1);
	ep = endpoint(1, no_cma, &epfd);
	if (shm_connect(ep, 2, sock, pid, NS_S, &l)) {
		fprintf(stderr, "no link\n");
		exit(1);
	}
	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		uint64_t n = sizes[k] > 65536 ? turns / 50 + 1 : turns;

		for (int i = 0; i < BATCHES; i++) {
			batch[i] = now_ns();
			for (uint64_t j = 0; j < n; j++) {
				uint64_t before = got;

				send_one(l, sizes[k], (uint32_t)j);
				while (got == before)
					shm_poll(ep, 16);
			}
			batch[i] = now_ns() - batch[i];
		}
		report(no_cma ? "ring" : "cma", sizes[k], batch, n);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void raw(uint64_t turns)
{
	volatile uint64_t *w = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
				    -1, 0);
	double batch[BATCHES];
	uint64_t k = 0;
	pid_t pid = fork();

	pin(pid != 0);
	if (!pid) {
		for (uint64_t i = 1; i <= turns * BATCHES; i++) {
			while (w[0] != i)
				;
			w[64] = i;
		}
		_exit(0);
	}
	for (int i = 0; i < BATCHES; i++) {
		batch[i] = now_ns();
		for (uint64_t j = 0; j < turns; j++) {
			w[0] = ++k;
			while (w[64] != k)
				;
		}
		batch[i] = now_ns() - batch[i];
	}
	report("raw", 8, batch, turns);
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	uint64_t turns = argc > 1 ? strtoull(argv[1], NULL, 0) : 200;

	memset(buf, 1, sizeof(buf));
	raw(turns);
	links(true, turns);
	links(false, turns);
	return 0;
}
