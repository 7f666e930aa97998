/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a program finds without asking, kept up to date; all of it does nothing where nothing is shared. */
#ifndef RUSE_ABI_UCMA_SHARE_H
#define RUSE_ABI_UCMA_SHARE_H

#include <stdbool.h>

struct ucma_context;
struct ucma_event;
struct ucma_file;

/* Takes an event out of the ring again. False: somebody has read it. */
bool ucma_withdraw(struct ucma_file *f, struct ucma_event *ev);
/* Sees to what has been read there. */
void ucma_reap(struct ucma_file *f);
void ucma_dirty(struct ucma_context *ctx);
/* The same, but what QUERY tells of it has not changed. */
void ucma_dirty_conn(struct ucma_context *ctx);
void ucma_file_dirty(struct ucma_file *f);
/* A new id has a card; it has none any more. */
void ucma_card_open(struct ucma_context *ctx);
void ucma_card_close(struct ucma_context *ctx);
/* It is another file's now. */
void ucma_moved(struct ucma_context *ctx);

#endif
