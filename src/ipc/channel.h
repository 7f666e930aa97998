/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Channel: memory shared by a process and rused, in addition to their socket. A request and its answer cost no system
 * call while both sides poll the channel. The request IPC_CHANNEL, which has no body, creates it. The reply has no body
 * and carries one memfd, which contains a struct ipc_channel and is sealed against shrinking. -EPERM: the client is a
 * program without devices, such as `ruse`. -EBUSY: the connection has a channel already. A process that finds the queue
 * full sends the request for this answer, as rused handles all queued messages first.
 *
 * `state` says which side acts next. If rused polls the channel (`wake` is not set), the process writes its request into
 * it, sets ASKED and polls for the answer for TUNE_ANSWER; else it sends the request over the socket and sleeps. If the
 * process still polls, rused writes the answer into the channel; else it sends the answer over the socket. A side that stops
 * waiting changes the state with a compare-and-swap before it uses the socket, so no request runs twice and no answer is
 * lost. Long messages, descriptors and hang-ups use the socket.
 *
 *	FREE to ASKED		process: has written the request here
 *	ASKED to AWAITED	rused: takes the request
 *	AWAITED to ANSWERED	rused: has written the answer here
 *	ANSWERED to FREE	process: has read the answer
 *	ASKED to FREE		process: stops polling, or rused has stopped watching: sends the request over the socket
 *	AWAITED to FREE		process: stops polling; rused: has sent the answer over the socket
 */
#ifndef RUSE_IPC_CHANNEL_H
#define RUSE_IPC_CHANNEL_H

#include "base/tuning.h"
#include "ipc/ipc.h"
#include "shared/bell.h"

enum ipc_chan_state { CHAN_FREE, CHAN_ASKED, CHAN_AWAITED, CHAN_ANSWERED };

#define CHAN_BODY 4064
#define CHAN_QUEUE (64u << 10)	/* bytes of the queue of messages without an answer */
#define CHAN_QUEUE_BODY 552
#define CHAN_QUEUE_LATE 4096u	/* with so many bytes untaken the process sends a wake-up anyway */

struct ipc_chan_msg {
	struct ipc_hdr hdr;
	uint32_t len;		/* bytes of the body, at most CHAN_BODY */
	uint64_t pad;
	uint8_t body[CHAN_BODY];
};

struct ipc_channel {
	_Alignas(64) uint32_t state;	/* enum ipc_chan_state; both sides write it */
	_Alignas(64) struct bell wake;	/* of rused; not set while it polls state and queue */
	struct shared_ring queue;	/* from the process to rused */
	_Alignas(4096) struct ipc_chan_msg request;
	struct ipc_chan_msg answer;
	_Alignas(8) uint8_t data[CHAN_QUEUE];
};

_Static_assert(sizeof(struct ipc_channel) == 3 * 4096 + CHAN_QUEUE, "whole pages");

/* One side's end of the queue. rused takes messages with shared_ring_get(). */
static inline struct shared_ring_end ipc_channel_queue(struct ipc_channel *ch)
{
	return (struct shared_ring_end){ .ring = &ch->queue, .data = ch->data, .size = CHAN_QUEUE,
					 .head = sizeof(struct ipc_hdr) };
}

/*
 * The functions up to ipc_channel_push() are for the process.
 * Asks rused for a channel; call once per connection. Returns 0, also if rused refuses (c->chan is then NULL), or -errno
 * if ipc_call() fails. ipc_close() unmaps the channel; a forked child does not inherit it. clock() returns the time of the
 * host in ns; it serves to limit the polling for answers.
 */
int ipc_channel_open(struct ipc_conn *c, ns_t (*clock)(void));
/* For ipc_call(): puts a request into the channel. False: send it over the socket, rused does not watch. */
bool ipc_channel_ask(struct ipc_channel *ch, const struct ipc_hdr *hdr, const void *body,
		     size_t len);
/*
 * Polls the channel for the answer until the given time. True: the answer was in the channel. *len is the room for the
 * body on entry and its length on return; *rc is 0, -EMSGSIZE (body longer than the room) or -EPROTO (invalid). False: no
 * answer in time. *withdrawn then says what has become of the request. True: rused had not taken it, and it is withdrawn;
 * the caller sends it over the socket. False: rused has it and will answer over the socket.
 */
bool ipc_channel_answer(struct ipc_channel *ch, ns_t (*clock)(void), ns_t until,
			struct ipc_hdr *hdr, void *body, size_t *len, int *rc, bool *withdrawn);

/*
 * For ipc_post(): appends a message to the queue. *wake: send IPC_WAKE over the socket. It has no body and no answer. It
 * is needed if rused may sleep. It is also sent when the bytes that are untaken pass a multiple of CHAN_QUEUE_LATE: rused
 * may have been killed while it polled, and then the send fails. False: the queue is full, or the message is too long.
 */
bool ipc_channel_push(struct ipc_channel *ch, struct shared_ring_end *queue,
		      const struct ipc_hdr *hdr, const void *body, size_t len, bool *wake);

/*
 * This and the following functions are for rused.
 * Creates and maps a channel. Returns the descriptor of its memfd, or -errno.
 */
int ipc_channel_create(struct ipc_channel **ch);
void ipc_channel_unmap(struct ipc_channel *ch);
/*
 * Tells the process whether rused polls the channel. After a call with on = false, rused must check the channel once
 * more (shared/bell.h).
 */
void ipc_channel_watch(struct ipc_channel *ch, bool on);
bool ipc_channel_asked(const struct ipc_channel *ch);
/* True if the queue has messages. */
static inline bool ipc_channel_queued(const struct shared_ring_end *queue)
{
	return shared_ring_there(queue) != queue->at;
}

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
