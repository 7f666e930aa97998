/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Packets for `ruse capture`. The caller holds the engine lock. faults.h says what wrapping a link is. */
#ifndef RUSE_ENGINE_CAPTURES_H
#define RUSE_ENGINE_CAPTURES_H

#include "ipc/capring.h"
#include "ipc/pages.h"
#include "link/link.h"

struct capturer {
	uint32_t id;		/* 0: free */
	uint32_t snaplen;
	int fd;
	struct capring_side ring;
};

/*
 * In struct engine. A forked child starts with an empty list: the sockets are closed, and the rings,
 * which belong to the parent, are not mapped in the child.
 */
struct captures {
	uint32_t n;		/* capturers in use */
	struct capturer capturer[HOST_MAX_CAPTURES];
};

/*
 * Adapt to the captures listed in the host page (struct host_page, written by rused): wrap or unwrap links, create or
 * drop rings.
 */
void captures_refresh(const struct host_page *copy);
/*
 * Called after the process has connected to rused: copies the host page and calls captures_refresh(). Does nothing if no
 * capture runs, so that no copy is made.
 */
void captures_attached(void);
/* For link_user_ops.created: wrap a new link if a capture runs. */
void captures_link(struct link *l);

#endif
