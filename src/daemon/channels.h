/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory that rused shares with a process beside the socket (ipc/channel.h). */
#ifndef RUSE_DAEMON_CHANNELS_H
#define RUSE_DAEMON_CHANNELS_H

#include "base/list.h"
#include "ipc/channel.h"

struct client;
struct rused;

struct channel {
	struct ipc_channel *map;	/* NULL: none */
	struct list_head node;		/* rused.channels */
	ns_t used;			/* when the client said something, by whichever way */
	uint32_t tail;			/* of its queue */
	bool watched;
};

void channels_init(struct rused *r);
/* Makes the client's: the descriptor to give to it, or -errno; -EBUSY: it has one. */
int channel_open(struct client *c);
/* Twice is harmless. */
void channel_close(struct client *c);
/* What it has posted there until now: comes before whatever else it says. May kill it. */
void channel_drain(struct client *c);
/* The same of all clients, before something is asked that one may have changed. True: some had. */
bool channels_drain(struct rused *r);
/* The client has said something: it is looked at for more. */
void channel_used(struct client *c);

#endif
