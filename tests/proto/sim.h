/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Protocol simulation: two QPs on two fake devices, a simulated link and a virtual clock.
 *
 *	end[0]  qp ── link ══ packets in flight ══ link ── qp  end[1]
 *
 * struct sim decides which packets are lost (a mask over the first 64, counted over both
 * directions), duplicated or delayed (seeded generator), and how many fit into the link.
 */
#ifndef RUSE_PROTO_SIM_H
#define RUSE_PROTO_SIM_H

#include "base/testing.h"
#include "core/testing.h"
#include "core/umem.h"
#include "wire/psn.h"
#include "xport/xport.h"

#define SIM_BUF (1u << 20)
#define SIM_DEPTH 64
#define SIM_LATENCY (1 * NS_US)
#define SIM_QKEY 0x11223344u

enum sim_opcode { /* values of enum ib_uverbs_wr_opcode */
	OP_WRITE = 0, OP_WRITE_IMM, OP_SEND, OP_SEND_IMM, OP_READ, OP_CMP_SWP, OP_FETCH_ADD,
	OP_LOCAL_INV, OP_BIND_MW, OP_SEND_INV, OP_FLUSH = 14, OP_ATOMIC_WRITE,
};

enum { F_FENCE = 1, F_SIGNALED = 2, F_SOLICITED = 4, F_INLINE = 8 };

struct sim;

struct sim_end {
	struct sim *sim;
	int id;
	struct test_dev *td;
	struct event_file *async;
	struct pd *pd;
	struct cq *scq, *rcq;
	struct mr *mr;		/* covers all of buf, every access right */
	struct srq *srq;	/* NULL unless sim_create_srq() */
	struct qp *qp;
	uint8_t *buf;		/* SIM_BUF bytes */
	struct link link;
	bool blocked;		/* send() returned -EAGAIN; sim_writable() is due */
	int revokes, waits;	/* calls of link_ops.revoke and .wait_room */
};

struct sim_pkt {
	struct list_head entry;
	struct seg seg;
	struct seg_net net;
	struct iovec iov[SEG_MAX_IOV];
	uint8_t *data;		/* copy of the payload; NULL: by reference */
	int to;
	ns_t at;
};

/* Parameters of a connection; sim_defaults() fills them in. */
struct sim_cfg {
	uint32_t mtu, max_pkts, max_seg, access[2];
	uint32_t psn[2];	/* starting PSN of each direction */
	uint8_t timeout, retry, rnr_retry, min_rnr, max_rd, max_dest;
	bool sig_all, lossy;	/* lossy: value of link.lossy */
};

struct sim {
	struct sim_end end[2];
	struct sim_cfg cfg;
	ns_t now;
	struct list_head flying;	/* struct sim_pkt, by time of arrival */
	uint32_t inflight[2];
	uint32_t sent;		/* packets so far, including lost ones */
	uint64_t lose;		/* bit n: packet number n is lost */
	bool lose_all;
	bool by_ref, stuck;	/* by_ref: payload is passed by reference, as on shm; stuck: wait_room() fails */
	uint32_t room;		/* packets that fit into each direction; 0: any number */
	struct prng rng;
	uint32_t dup_pct, delay_pct, loss_pct;	/* probability for each packet, in percent */
	uint32_t lazy_pct;	/* probability that sim_deliver() leaves out sim_writable(), in percent */
	bool behind;		/* what link_ops.peer_behind returns */
	bool trace;		/* print every packet; set by $SIM_TRACE */
	char note[128];		/* the current case; sim_destroy() prints it */
	/* Called when an end sends a packet, before the link takes it; true: the packet is lost. */
	bool (*filter)(struct sim *s, int to, const struct seg *seg);
	bool (*arrival)(struct sim *s, int to, const struct seg *seg);
};

struct sim_wr {
	uint64_t id;
	uint32_t op, flags, imm;
	uint64_t raddr;
	uint32_t rkey;
	uint64_t compare_add, swap;	/* compare_add: also the value of OP_ATOMIC_WRITE */
	uint32_t len, mr_lkey, mw_rkey, access;	/* OP_BIND_MW; len: also OP_FLUSH */
	uint8_t plt, sel;	/* OP_FLUSH */
	struct rxe_sge sge[SEG_MAX_IOV];
	uint32_t num_sge;
	const void *inl;
	uint32_t inl_len;
	uint32_t qpn, qkey, ah;	/* UD; ah 0: the WQE holds the address (dgid, sgid_index) */
	uint8_t dgid[16], sgid_index;
};

/* Describes the current case; sim_destroy() prints it. */
void sim_note(struct sim *s, const char *fmt, ...) __printf(2, 3);
struct sim_cfg sim_defaults(void);
struct sim *sim_create(void);
struct sim *sim_create_type(uint8_t type); /* enum qp_type; RC otherwise */
/* As sim_create(); each end's receives come from an SRQ of SIM_DEPTH - 1 WQEs with 8 SGEs. */
struct sim *sim_create_srq(void);
void sim_destroy(struct sim *s);
/* Takes both QPs through RESET to RTS; empties the queues and sets the clock to 0. */
void sim_connect(struct sim *s, const struct sim_cfg *cfg);
/* Modifies the QP to state `to` with the attributes that the transition requires. */
void sim_modify(struct sim_end *e, enum qp_state to);
int sim_try_modify(struct sim_end *e, enum qp_state to);

/* Writes the WQE into the ring; sim_bell() rings the doorbell. */
void sim_post(struct sim_end *e, const struct sim_wr *wr);
int sim_bell(struct sim_end *e);
void sim_post_recv(struct sim_end *e, uint64_t id, const struct rxe_sge *sge, uint32_t num);
/* An SGE within the end's buffer; off and len in bytes. */
struct rxe_sge sim_sge(const struct sim_end *e, uint32_t off, uint32_t len);

/* Runs until nothing is due, or up to virtual time `limit`. */
void sim_run(struct sim *s, ns_t limit);

/* Takes the oldest completion; false: the CQ is empty. */
bool sim_poll(struct cq *cq, struct ib_uverbs_wc *wc);
/* Takes the next completion and asserts its id and status. */
void sim_expect(struct cq *cq, uint64_t id, uint32_t status);
void sim_expect_none(struct cq *cq);
/* Takes the next asynchronous event; -1: there is none. */
int sim_event(struct sim_end *e);

/* Bytes that depend on the seed and the position. */
void sim_fill(uint8_t *p, uint32_t len, uint32_t seed);
bool sim_filled(const uint8_t *p, uint32_t len, uint32_t seed);

/* sim_link.c */
void sim_link_init(struct sim_end *e, const struct sim_cfg *cfg);
void sim_link_drop(struct sim *s);
/* Rings the doorbell of an end whose send() was refused, if there is room. */
void sim_writable(struct sim_end *e);
/* Delivers the packet with the earliest arrival. */
void sim_deliver(struct sim *s);

#endif
