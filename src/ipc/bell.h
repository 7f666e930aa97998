/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a file's socket tells poll() that there is something to be read in memory: a byte is in it
 * while there is. rused puts it there, whoever reads takes it out.
 *
 * *shown says that there is a byte, or will be: rused sets it before it makes something readable,
 * and once more if somebody has withdrawn it meanwhile, and then sends a byte for each time that it
 * has set it. A reader that finds nothing withdraws it, and now a byte is his to take out: he waits
 * until it is there and looks again, and if there is something he puts *shown back instead, unless
 * rused has.
 */
#ifndef RUSE_IPC_BELL_H
#define RUSE_IPC_BELL_H

#include "base/util.h"

struct bell {
	uint32_t *shown;	/* in memory that both share; either takes it as hostile */
	bool (*ready)(void *of);	/* is there something to be read? */
	void *of;
};

/*
 * After something has been read or has vanished, and before waiting: the byte in the socket fd
 * goes with the last. Any number of threads and processes.
 */
void bell_settle(const struct bell *b, int fd);
/* Takes a byte that nobody answers for: its reader was killed in the middle. */
void bell_orphan(const struct bell *b, int fd);
/* rused, before something is made readable, and after it: a byte is to be sent, when both are done. */
bool bell_show(const struct bell *b);

#endif
