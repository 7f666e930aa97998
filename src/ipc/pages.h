/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pages shared through memfds: the host page (written by rused, read by every process) and the
 * process page (written by a process, read by rused). Fixed sizes, sealed against shrinking;
 * readers treat the content as hostile.
 */
#ifndef RUSE_IPC_PAGES_H
#define RUSE_IPC_PAGES_H

#include <net/if.h>
#include "base/util.h"
#include "ipc/proc_page.h"
#include "shared/seqlock.h"
#include "wire/fault.h"

#define HOST_PAGE_MAGIC 0x72757365u
#define HOST_MAX_DEVS PROC_MAX_DEVS
#define HOST_MAX_GIDS 64	/* usable GIDs of a device; the other table entries are empty */

struct host_gid {
	uint8_t raw[16];
	uint32_t ifindex;
	uint32_t v1;		/* 1: RoCEv1; 0: RoCEv2, or an InfiniBand port */
};

#define HOST_MAX_PKEYS 128

/* Attributes of an InfiniBand port; all 0 on a RoCE port. */
struct host_ib {
	uint32_t host;		/* number of the fabric host, from 1; 0: a RoCE port */
	uint32_t reregister;	/* count of the SM's client reregister requests */
	uint16_t lid, sm_lid, cap_mask2, pad0;
	uint8_t lmc, sm_sl, max_mtu, vl_cap, init_reply, subnet_timeout;
	uint8_t hca_port, npkeys;	/* hca_port: port number on the HCA; as the device's only port it has number 1 */
	uint16_t device_id, pad1;
	uint32_t vendor_id;
	uint8_t sys_image_guid[8];	/* network order */
	uint16_t pkey[HOST_MAX_PKEYS];
	char desc[68];
};

struct host_dev {
	uint32_t in_use;
	uint32_t index;		/* device index, never reused while rused lives */
	char name[64];
	uint32_t minor;		/* minor device number of uverbsN, 192 + N; the major number is 231 */
	uint8_t state, phys_state, active_mtu, pad0;
	uint8_t active_width, active_speed;
	uint16_t gid_len;	/* entries of the GID table; 0 on InfiniBand ports: DEV_IB_GID_TBL */
	uint32_t downs;		/* number of times that the port has left ACTIVE; host_publish() counts */
	uint8_t node_guid[8];	/* network order */
	uint32_t ifindex;
	uint32_t cap_mask;	/* PortInfo:CapabilityMask */
	char ndev[IFNAMSIZ];
	uint32_t ngids;		/* index of the last used GID + 1 */
	struct host_gid gid[HOST_MAX_GIDS];
	struct host_ib ib;
};

#define HOST_MAX_PATHS 4096	/* paths in use through a simulated InfiniBand fabric */
#define HOST_MAX_CAPTURES 4

/* A running capture: what a valid ipc_capture has asked for. */
struct host_capture {
	uint32_t id;		/* 0 = free; unique while rused lives */
	uint32_t snaplen;
	char sock[32];
};

/* An event that processes raise (`ruse fault event`); they answer in proc_page.event. */
struct host_event {
	uint32_t number;	/* from 1; it is in entry number % PROC_EVENTS */
	uint32_t type;		/* enum ib_event_type */
	uint32_t dev;		/* DEV_INDEX; 0: of every device */
	uint32_t proc;		/* in this process; 0: in every process */
	uint32_t object;	/* QP, SRQ: its number; CQ: index of its record (ipc/res.h) + 1; 0: every one */
};

struct host_page {
	uint32_t magic;
	uint32_t version;
	struct seqlock lock;
	uint32_t generation;	/* random, not 0, differs for every rused */
	uint64_t cap_flags;	/* device_cap_flags of all devices, as in core/like.h */
	struct host_dev dev[HOST_MAX_DEVS];
	struct host_capture capture[HOST_MAX_CAPTURES];
	struct fault_table fault;
	/* By path number (ipc_path.id): 1 if a packet on this path would arrive. Not protected by the lock. */
	uint8_t path_ok[HOST_MAX_PATHS];
	uint32_t stuck_asked;	/* number of the last question what processes wait for (ipc/stuck.h) */
	uint32_t mcast_changes;	/* changes whenever an answer to IPC_MEMBERS may change */
	uint32_t events;	/* number of the last event */
	struct host_event event[PROC_EVENTS];
	/* Incremented after each change of the above of which rused notifies. A process answers in proc_page.applied. */
	uint32_t changes;
};

/*
 * Index of the entry of an InfiniBand port's P_Key table with the same low 15 bits as pkey; -ENOENT: none. An entry with
 * full membership is preferred to one with limited membership, as in the kernel's ib_find_cached_pkey().
 */
int host_ib_find_pkey(const struct host_ib *ib, uint16_t pkey);
/* Interface index of a GID table entry; on InfiniBand the HCA's port number instead. */
static inline uint32_t host_gid_if(const struct host_dev *dev, uint32_t index)
{
	return dev->ib.host ? dev->ib.hca_port : dev->gid[index].ifindex;
}
/* Copies the host page consistently. 0, or -EPROTO: the content is invalid, or a write to the page never ends. */
int host_page_read(const struct host_page *page, struct host_page *copy);

#endif
