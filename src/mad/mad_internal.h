/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of mad/ share. */
#ifndef RUSE_MAD_MAD_INTERNAL_H
#define RUSE_MAD_MAD_INTERNAL_H

#include "mad/mad.h"

#define MAD_MAX_CLASS 80	/* kernel: MAX_MGMT_CLASS, MAX_MGMT_VERSION, MAX_MGMT_OUI */
#define MAD_MAX_VERSION 0x83
#define MAD_MAX_OUI 8

/* As the kernel has them, "until we can find the packet lifetime". */
#define RMPP_ACK_MS 2000	/* sender: at most, for an ACK */
#define RMPP_RECV_MS 40000	/* receiver: the whole message */
#define RMPP_KEEP_MS 10000	/* receiver: a finished message answers repeated segments */
#define RMPP_WINDOW 64		/* segments that a receiver lets come in a row: 512 receives / 8 */

/* Ours: what strangers may make us hold. Beyond it, they are told to STOP. */
#define RMPP_MAX_BYTES (64u << 20)	/* a message */
#define RMPP_MAX_RECVS 1024		/* an agent */
#define RMPP_MAX_FINISHED 4096		/* an agent; beyond, the oldest is forgotten */
#define RMPP_MAX_AGENT_BYTES (256u << 20)

struct mad_agent {
	struct list_head link;	/* mad_port.agents */
	struct mad_port *port;
	struct mad_reg reg;
	const struct mad_agent_ops *ops;
	void *ctx;
	uint32_t hi_tid;
	uint32_t refs;		/* its owner's, and one for each call in progress */
	bool dead;		/* destroyed; memory waits for the last reference */
	struct list_head sends;	/* struct mad_tx, oldest first */
	struct list_head recvs;	/* struct rmpp_rx that are not complete */
	struct list_head finished; /* those that are, oldest first */
	uint32_t nrecvs, nfinished;
	uint64_t recv_bytes;	/* in their buffers */
};

/* A send that waits: for a response, for ACKs. */
struct mad_tx {
	struct list_head link;
	struct mad_agent *agent;
	struct timer timer;
	struct mad_addr addr;
	void *cookie;
	uint32_t timeout_ms, retries, retries_left;
	bool answered;		/* its response is being handed over: no match any more */
	/* RMPP DATA only, else 0: segments count from 1 */
	uint32_t seg_count;
	uint32_t seg_num;	/* last one sent */
	uint32_t last_ack;
	uint32_t newwin;	/* may be sent up to here */
	uint32_t len;		/* of mad[]: 256, or headers + all data */
	uint8_t mad[];
};

/* A message that comes in segments. */
struct rmpp_rx {
	struct list_head link;
	struct mad_agent *agent;
	struct timer timer;
	struct mad_addr addr;
	uint8_t first[MAD_LEN];	/* its headers go back in ACKs */
	uint8_t *buf;		/* NULL once handed over */
	uint32_t size;		/* of buf */
	bool complete;
	uint32_t seg_num;	/* all up to here have come */
	uint64_t later;		/* bit n: seg_num + 1 + n has come */
	uint32_t last;		/* number of the LAST segment, 0: not known */
	uint32_t last_len;	/* its PayloadLength */
	uint32_t last_ack, newwin;
	uint32_t repwin;	/* window for our reply, from the ACK that turns the direction */
};

static inline void agent_get(struct mad_agent *a)
{
	a->refs++;
}

void agent_put(struct mad_agent *a);

/* tx.c */
/* Unlinks and frees; the agent may be gone afterwards unless the caller holds a reference. */
void tx_done(struct mad_tx *tx, enum mad_send_status st, uint8_t rmpp_status, ns_t now);
/* The send that this MAD answers or acknowledges (kernel: ib_find_send_mad()); NULL. */
struct mad_tx *tx_find(struct mad_agent *a, const struct mad_addr *from, const uint8_t *mad);
int tx_set_timer(struct mad_tx *tx, uint32_t ms, ns_t now);
/* One MAD that expects nothing. */
int port_send(struct mad_port *p, const struct mad_addr *to, const uint8_t *mad);

/* recv.c */
struct mad_agent *port_find_agent(struct mad_port *p, const uint8_t *mad);
/* The response to tx, or, tx NULL, an unsolicited MAD; completes tx. Needs a reference. */
void agent_deliver(struct mad_agent *a, struct mad_tx *tx, const struct mad_addr *from,
		   const uint8_t *mad, uint32_t len, ns_t now);
bool addr_same_peer(const struct mad_addr *a, const struct mad_addr *b);

/* rmpp_send.c */
bool rmpp_active(const uint8_t *mad);
/* Makes tx a message in segments. */
void rmpp_prepare(struct mad_tx *tx);
/* Sends the first window: 0, or -errno of the first segment. */
int rmpp_start(struct mad_tx *tx, ns_t now);
/* The timer: 0, or -ECOMM: nothing is left to be repeated. */
int rmpp_retry(struct mad_tx *tx, ns_t now);
void rmpp_ack(struct mad_agent *a, const struct mad_addr *from, const uint8_t *mad, ns_t now);
void rmpp_abort_tx(struct mad_agent *a, const struct mad_addr *from, const uint8_t *mad,
		   uint8_t status, ns_t now);
/* Answers mad with an ABORT or STOP. */
void rmpp_nack(struct mad_agent *a, const struct mad_addr *to, const uint8_t *mad,
	       enum rmpp_type type, uint8_t status);
void rmpp_send_ack(struct mad_agent *a, const struct mad_addr *to, const uint8_t *mad,
		   uint32_t seg, uint32_t win);
/* Tells the receiver that no more comes. */
void rmpp_give_up(struct mad_tx *tx);

/* rmpp_recv.c */
/* A whole message: buf is the caller's to free; len as mad_recv has it. */
struct rmpp_msg {
	uint8_t *buf;
	uint32_t len;
	struct mad_addr addr;
};
/* An RMPP MAD for an agent of ours that does RMPP; true: *msg is complete. */
bool rmpp_input(struct mad_agent *a, const struct mad_addr *from, const uint8_t *mad,
		struct rmpp_msg *msg, ns_t now);
/* DATA of a response that nobody waits for: repeated segments of one that has come are acknowledged. */
void rmpp_stray(struct mad_agent *a, const struct mad_addr *from, const uint8_t *mad, ns_t now);
struct rmpp_rx *rmpp_find(struct mad_agent *a, const struct mad_addr *from, const uint8_t *mad,
			  uint8_t method);
void rmpp_rx_free(struct rmpp_rx *rx);

#endif
