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
#include "wire/fault.h"

#define HOST_PAGE_MAGIC 0x72757365u
#define HOST_MAX_DEVS 32
#define HOST_MAX_GIDS 64	/* usable GIDs of a device; the other table entries are empty */

struct host_gid {
	uint8_t raw[16];
	uint32_t ifindex;
	uint32_t pad;
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
	uint8_t active_width, active_speed, pad1[2];
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

struct host_page {
	uint32_t magic;
	uint32_t version;
	uint32_t seq;		/* odd while rused writes; a reader's copy is valid if seq is even and the same afterwards */
	uint32_t generation;	/* random, differs for every rused */
	struct host_dev dev[HOST_MAX_DEVS];
	struct host_capture capture[HOST_MAX_CAPTURES];
	struct fault_table fault;
	/* By path number (ipc_path.id): 1 if a packet on this path would arrive. Not protected by seq. */
	uint8_t path_ok[HOST_MAX_PATHS];
	uint32_t stuck_asked;	/* number of the last question what processes wait for (ipc/stuck.h) */
	uint32_t mcast_changes;	/* changes whenever an answer to IPC_MEMBERS may change */
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

#define PROC_PAGE_MAGIC 0x70726f63u
#define PROC_MAX_LINKS 64
#define PROC_MAX_CTX 32
#define PROC_MAX_DEVS HOST_MAX_DEVS
#define PROC_COUNTERS 24
#define PROC_MAX_PATHS 256

/* Counters of packets that a process sends and receives over UDP (RoCEv2); `ruse status` prints their names. */
enum proc_wire {
	WIRE_TX_PACKETS, WIRE_TX_BYTES, WIRE_RX_PACKETS, WIRE_RX_BYTES,
	WIRE_BAD_ICRC,		/* dropped: bad ICRC, or not RoCEv2 */
	WIRE_MALFORMED,		/* dropped: malformed */
	WIRE_FOREIGN,		/* for another process, and passed on to it */
	WIRE_LOST_TX,		/* not sent: refused by the kernel */
	WIRE_CE,		/* received with ECN "congestion experienced" */
	WIRE_CNP_SENT, WIRE_CNP_RCVD,
	WIRE_OTHER_ID,		/* received over IPv4, ICRC does not fit the id and DF bit that ruse sends; others are tried */
	PROC_WIRES
};

/* Statistics of a process for `ruse status`. Plain counters without a sequence count. */
struct proc_page {
	uint32_t magic;
	uint32_t version;
	struct proc_ctx {
		uint32_t dev_index;	/* 0 = slot free */
		uint32_t npd, nmr, ncq, nqp, nah;
	} ctx[PROC_MAX_CTX];
	/*
	 * Traffic counters by device and enum rdev_counter, monotonic. A process that executes a WRITE or READ in the
	 * peer's memory itself (direct placement) counts it for both ends, so a device of the peer may be listed.
	 */
	struct proc_dev {
		uint32_t dev_index;	/* 0 = slot free */
		uint32_t pad;
		uint64_t counter[PROC_COUNTERS];
	} dev[PROC_MAX_DEVS];
	/* By enum proc_wire; all 0 if the process does not use UDP. */
	uint64_t wire[PROC_WIRES];
	struct proc_link {
		uint32_t kind;		/* 0 = free, 1 loop, 2 shm, 3 udp */
		uint32_t peer_proc;	/* number of the process given by rused */
		uint32_t flags;		/* 1: dead; 2: copies by process_vm_readv(); 4: link_ops.direct() is possible */
		uint32_t pad;
		uint8_t gid[16];	/* udp: address of the peer; all 0: the link of the UD QPs, to any peer */
		uint64_t tx_segs, tx_bytes, rx_segs, rx_bytes;
	} link[PROC_MAX_LINKS];
	/* Traffic sent on fabric paths. packets is written last: rused counts a path when packets has changed. */
	struct proc_path {
		uint32_t id, pad;	/* id: index into host_page.path_ok, + 1; 0: free */
		uint64_t packets, words;	/* words of 4 bytes, like PortXmitData */
	} path[PROC_MAX_PATHS];
	struct fault_count fault[FAULT_MAX_RULES];	/* one for each rule in host_page.fault */
};

#endif
