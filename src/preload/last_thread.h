/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RUSE_PRELOAD_LAST_THREAD_H
#define RUSE_PRELOAD_LAST_THREAD_H

/* The progress thread has begun. */
void last_thread_progress(void);
/* In a child of fork(): its only thread is the main one, and there is no progress thread. */
void last_thread_forked(void);

#endif
