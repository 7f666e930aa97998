/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs that misuse verbs, and their corrected twins. A case is two connected processes: one that is wrong or right, and its
 * peer, a child, which is always right.
 */
#ifndef TESTS_CHECK_CHECK_H
#define TESTS_CHECK_CHECK_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEED(x)                                                                        \
	do {                                                                           \
		if (!(x)) {                                                            \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x);        \
			exit(1);                                                       \
		}                                                                      \
	} while (0)

#define SIZE 4096u
#define DEPTH 16u
#define MAX_SGE 4u

/* One end of a connection. Of the other one only buf, rkey, qpn and lid are known. */
struct end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *buf;		/* SIZE bytes */
	uint32_t rkey, qpn;
	uint16_t lid;		/* 0: not in a fabric of InfiniBand */
};

struct run {
	struct end me, other;
	bool wrong;		/* misuse, or as it should be */
	int fd;			/* to the other process */
};

/* One byte to the other process, and from it. */
void say(struct run *r);
void hear(struct run *r);

/* A work request of end `e` with one entry, at an offset in its buffer. */
struct wr {
	struct ibv_sge sge;
	struct ibv_send_wr wr;
};
void wr_make(struct wr *w, const struct end *e, enum ibv_wr_opcode op, uint32_t off, uint32_t len);
/* The other end's memory, for WRITE, READ and atomics. */
void wr_remote(struct wr *w, const struct end *other, uint32_t off);
void post_recv(const struct end *e, uint32_t off, uint32_t len);
/* The index of the GID by which this end is reached. */
uint8_t end_gid(const struct end *e, union ibv_gid *gid);
/* Connects the QP of an end to itself. */
void end_connect_self(struct end *e);
/* Connects the QP of an end to that for which the other process makes this call, at the same time. */
void end_join(struct run *r, struct end *e);
/* One more end with the same buffer, for requests of one entry: a QP on this CQ, connected by end_join(). */
void end_second(struct run *r, struct ibv_cq *cq, struct end *second);
/* A peer with a second end. */
void peer_second(struct run *r);
/* Polls until there is a completion, which must be a success. */
void poll_one(const struct end *e, struct ibv_wc *wc);

/* Runs fn(arg) in a thread until it has ended, or, if wrong, until a finding was written to stderr; then undo(arg). */
void run_told(bool wrong, void (*fn)(void *arg), void (*undo)(void *arg), void *arg);

struct named {
	const char *name;
	void (*fn)(struct run *r), (*peer)(struct run *r);
};
extern const struct named sends[], reads[], receives[], queues[], stores[], hints[], acks[];
extern const struct named freed[], races[], overlaps[], threads[], forks[], lawful[], shared[];

#endif
