/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Structures and functions shared by the files of mad/. */
#ifndef RUSE_MAD_MAD_INTERNAL_H
#define RUSE_MAD_MAD_INTERNAL_H

#include "mad/mad.h"

/* Leaves the reason of a refusal and returns ret. */
#define mad_refuse(p, ret, id, ...) (why_set(&(p)->host->why, id, __VA_ARGS__), (ret))

#define MAD_MAX_CLASS 80	/* kernel: MAX_MGMT_CLASS, MAX_MGMT_VERSION, MAX_MGMT_OUI */
#define MAD_MAX_VERSION 0x83
#define MAD_MAX_OUI 8

/* Values of the kernel's mad_rmpp.c. */
#define RMPP_ACK_MS 2000	/* sender: longest wait for an ACK */
#define RMPP_RECV_MS 40000	/* receiver: time limit for a whole message */
#define RMPP_KEEP_MS 10000	/* receiver: how long a finished message is kept to answer repeated segments */
#define RMPP_WINDOW 64		/* receiver's window in segments: the kernel's receive queue of 512 divided by 8 */

/* Limits on the memory that peers can make a receiver use. A message that exceeds one is answered with STOP. */
#define RMPP_MAX_BYTES (64u << 20)	/* bytes per message */
#define RMPP_MAX_RECVS 1024		/* incomplete messages per agent */
#define RMPP_MAX_FINISHED 4096		/* finished messages kept per agent; above it the oldest is freed */
#define RMPP_MAX_AGENT_BYTES (256u << 20)	/* bytes per agent */

struct mad_agent {
	struct list_head link;	/* mad_port.agents */
	struct mad_port *port;
	struct mad_reg reg;
	const struct mad_agent_ops *ops;
	void *ctx;
	uint32_t hi_tid;
	uint32_t refs;		/* references: one of the owner, and one of each call in progress */
	bool dead;		/* destroyed; freed with the last reference */
	struct list_head sends;	/* struct mad_tx, oldest first */
	struct list_head recvs;	/* struct rmpp_rx: incomplete messages */
	struct list_head finished; /* struct rmpp_rx: complete messages, oldest first */
	uint32_t nrecvs, nfinished;
	uint64_t recv_bytes;	/* sum of rmpp_rx.size of recvs */
};

/* A send that awaits a response or ACKs. */
struct mad_tx {
	struct list_head link;
	struct mad_agent *agent;
	struct timer timer;
	struct mad_addr addr;
	void *cookie;
	uint32_t timeout_ms, retries, retries_left;
	ns_t since;		/* time of mad_send() */
	bool answered;		/* its response is being delivered; tx_find() skips it */
	/* RMPP DATA only, else 0. Segments are numbered from 1. */
	uint32_t seg_count;
	uint32_t seg_num;	/* last segment sent */
	uint32_t last_ack;	/* last segment acknowledged */
	uint32_t newwin;	/* last segment of the receiver's window */
	uint32_t len;		/* bytes in mad[]: 256, or headers and all data */
	uint8_t mad[];
};

/* A message received in segments. */
struct rmpp_rx {
	struct list_head link;
	struct mad_agent *agent;
	struct timer timer;
	struct mad_addr addr;
	uint8_t first[MAD_LEN];	/* first MAD: ACKs and ABORTs repeat its headers */
	uint8_t *buf;		/* NULL after delivery */
	uint32_t size;		/* of buf, in bytes */
	bool complete;
	uint32_t seg_num;	/* all segments up to this one have been received */
	uint64_t later;		/* bit n: segment seg_num + 1 + n has been received */
	uint32_t last;		/* number of the segment with the flag Last; 0: not known yet */
	uint32_t last_len;	/* PayloadLength of that segment */
	uint32_t last_ack, newwin;	/* last segment acknowledged; last segment of the window */
	uint32_t repwin;	/* window for the reply to this message, from the peer's ACK of segment 0 */
};

static inline void agent_get(struct mad_agent *a)
{
	a->refs++;
}

void agent_put(struct mad_agent *a);

/* tx.c */
/* Frees tx and calls done(), which may destroy the agent: hold a reference to use it afterwards. */
void tx_done(struct mad_tx *tx, enum mad_send_status st, uint8_t rmpp_status, ns_t now);
/* The send that this MAD answers or acknowledges (the kernel's ib_find_send_mad()), or NULL. */
struct mad_tx *tx_find(struct mad_agent *a, const struct mad_addr *from, const uint8_t *mad);
int tx_set_timer(struct mad_tx *tx, uint32_t ms, ns_t now);
/* why.c: a request has timed out: leaves the reason in mad_ports.why. */
void tx_why(const struct mad_tx *tx);
/* Sends one MAD. */
int port_send(struct mad_port *p, const struct mad_addr *to, const uint8_t *mad);

/* recv.c */
struct mad_agent *port_find_agent(struct mad_port *p, const uint8_t *mad);
/*
 * Delivers a MAD to the agent. tx: the send that it answers, which is then complete; NULL: the MAD
 * is unsolicited. The caller holds a reference to the agent.
 */
void agent_deliver(struct mad_agent *a, struct mad_tx *tx, const struct mad_addr *from,
		   const uint8_t *mad, uint32_t len, ns_t now);
bool addr_same_peer(const struct mad_addr *a, const struct mad_addr *b);

/* rmpp_send.c */
bool rmpp_active(const uint8_t *mad);
/* Sets the RMPP headers of tx, and its number of segments. */
void rmpp_prepare(struct mad_tx *tx);
/* Sends the first window: 0, or -errno of the first segment. */
int rmpp_start(struct mad_tx *tx, ns_t now);
/* After a timeout: sends the segments after the last ACK again. -ECOMM: all segments are acknowledged. */
int rmpp_retry(struct mad_tx *tx, ns_t now);
void rmpp_ack(struct mad_agent *a, const struct mad_addr *from, const uint8_t *mad, ns_t now);
void rmpp_abort_tx(struct mad_agent *a, const struct mad_addr *from, const uint8_t *mad,
		   uint8_t status, ns_t now);
/* Answers mad with ABORT or STOP. */
void rmpp_nack(struct mad_agent *a, const struct mad_addr *to, const uint8_t *mad,
	       enum rmpp_type type, uint8_t status);
void rmpp_send_ack(struct mad_agent *a, const struct mad_addr *to, const uint8_t *mad,
		   uint32_t seg, uint32_t win);
/* Sends the receiver an ABORT. */
void rmpp_give_up(struct mad_tx *tx);

/* rmpp_recv.c */
/* A complete message. The caller frees buf. len: as in struct mad_recv. */
struct rmpp_msg {
	uint8_t *buf;
	uint32_t len;
	struct mad_addr addr;
};
/* Handles an RMPP MAD of an agent with mad_agent_does_rmpp(). True: *msg is complete. */
bool rmpp_input(struct mad_agent *a, const struct mad_addr *from, const uint8_t *mad,
		struct rmpp_msg *msg, ns_t now);
/* Handles DATA of a response to no open request: sends an ACK if the message has been received completely. */
void rmpp_stray(struct mad_agent *a, const struct mad_addr *from, const uint8_t *mad, ns_t now);
struct rmpp_rx *rmpp_find(struct mad_agent *a, const struct mad_addr *from, const uint8_t *mad,
			  uint8_t method);
void rmpp_rx_free(struct rmpp_rx *rx);

#endif
