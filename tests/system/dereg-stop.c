/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * DEREG_MR while a peer is within a WRITE to the memory, which it executes itself. The peer runs, or it was stopped there
 * (SIGSTOP), and is continued or killed later. The same for commands on the QP.
 *
 *   dereg-stop arena|private
 *
 *   owner (this process): deregisters | a thread that exchanges messages between two QPs of its own
 *   writer (a process for each round): WRITEs of LEN to the owner
 *
 * - The writer runs: nothing is written after DEREG_MR.
 * - It is stopped: DEREG_MR may wait a while for it, but the owner's other thread goes on meanwhile.
 * - In the arena, memory that is freed then is not used for other blocks until the writer is out of the WRITE or dead.
 *   After that it is used again.
 * - The QP of a stopped writer can enter ERR and be connected anew. Its new peer does not notice when the writer goes on.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "verbs.h"

#define LEN (16u << 20)
#define TAIL 4096u
#define TRIES 40 /* rounds until the writer is found within a WRITE */
#define SPARE 24 /* blocks that are allocated while one is in use by the writer */
#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)

enum round { RUNNING, CONTINUED, KILLED };

/* Shared by the two processes: the writer is inside ibv_post_send(), and has executed so many. */
static struct {
	uint32_t inside, done;
} *shared;

struct owner {
	struct vctx v;
	struct ibv_qp *a, *b; /* connected to each other */
	uint8_t *block;
	struct ibv_mr *mr;
	pid_t writer;
	bool stop;
	uint64_t last; /* when the thread's last message had arrived */
	uint64_t gap;  /* the longest time between two since this was set to 0 */
};

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void write_on(int sock)
{
	struct vctx v = { .sock = sock };
	struct vdest mine, theirs;
	struct ibv_sge sge = { .length = LEN };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_wc wc;
	struct ibv_mr *mr;
	void *mem;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	v_open(&v, &vcfg_default);
	mem = valloc(LEN);
	if (!mem)
		die("no memory");
	memset(mem, 0x77, LEN);
	mr = ibv_reg_mr(v.pd, mem, LEN, IBV_ACCESS_LOCAL_WRITE);
	if (!mr)
		die("reg_mr: %m");
	sge.addr = (uintptr_t)mem;
	sge.lkey = mr->lkey;
	v_connect(&v, &mine, &theirs);
	wr.wr.rdma.remote_addr = theirs.addr;
	wr.wr.rdma.rkey = theirs.rkey;
	for (;;) {
		__atomic_store_n(&shared->inside, 1, __ATOMIC_SEQ_CST);
		if (ibv_post_send(v.qp, &wr, &bad))
			die("post_send");
		__atomic_store_n(&shared->inside, 0, __ATOMIC_SEQ_CST);
		if (v_wait(v.cq, &wc, 60)) /* the owner has ended its MR */
			pause();
		__atomic_fetch_add(&shared->done, 1, __ATOMIC_SEQ_CST);
	}
}

/* From a to b. It registers nothing, unlike v_message(): the end of that MR might wait for the writer. */
static void message(struct owner *o, const struct ibv_mr *mr)
{
	struct ibv_sge sge = { (uintptr_t)mr->addr, 64, mr->lkey };
	struct ibv_recv_wr rw = { .sg_list = &sge, .num_sge = 1 }, *rbad;
	struct ibv_send_wr sw = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED }, *sbad;
	struct ibv_wc wc;

	if (ibv_post_recv(o->b, &rw, &rbad) || ibv_post_send(o->a, &sw, &sbad))
		die("post: %m");
	if (v_wait(o->v.cq, &wc, 60) || v_wait(o->v.cq, &wc, 60))
		die("a message of the process to itself failed");
}

static void *exchange(void *arg)
{
	struct owner *o = arg;
	static uint8_t mem[64];
	struct ibv_mr *mr = ibv_reg_mr(o->v.pd, mem, sizeof(mem), IBV_ACCESS_LOCAL_WRITE);
	uint64_t last = now(), t;

	if (!mr)
		die("reg_mr: %m");
	__atomic_store_n(&o->last, last, __ATOMIC_RELAXED);
	while (!__atomic_load_n(&o->stop, __ATOMIC_ACQUIRE)) {
		message(o, mr);
		t = now();
		if (t - last > __atomic_load_n(&o->gap, __ATOMIC_RELAXED))
			__atomic_store_n(&o->gap, t - last, __ATOMIC_RELAXED);
		last = t;
		__atomic_store_n(&o->last, last, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Starts a writer and waits until it has written for a while. */
static void round_begin(struct owner *o)
{
	struct vdest mine = { 0 }, theirs;
	int sk[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sk))
		die("socketpair: %m");
	memset(shared, 0, sizeof(*shared));
	o->writer = fork();
	if (o->writer < 0)
		die("fork: %m");
	if (!o->writer) {
		close(sk[0]);
		write_on(sk[1]);
	}
	close(sk[1]);
	o->v.sock = sk[0];
	if (!o->v.ctx)
		v_open(&o->v, &vcfg_default);
	else
		o->v.qp = v_qp(&o->v);
	o->block = valloc(LEN);
	if (!o->block)
		die("no memory");
	memset(o->block, 0x11, LEN);
	o->mr = ibv_reg_mr(o->v.pd, o->block, LEN, ACCESS);
	if (!o->mr)
		die("reg_mr: %m");
	mine.addr = (uintptr_t)o->block;
	mine.rkey = o->mr->rkey;
	v_connect(&o->v, &mine, &theirs);
	for (int i = 0; __atomic_load_n(&shared->done, __ATOMIC_SEQ_CST) < 3; i++) {
		if (i == 30000)
			die("the writer does not write");
		usleep(1000);
	}
}

/* Waits until the writer is within a WRITE, and stops it there. False: it was out of it by then. */
static bool catch_writer(const struct owner *o, bool stop)
{
	int status;

	usleep((useconds_t)random() % 5000);
	for (uint32_t i = 0; !__atomic_load_n(&shared->inside, __ATOMIC_SEQ_CST); i++)
		if (i == 1000000000)
			die("the writer is never within a WRITE");
	if (!stop)
		return true;
	usleep(100);
	if (kill(o->writer, SIGSTOP) || waitpid(o->writer, &status, WUNTRACED) != o->writer)
		die("SIGSTOP: %m");
	return __atomic_load_n(&shared->inside, __ATOMIC_SEQ_CST);
}

static void dereg_mr(struct owner *o)
{
	if (ibv_dereg_mr(o->mr))
		die("dereg_mr: %m");
}

static void modify(struct owner *o, enum ibv_qp_state to)
{
	struct ibv_qp_attr a = { .qp_state = to };

	if (ibv_modify_qp(o->v.qp, &a, IBV_QP_STATE))
		die("modify_qp to %d: %m", to);
}

static void qp_error(struct owner *o)
{
	modify(o, IBV_QPS_ERR);
}

/* The time that a command takes. *gap: how long the other thread was without a message meanwhile. */
static uint64_t timed(struct owner *o, void (*command)(struct owner *o), uint64_t *gap)
{
	uint64_t last, begin, end;

	__atomic_store_n(&o->gap, 0, __ATOMIC_RELAXED);
	begin = now();
	command(o);
	last = __atomic_load_n(&o->last, __ATOMIC_ACQUIRE);
	*gap = __atomic_load_n(&o->gap, __ATOMIC_RELAXED);
	end = now();
	/* It may still wait for its first one. */
	if (last < end && end - last > *gap)
		*gap = end - last;
	return end - begin;
}

static void writer_end(struct owner *o)
{
	int status;

	kill(o->writer, SIGKILL);
	if (waitpid(o->writer, &status, 0) != o->writer)
		die("waitpid: %m");
	if (ibv_destroy_qp(o->v.qp))
		die("destroy_qp");
	close(o->v.sock);
}

static void round_running(struct owner *o)
{
	uint64_t gap;

	round_begin(o);
	catch_writer(o, false);
	timed(o, dereg_mr, &gap);
	memset(o->block + LEN - TAIL, 0x22, TAIL);
	usleep(30000);
	for (uint32_t i = LEN - TAIL; i < LEN; i++)
		if (o->block[i] != 0x22)
			die("a peer that runs has written at %u after DEREG_MR", i);
	writer_end(o);
	free(o->block);
}

static bool overlap(uintptr_t a, uintptr_t b)
{
	return a < b + LEN && b < a + LEN;
}

/* Allocates blocks. Returns whether one of them has memory of `old`. Frees them if so, or if keep is NULL. */
static bool used_again(uintptr_t old, uint8_t **keep)
{
	uint8_t *mem[SPARE];
	bool again = false;

	for (int i = 0; i < SPARE; i++) {
		mem[i] = valloc(LEN);
		if (!mem[i])
			die("no memory");
		again = again || overlap((uintptr_t)mem[i], old);
	}
	for (int i = 0; i < SPARE; i++)
		if (keep)
			keep[i] = mem[i];
		else
			free(mem[i]);
	return again;
}

/* The writer leaves the WRITE, or dies: what other blocks contain stays as it is, and the memory becomes free. */
static void memory_returns(struct owner *o, enum round r, uintptr_t old)
{
	uint8_t *mem[SPARE];
	int i;

	if (used_again(old, mem))
		die("memory that a stopped peer writes to was given to another block");
	for (i = 0; i < SPARE; i++)
		memset(mem[i], 0x33, TAIL);
	kill(o->writer, r == KILLED ? SIGKILL : SIGCONT);
	usleep(50000);
	for (i = 0; i < SPARE; i++) {
		for (uint32_t k = 0; k < TAIL; k++)
			if (mem[i][k] != 0x33)
				die("a peer has written to another block");
		free(mem[i]);
	}
	for (i = 0; !used_again(old, NULL); i++) {
		if (i == 300)
			die("the memory is not used again after the peer's access has ended");
		usleep(100000);
	}
}

/* Stops a writer within a WRITE, and times a command. False: the writer was not caught. */
static bool round_caught(struct owner *o, const char *what, void (*command)(struct owner *o))
{
	uint64_t took, gap;
	bool caught;

	round_begin(o);
	caught = catch_writer(o, true);
	took = timed(o, command, &gap);
	/* It does not wait for a writer that was stopped just before or after. */
	if (!caught || took < 1000000000u)
		return false;
	printf("dereg-stop: %s took %llu ms, the longest gap of the other thread %llu us\n", what,
	       (unsigned long long)took / 1000000, (unsigned long long)gap / 1000);
	fflush(stdout);
	if (gap > took / 2)
		die("the other thread waited too");
	return true;
}

/* False: the writer was not caught within a WRITE. */
static bool round_stopped(struct owner *o, enum round r, bool arena)
{
	bool caught = round_caught(o, "DEREG_MR", dereg_mr);
	volatile uintptr_t old; /* an address only: the block is freed */

	old = (uintptr_t)o->block;
	free(o->block);
	if (caught && arena)
		memory_returns(o, r, old);
	kill(o->writer, SIGCONT);
	writer_end(o);
	return caught;
}

/* The QP of a writer that was stopped in a WRITE gets another peer, and the writer goes on. */
static void connect_anew(struct owner *o)
{
	static uint8_t mem[64];
	struct ibv_mr *mr = ibv_reg_mr(o->v.pd, mem, sizeof(mem), IBV_ACCESS_LOCAL_WRITE);

	if (!mr)
		die("reg_mr: %m");
	modify(o, IBV_QPS_RESET);
	o->b = o->v.qp;
	o->a = v_qp(&o->v);
	v_connect_self(&o->v, o->a, o->b);
	for (int i = 0; i < 200; i++) {
		message(o, mr);
		if (i == 50)
			kill(o->writer, SIGCONT);
		usleep(1000);
	}
}

static bool round_qp(struct owner *o)
{
	bool caught = round_caught(o, "an end of the QP", qp_error);

	if (!caught) {
		kill(o->writer, SIGCONT);
		writer_end(o);
		dereg_mr(o);
		free(o->block);
	}
	return caught;
}

int main(int argc, char **argv)
{
	bool arena = argc == 2 && !strcmp(argv[1], "arena");
	struct owner o = { 0 };
	pthread_t thread;

	alarm(240);
	srandom((unsigned int)time(NULL));
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		die("mmap: %m");
	for (int i = 0; i < 3; i++)
		round_running(&o);
	o.a = v_qp(&o.v);
	o.b = v_qp(&o.v);
	v_connect_self(&o.v, o.a, o.b);
	if (pthread_create(&thread, NULL, exchange, &o))
		die("pthread_create");
	for (enum round r = CONTINUED; r <= KILLED; r++)
		for (int i = 0; !round_stopped(&o, r, arena); i++)
			if (i == TRIES)
				die("no writer was caught within a WRITE");
	for (int i = 0; !round_qp(&o); i++)
		if (i == TRIES)
			die("no writer was caught within a WRITE");
	__atomic_store_n(&o.stop, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	connect_anew(&o);
	writer_end(&o);
	return 0;
}
