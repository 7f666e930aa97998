/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Channels: shared memory through which a process and rused exchange messages, in addition to the
 * process's socket (ipc/channel.h).
 */
#ifndef RUSE_DAEMON_CHANNELS_H
#define RUSE_DAEMON_CHANNELS_H

#include "base/list.h"
#include "ipc/channel.h"

struct client;
struct loop;
struct processes;
struct cmfiles;

struct channels {
	struct loop *loop;
	struct processes *processes;
	struct cmfiles *ucma;
	struct list_head list;		/* clients being polled, by channel.node */
};

struct channel {
	struct channels *all;
	struct ipc_channel *map;	/* NULL: none */
	struct list_head node;		/* channels.list */
	struct shared_ring_end queue;	/* of map */
	bool watched;
};

/* Has the loop poll the channels. */
void channels_init(struct channels *chs, struct loop *l, struct processes *processes,
		   struct cmfiles *ucma);
/* Creates the client's channel. Returns the descriptor for it, or -errno; -EBUSY: it has one. */
int channel_open(struct channels *chs, struct client *c);
/* No effect if it is closed already. */
void channel_close(struct client *c);
/*
 * Handles the messages that the client has queued in its channel. Call before handling any other
 * message of the client. May kill it.
 */
void channel_drain(struct client *c);
/*
 * channel_drain() for all clients. Call before reading a state that their messages may change. True:
 * there were messages.
 */
bool channels_drain(struct channels *chs);
/* Call after a message of the client: adds its channel to those that rused polls. */
void channel_used(struct client *c);

#endif
