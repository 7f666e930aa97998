/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by mistakes.c, which sets up two ends, and table.c, which has the mistakes. */
#ifndef MISTAKES_H
#define MISTAKES_H

#include <infiniband/verbs.h>
#include <stdbool.h>

#define BUF 65536
#define REG 8192		/* bytes of it that are registered */
#define ALL (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
	     IBV_ACCESS_REMOTE_ATOMIC)
#define REMOTE (ALL & ~IBV_ACCESS_LOCAL_WRITE)

/* What an end tells the other. */
struct info {
	uint32_t qpn, rkey;
	uint64_t addr;
	union ibv_gid gid;
};

/* How an end is set up: the defaults are right, a mistake changes some. */
struct end {
	enum ibv_qp_type type;
	int mr_access, qp_access, cqe, recvs, recv_len;
	int gid_index;			/* -1: of the GID that the peer is told, an IPv4 address; -2: of the next such one */
	int psn, peer_psn, qpn_xor, max_rd, max_dest_rd, rnr_retry, retry, timeout;
	uint32_t qkey;
	bool gid_unset;			/* the GID of the peer is not copied */
	bool qpn_of_none;		/* a QP number of no process is used for that of the peer */
	bool other_pd, dies;		/* dies: the server ends after its first completion */
	struct ibv_srq *srq;		/* of the QP; made by setup_late(). NULL: none */
	void (*setup_late)(void);	/* called when ctx, pd, cq and mr exist */
	enum ibv_qp_state upto;		/* the last state that the QP is moved to */
};

/* What a mistake changes in the work request. */
struct wr {
	enum ibv_wr_opcode op;
	uint32_t len, lkey_xor, rkey_xor, qkey;
	uint64_t wr_id;			/* 0: 9 */
	int64_t off, remote_off;
	int flags;
	struct ibv_ah *ah;
};

struct mistake {
	const char *name;
	void (*setup)(void);	/* changes e, at both ends; `server` says which. NULL: nothing */
	void (*server)(void);	/* after both ends are up; may change `me`, which the client gets again. NULL: nothing */
	void (*client)(void);
	int wait;		/* ms for the first completion; 0: 3000 */
};

struct mistakes {
	const struct mistake *list;
	unsigned int n;
};
extern const struct mistakes mistakes, window_mistakes, queue_mistakes, packet_mistakes;

/* The end that this process is; valid after its setup() where it depends on that. */
extern bool server;
extern struct end e;
extern struct info me, peer;
extern struct ibv_context *ctx;
extern struct ibv_pd *pd;
extern struct ibv_cq *cq;
extern struct ibv_qp *qp;
extern struct ibv_mr *mr;
extern char *buf;

/* Prints that a call has failed. */
void failed(const char *call, int error);
bool modify(const char *name, struct ibv_qp_attr *a, int mask);
void post_recv(uint32_t len);
/* 0 or the errno of ibv_post_send(), which it has printed. */
int post_send(const struct wr *x);
struct ibv_ah *ah_of_peer(void);
/* Prints what completes until nothing has come for ms. */
void completions(int ms);
/* A QP of this end that is connected to itself. srq: its SRQ, or NULL. */
struct ibv_qp *own_loop(struct ibv_srq *of);

#endif
