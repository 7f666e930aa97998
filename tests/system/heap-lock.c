/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A program whose allocator is a library that has a lock (heap_lib.c). One thread sends and polls while it has the lock, as in a
 * hook of the allocator or in a signal handler that has interrupted it. Others create and destroy objects, or connect to
 * processes that end. With a kernel driver none of them waits for another one for ever. heap-lock FD: such a process.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "verbs.h"

#define ROUNDS 1500
#define PEERS 6

extern pthread_mutex_t heap_lock;	/* heap_lib.c */
static uint32_t ended;
static char mem[4096];

static struct ibv_mr *receive(struct vctx *v, struct ibv_qp *qp, struct ibv_mr *mr)
{
	struct ibv_sge s = { (uintptr_t)mem, 64, 0 };
	struct ibv_recv_wr w = { .sg_list = &s, .num_sge = 1 }, *bad;

	if (!mr)
		mr = ibv_reg_mr(v->pd, mem, sizeof(mem), IBV_ACCESS_LOCAL_WRITE);
	if (!mr)
		die("ibv_reg_mr: %s", strerror(errno));
	s.lkey = mr->lkey;
	if (ibv_post_recv(qp, &w, &bad))
		die("ibv_post_recv");
	return mr;
}

/* Sends a message and waits for both completions in the CQ: of this message and of one that is received. */
static void message(struct vctx *v, struct ibv_qp *qp)
{
	char text[64] = "heap";
	struct ibv_sge s = { (uintptr_t)text, sizeof(text), 0 };
	struct ibv_send_wr w = { .sg_list = &s, .num_sge = 1, .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED }, *bad;
	struct ibv_wc wc;

	if (ibv_post_send(qp, &w, &bad))
		die("ibv_post_send");
	for (int i = 0; i < 2; i++)
		if (v_wait(v->cq, &wc, 60))
			die("status %d", wc.status);
}

/* Objects of every kind but AHs. */
static void objects_turn(struct vctx *v)
{
	struct ibv_srq_init_attr sa = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_cq *cq = ibv_create_cq(v->ctx, 16, NULL, NULL, 0);
	struct ibv_pd *pd = ibv_alloc_pd(v->ctx);
	struct ibv_qp *qp = v_qp(v);
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	struct ibv_mw *mw;

	if (!cq || !pd)
		die("cannot create an object: %s", strerror(errno));
	mr = ibv_reg_mr(pd, mem, sizeof(mem), IBV_ACCESS_LOCAL_WRITE);
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	srq = ibv_create_srq(pd, &sa);
	if (!mr || !mw || !srq || ibv_resize_cq(cq, 64))
		die("cannot create an object: %s", strerror(errno));
	if (ibv_destroy_qp(qp) || ibv_destroy_srq(srq) || ibv_dealloc_mw(mw) ||
	    ibv_dereg_mr(mr) || ibv_dealloc_pd(pd) || ibv_destroy_cq(cq))
		die("cannot destroy an object");
}

static void *objects(void *arg)
{
	struct ibv_ah_attr aa = { .is_global = 1, .port_num = 1, .grh.sgid_index = GID_INDEX };
	struct vctx v;

	v_open(&v, &vcfg_default);
	if (ibv_query_gid(v.ctx, 1, GID_INDEX, &aa.grh.dgid))
		die("ibv_query_gid");
	for (int i = 0; i < ROUNDS; i++) {
		struct ibv_ah *ah = ibv_create_ah(v.pd, &aa);

		if (!ah || ibv_destroy_ah(ah))
			die("ibv_create_ah: %s", strerror(errno));
		objects_turn(&v);
	}
	v_close(&v);
	__atomic_fetch_add(&ended, 1, __ATOMIC_SEQ_CST);
	return arg;
}

static void exchange(struct vctx *v)
{
	struct ibv_mr *mr = receive(v, v->qp, NULL);

	v_sync(v->sock);
	message(v, v->qp);
	v_sync(v->sock);
	if (ibv_dereg_mr(mr))
		die("ibv_dereg_mr");
}

/* Peers come, exchange a message and end: the progress thread makes and frees their links. */
static void *peers(void *arg)
{
	for (int i = 0; i < PEERS; i++) {
		struct vctx v;
		struct vdest mine, theirs;
		int sock[2], status;
		pid_t pid;

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, sock))
			die("socketpair");
		pid = fork();
		if (!pid) {
			char fd[12];

			snprintf(fd, sizeof(fd), "%d", sock[1]);
			execl("/proc/self/exe", "heap-lock", fd, (char *)0);
			_exit(1);
		}
		close(sock[1]);
		v_open(&v, &vcfg_default);
		v.sock = sock[0];
		v_connect(&v, &mine, &theirs);
		exchange(&v);
		if (waitpid(pid, &status, 0) != pid || status)
			die("peer: status %x", (unsigned int)status);
		v_close(&v);
		close(sock[0]);
	}
	__atomic_fetch_add(&ended, 1, __ATOMIC_SEQ_CST);
	return arg;
}

static int peer(int sock)
{
	struct vctx v;
	struct vdest mine, theirs;

	v_open(&v, &vcfg_default);
	v.sock = sock;
	v_connect(&v, &mine, &theirs);
	exchange(&v);
	return 0;
}

int main(int argc, char **argv)
{
	struct vctx v;
	struct ibv_qp *a, *b;
	struct ibv_mr *mr;
	pthread_t t[2];
	long n = 0;

	if (argc > 1)
		return peer(atoi(argv[1]));
	v_open(&v, &vcfg_default);
	a = v_qp(&v);
	b = v_qp(&v);
	v_connect_self(&v, a, b);
	mr = ibv_reg_mr(v.pd, mem, sizeof(mem), IBV_ACCESS_LOCAL_WRITE);
	if (!mr)
		die("ibv_reg_mr: %s", strerror(errno));
	if (pthread_create(&t[0], NULL, objects, NULL) || pthread_create(&t[1], NULL, peers, NULL))
		die("pthread_create");
	while (__atomic_load_n(&ended, __ATOMIC_SEQ_CST) < 2) {
		pthread_mutex_lock(&heap_lock);
		receive(&v, b, mr);
		message(&v, a);
		pthread_mutex_unlock(&heap_lock);
		n++;
	}
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	if (ibv_destroy_qp(a) || ibv_destroy_qp(b) || ibv_dereg_mr(mr))
		die("cannot destroy an object");
	v_close(&v);
	printf("%ld messages\n", n);
	return 0;
}
