/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Updates of the memory shared with programs. No effect on files without shared memory. */
#ifndef RUSE_ABI_UCMA_SHARE_H
#define RUSE_ABI_UCMA_SHARE_H

#include <stdbool.h>

struct ucma_context;
struct ucma_event;
struct ucma_file;

/* Removes an event from the ring, if it is there. False: the program has already read it. */
bool ucma_withdraw(struct ucma_file *f, struct ucma_event *ev);
/* Counts and frees the events that programs have read from the ring. */
void ucma_reap(struct ucma_file *f);
/* Marks the card of a changed id for ucma_flush(). */
void ucma_dirty(struct ucma_context *ctx);
/* The same for a change of the connection's state only: the answers of QUERY (addresses, paths) stay the same. */
void ucma_dirty_conn(struct ucma_context *ctx);
/* Marks the event ring of a file for ucma_flush(). */
void ucma_file_dirty(struct ucma_file *f);
/* Sets up the card of an id that was created. */
void ucma_card_open(struct ucma_context *ctx);
/* Clears the card of an id that is about to be freed. */
void ucma_card_close(struct ucma_context *ctx);
/* Updates the card of an id that has moved to another file (MIGRATE_ID). */
void ucma_moved(struct ucma_context *ctx);

#endif
