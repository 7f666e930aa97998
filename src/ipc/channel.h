/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Channel: memory shared by a process and rused, in addition to their socket. A request and its answer cost no system
 * call while both sides poll the channel. The request IPC_CHANNEL, which has no body, creates it. The reply has no body
 * and carries one memfd, which contains a struct ipc_channel and is sealed against shrinking. -EPERM: the client is a
 * program without devices, such as `ruse`. -EBUSY: the connection has a channel already. A process that finds the queue
 * full sends the request for this answer, as rused handles all queued messages first.
 *
 * `state` says which side acts next. If rused watches the channel, the process writes its request into the channel, sets
 * POSTED and polls for the answer for TUNE_ANSWER; else it sends the request over the socket and sleeps. If the process
 * still polls, rused writes the answer into the channel; else it sends the answer over the socket. A side that stops
 * waiting changes the state with a compare-and-swap before it uses the socket, so no request runs twice and no answer is
 * lost. Long messages, descriptors and hang-ups use the socket.
 *
 *	FREE to POSTED		process: has written the request here
 *	POSTED to AWAITED	rused: takes the request
 *	AWAITED to ANSWERED	rused: has written the answer here
 *	ANSWERED to FREE	process: has read the answer
 *	POSTED to FREE		process: stops polling, or rused has stopped watching: sends the request over the socket
 *	AWAITED to FREE		process: stops polling; rused: has sent the answer over the socket
 */
#ifndef RUSE_IPC_CHANNEL_H
#define RUSE_IPC_CHANNEL_H

#include "base/tuning.h"
#include "ipc/ipc.h"

enum ipc_chan_state { CHAN_FREE, CHAN_POSTED, CHAN_AWAITED, CHAN_ANSWERED };

#define CHAN_BODY 4064
#define CHAN_QUEUE 256u		/* entries of the queue of messages without an answer */
#define CHAN_QUEUE_BODY 552
#define CHAN_QUEUE_LATE 8u	/* with so many messages untaken the process sends a wake-up anyway */

struct ipc_chan_msg {
	struct ipc_hdr hdr;
	uint32_t len;		/* bytes of the body, at most CHAN_BODY */
	uint64_t pad;
	uint8_t body[CHAN_BODY];
};

struct ipc_chan_item {
	struct ipc_hdr hdr;
	uint32_t len, pad;	/* len: bytes of the body, at most CHAN_QUEUE_BODY */
	uint8_t body[CHAN_QUEUE_BODY];
};

/* "process:" and "rused:" name the side that writes the member. Both write state. */
struct ipc_channel {
	uint32_t state;		/* enum ipc_chan_state */
	uint32_t pad1[15];
	uint32_t head;		/* process: position after the last queued message */
	uint32_t bell;		/* process: 1: it has sent a wake-up for the queue; rused clears it */
	uint32_t pad2[46];
	uint32_t watched;	/* rused: 1: it polls state and head, so it needs no wake-up */
	uint32_t tail;		/* rused: position of the next message to take */
	uint32_t pad3[958];
	struct ipc_chan_msg request, answer;
	struct ipc_chan_item queue[CHAN_QUEUE];
};

_Static_assert(sizeof(struct ipc_channel) == (3 + 36) * 4096, "whole pages");

/*
 * Sends a request and waits for its answer as ipc_call() does, through the channel if there is one. Returns 0 if rused
 * has answered; c->answer is then 0 or the -errno in the answer. A request that is malformed is not sent: the function
 * returns 0 with -EINVAL in c->answer. -ENOTCONN: there is no connection. Any other -errno: the connection has failed;
 * unlike ipc_call(), this function does not close it.
 */
int ipc_trip(struct ipc_conn *c, enum ipc_type type, const void *req, size_t len, const int *fds,
	     int nfds, void *reply, size_t *rsize, int *rfds, int *nrfds);
/*
 * Sends a request that has no answer: through the queue if it has room, else over the socket. rused handles it before
 * later requests of this process. Returns 0, -ENOTCONN if there is no connection, or -EINVAL if the request is
 * malformed. Any other -errno: the connection has failed; the function does not close it.
 */
int ipc_post(struct ipc_conn *c, enum ipc_type type, const void *req, size_t len);

/*
 * The functions up to ipc_channel_push() are for the process.
 * Asks rused for a channel; call once per connection. Returns 0, also if rused refuses (c->chan is then NULL), or -errno
 * as ipc_trip(). ipc_close() unmaps the channel; a forked child does not inherit it. clock() returns the time of the
 * host in ns; it serves to limit the polling for answers.
 */
int ipc_channel_open(struct ipc_conn *c, ns_t (*clock)(void));
/* For ipc_trip(): puts a request into the channel. False: send it over the socket, rused does not watch. */
bool ipc_channel_post(struct ipc_channel *ch, const struct ipc_hdr *hdr, const void *body,
		      size_t len);
/*
 * Polls the channel for the answer until the given time. True: the answer was in the channel. *len is the room for the
 * body on entry and its length on return; *rc is 0, -EMSGSIZE (body longer than the room) or -EPROTO (invalid). False: no
 * answer in time. *posted then says what has become of the request. True: rused had not taken it, and it is withdrawn;
 * the caller sends it over the socket. False: rused has it and will answer over the socket.
 */
bool ipc_channel_answer(struct ipc_channel *ch, ns_t (*clock)(void), ns_t until,
			struct ipc_hdr *hdr, void *body, size_t *len, int *rc, bool *posted);

/*
 * For ipc_post(): appends a message to the queue. *wake: send IPC_WAKE over the socket. It has no body and no answer. It
 * is needed if rused may sleep. It is also sent if a multiple of CHAN_QUEUE_LATE messages are untaken: rused may have been
 * killed while it watched, and then the send fails. False: the queue is full, or the message is too long.
 */
bool ipc_channel_push(struct ipc_channel *ch, const struct ipc_hdr *hdr, const void *body,
		      size_t len, bool *wake);

/*
 * This and the following functions are for rused.
 * Creates and maps a channel. Returns the descriptor of its memfd, or -errno.
 */
int ipc_channel_create(struct ipc_channel **ch);
void ipc_channel_unmap(struct ipc_channel *ch);
/*
 * Tells the process whether rused polls the channel. After a call with on = false, rused must check the channel once
 * more: the process may have put a request into it before it saw the change.
 */
void ipc_channel_watch(struct ipc_channel *ch, bool on);
bool ipc_channel_posted(const struct ipc_channel *ch);
/* True if the queue has messages. tail: rused's own position, since ch->tail is not trusted. */
bool ipc_channel_queued(const struct ipc_channel *ch, uint32_t tail);
/* Position after the last queued message. */
uint32_t ipc_channel_head(const struct ipc_channel *ch);
/* Call before the queue is read. For the first message that is queued after this call the process sends a wake-up again. */
void ipc_channel_heard(struct ipc_channel *ch);
/*
 * Copies the next queued message. body has room for CHAN_QUEUE_BODY bytes. Advances *tail. 0;
 * -EAGAIN: the queue is empty; -EPROTO: invalid.
 */
int ipc_channel_pop(struct ipc_channel *ch, uint32_t *tail, struct ipc_hdr *hdr, void *body,
		    size_t *len);
/*
 * Takes and copies the request. body has room for CHAN_BODY bytes. 0; -EAGAIN: there is none, or it
 * was taken back; -EPROTO: too long. The content is not checked.
 */
int ipc_channel_take(struct ipc_channel *ch, struct ipc_hdr *hdr, void *body, size_t *len);
/*
 * Writes an answer. False: send it over the socket, as it is too long or the process does not poll.
 */
bool ipc_channel_put(struct ipc_channel *ch, const struct ipc_hdr *hdr, const void *body,
		     size_t len);
/* The answer was sent over the socket: ends the polling of the process. */
void ipc_channel_sent(struct ipc_channel *ch);

#endif
