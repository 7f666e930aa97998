/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads a counter of sysfs in thirteen ways, most of them through descriptors that stay open: sysfs
 * computes the text at each read from offset 0. Before each read a message is sent. So each read
 * must return more than the read in the same way one round before.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include "verbs.h"

#define ROUNDS 5
#define WAYS 13

static struct vctx v;
static struct ibv_qp *peer;
static struct ibv_mr *mr;
static uint8_t buf[64];
static char path[256];
static FILE *stream[WAYS];

static uint64_t number(const char *text, ssize_t len, const char *what)
{
	char *end, copy[64];

	if (len <= 1 || len >= (ssize_t)sizeof(copy) || text[len - 1] != '\n')
		die("%s: %zd bytes: %m", what, len);
	memcpy(copy, text, (size_t)len);
	copy[len] = '\0';
	len = (ssize_t)strtoull(copy, &end, 10);
	if (strcmp(end, "\n"))
		die("%s: %s", what, copy);
	return (uint64_t)len;
}

/*
 * Reads the counter byte by byte. After each byte the file is also opened and closed as by another
 * reader, which must not change the text that this descriptor returns.
 */
static uint64_t by_bytes(int fd)
{
	char text[64];
	ssize_t n = 0, got;
	int other;

	lseek(fd, 0, SEEK_SET);
	while ((got = read(fd, text + n, 1)) == 1) {
		other = open(path, O_RDONLY);
		close(other);
		n++;
	}
	if (got)
		die("read: %m");
	return number(text, n, "bytes");
}

/* From the start of a stream, to which it returns as C programs do. */
static uint64_t by_stream(int way)
{
	FILE *f = stream[way];
	char text[64];

	if (way == 9)
		rewind(f);
	else if (fseek(f, 0, SEEK_SET))
		die("fseek: %m");
	if (!fgets(text, sizeof(text), f))
		die("fgets: %m");
	if (fgetc(f) != EOF || ftell(f) != (long)strlen(text))
		die("more than a line, or not at its end: %ld", ftell(f));
	return number(text, (ssize_t)strlen(text), "stream");
}

static uint64_t value(int way, int fd)
{
	char text[64];
	struct iovec iov[2] = { { text, 1 }, { text + 1, sizeof(text) - 1 } };

	switch (way) {
	case 0:
	case 6:
	case 7:
	case 8:
	case 12:
		lseek(fd, 0, SEEK_SET);
		return number(text, read(fd, text, sizeof(text)), "read");
	case 1:
		return number(text, pread(fd, text, sizeof(text), 0), "pread");
	case 2:
		lseek(fd, 0, SEEK_SET);
		return number(text, readv(fd, iov, 2), "readv");
	case 3:
		fd = dup(fd);
		lseek(fd, 0, SEEK_SET);
		number(text, read(fd, text, sizeof(text)), "dup");
		if (read(fd, text + 32, 1))
			die("read at the end: %m");
		close(fd);
		return number(text, (ssize_t)(strchr(text, '\n') - text) + 1, "dup");
	case 4:
		return by_bytes(fd);
	case 9:
	case 10:
	case 11:
		return by_stream(way);
	default:
		fd = open(path, O_RDONLY);
		way = (int)read(fd, text, sizeof(text));
		close(fd);
		return number(text, way, "another descriptor");
	}
}

/* By the path of /sys; by the resolved path, as perftest -W does; by a relative path; from a directory; by streams. */
static int open_way(int way)
{
	char dir[sizeof(path)], *real, *name;
	int fd, at;

	strcpy(dir, path);
	name = strrchr(dir, '/');
	*name++ = '\0';
	switch (way) {
	case 6:
		real = realpath(path, NULL);
		fd = real ? open(real, O_RDONLY) : -1;
		free(real);
		return fd;
	case 7:
		return chdir(dir) ? -1 : open(name, O_RDONLY);
	case 8:
		at = open(dir, O_RDONLY | O_DIRECTORY);
		fd = openat(at, name, O_RDONLY);
		close(at);
		return fd;
	case 9:
	case 12:
		stream[way] = fopen(path, way == 9 ? "re" : "r");
		return stream[way] ? fileno(stream[way]) : -1;
	case 10:
		real = realpath(path, NULL);
		stream[way] = real ? fopen(real, "r") : NULL;
		free(real);
		return stream[way] ? fileno(stream[way]) : -1;
	case 11:
		fd = open(path, O_RDONLY);
		stream[way] = fd < 0 ? NULL : fdopen(fd, "r");
		return stream[way] ? fileno(stream[way]) : -1;
	default:
		return open(path, O_RDONLY);
	}
}

static void send_one(void)
{
	struct ibv_sge sge = { (uintptr_t)buf, 8, mr->lkey };
	struct ibv_recv_wr rw = { .sg_list = &sge, .num_sge = 1 }, *rbad;
	struct ibv_send_wr sw = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED }, *sbad;
	struct ibv_wc wc;

	if (ibv_post_recv(peer, &rw, &rbad) || ibv_post_send(v.qp, &sw, &sbad))
		die("post: %m");
	for (int i = 0; i < 2; i++)
		if (v_wait(v.cq, &wc, 60))
			die("completion: status %d", wc.status);
}

static void errors(int fd)
{
	char *volatile nowhere = (char *)8, c;

	if (pread(fd, &c, 1, -1) != -1 || errno != EINVAL)
		die("pread at -1: %m");
	lseek(fd, 0, SEEK_SET);
	if (read(fd, nowhere, 4) != -1 || errno != EFAULT)
		die("bad buffer: %m");
	if (write(fd, "0", 1) != -1 || errno != EBADF)
		die("write: %m");
	if (pread(fd, &c, 1, 4096) != 0)
		die("pread behind the end: %m");
}

int main(void)
{
	const struct timespec lifespan = { .tv_nsec = 13000000 };
	int fd[WAYS];
	uint64_t last[WAYS];

	v_open(&v, &vcfg_default);
	peer = v_qp(&v);
	v_connect_self(&v, v.qp, peer);
	mr = ibv_reg_mr(v.pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);
	if (!mr)
		die("MR: %m");
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/hw_counters/sent_pkts",
		 ibv_get_device_name(v.ctx->device));
	for (int way = 0; way < WAYS; way++) {
		fd[way] = open_way(way);
		if (fd[way] < 0)
			die("%s: %m", path);
		last[way] = value(way, fd[way]);
	}
	errors(fd[0]);
	for (int i = 0; i < ROUNDS * WAYS; i++) {
		int way = i % WAYS;
		uint64_t now;

		send_one();
		/*
		 * As in the kernel, counters are not computed again within their lifespan (12 ms):
		 * wait for longer.
		 */
		nanosleep(&lifespan, NULL);
		now = value(way, fd[way]);
		if (now <= last[way])
			die("way %d, round %d: %llu after %llu", way, i / WAYS,
			    (unsigned long long)now, (unsigned long long)last[way]);
		last[way] = now;
	}
	if (!(fcntl(fd[9], F_GETFD) & FD_CLOEXEC) || fcntl(fd[12], F_GETFD) & FD_CLOEXEC)
		die("close-on-exec of streams");
	for (int way = 0; way < WAYS; way++) {
		if (stream[way] ? fclose(stream[way]) : close(fd[way]))
			die("way %d: close: %m", way);
		if (fcntl(fd[way], F_GETFD) != -1)
			die("way %d: still open", way);
	}
	return 0;
}
