/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whose are the pages of registered memory that its owner has not touched? The owner's, as with pinned memory: a peer
 * that WRITEs to them or READs them makes none. Two processes; the owner's page faults say that it made the pages, and
 * the peer's that it did not. peer-pages [mlockall]: the peer calls mlockall(MCL_FUTURE) before it maps anything of the
 * owner's memory; then its locked memory must not grow either, also when the owner has ended.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "verbs.h"

#define MIB (1ul << 20)
#define LEN (32 * MIB)
#define PAGES (LEN / 4096)
#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

static long faults(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_minflt + u.ru_majflt;
}

/* A number in KiB of /proc/self/status. */
static long status_kib(const char *name)
{
	FILE *f = fopen("/proc/self/status", "r");
	size_t len = strlen(name);
	char line[256];
	long v = -1;

	while (f && v < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, len))
			v = strtol(line + len, NULL, 10);
	if (f)
		fclose(f);
	return v;
}

/* Page-aligned memory that nothing has touched. */
static struct ibv_mr *region(struct vctx *v, size_t len, char **p)
{
	struct ibv_mr *mr;

	if (posix_memalign((void **)p, 4096, len))
		die("posix_memalign");
	mr = ibv_reg_mr(v->pd, *p, len, ACCESS);
	if (!mr)
		die("ibv_reg_mr: %s", strerror(errno));
	return mr;
}

static void owner(int sock)
{
	struct vctx v;
	struct vdest mine, theirs;
	struct ibv_mr *mr;
	long n[3];
	char *p;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	v_open(&v, &vcfg_default);
	v.sock = sock;
	v_connect(&v, &mine, &theirs);
	mr = region(&v, 2 * LEN, &p);
	mine.rkey = mr->rkey;
	mine.addr = (uintptr_t)p;
	v_put(sock, &mine, sizeof(mine));
	n[0] = faults();
	v_sync(sock);		/* the peer has written the first half */
	v_sync(sock);
	n[1] = faults();
	for (size_t i = 0; i < LEN; i += MIB)
		check(p + i, MIB, 7, "written memory");
	n[2] = faults();
	v_put(sock, n, sizeof(n));
	v_sync(sock);		/* the peer has read the second half */
	n[0] = n[2];
	n[1] = faults();
	v_put(sock, n, sizeof(n));
	v_sync(sock);
	if (ibv_dereg_mr(mr))
		die("ibv_dereg_mr");
	v_close(&v);
}

static void op(struct vctx *v, struct ibv_mr *mr, enum ibv_wr_opcode opcode, char *at,
	       uint64_t remote, uint32_t rkey)
{
	struct ibv_sge s = { (uintptr_t)at, (uint32_t)MIB, mr->lkey };
	struct ibv_send_wr w = { .sg_list = &s, .num_sge = 1, .opcode = opcode,
				 .send_flags = IBV_SEND_SIGNALED }, *bad;
	enum ibv_wc_status st;
	struct ibv_wc wc;

	w.wr.rdma.remote_addr = remote;
	w.wr.rdma.rkey = rkey;
	if (ibv_post_send(v->qp, &w, &bad))
		die("ibv_post_send");
	st = v_wait(v->cq, &wc, 60);
	if (st)
		die("status %d", st);
}

static void expect(bool ok, const char *what, long have, long other)
{
	if (!ok)
		die("%s: %ld and %ld, %lu pages", what, have, other, PAGES);
}

int main(int argc, char **argv)
{
	bool locked = argc > 1 && !strcmp(argv[1], "mlockall");
	struct vctx v;
	struct vdest mine, theirs;
	struct ibv_mr *mr;
	long n[3], before, lock0, shm0;
	int sock[2], status;
	char *p;
	pid_t pid;

	if (argc > 2 && !strcmp(argv[1], "owner")) {
		owner(atoi(argv[2]));
		return 0;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sock))
		die("socketpair");
	pid = fork();
	if (!pid) {
		char fd[12];

		close(sock[0]);
		snprintf(fd, sizeof(fd), "%d", sock[1]);
		execl("/proc/self/exe", "peer-pages", "owner", fd, (char *)0);
		_exit(1);
	}
	close(sock[1]);
	v_open(&v, &vcfg_default);
	v.sock = sock[0];
	v_connect(&v, &mine, &theirs);
	v_get(v.sock, &theirs, sizeof(theirs));
	mr = region(&v, MIB, &p);
	fill(p, MIB, 7);
	/* Everything of this process is there already. */
	if (locked && mlockall(MCL_FUTURE))
		exit(77);
	lock0 = status_kib("VmLck:");
	shm0 = status_kib("RssShmem:");
	before = faults();
	for (size_t i = 0; i < LEN; i += MIB)
		op(&v, mr, IBV_WR_RDMA_WRITE, p, theirs.addr + i, theirs.rkey);
	expect(faults() - before < (long)PAGES / 16, "the writer made pages", faults() - before, 0);
	v_sync(v.sock);
	v_sync(v.sock);
	v_get(v.sock, n, sizeof(n));
	/* The kernel may map several pages at one fault. */
	expect(n[1] - n[0] >= (long)PAGES / 2, "faults of the owner by WRITEs", n[1] - n[0], n[2] - n[1]);
	before = faults();
	for (size_t i = LEN; i < 2 * LEN; i += MIB)
		op(&v, mr, IBV_WR_RDMA_READ, p, theirs.addr + i, theirs.rkey);
	expect(faults() - before < (long)PAGES / 16, "the reader made pages", faults() - before, 0);
	for (size_t i = 0; i < MIB; i++)
		expect(!p[i], "READ is not zero", p[i], (long)i);
	v_sync(v.sock);
	v_get(v.sock, n, sizeof(n));
	expect(n[1] - n[0] >= (long)PAGES / 2, "faults of the owner by READs", n[1] - n[0], 0);
	/* Now that they are there, they are mapped and used; mapped is not locked. */
	for (size_t i = 0; i < 2 * LEN; i += MIB)
		op(&v, mr, IBV_WR_RDMA_READ, p, theirs.addr + i, theirs.rkey);
	expect(!locked || status_kib("VmLck:") - lock0 < 1024, "KiB locked", lock0, status_kib("VmLck:"));
	printf("shared memory in use: %ld KiB, then %ld\n", shm0, status_kib("RssShmem:"));
	v_sync(v.sock);
	if (waitpid(pid, &status, 0) != pid || status)
		die("owner: status %x", (unsigned int)status);
	for (int i = 0; i < 400 && status_kib("RssShmem:") > shm0 + (long)(LEN >> 10); i++)
		usleep(50000);
	/* It waits for the progress thread, which has found the end of the peer and frees what it had for it. */
	if (ibv_dereg_mr(mr))
		die("ibv_dereg_mr");
	expect(!locked || status_kib("VmLck:") - lock0 < 1024, "KiB locked at the end", lock0,
	       status_kib("VmLck:"));
	v_close(&v);
	return 0;
}
