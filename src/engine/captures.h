/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Packets for `ruse capture`. The caller holds the engine lock. faults.h says what wrapping a link is. */
#ifndef RUSE_ENGINE_CAPTURES_H
#define RUSE_ENGINE_CAPTURES_H

#include "ipc/pages.h"
#include "link/link.h"

/*
 * Adapt to the captures listed in the host page (struct host_page, written by rused): wrap or unwrap links, create or
 * drop rings.
 */
void captures_refresh(const struct host_page *copy);
/*
 * Called after the process has connected to rused: copies *page and calls captures_refresh(). Does nothing if no
 * capture runs, so that no copy is made.
 */
void captures_attached(const struct host_page *page);
/* For link_host.created: wrap a new link if a capture runs. */
void captures_link(struct link *l);

#endif
