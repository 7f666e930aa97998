/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A peer that hands over pipes without a reader in place of eventfds: a write to such a pipe raises
 * SIGPIPE. The victim connects a QP to the peer and sends. The connection may fail, but the victim
 * must not be killed: two other QPs of it exchange messages.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "verbs.h"

#define MESSAGES 20

/* Raw system calls: ruse hides its own descriptors from dup3(). */
static void replace_eventfds(void)
{
	int p[2], n = 0;

	if (syscall(SYS_pipe2, p, O_NONBLOCK | O_CLOEXEC))
		die("pipe2: %s", strerror(errno));
	syscall(SYS_close, p[0]);
	for (int fd = 3; fd < 1024; fd++) {
		char path[32], name[64] = "";

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (readlink(path, name, sizeof(name) - 1) > 0 && strstr(name, "[eventfd]") &&
		    syscall(SYS_dup3, p[1], fd, O_CLOEXEC) == fd)
			n++;
	}
	if (!n)
		die("there is no eventfd to replace");
}

static void evil(int sock)
{
	struct vctx v = { .sock = sock };
	struct vdest mine, theirs;
	char c;

	v_open(&v, &vcfg_default);
	replace_eventfds();
	v_dest(&v, v.qp, &mine);
	v_put(sock, &mine, sizeof(mine));
	v_get(sock, &theirs, sizeof(theirs));
	if (v_init(v.qp, 0))
		die("INIT");
	if (!v_rtr(v.qp, &v.cfg, &theirs))
		v_rts(v.qp, &v.cfg, mine.psn);
	v_put(sock, "s", 1);
	/* Sleep without polling, so that for each message the victim has to write to the descriptor. */
	while (recv(sock, &c, 1, 0) > 0)
		;
	_exit(0);
}

static void victim(int sock)
{
	struct vctx v = { .sock = sock };
	struct vdest mine, theirs;
	struct ibv_qp *a, *b;
	char c;
	int ret;

	v_open(&v, &vcfg_default);
	a = v_qp(&v);
	b = v_qp(&v);
	v_dest(&v, v.qp, &mine);
	v_put(sock, &mine, sizeof(mine));
	v_get(sock, &theirs, sizeof(theirs));
	if (v_init(v.qp, 0))
		die("INIT");
	v_get(sock, &c, 1);
	ret = v_rtr(v.qp, &v.cfg, &theirs);
	if (!ret)
		ret = v_rts(v.qp, &v.cfg, mine.psn);
	printf("the peer's QP: %s\n", ret ? strerror(ret) : "connected");
	fflush(stdout);
	for (int i = 0; i < MESSAGES && !ret; i++) {
		v_message(&v, v.qp, NULL, 0);
		usleep(10000);		/* time in which the peer goes to sleep again */
	}
	if (ibv_destroy_qp(v.qp))
		die("destroy_qp");
	v.qp = NULL;
	v_connect_self(&v, a, b);
	for (int i = 0; i < MESSAGES; i++)
		if (v_message(&v, a, b, IBV_SEND_SIGNALED))
			die("message %d between own QPs", i);
	ibv_destroy_qp(a);
	ibv_destroy_qp(b);
	v_close(&v);
}

int main(void)
{
	int s[2], status;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, s))
		die("socketpair: %s", strerror(errno));
	child = fork();
	if (child < 0)
		die("fork: %s", strerror(errno));
	close(s[!child]);
	if (!child)
		evil(s[0]);
	victim(s[1]);
	close(s[1]);
	if (waitpid(child, &status, 0) != child || status)
		die("the evil one: status %#x", status);
	return 0;
}
