/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs that rely on what the specification does not promise, and their corrected twins. A case is two processes with
 * connected QPs: one that is wrong or right, and its peer, a child, which is always right.
 */
#ifndef TESTS_SHAKE_SHAKE_H
#define TESTS_SHAKE_SHAKE_H

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

#define ROUNDS 50u	/* of what a program relies on */
#define SIZE 4096u
#define DEPTH 64u
#define QPS 2

/* One end of the connections. Of the other one only buf, rkey and qpn are known. */
struct end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *send_cq, *recv_cq[QPS];
	struct ibv_qp *qp[QPS];
	struct ibv_mr *mr;
	uint8_t *buf;		/* SIZE bytes, 0 */
	uint32_t rkey, qpn[QPS];
	union ibv_gid gid;
	uint8_t gid_index;
};

struct run {
	struct end me, other;
	bool wrong;
	int fd;			/* to the other process */
};

/* What the program relies on is not so: ends it with a text. */
void failed(const char *what, unsigned int round);

/* One byte to the other process, and from it. */
void say(struct run *r);
void hear(struct run *r);

/* A work request with one entry at offset off of the buffer, posted on QP n; for the other's memory at offset `remote`. */
void post(struct run *r, int n, enum ibv_wr_opcode op, uint32_t off, uint32_t len, uint32_t remote,
	  unsigned int flags);
void post_recv(struct run *r, int n, uint32_t off, uint32_t len);
/* Polls until there is a completion, which must be a success. */
void poll_one(struct ibv_cq *cq, struct ibv_wc *wc);
/* The end of a case: tells the other process, and waits for it. */
void part(struct run *r);

struct named {
	const char *name;
	enum ibv_qp_type type;
	bool one_cq;		/* both QPs have one receive queue's CQ */
	void (*fn)(struct run *r), (*peer)(struct run *r);
};
extern const struct named memory[], queues[], datagrams[], keys[], manager[];

#endif
