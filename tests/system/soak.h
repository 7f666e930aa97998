/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the files of the soak; see soak.c. */
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
#define DEPTH 16u		/* requests in flight and receives posted for a QP */
#define AREA (256u << 10)	/* bytes that a peer may write */
#define GUARD 4096u		/* bytes on each side of the area that no peer may write */
#define MSGS (4 * DEPTH)


enum kind { K_SEND, K_SEND_IMM, K_WRITE, K_WRITE_IMM, K_READ, K_ADD, K_SWAP, K_KINDS };

/* What the sender of a message records, so that the receiver can check it. */
struct msg {
	uint32_t len, imm;
	uint64_t seed;
	bool has_imm, write;
};

/* One side of a connection, in memory that all processes share. */
struct side {
	uint32_t qpn, rkey;
	uint64_t addr;		/* of its area */
	uint32_t posted;	/* receive WRs that it has posted since it was connected */
	uint32_t sent;		/* messages that its peer has sent since it was connected */
	struct msg msg[MSGS];
	uint8_t shadow[AREA];	/* contents of its area once the peer's operations are done */
};

struct conn {
	enum ibv_qp_type type;
	int proc[2];
	struct side side[2];
};

struct world {
	int nprocs, nconns;
	uint64_t seed, ops;	/* operations for each process and phase */
	int phases;
	bool kill;		/* `soak kill`: one process is killed during the run, which has a single phase */
	pthread_barrier_t barrier;
	uint32_t drained, stop, dead[MAX_PROCS];
	uint64_t done, by_kind[K_KINDS];
	struct conn conn[MAX_CONNS];
};
extern struct world *world;

/* A request in flight. */
struct op {
	enum kind kind;
	bool signaled;
	uint32_t off, len;
	uint64_t expect;	/* atomics: the value that must be returned */
	uint8_t *copy;		/* READ: the data that must be returned */
};

/* A side of a connection in this process. */
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
	uint32_t reads;		/* READs and atomics in flight */
	uint32_t received;	/* messages received since it was connected */
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
/* Takes completions; returns their number. wait: sleeps for an event if there is none. */
int reap(struct proc *p, bool wait);

/* soak_conn.c: creates, connects, resets and destroys the objects of an end. */
void end_open(struct proc *p, struct end *e, struct conn *c, int side);
void end_qp(struct proc *p, struct end *e);
void end_connect(struct proc *p, struct end *e);
void end_reset(struct end *e);
void end_close(struct end *e);
void end_register(struct proc *p, struct end *e);
/* Dies unless the area equals its shadow and the guards are untouched. */
void end_verify(const struct proc *p, const struct end *e);

#endif
