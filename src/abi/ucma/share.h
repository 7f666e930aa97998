/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Updates of the memory shared with programs (cmshare/ucma_shm.h): each file has a ring of events, each id a record (struct
 * cmshare_rec) with its current state. No effect on files and ids without shared memory.
 */
#ifndef RUSE_ABI_UCMA_SHARE_H
#define RUSE_ABI_UCMA_SHARE_H

#include <stdbool.h>

struct ucma_context;
struct ucma_event;
struct ucma_file;

/*
 * Removes an unread event from the ring. True: it was removed, or it was not in the ring. False: it is
 * too late, since a program has read the event, or the event has been withdrawn before.
 */
bool ucma_withdraw(struct ucma_file *f, struct ucma_event *ev);
/* Counts and frees the events that programs have read from the ring. */
void ucma_reap(struct ucma_file *f);
/* Marks a changed id, so that ucma_flush() writes its record (struct cmshare_rec). */
void ucma_dirty(struct ucma_context *ctx);
/* The same if only the connection's state has changed: addresses and paths in the id's record stay valid. */
void ucma_dirty_conn(struct ucma_context *ctx);
/* Marks the event ring of a file for ucma_flush(). */
void ucma_file_dirty(struct ucma_file *f);
/* Sets up the record (struct cmshare_rec) of an id that was created. */
void ucma_rec_open(struct ucma_context *ctx);
/* Clears the record (struct cmshare_rec) of an id that is about to be freed. */
void ucma_rec_close(struct ucma_context *ctx);
/* Updates the record (struct cmshare_rec) of an id that has moved to another file (MIGRATE_ID). */
void ucma_moved(struct ucma_context *ctx);

#endif
