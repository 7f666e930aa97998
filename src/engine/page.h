/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The host page, memory that rused writes: devices, fault rules, captures, events. The caller holds the engine lock. */
#ifndef RUSE_ENGINE_PAGE_H
#define RUSE_ENGINE_PAGE_H

#include "ipc/pages.h"

/* A consistent copy, valid until the next call. NULL: rused does not leave the page consistent. */
const struct host_page *host_page_copy(void);
/* For the progress thread: adapt to what has changed in the page, and tell rused so (proc_page.applied). */
void page_look(void);
/* For the progress thread: page_look() if the page has changed. */
void page_look_changed(void);
/*
 * Call page_looks(true) before the progress thread starts and before what starts it looks at the page: from then on rused
 * waits for this process. false: the thread does not look any more.
 */
void page_looks(bool thread);

#endif
