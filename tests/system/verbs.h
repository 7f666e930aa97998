/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Common functions of the system tests' verbs programs: a connected RC pair over a stream socket,
 * patterns that are filled in and checked, and a die() that prints its process ID. The programs are
 * ordinary libibverbs programs and know nothing of ruse.
 */
#ifndef TESTS_VERBS_H
#define TESTS_VERBS_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

#define GID_INDEX 1

struct vcfg {
	uint32_t cqe, max_wr, max_sge, max_inline;
	enum ibv_mtu mtu;
	uint8_t timeout, retry, rnr_retry, min_rnr;
	uint8_t rd_atomic;
	bool sig_all;
	bool channel;
};
extern const struct vcfg vcfg_default;

struct vctx {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *ch;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct vcfg cfg;
	int sock;		/* to the other side; -1: none */
};

struct vdest {
	uint32_t qpn, psn, rkey;
	uint64_t addr;
	union ibv_gid gid;
};

void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Opens $VERBS_DEVICE or the first device; dies on failure. Sets every member but sock. */
void v_open(struct vctx *v, const struct vcfg *cfg);
void v_close(struct vctx *v);
/* Another QP on the open device. */
struct ibv_qp *v_qp(struct vctx *v);
/* A UD QP in RTS; each queue has depth entries with one SGE. */
struct ibv_qp *v_ud_qp(struct vctx *v, uint32_t depth, uint32_t qkey);
void v_dest(struct vctx *v, struct ibv_qp *qp, struct vdest *d);
/* Transitions to INIT, RTR and RTS; 0 or errno. */
int v_init(struct ibv_qp *qp, int access);
int v_rtr(struct ibv_qp *qp, const struct vcfg *cfg, const struct vdest *to);
int v_rts(struct ibv_qp *qp, const struct vcfg *cfg, uint32_t psn);
/* Exchanges struct vdest over the socket and brings v->qp to RTS. */
void v_connect(struct vctx *v, struct vdest *mine, struct vdest *theirs);
/* Connects two QPs of this process to each other and brings them to RTS. */
void v_connect_self(struct vctx *v, struct ibv_qp *a, struct ibv_qp *b);

/* Waits for a completion and returns its status; dies if none comes within `seconds`. */
enum ibv_wc_status v_wait(struct ibv_cq *cq, struct ibv_wc *wc, int seconds);
/*
 * Sends 64 bytes inline from a to b, with these send flags, and waits for both completions in v->cq.
 * b NULL: the other end belongs to another process, and nothing is waited for. Returns the first
 * status that is not success.
 */
enum ibv_wc_status v_message(struct vctx *v, struct ibv_qp *a, struct ibv_qp *b, int flags);
/* A TCP socket to the other side; server NULL: accepts it on this TCP port. Dies on failure. */
int v_rendezvous(const char *port, const char *server);
/* Sends exactly len bytes; dies on failure. */
void v_put(int sock, const void *buf, size_t len);
/* Receives exactly len bytes; dies on failure. */
void v_get(int sock, void *buf, size_t len);
/* Each side waits for the other. */
void v_sync(int sock);

void fill(void *buf, size_t len, uint64_t seed);
/* Dies unless the buffer holds what fill() wrote. */
void check(const void *buf, size_t len, uint64_t seed, const char *what);

#endif
