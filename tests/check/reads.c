/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Data of READs and atomics that is used too early: status EARLY. Nothing is found, but the program fails, always. */
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#define EARLY 3
#define LOOKS 200

static void peer_data(struct run *r)
{
	memset(r->me.buf, 0x11, SIZE);
	say(r);
}

/* Posts a READ or atomic of the peer's bytes to offset 1024, which is 0 before. */
static void read_post(struct run *r, enum ibv_wr_opcode op, uint32_t len)
{
	struct ibv_send_wr *bad;
	struct wr w;

	hear(r);
	memset(r->me.buf, 0, SIZE);
	wr_make(&w, &r->me, op, 1024, len);
	wr_remote(&w, &r->other, 64);
	NEED(!ibv_post_send(r->me.qp, &w.wr, &bad));
}

/* Does the buffer get the data within a while? */
static int read_there(const struct run *r, uint32_t len)
{
	for (int i = 0; i < LOOKS; i++) {
		if (__atomic_load_n(&r->me.buf[1024 + len - 1], __ATOMIC_ACQUIRE) == 0x11)
			return 1;
		usleep(1000);
	}
	return 0;
}

static void read_use(struct run *r, uint32_t len)
{
	struct ibv_wc wc;

	if (!r->wrong)
		poll_one(&r->me, &wc);
	if (!read_there(r, len))
		_exit(EARLY);
	for (uint32_t i = 0; i < len; i++)
		NEED(r->me.buf[1024 + i] == 0x11);
	NEED(!r->me.buf[1023] && !r->me.buf[1024 + len]);
	if (r->wrong)
		poll_one(&r->me, &wc);
}

/* The last byte of the target is polled in place of the CQ. */
static void read_early(struct run *r)
{
	read_post(r, IBV_WR_RDMA_READ, 2000);
	read_use(r, 2000);
}

static void atomic_early(struct run *r)
{
	read_post(r, IBV_WR_ATOMIC_FETCH_AND_ADD, 8);
	read_use(r, 8);
}

/* Lawful: a fence lets a SEND take what a READ has brought, without a poll in between. */
static void read_fence(struct run *r)
{
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	struct wr w;

	read_post(r, IBV_WR_RDMA_READ, 500);
	wr_make(&w, &r->me, IBV_WR_SEND, 1024, 500);
	w.wr.send_flags |= IBV_SEND_FENCE;
	NEED(!ibv_post_send(r->me.qp, &w.wr, &bad));
	poll_one(&r->me, &wc);
	poll_one(&r->me, &wc);
	NEED(r->me.buf[1024] == 0x11 && r->me.buf[1523] == 0x11);
}

static void peer_fence(struct run *r)
{
	struct ibv_wc wc;

	post_recv(&r->me, 1024, 1024);
	memset(r->me.buf, 0x11, 1024);
	say(r);
	poll_one(&r->me, &wc);
	NEED(wc.byte_len == 500);
	for (uint32_t i = 0; i < 500; i++)
		NEED(r->me.buf[1024 + i] == 0x11);
}

/* Lawful: several READs into one buffer, also unsignaled; the last one counts. */
static void read_again(struct run *r)
{
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	struct wr w;

	hear(r);
	memset(r->me.buf, 0, SIZE);
	for (int i = 0; i < 8; i++) {
		wr_make(&w, &r->me, IBV_WR_RDMA_READ, 1024, 300);
		wr_remote(&w, &r->other, 64);
		w.wr.send_flags = i == 7 ? IBV_SEND_SIGNALED : 0;
		NEED(!ibv_post_send(r->me.qp, &w.wr, &bad));
	}
	poll_one(&r->me, &wc);
	for (uint32_t i = 0; i < 300; i++)
		NEED(r->me.buf[1024 + i] == 0x11);
	NEED(!r->me.buf[1023] && !r->me.buf[1324]);
}

/* Lawful: the QP, or the region, ends with READs whose completions were not polled. The memory is as it was, or read. */
static void read_left(struct run *r)
{
	const struct end *e = &r->me;

	read_post(r, IBV_WR_RDMA_READ, 2000);
	NEED(!ibv_dereg_mr(e->mr));
	r->me.mr = NULL;
	for (uint32_t i = 0; i < 2000; i++)
		NEED(!e->buf[1024 + i] || e->buf[1024 + i] == 0x11);
}

/* Lawful: a child has the memory without the pattern. */
static void read_forked(struct run *r)
{
	struct ibv_wc wc;
	int status;
	pid_t pid;

	read_post(r, IBV_WR_RDMA_READ, 100);
	pid = fork();
	if (!pid)
		_exit(r->me.buf[1024] && r->me.buf[1024] != 0x11);
	NEED(waitpid(pid, &status, 0) == pid && !status);
	poll_one(&r->me, &wc);
	NEED(r->me.buf[1024] == 0x11 && r->me.buf[1123] == 0x11);
}

const struct named reads[] = {
	{ "read-early", read_early, peer_data },
	{ "atomic-early", atomic_early, peer_data },
	{ "read-fence", read_fence, peer_fence },
	{ "read-again", read_again, peer_data },
	{ "read-left", read_left, peer_data },
	{ "read-forked", read_forked, peer_data },
	{ NULL, NULL, NULL },
};
