/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The process page (ipc/pages.h): written by a process, read by rused. */
#ifndef RUSE_IPC_PROC_PAGE_H
#define RUSE_IPC_PROC_PAGE_H

#include "base/util.h"
#include "wire/fault.h"

#define PROC_PAGE_MAGIC 0x70726f63u
#define PROC_MAX_LINKS 64
#define PROC_MAX_CTX 32
#define PROC_MAX_DEVS 32
#define PROC_COUNTERS 109
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

/* Index of proc_life.qps. */
enum proc_qp_type { PROC_QP_RC, PROC_QP_UC, PROC_QP_UD, PROC_QP_TYPES };

#define PROC_EVENTS 16

/* Why an object could not raise an event of `ruse fault event`. The largest is told. */
enum proc_refusal {
	PROC_RAISED,
	PROC_NO_OBJECT,		/* the process has none of this kind */
	PROC_OTHER_LINK,	/* an event of InfiniBand ports, and the port is RoCE */
	PROC_QP_STATE,		/* no QP is in a state in which it raises the event */
	PROC_QP_TYPE,		/* only RC QPs raise it; COMM_EST: not UD QPs */
	PROC_QP_SRQ,		/* only a QP with an SRQ raises it */
	PROC_IS_BROKEN,		/* the CQ or SRQ has raised it before, which it does once */
	PROC_NOT_ARMED,		/* the SRQ has no limit */
	PROC_REFUSALS
};

/* Statistics of a process for `ruse status`. Plain counters without a sequence count. */
struct proc_page {
	uint32_t magic;
	uint32_t version;
	struct proc_ctx {
		uint32_t dev_index;	/* 0 = slot free */
		uint32_t npd, nmr, ncq, nqp, nah, nsrq, nmw;
	} ctx[PROC_MAX_CTX];
	/* What the process has made since it has started. */
	struct proc_life {
		uint64_t contexts;	/* uverbs contexts opened */
		uint64_t qps[PROC_QP_TYPES];	/* QPs created */
		uint64_t connections;	/* RC and UC QPs moved from INIT to RTR */
		/* Requests of peers executed by its RC QPs: at the last update of the page; 0 outside a run (ipc_hello.run). */
		uint64_t served;
	} life;
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
	struct fault_act act[FAULT_ACTS];
	/* What became of the event in the same entry of host_page.event. number is written last. */
	struct proc_event {
		uint32_t number;	/* host_event.number */
		uint32_t raised;	/* objects, or contexts, that have raised it */
		uint32_t refused;	/* enum proc_refusal */
	} event[PROC_EVENTS];
	/*
	 * PROC_APPLIED() of the host page whose content is in effect in this process. 0: no progress thread runs, so the
	 * process has no open device, and looks at the host page when it opens one.
	 */
	uint64_t applied;
};

/* generation, changes: of struct host_page. */
#define PROC_APPLIED(generation, changes) ((uint64_t)(generation) << 32 | (changes))
#define PROC_APPLIED_NONE 1u	/* the progress thread has not looked yet; no host page has generation 0 */

#endif
