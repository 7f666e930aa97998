/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The common part of write.c, events.c, ud.c and race.c: two programs that are connected by TCP, each with a
 * device, a PD, an MR, a CQ and a QP. Each function prints what has failed, and ends the program. */
#ifndef EXAMPLES_PAIR_H
#define EXAMPLES_PAIR_H

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>

#ifndef GID_INDEX
#define GID_INDEX 1	/* the first address of the interface; of many adapters it is 3: see ibv_devinfo -v */
#endif

struct pair {
	int sock;	/* TCP, to the peer */
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *channel;	/* only events.c waits for it */
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

/* Sent by TCP in network byte order. The memory is that of the MR. */
struct address {
	union ibv_gid gid;
	uint64_t address;
	uint32_t qpn, rkey;
};

/* Functions of libibverbs return an errno, where others return -1. */
void must(int rc, const char *what);
/* The same for functions that return NULL and set errno. Returns the object. */
void *must_have(void *object, const char *what);

/* Everything up to a QP in RESET, with depth sends and receives. access: what the peer may do with the memory. */
void pair_open(struct pair *p, enum ibv_qp_type type, void *memory, size_t length, int access,
	       int depth);
/* Connects TCP (host NULL: waits for a client), and exchanges the addresses. Returns the peer's. */
struct address pair_meet(struct pair *p, const char *host);
/* RESET -> INIT -> RTR -> RTS for an RC QP. access: what the peer may do by this QP. */
void pair_connect(struct pair *p, const struct address *peer, int access);
/* Destroys everything, when both ends have come this far. */
void pair_close(struct pair *p);

/* Sends mine by TCP and waits for theirs, which has the same length. */
void swap(struct pair *p, const void *mine, void *theirs, ssize_t length);
/* Returns when both ends have called it. */
void meet(struct pair *p);

/* If the status is an error, only wr_id, qp_num and vendor_err are valid beside it. */
void check_status(const struct ibv_wc *wc);
/* Polls: one CPU is busy meanwhile. events.c shows the other way. */
struct ibv_wc wait_for_completion(struct pair *p);

#endif
