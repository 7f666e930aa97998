/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pages shared through memfds: the host page (rused writes, every process
 * reads) and the process page (a process writes, rused reads). Sizes fixed,
 * sealed against shrinking, read like any stranger's memory.
 */
#ifndef RUSE_IPC_PAGES_H
#define RUSE_IPC_PAGES_H

#include <net/if.h>
#include "base/util.h"

#define HOST_PAGE_MAGIC 0x72757365u
#define HOST_MAX_DEVS 32
#define HOST_MAX_GIDS 64	/* GIDs of one device that processes can use; the table has 1024 slots, the rest are empty */

struct host_gid {
	uint8_t raw[16];
	uint32_t ifindex;
	uint32_t pad;
};

struct host_dev {
	uint32_t in_use;
	uint32_t index;		/* DEV_INDEX, never reused while rused lives */
	char name[64];
	uint32_t minor;		/* of uverbsN: 192 + N; major 231 */
	uint8_t state, phys_state, active_mtu, pad0;
	uint8_t active_width, active_speed, pad1[2];
	uint8_t node_guid[8];	/* network order */
	uint32_t ifindex;
	char ndev[IFNAMSIZ];
	uint32_t ngids;		/* index of the last used GID + 1 */
	struct host_gid gid[HOST_MAX_GIDS];
};

struct host_page {
	uint32_t magic;
	uint32_t version;
	uint32_t seq;		/* odd while rused writes; readers copy and check again */
	uint32_t generation;	/* of rused: random, changes with every start */
	struct host_dev dev[HOST_MAX_DEVS];
};

/* Copies the page out under its sequence. 0, or -EPROTO when it never settles or is not one. */
int host_page_read(const struct host_page *page, struct host_page *copy);

#define PROC_PAGE_MAGIC 0x70726f63u
#define PROC_MAX_LINKS 64
#define PROC_MAX_CTX 32
#define PROC_MAX_DEVS HOST_MAX_DEVS
#define PROC_COUNTERS 24

/* What ruse status shows of a process; plain counters, no sequence needed. */
struct proc_page {
	uint32_t magic;
	uint32_t version;
	struct proc_ctx {
		uint32_t dev_index;	/* 0 = slot free */
		uint32_t npd, nmr, ncq, nqp, nah;
	} ctx[PROC_MAX_CTX];
	/* What the process's traffic on a device has counted, by enum rdev_counter; only ever more. */
	struct proc_dev {
		uint32_t dev_index;	/* 0 = slot free */
		uint32_t pad;
		uint64_t counter[PROC_COUNTERS];
	} dev[PROC_MAX_DEVS];
	struct proc_link {
		uint32_t kind;		/* 0 = free, 1 loop, 2 shm */
		uint32_t peer_proc;	/* number of the process, as rused gave it */
		uint32_t flags;		/* 1 dead, 2 cross-memory, 4 direct placement */
		uint32_t pad;
		uint64_t tx_segs, tx_bytes, rx_segs, rx_bytes;
	} link[PROC_MAX_LINKS];
};

#endif
