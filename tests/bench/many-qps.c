/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * 10,000 connected RC QPs between two processes: the memory of one QP beyond its rings, the
 * latency of a message on one of them compared with a single QP, and the time of connecting them.
 *
 * Memory is the growth of the process's share (PSS) of anonymous and shared memory while the QPs
 * are created and connected, less the mapped part of the uverbs file, which holds the rings. It
 * includes what libibverbs and its provider allocate for a QP (about 600 bytes).
 */
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define QPS 10000
#define WARM 2000
#define ROUNDS 20000
#define REPEAT 5

struct side {
	int sock, first;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp **qp;
	char buf[64];
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void swap(struct side *s, void *mine, void *theirs, size_t len)
{
	size_t done = 0;

	if (send(s->sock, mine, len, 0) != (ssize_t)len)
		die("send");
	while (done < len) {
		ssize_t n = recv(s->sock, (char *)theirs + done, len - done, 0);

		if (n <= 0)
			die("recv");
		done += (size_t)n;
	}
}

static long smaps_kib(const char *key)
{
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	char line[256];
	long kib = -1;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			kib = atol(line + strlen(key));
	if (f)
		fclose(f);
	return kib;
}

/*
 * Returns this process's share, in KiB, of the pages of the file with the rings that it has mapped.
 * The file's allocated size is a different figure: the engine may have touched pages that the
 * program has not.
 */
static long rings_kib(const struct side *s)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	unsigned long inode = 0;
	char line[512];
	struct stat st;
	long kib = 0, pss;

	/* Bypass the preload to reach the memfd behind the descriptor. */
	if (!f || syscall(SYS_fstat, s->ctx->cmd_fd, &st))
		die("smaps");
	while (fgets(line, sizeof(line), f)) {
		/* The first line of a mapping: range, access, offset, device, inode, name. */
		if (sscanf(line, "%*x-%*x %*s %*x %*x:%*x %lu", &inode) == 1)
			continue;
		if (inode == st.st_ino && sscanf(line, "Pss: %ld", &pss) == 1)
			kib += pss;
	}
	fclose(f);
	return kib;
}

/* Resident bytes other than rings. */
static long footprint(const struct side *s)
{
	return (smaps_kib("Pss_Anon:") + smaps_kib("Pss_Shmem:") - rings_kib(s)) * 1024;
}

/* Attributes that each transition requires (IBA table 92). */
enum {
	TO_INIT = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	TO_RTR = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	TO_RTS = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		 IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
};

static void modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, enum ibv_qp_state to, int mask)
{
	attr->qp_state = to;
	if (ibv_modify_qp(qp, attr, mask))
		die("ibv_modify_qp");
}

static void make_qp(struct side *s, int i)
{
	struct ibv_qp_attr attr = { .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };
	struct ibv_qp_init_attr init = { .send_cq = s->cq, .recv_cq = s->cq };

	init.qp_type = IBV_QPT_RC;
	init.cap.max_send_wr = init.cap.max_recv_wr = 16;
	init.cap.max_send_sge = init.cap.max_recv_sge = 1;
	s->qp[i] = ibv_create_qp(s->pd, &init);
	if (!s->qp[i])
		die("ibv_create_qp");
	modify(s->qp[i], &attr, IBV_QPS_INIT, TO_INIT);
}

static void connect_qp(struct side *s, int i, uint32_t qpn, const union ibv_gid *gid)
{
	struct ibv_qp_attr attr = { .path_mtu = IBV_MTU_1024, .dest_qp_num = qpn };

	attr.max_dest_rd_atomic = attr.max_rd_atomic = 1;
	attr.min_rnr_timer = 12;
	attr.timeout = 14;
	attr.retry_cnt = attr.rnr_retry = 7;
	attr.ah_attr.is_global = 1;
	attr.ah_attr.port_num = 1;
	attr.ah_attr.grh.dgid = *gid;
	attr.ah_attr.grh.sgid_index = 1;
	attr.ah_attr.grh.hop_limit = 64;
	modify(s->qp[i], &attr, IBV_QPS_RTR, TO_RTR);
	modify(s->qp[i], &attr, IBV_QPS_RTS, TO_RTS);
}

/* Creates QPs [from, to) and connects each with the other side's QP of the same index. */
static void grow(struct side *s, int from, int to)
{
	static uint32_t mine[QPS], theirs[QPS];
	union ibv_gid gid;

	if (ibv_query_gid(s->ctx, 1, 1, &gid))
		die("ibv_query_gid");
	for (int i = from; i < to; i++) {
		make_qp(s, i);
		mine[i] = s->qp[i]->qp_num;
	}
	swap(s, mine + from, theirs + from, (size_t)(to - from) * sizeof(*mine));
	for (int i = from; i < to; i++)
		connect_qp(s, i, theirs[i], &gid);
	swap(s, mine, theirs, sizeof(*mine));
}

static void post_recv(struct side *s, struct ibv_qp *qp)
{
	struct ibv_sge sge = { (uintptr_t)s->buf, 8, s->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(qp, &wr, &bad))
		die("ibv_post_recv");
}

static void post_send(struct side *s, struct ibv_qp *qp)
{
	struct ibv_sge sge = { (uintptr_t)s->buf, 2, s->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;

	if (ibv_post_send(qp, &wr, &bad))
		die("ibv_post_send");
}

/* Polls until a receive completes; send completions are dropped. */
static void await_recv(struct side *s)
{
	struct ibv_wc wc;

	for (;;) {
		int n = ibv_poll_cq(s->cq, 1, &wc);

		if (n < 0 || (n && wc.status)) {
			fprintf(stderr, "many-qps: completion %d\n", wc.status);
			exit(1);
		}
		if (n && wc.opcode & IBV_WC_RECV)
			return;
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int compare(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return d < 0 ? -1 : d > 0;
}

/*
 * Median half round trip on one QP, in us; the best of REPEAT runs, as other processes may
 * disturb a run.
 */
static double latency(struct side *s, struct ibv_qp *qp)
{
	static double t[ROUNDS];
	double best = 1e9;
	char a = 0, b;

	for (int r = 0; r < REPEAT; r++) {
		post_recv(s, qp);
		swap(s, &a, &b, 1);
		for (int i = -WARM; i < ROUNDS; i++) {
			double start = now();

			if (s->first)
				post_send(s, qp);
			await_recv(s);
			if (i < ROUNDS - 1)
				post_recv(s, qp);
			if (!s->first)
				post_send(s, qp);
			if (i >= 0)
				t[i] = now() - start;
		}
		qsort(t, ROUNDS, sizeof(t[0]), compare);
		best = t[ROUNDS / 2] < best ? t[ROUNDS / 2] : best;
		swap(s, &a, &b, 1);
	}
	return best / 2 * 1e6;
}

static void run(int sock, int first)
{
	struct side s = { .sock = sock, .first = first };
	struct ibv_device **devices = ibv_get_device_list(NULL);
	long before, after;
	double one, many, start;

	s.ctx = devices && devices[0] ? ibv_open_device(devices[0]) : NULL;
	s.qp = calloc(QPS, sizeof(struct ibv_qp *));
	if (!s.ctx || !s.qp)
		die("open");
	s.pd = ibv_alloc_pd(s.ctx);
	s.cq = ibv_create_cq(s.ctx, 256, NULL, NULL, 0);
	s.mr = ibv_reg_mr(s.pd, s.buf, sizeof(s.buf), IBV_ACCESS_LOCAL_WRITE);
	if (!s.pd || !s.cq || !s.mr)
		die("set-up");
	grow(&s, 0, 1);
	one = latency(&s, s.qp[0]);
	before = footprint(&s);
	start = now();
	grow(&s, 1, QPS);
	start = now() - start;
	after = footprint(&s);
	many = latency(&s, s.qp[QPS / 2]);
	if (first) {
		printf("many_qps_bytes %.0f bytes\n", (double)(after - before) / (QPS - 1));
		printf("many_qps_latency %.3f us\n", many);
		printf("one_qp_latency %.0f ns\n", one * 1e3);
		printf("many_qps_setup %.3f s\n", start);
	}
	for (int i = 0; i < QPS; i++)
		ibv_destroy_qp(s.qp[i]);
}

int main(void)
{
	int pair[2], status = 0;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		die("socketpair");
	pid = fork();
	if (!pid) {
		close(pair[0]);
		run(pair[1], 0);
		return 0;
	}
	close(pair[1]);
	run(pair[0], 1);
	waitpid(pid, &status, 0);
	return status ? 1 : 0;
}
