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
#include "wire/fault.h"

#define HOST_PAGE_MAGIC 0x72757365u
#define HOST_MAX_DEVS 32
#define HOST_MAX_GIDS 64	/* GIDs of one device that processes can use; the table has 1024 slots, the rest are empty */

struct host_gid {
	uint8_t raw[16];
	uint32_t ifindex;
	uint32_t pad;
};

#define HOST_MAX_PKEYS 128

/* What an InfiniBand port has and a RoCE port has not; all 0 there. */
struct host_ib {
	uint32_t host;		/* of the fabric, whose device it is: 1..; 0: none, a RoCE port */
	uint32_t reregister;	/* times that the SM has asked for it */
	uint16_t lid, sm_lid, cap_mask2, pad0;
	uint8_t lmc, sm_sl, max_mtu, vl_cap, init_reply, subnet_timeout;
	uint8_t hca_port, npkeys;	/* hca_port: its number on the HCA; here it is port 1 */
	uint16_t device_id, pad1;
	uint32_t vendor_id;
	uint8_t sys_image_guid[8];	/* network order */
	uint16_t pkey[HOST_MAX_PKEYS];
	char desc[68];
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
	uint32_t cap_mask;	/* PortInfo:CapabilityMask */
	char ndev[IFNAMSIZ];
	uint32_t ngids;		/* index of the last used GID + 1 */
	struct host_gid gid[HOST_MAX_GIDS];
	struct host_ib ib;
};

#define HOST_MAX_PATHS 4096	/* ways through a fabric that are in use */
#define HOST_MAX_CAPTURES 4

/* Somebody captures: ipc_capture as rused has checked it. */
struct host_capture {
	uint32_t id;		/* 0 = free; unique while rused lives */
	uint32_t snaplen;
	char sock[32];
};

struct host_page {
	uint32_t magic;
	uint32_t version;
	uint32_t seq;		/* odd while rused writes; readers copy and check again */
	uint32_t generation;	/* of rused: random, changes with every start */
	struct host_dev dev[HOST_MAX_DEVS];
	struct host_capture capture[HOST_MAX_CAPTURES];
	struct fault_table fault;
	/* Would a packet get through? By ways of a fabric; a word of its own each, not under seq. */
	uint8_t path_ok[HOST_MAX_PATHS];
	uint32_t mcast_changes;	/* another number whenever an answer to IPC_MEMBERS may be another */
};

/*
 * Index of a P_Key in an InfiniBand port's table, by its 15 bits, a full membership before a
 * limited one (ib_find_cached_pkey()): -ENOENT.
 */
int host_ib_find_pkey(const struct host_ib *ib, uint16_t pkey);
/* The interface of an entry of the GID table; on InfiniBand the HCA's port stands for it. */
static inline uint32_t host_gid_if(const struct host_dev *dev, uint32_t index)
{
	return dev->ib.host ? dev->ib.hca_port : dev->gid[index].ifindex;
}
/* Copies the page out under its sequence. 0, or -EPROTO when it never settles or is not one. */
int host_page_read(const struct host_page *page, struct host_page *copy);

#define PROC_PAGE_MAGIC 0x70726f63u
#define PROC_MAX_LINKS 64
#define PROC_MAX_CTX 32
#define PROC_MAX_DEVS HOST_MAX_DEVS
#define PROC_COUNTERS 24
#define PROC_MAX_PATHS 256

/* Names as ruse status has them: abi of its JSON. */
enum proc_wire {
	WIRE_TX_PACKETS, WIRE_TX_BYTES, WIRE_RX_PACKETS, WIRE_RX_BYTES,
	WIRE_BAD_ICRC,		/* dropped: damaged, or not RoCEv2 */
	WIRE_MALFORMED,		/* dropped: no packet that anybody could take */
	WIRE_FOREIGN,		/* for another process, and handed over to it */
	WIRE_LOST_TX,		/* that the kernel would not send */
	WIRE_CE,		/* that had met congestion */
	WIRE_CNP_SENT, WIRE_CNP_RCVD,
	WIRE_OTHER_ID,		/* with an IPv4 id that only their ICRC tells */
	PROC_WIRES
};

/* What ruse status shows of a process; plain counters, no sequence needed. */
struct proc_page {
	uint32_t magic;
	uint32_t version;
	struct proc_ctx {
		uint32_t dev_index;	/* 0 = slot free */
		uint32_t npd, nmr, ncq, nqp, nah;
	} ctx[PROC_MAX_CTX];
	/*
	 * What the process's traffic on a device has counted, by enum rdev_counter; only ever more.
	 * What it places directly it counts for both ends: also for a device that only its peer uses.
	 */
	struct proc_dev {
		uint32_t dev_index;	/* 0 = slot free */
		uint32_t pad;
		uint64_t counter[PROC_COUNTERS];
	} dev[PROC_MAX_DEVS];
	/* Of the wire, by enum proc_wire; all 0 where there is none. */
	uint64_t wire[PROC_WIRES];
	struct proc_link {
		uint32_t kind;		/* 0 = free, 1 loop, 2 shm, 3 udp */
		uint32_t peer_proc;	/* number of the process, as rused gave it */
		uint32_t flags;		/* 1 dead, 2 cross-memory, 4 direct placement */
		uint32_t pad;
		uint8_t gid[16];	/* udp: the peer's address; all 0: datagrams to anybody */
		uint64_t tx_segs, tx_bytes, rx_segs, rx_bytes;
	} link[PROC_MAX_LINKS];
	/* What it has sent along ways of a fabric; packets is written after words. */
	struct proc_path {
		uint32_t id, pad;	/* index of host_page.path_ok, + 1; 0: free */
		uint64_t packets, words;	/* 4 bytes each, as PortXmitData */
	} path[PROC_MAX_PATHS];
	struct fault_count fault[FAULT_MAX_RULES];	/* by rule of the host page */
};

#endif
