// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * like-hostile SECONDS: a thread writes into the indices and slots of all rings of the process while another one posts,
 * polls, resets and destroys. Nothing is checked but that the process does not crash or hang. Prints how much was done.
 */
#include <errno.h>
#include <pthread.h>
#include <rdma/rdma_user_rxe.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include "verbs.h"

#define RINGS 64
#define PAGES 4096	/* at most, of the memory of rings that is searched */

static struct vctx v;
static uint8_t data[4096];
static struct ibv_mr *mr;
static struct rxe_queue_buf *rings[RINGS];
static uint32_t nrings;
static atomic_bool done;
static atomic_ulong writes;
static pthread_mutex_t moved = PTHREAD_MUTEX_INITIALIZER;	/* held while rings are made or freed */

/* Rings begin at a page, with the size of a slot and a mask. The memory is mapped beyond its end. */
static bool is_ring(struct rxe_queue_buf *at)
{
	struct rxe_queue_buf b;
	struct iovec to = { &b, sizeof(b) }, from = { at, sizeof(b) };

	if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != sizeof(b))
		return false;
	return b.log2_elem_size >= 5 && b.log2_elem_size <= 12 && b.index_mask &&
	       !(b.index_mask & (b.index_mask + 1)) && b.index_mask < 1 << 16;
}

static unsigned long min_end(unsigned long start, unsigned long end)
{
	return end < start + PAGES * 4096ul ? end : start + PAGES * 4096ul;
}

static void find_rings(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	char line[300];

	nrings = 0;
	while (f && fgets(line, sizeof(line), f)) {
		if (!strstr(line, "/memfd:uverbs") || sscanf(line, "%lx-%lx", &start, &end) != 2)
			continue;
		for (unsigned long at = start; at < min_end(start, end) && nrings < RINGS;
		     at += 4096) {
			struct rxe_queue_buf *b = (void *)at;

			if (is_ring(b))
				rings[nrings++] = b;
		}
	}
	if (f)
		fclose(f);
	if (nrings < 5)
		die("%u rings", nrings);
}

static void scribble_one(unsigned int *seed)
{
	struct rxe_queue_buf *b = rings[(uint32_t)rand_r(seed) % nrings];
	uint32_t r = (uint32_t)rand_r(seed), *slots = (uint32_t *)b->data;
	size_t words = ((size_t)b->index_mask + 1) << b->log2_elem_size >> 2;

	if (r % 3 == 0)
		b->consumer_index = r & b->index_mask;	/* a larger one makes librxe read beyond the ring */
	else if (r % 3 == 1)
		b->producer_index = r & b->index_mask;
	else
		slots[(size_t)rand_r(seed) % words] = r;
	writes++;
}

static void *scribble(void *arg)
{
	unsigned int seed = *(unsigned int *)arg;

	while (!done) {
		pthread_mutex_lock(&moved);
		for (int i = 0; i < 1000; i++)
			scribble_one(&seed);
		pthread_mutex_unlock(&moved);
		sched_yield();
	}
	return NULL;
}

static void step(struct ibv_qp *qp, unsigned long i)
{
	struct ibv_sge s = { (uintptr_t)data, 1, mr->lkey };
	struct ibv_send_wr w = { .sg_list = &s, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = i % 3 ? IBV_SEND_SIGNALED : 0 }, *bad;
	struct ibv_recv_wr r = { .sg_list = &s, .num_sge = 1 }, *bad_recv;
	struct ibv_wc wc[8];

	w.wr.rdma.remote_addr = (uintptr_t)data;
	w.wr.rdma.rkey = mr->rkey;
	ibv_post_send(qp, &w, &bad);
	if (i % 5 == 0)
		ibv_post_recv(qp, &r, &bad_recv);
	if (i % 2)
		ibv_poll_cq(v.cq, 8, wc);
}

static void set_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr a = { .qp_state = state };

	ibv_modify_qp(qp, &a, IBV_QP_STATE);
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
	struct vcfg cfg = vcfg_default;
	unsigned int seed = argc > 2 ? (unsigned int)atoi(argv[2]) : 1;
	unsigned long i, rounds = 0;
	struct ibv_qp *peer;
	pthread_t t;

	cfg.max_sge = 1;
	v_open(&v, &cfg);
	mr = ibv_reg_mr(v.pd, data, sizeof(data), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!mr)
		die("reg_mr: %s", strerror(errno));
	peer = v_qp(&v);
	v_connect_self(&v, v.qp, peer);
	find_rings();
	if (pthread_create(&t, NULL, scribble, &seed))
		die("pthread_create");
	for (i = 0; time(NULL) < end; i++) {
		step(i % 4 ? v.qp : peer, i);
		if (i % 2000 == 1999) {
			set_state(v.qp, i % 4000 == 1999 ? IBV_QPS_ERR : IBV_QPS_RESET);
			set_state(v.qp, IBV_QPS_RESET);
			set_state(peer, IBV_QPS_RESET);
			v_connect_self(&v, v.qp, peer);
			rounds++;
		}
		if (i % 50000 == 49999) {
			pthread_mutex_lock(&moved);
			ibv_resize_cq(v.cq, 100 + (int)(i / 50000 % 2) * 400);
			ibv_destroy_qp(peer);
			peer = v_qp(&v);
			find_rings();
			pthread_mutex_unlock(&moved);
			set_state(v.qp, IBV_QPS_RESET);
			v_connect_self(&v, v.qp, peer);
		}
	}
	done = true;
	pthread_join(t, NULL);
	printf("ok: %lu posts, %lu rounds, %lu writes into %u rings\n", i, rounds, writes, nrings);
	if (ibv_destroy_qp(peer) || ibv_destroy_qp(v.qp) || ibv_destroy_cq(v.cq))
		die("destroy");
	return 0;
}
