/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A readiness byte for poll(): the socket of a file holds one byte while the file's shared memory has something to
 * read. rused sends the byte, readers remove it.
 *
 * *shown is 1 if the byte is in the socket or about to be sent. rused sets *shown before it makes something readable.
 * If a reader clears *shown before rused has finished, rused sets it again afterwards. rused sends one byte for each
 * change of *shown from 0 to 1.
 *
 * A reader that finds nothing to read clears *shown. It must then remove one byte, which may still be on its way, so it
 * waits for the byte. Before it removes the byte it looks at the memory again. If there is something to read and *shown
 * is still 0, it sets *shown to 1 and leaves the byte in the socket. Otherwise it removes the byte: either there is nothing
 * to read, or rused has set *shown to 1 in the meantime and therefore sends a second byte.
 *
 * A reader that is killed between the two steps leaves its byte in the socket, which then stays readable. No other reader
 * may remove that byte: it cannot be told from the byte of a reader that lives, and without the latter a packet would be
 * there and no byte (tests/proto/readiness.py).
 */
#ifndef RUSE_IPC_BELL_H
#define RUSE_IPC_BELL_H

#include "base/util.h"

struct bell {
	uint32_t *shown;	/* in shared memory; both sides must expect any value */
	bool (*ready)(void *of);	/* true if there is something to read */
	void *of;
};

/*
 * Removes the byte from the socket fd if nothing is left to read. A reader calls this after it has taken something,
 * after something unread was withdrawn, and before it waits in poll() or recv(). If rused has announced the byte but not
 * sent it yet, the function waits for it for at most 2 s. Any number of threads and processes may call it at once.
 */
void bell_settle(const struct bell *b, int fd);
/*
 * For rused: sets *shown if it is 0. Returns true if it did. rused calls this twice, before and after it makes something
 * readable. After the second call it sends one byte for each call that returned true. Both return true if a reader
 * has cleared *shown between them; that reader removes one of the two bytes.
 */
bool bell_show(const struct bell *b);

#endif
