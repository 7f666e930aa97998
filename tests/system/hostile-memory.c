/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A peer with memory that blocks every access: the pages are missing and belong to its userfaultfd,
 * so that an access waits until the peer provides them. The peer sends from this memory, and the
 * victim reads and writes it by RDMA. Meanwhile two other QPs of the victim must exchange messages.
 * When the peer provides the pages, the operations on them must succeed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "verbs.h"

#define LEN (256u << 10)
#define SEED 77
#define MESSAGES 200
#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

enum what { SEND, WRITE, READ, SMALL_WRITE, SMALL_READ, CASES };

static const struct {
	const char *name;
	uint32_t len;
} row[CASES] = {
	{ "the peer sends", LEN },
	{ "RDMA WRITE to the peer", LEN },
	{ "RDMA READ from the peer", LEN },
	{ "RDMA WRITE of 8 bytes", 8 },
	{ "RDMA READ of 8 bytes", 8 },
};

struct blocked {
	int uffd, go;		/* go: socket; the resolver provides the pages when a byte arrives there */
	uint8_t *mem;
};

/* A thread of the peer: provides the pages, with the pattern, when the victim sends a byte. */
static void *resolver(void *arg)
{
	struct blocked *b = arg;
	uint8_t *from = aligned_alloc(4096, LEN);
	struct uffdio_copy c = { .dst = (uintptr_t)b->mem, .src = (uintptr_t)from, .len = LEN };
	char x;

	fill(from, LEN, SEED);
	if (recv(b->go, &x, 1, 0) == 1 && ioctl(b->uffd, UFFDIO_COPY, &c))
		die("UFFDIO_COPY: %s", strerror(errno));
	free(from);
	return NULL;
}

static void block(struct blocked *b, int go)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	pthread_t t;

	b->go = go;
	b->mem = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	b->uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	reg.range.start = (uintptr_t)b->mem;
	reg.range.len = LEN;
	if (b->mem == MAP_FAILED || b->uffd < 0 || ioctl(b->uffd, UFFDIO_API, &api) ||
	    ioctl(b->uffd, UFFDIO_REGISTER, &reg))
		die("userfaultfd: %s", strerror(errno));
	if (pthread_create(&t, NULL, resolver, b))
		die("pthread_create");
	pthread_detach(t);
}

static void evil(int sock, int go, enum what what)
{
	struct vctx v = { .sock = sock };
	struct vdest mine, theirs;
	struct blocked b;
	struct ibv_mr *mr;
	struct ibv_wc wc;
	char c;

	v_open(&v, &vcfg_default);
	block(&b, go);
	mr = ibv_reg_mr(v.pd, b.mem, LEN, ACCESS);
	if (!mr)
		die("reg_mr: %s", strerror(errno));
	v_dest(&v, v.qp, &mine);
	mine.rkey = mr->rkey;
	mine.addr = (uintptr_t)b.mem;
	v_connect(&v, &mine, &theirs);
	v_sync(sock);
	if (what == SEND) {
		struct ibv_sge s = { (uintptr_t)b.mem, LEN, mr->lkey };
		struct ibv_send_wr w = { .sg_list = &s, .num_sge = 1, .opcode = IBV_WR_SEND,
					 .send_flags = IBV_SEND_SIGNALED }, *bad;

		if (ibv_post_send(v.qp, &w, &bad) || v_wait(v.cq, &wc, 1000))
			die("send");
	}
	while (recv(sock, &c, 1, 0) > 0)
		;
	_exit(0);
}

/*
 * Posts the RDMA READ or WRITE of the peer's memory; for SEND, the receive for the message that the
 * peer sends from this memory.
 */
static void start(struct vctx *v, enum what what, const struct ibv_mr *mr, const struct vdest *to)
{
	struct ibv_sge s = { (uintptr_t)mr->addr, row[what].len, mr->lkey };
	struct ibv_recv_wr rw = { .sg_list = &s, .num_sge = 1 }, *rbad;
	struct ibv_send_wr sw = {
		.sg_list = &s, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
		.opcode = what == READ || what == SMALL_READ ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
		.wr.rdma = { to->addr, to->rkey },
	}, *sbad;

	if (what == SEND ? ibv_post_recv(v->qp, &rw, &rbad) : ibv_post_send(v->qp, &sw, &sbad))
		die("post: %s", strerror(errno));
}

static void victim(int sock, int go, enum what what)
{
	struct vctx v = { .sock = sock };
	uint8_t *mem = malloc(LEN);
	struct vdest mine, theirs;
	struct ibv_qp *a, *b;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_wc wc;

	v_open(&v, &vcfg_default);
	cq = v.cq;
	v.cq = ibv_create_cq(v.ctx, 16, NULL, NULL, 0);
	a = v_qp(&v);
	b = v_qp(&v);
	v_connect_self(&v, a, b);
	mr = ibv_reg_mr(v.pd, mem, LEN, ACCESS);
	if (!mr)
		die("reg_mr: %s", strerror(errno));
	memset(mem, 0, LEN);
	v_dest(&v, v.qp, &mine);
	v_connect(&v, &mine, &theirs);
	if (what == SEND)
		start(&v, what, mr, &theirs);
	v_sync(sock);
	if (what != SEND)
		start(&v, what, mr, &theirs);
	for (int i = 0; i < MESSAGES; i++) {
		if (v_message(&v, a, b, IBV_SEND_SIGNALED))
			die("a message between own QPs failed");
		usleep(1000);
	}
	if (ibv_poll_cq(cq, 1, &wc))
		die("an operation ended on memory that blocks, status %d", wc.status);
	v_put(go, "g", 1);
	if (v_wait(cq, &wc, 60))
		die("status %d", wc.status);
	if (what == SEND || what == READ)
		check(mem, LEN, SEED, row[what].name);
	_exit(0);
}

/* Only SIGKILL ends a process that waits for such memory. */
static int wait_end(pid_t pid, int seconds)
{
	int status;

	for (int i = 0; i < seconds * 100; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		usleep(10000);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return -1;
}

static void run(enum what what)
{
	int s[2], go[2], status;
	pid_t child[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, s) || socketpair(AF_UNIX, SOCK_STREAM, 0, go))
		die("socketpair: %s", strerror(errno));
	for (int i = 0; i < 2; i++) {
		child[i] = fork();
		if (child[i])
			continue;
		close(s[!i]);
		close(go[!i]);
		if (i)
			evil(s[1], go[1], what);
		victim(s[0], go[0], what);
	}
	close(s[0]);
	close(s[1]);
	close(go[0]);
	close(go[1]);
	status = wait_end(child[0], 100);
	kill(child[1], SIGKILL);
	waitpid(child[1], NULL, 0);
	if (status < 0)
		die("%s: the victim hangs", row[what].name);
	if (status)
		die("%s: the victim ended with status %#x", row[what].name, status);
	printf("%s: other QPs continue\n", row[what].name);
	fflush(stdout);
}

int main(void)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0) {
		printf("SKIP: userfaultfd: %s\n", strerror(errno));
		return 77;
	}
	close(fd);
	for (int i = 0; i < CASES; i++)
		run((enum what)i);
	return 0;
}
