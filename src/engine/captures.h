/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Packets for `ruse capture`. Under the engine's lock. */
#ifndef RUSE_ENGINE_CAPTURES_H
#define RUSE_ENGINE_CAPTURES_H

#include "ipc/pages.h"
#include "link/link.h"

/* Who captures now: links are wrapped or unwrapped, rings made or given up. */
void captures_refresh(const struct host_page *copy);
/* The same after an attach, cheaply where nobody captures: page is the shared one. */
void captures_attached(const struct host_page *page);
/* link_host.created */
void captures_link(struct link *l);

#endif
