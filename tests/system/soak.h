/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of the soak share. See soak.c. */
#ifndef TESTS_SOAK_H
#define TESTS_SOAK_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include "verbs.h"

#define MAX_PROCS 8
#define MAX_CONNS 64
#define SLOT (64u << 10)	/* bytes of a message buffer */
#define DEPTH 16u		/* requests under way a QP; receives posted */
#define AREA (256u << 10)	/* what a peer may write */
#define GUARD 4096u		/* around it: what nobody may write */
#define MSGS (4 * DEPTH)


enum kind { K_SEND, K_SEND_IMM, K_WRITE, K_WRITE_IMM, K_READ, K_ADD, K_SWAP, K_KINDS };

/* What a message was when it was sent: for who receives it. */
struct msg {
	uint32_t len, imm;
	uint64_t seed;
	bool has_imm, write;
};

/* One side of a connection, in memory that all processes share. */
struct side {
	uint32_t qpn, rkey;
	uint64_t addr;		/* of its area */
	uint32_t posted;	/* receives it has posted since it was connected */
	uint32_t sent;		/* messages that its peer has sent to it since then */
	struct msg msg[MSGS];
	uint8_t shadow[AREA];	/* what its area holds once the peer's operations are done */
};

struct conn {
	enum ibv_qp_type type;
	int proc[2];
	struct side side[2];
};

struct world {
	int nprocs, nconns;
	uint64_t seed, ops;	/* operations a process and phase */
	int phases;
	bool kill;		/* one process dies in the middle of the only phase */
	pthread_barrier_t barrier;
	uint32_t drained, stop, dead[MAX_PROCS];
	uint64_t done, by_kind[K_KINDS];
	struct conn conn[MAX_CONNS];
};
extern struct world *world;

/* A request under way. */
struct op {
	enum kind kind;
	bool signaled;
	uint32_t off, len;
	uint64_t expect;	/* atomics: the value found */
	uint8_t *copy;		/* READ: what it must bring */
};

/* A side that is this process's. */
struct end {
	struct conn *c;
	int side;
	struct side *mine, *theirs;
	struct ibv_qp *qp;
	struct ibv_ah *ah;
	struct ibv_mr *area_mr, *tx_mr, *rx_mr;
	uint8_t *area;		/* GUARD, AREA, GUARD */
	uint8_t *tx, *rx;	/* DEPTH slots each; a receive slot has room for a GRH */
	struct op op[DEPTH];
	uint64_t next, oldest;	/* requests posted and completed so far */
	uint32_t reads;		/* READs and atomics among them under way */
	uint32_t received;	/* since it was connected */
	bool failed;		/* its peer is dead */
};

struct proc {
	int id;
	struct vctx v;
	struct end end[2 * MAX_CONNS];
	int nends;
	uint64_t rng;
	bool events;		/* waits for completions by events */
};

static inline uint64_t rnd(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

static inline uint32_t below(uint64_t *s, uint32_t n)
{
	return (uint32_t)(rnd(s) % n);
}

static inline bool peer_dead(const struct end *e)
{
	return __atomic_load_n(&world->dead[e->c->proc[!e->side]], __ATOMIC_ACQUIRE);
}

/* soak_ops.c */
void post_batch(struct proc *p, struct end *e);
void post_recv(struct end *e, uint32_t slot);
/* Takes completions; returns how many. wait: sleeps for an event when there is none. */
int reap(struct proc *p, bool wait);

/* soak_conn.c: objects of an end, made, connected, taken away */
void end_open(struct proc *p, struct end *e, struct conn *c, int side);
void end_qp(struct proc *p, struct end *e);
void end_connect(struct proc *p, struct end *e);
void end_reset(struct end *e);
void end_close(struct end *e);
void end_register(struct proc *p, struct end *e);
/* Is all of its memory what it must be? */
void end_verify(const struct proc *p, const struct end *e);

#endif
