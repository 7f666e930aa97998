/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs that close all descriptors they do not know, as daemons do. Closing must succeed for
 * every descriptor other than those of libibverbs. Afterwards the device must still work: messages
 * on the old connection, and on a new one, for which the engine needs all of its own descriptors. A
 * program started by exec() must inherit none of them.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "verbs.h"

#define SIZE (64u << 10)
#define MAX_FD 1024

static bool keep[MAX_FD];
static const char *how;

static void keep_fd(int fd)
{
	if (fd < 0 || fd >= MAX_FD)
		die("descriptor %d", fd);
	keep[fd] = true;
}

/* Closes fd..last, none of which is to be kept. */
static void close_piece(int fd, int last)
{
	if (!strcmp(how, "loop")) {
		for (; fd <= last; fd++)
			close(fd);
	} else if (!strcmp(how, "from") && last == MAX_FD - 1) {
		closefrom(fd);
	} else if (close_range((unsigned int)fd, last < MAX_FD - 1 ? (unsigned int)last : ~0u,
			       0)) {
		die("close_range: %s", strerror(errno));
	}
}

static void close_unknown(void)
{
	int first = 3;

	for (int fd = 3; fd < MAX_FD; fd++) {
		if (!keep[fd])
			continue;
		if (fd > first)
			close_piece(first, fd - 1);
		first = fd + 1;
	}
	close_piece(first, MAX_FD - 1);
}

/*
 * System calls that a program which becomes a daemon makes on descriptors it does not know. None of
 * them may reach a descriptor of the engine.
 */
static void poke(void)
{
	int fd = open("/dev/null", O_RDWR), before = 0, after = 0;
	char c;

	for (int i = 3; i < MAX_FD; i++)
		before += fcntl(i, F_GETFD) >= 0;
	for (int i = 3; i < MAX_FD; i++) {
		if (fcntl(i, F_GETFD) >= 0)
			continue;
		if (read(i, &c, 1) != -1 || errno != EBADF || dup(i) != -1 || errno != EBADF ||
		    write(i, &c, 1) != -1 || errno != EBADF || close(i) != -1 || errno != EBADF)
			die("descriptor %d is there and is not", i);
		/*
		 * dup2() onto a descriptor of the engine fails with EBUSY, onto any other it
		 * works.
		 */
		if (dup2(fd, i) == i)
			close(i);
		else if (errno != EBUSY && i < sysconf(_SC_OPEN_MAX))
			die("dup2 to %d: %s", i, strerror(errno));
	}
	for (int i = 3; i < MAX_FD; i++)
		after += fcntl(i, F_GETFD) >= 0;
	if (before != after)
		die("%d descriptors became %d", before, after);
	close(fd);
}

/* No descriptor of the engine may reach an exec'ed program. */
static void exec_child(int limit)
{
	char n[16];
	pid_t pid = fork();
	int st;

	if (!pid) {
		/* It has none of its own: libruse.so would open some for a program with libibverbs. */
		unsetenv("LD_PRELOAD");
		snprintf(n, sizeof(n), "%d", limit);
		execl("/proc/self/exe", "ownfds", "count", n, (char *)NULL);
		_exit(127);
	}
	if (waitpid(pid, &st, 0) != pid || st)
		die("a program that was exec'ed inherited descriptors");
}

static int count_inherited(int limit)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	int n = 0;

	while ((e = readdir(d)))
		if (atoi(e->d_name) > 2 && atoi(e->d_name) != dirfd(d) && n++ >= limit)
			fprintf(stderr, "inherited: %s\n", e->d_name);
	return n > limit;
}

static void traffic(struct vctx *v, bool sender, int rounds)
{
	uint8_t *buf = malloc(SIZE);
	struct ibv_mr *mr = ibv_reg_mr(v->pd, buf, SIZE, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_wc wc;

	if (!mr)
		die("reg_mr: %s", strerror(errno));
	for (int i = 0; i < rounds; i++) {
		struct ibv_sge sge = { (uintptr_t)buf, SIZE, mr->lkey };
		struct ibv_recv_wr rr = { .sg_list = &sge, .num_sge = 1 }, *badr;
		struct ibv_send_wr sr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
					  .send_flags = IBV_SEND_SIGNALED }, *bads;

		if (sender)
			fill(buf, SIZE, (uint64_t)i);
		else if (ibv_post_recv(v->qp, &rr, &badr))
			die("post_recv");
		v_sync(v->sock);
		if (sender && ibv_post_send(v->qp, &sr, &bads))
			die("post_send");
		/* The peer sleeps in the kernel by then and must be woken. */
		usleep(1000);
		if (v_wait(v->cq, &wc, 20) != IBV_WC_SUCCESS)
			die("%s: %s", sender ? "send" : "receive", ibv_wc_status_str(wc.status));
		if (!sender)
			check(buf, SIZE, (uint64_t)i, "receive");
		v_sync(v->sock);
	}
	ibv_dereg_mr(mr);
	free(buf);
}

static void side(int sock, bool sender)
{
	struct vcfg cfg = vcfg_default;
	struct vdest mine, theirs;
	struct vctx v = { .sock = sock };
	struct ibv_comp_channel *ch;

	cfg.channel = true;
	v_open(&v, &cfg);
	v_connect(&v, &mine, &theirs);
	traffic(&v, sender, 3);
	for (int fd = 0; fd < 3; fd++)
		keep_fd(fd);
	keep_fd(v.ctx->cmd_fd);
	keep_fd(v.ctx->async_fd);
	keep_fd(v.ch->fd);
	keep_fd(sock);
	poke();
	if (!strcmp(how, "cloexec")) {
		/* Of the program's descriptors only the socket is not close-on-exec. */
		exec_child(1);
		if (close_range(3, ~0u, CLOSE_RANGE_CLOEXEC))
			die("close_range: %s", strerror(errno));
		exec_child(0);
	} else {
		close_unknown();
	}
	traffic(&v, sender, 3);
	/* Connect a new QP, for which the engine asks rused about the peer. */
	if (ibv_destroy_qp(v.qp))
		die("destroy_qp");
	v.qp = v_qp(&v);
	ch = ibv_create_comp_channel(v.ctx);
	if (!ch)
		die("create_comp_channel: %s", strerror(errno));
	v_connect(&v, &mine, &theirs);
	traffic(&v, sender, 3);
	ibv_destroy_comp_channel(ch);
	v_close(&v);
	exit(0);
}

int main(int argc, char **argv)
{
	int sk[2], st, bad = 0;

	if (argc == 3 && !strcmp(argv[1], "count"))
		return count_inherited(atoi(argv[2]));
	how = argc > 1 ? argv[1] : "loop";
	closefrom(3);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sk))
		die("socketpair");
	for (int i = 0; i < 2; i++)
		if (!fork()) {
			close(sk[!i]);
			alarm(60);
			side(sk[i], i);
		}
	close(sk[0]);
	close(sk[1]);
	while (wait(&st) > 0)
		bad |= st;
	printf("ownfds %s: %s\n", how, bad ? "FAILED" : "ok");
	return bad != 0;
}
