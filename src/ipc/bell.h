/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A readiness byte for poll(): the socket of a file holds one byte while the file's shared memory
 * has something to read. rused sends the byte, readers remove it.
 *
 * *shown is 1 if the byte is in the socket or about to be sent. rused sets it before it makes
 * something readable, and again afterwards if a reader has cleared it in between. For each change
 * from 0 to 1 it sends one byte. A reader that finds nothing to read clears *shown and then owns
 * one byte: it waits for the byte, looks at the memory again, and either sets *shown back, if there
 * is something to read and rused has not set it, or removes the byte. Until then the socket may hold
 * a second byte, for which rused has set *shown meanwhile.
 */
#ifndef RUSE_IPC_BELL_H
#define RUSE_IPC_BELL_H

#include "base/util.h"

struct bell {
	uint32_t *shown;	/* in shared memory; each side treats it as hostile */
	bool (*ready)(void *of);	/* true if there is something to read */
	void *of;
};

/*
 * Reader, after it has taken something or something was withdrawn, and before it waits: removes the
 * byte from the socket fd if nothing is left to read. Any number of threads and processes may call
 * it. Waits for a byte on its way for at most 2 s.
 */
void bell_settle(const struct bell *b, int fd);
/*
 * Removes a byte that was left behind by a reader killed between clearing *shown and removing it.
 */
void bell_orphan(const struct bell *b, int fd);
/*
 * rused: call before and after something is made readable. True: *shown was set, so one byte must be
 * sent, but only after the second call. If both calls return true, send two bytes: a reader has
 * cleared *shown between the calls and removes one of them.
 */
bool bell_show(const struct bell *b);

#endif
