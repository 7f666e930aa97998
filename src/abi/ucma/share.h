/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Updates of the memory shared with programs. No effect on files without shared memory. */
#ifndef RUSE_ABI_UCMA_SHARE_H
#define RUSE_ABI_UCMA_SHARE_H

#include <stdbool.h>

struct ucma_context;
struct ucma_event;
struct ucma_file;

/* Removes an event from the ring. False: it was read. */
bool ucma_withdraw(struct ucma_file *f, struct ucma_event *ev);
/* Counts and frees the events that programs have read from the ring. */
void ucma_reap(struct ucma_file *f);
void ucma_dirty(struct ucma_context *ctx);
/* Like ucma_dirty(), if the answers of QUERY are unchanged. */
void ucma_dirty_conn(struct ucma_context *ctx);
void ucma_file_dirty(struct ucma_file *f);
/* An id was created; it is about to be freed. */
void ucma_card_open(struct ucma_context *ctx);
void ucma_card_close(struct ucma_context *ctx);
/* The id has moved to another file. */
void ucma_moved(struct ucma_context *ctx);

#endif
