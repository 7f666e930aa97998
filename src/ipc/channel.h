/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared memory beside the socket, for a request and its answer that cost no system call where
 * both ends are awake. IPC_CHANNEL: body and reply none, with the reply a memfd sealed against
 * shrinking, of struct ipc_channel; -EPERM: not a process's connection, -EBUSY: it has one.
 *
 * One word says whose move it is. The process writes a request and posts it, if rused watches;
 * otherwise it sends it over the socket, and either way looks at the word for a while. rused puts
 * its answer here if the process still looks, else into the socket. Whoever gives up takes the word
 * back first, so that no request is done twice and no answer is lost. What does not fit, or has
 * descriptors, goes over the socket; so do deaths.
 *
 *     FREE --process--> POSTED --rused--> AWAITED --rused--> ANSWERED --process--> FREE
 *       \--process (over the socket)--------^ |
 *     POSTED, AWAITED --process gives up, AWAITED --rused has sent it--> FREE: the socket has it
 */
#ifndef RUSE_IPC_CHANNEL_H
#define RUSE_IPC_CHANNEL_H

#include "ipc/ipc.h"

enum ipc_chan_state { CHAN_FREE, CHAN_POSTED, CHAN_AWAITED, CHAN_ANSWERED };

#define CHAN_BODY 4064
#define CHAN_QUEUE 256u		/* messages that nobody answers, and rused has not taken yet */
#define CHAN_QUEUE_BODY 552

struct ipc_chan_msg {
	struct ipc_hdr hdr;
	uint32_t len;		/* of the body, at most CHAN_BODY */
	uint64_t pad;
	uint8_t body[CHAN_BODY];
};

struct ipc_chan_item {
	struct ipc_hdr hdr;
	uint32_t len, pad;	/* of the body, at most CHAN_QUEUE_BODY */
	uint8_t body[CHAN_QUEUE_BODY];
};

struct ipc_channel {
	uint32_t state;		/* enum ipc_chan_state */
	uint32_t slept_ns;	/* the process's: what a call takes that sleeps at both ends, 0: not known */
	uint32_t pad1[14];
	uint32_t head;		/* of the queue, the process's */
	uint32_t bell;		/* it has sent word of the queue, and rused has not looked yet */
	uint32_t pad2[46];
	uint32_t watched;	/* rused's: it looks at state and head, no need to wake it */
	uint32_t tail;		/* rused's: it has taken what is before */
	uint32_t pad3[958];
	struct ipc_chan_msg request, answer;
	struct ipc_chan_item queue[CHAN_QUEUE];
};

_Static_assert(sizeof(struct ipc_channel) == (3 + 36) * 4096, "whole pages");

/*
 * As ipc_call(), through the channel if there is one; but 0 with the answer's -errno in c->answer,
 * else -errno: the connection is of no use, and still open.
 */
int ipc_trip(struct ipc_conn *c, enum ipc_type type, const void *req, size_t len, const int *fds,
	     int nfds, void *reply, size_t *rsize, int *rfds, int *nrfds);
/*
 * A request without an answer, into the queue if there is room, which rused looks at before it
 * takes anything else from this process. 0, or -errno: the connection is of no use, and still open.
 */
int ipc_post(struct ipc_conn *c, enum ipc_type type, const void *req, size_t len);

/*
 * The process's end. Asks rused for a channel, once a connection. 0, also where there can be none;
 * -errno as of ipc_trip(). Gone with ipc_close(), and not there in a forked child. clock: of the
 * host, in ns, to look for answers by.
 */
int ipc_channel_open(struct ipc_conn *c, ns_t (*clock)(void));
/* For ipc_trip(): the request is posted. False: over the socket; its answer may come here all the same. */
bool ipc_channel_post(struct ipc_channel *ch, const struct ipc_hdr *hdr, const void *body,
		      size_t len);
/* For ipc_trip(): the request goes over the socket, its answer may come here. */
void ipc_channel_await(struct ipc_channel *ch);
/*
 * Looks for the answer until then. True: it is there, copied as far as it fits: *len is
 * the room and becomes its length, -EMSGSIZE or -EPROTO in *rc: it is none. False: *posted: the
 * request has been taken back, else its answer comes over the socket.
 */
bool ipc_channel_answer(struct ipc_channel *ch, ns_t (*clock)(void), ns_t until,
			struct ipc_hdr *hdr, void *body, size_t *len, int *rc, bool *posted);

/*
 * For ipc_post(): the message is in the queue. *wake: rused may be asleep, and has to hear of it
 * over the socket. False: no room, or too long.
 */
bool ipc_channel_push(struct ipc_channel *ch, const struct ipc_hdr *hdr, const void *body,
		      size_t len, bool *wake);

/* rused's end. Creates it: the descriptor, or -errno. */
int ipc_channel_create(struct ipc_channel **ch);
void ipc_channel_unmap(struct ipc_channel *ch);
/* Watched or not. After false: look once more, for what came before the process could see it. */
void ipc_channel_watch(struct ipc_channel *ch, bool on);
bool ipc_channel_posted(const struct ipc_channel *ch);
/* Is something in the queue? tail: how far rused has got, which is its own to know. */
bool ipc_channel_queued(const struct ipc_channel *ch, uint32_t tail);
/* Where its end is now. */
uint32_t ipc_channel_head(const struct ipc_channel *ch);
/* From now on the process sends word again: before a look at the queue. */
void ipc_channel_heard(struct ipc_channel *ch);
/* The next of the queue, as ipc_channel_take(); body has room for CHAN_QUEUE_BODY. */
int ipc_channel_pop(struct ipc_channel *ch, uint32_t *tail, struct ipc_hdr *hdr, void *body,
		    size_t *len);
/*
 * The request, copied once: header and body, which has room for CHAN_BODY. 0; -EAGAIN: there is none
 * (any more); -EPROTO: too long. What is in it has been checked by nobody.
 */
int ipc_channel_take(struct ipc_channel *ch, struct ipc_hdr *hdr, void *body, size_t *len);
/* False: nobody looks for it, or it is too long: to be sent over the socket. */
bool ipc_channel_put(struct ipc_channel *ch, const struct ipc_hdr *hdr, const void *body,
		     size_t len);
/* What a call takes that sleeps at both ends, as the process says; 0: it does not know. */
ns_t ipc_channel_slept(const struct ipc_channel *ch);
/* It has been sent over the socket: no need to go on looking here. */
void ipc_channel_sent(struct ipc_channel *ch);

#endif
