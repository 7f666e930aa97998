/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A segment: a run of consecutive packets of one message, the unit that transport and links exchange. A wire link cuts
 * it into packets of path_mtu; a memory link passes it whole. PSNs and packet counts are those of the wire on any link.
 */
#ifndef RUSE_WIRE_SEG_H
#define RUSE_WIRE_SEG_H

#include <sys/uio.h>
#include "base/util.h"

/* BTH transport service, bits 7-5 of the opcode (IBA 9.2.1). */
enum seg_service { SEG_RC, SEG_UC, SEG_UD = 3 };

/* Type of a segment. With START and END it determines the BTH opcode of each packet. */
enum seg_type {
	SEG_SEND,
	SEG_SEND_IMM,	/* imm: on the packet that ends the message */
	SEG_SEND_INV,	/* imm: the rkey (IETH) on the packet that ends the message */
	SEG_WRITE,	/* va, rkey, dma_len: RETH of the packet that starts the message */
	SEG_WRITE_IMM,
	SEG_READ_REQ,	/* one packet; npkts: number of response packets requested */
	SEG_READ_RESP,	/* syndrome, msn on first and last packet */
	SEG_ACK,	/* syndrome, msn; ACK, RNR NAK and NAK alike */
	SEG_CMP_SWP,	/* va, rkey, swap_add = swap, compare */
	SEG_FETCH_ADD,	/* va, rkey, swap_add = addend */
	SEG_ATOMIC_ACK,	/* syndrome, msn, orig */
	SEG_ATOMIC_WRITE, /* va, rkey, dma_len 8, 8 bytes of payload; answer: empty READ_RESP */
	SEG_FLUSH,	/* va, rkey, dma_len; imm: SEG_FETH_*; answer: empty READ_RESP */
	SEG_NTYPES
};

#define SEG_F_START 0x01	/* the segment's first packet starts the message */
#define SEG_F_END 0x02		/* the segment's last packet ends the message */
#define SEG_F_ACKREQ 0x04	/* the last packet has AckReq */
#define SEG_F_SOLICITED 0x08	/* the last packet has SE (solicited event) */

/* imm of a FLUSH (IBA A19, FETH). Placement type: GLOBAL, PERSISTENT or both. Selectivity level: RANGE or MR. */
#define SEG_FETH_GLOBAL 0x1
#define SEG_FETH_PERSISTENT 0x2
#define SEG_FETH_PLT 0xf
#define SEG_FETH_SEL_SHIFT 4
#define SEG_FETH_SEL 0x30
#define SEG_FETH_RANGE 0
#define SEG_FETH_MR 1	/* the whole memory region of the key: va and dma_len are ignored */

/* seg.refuse: not a syndrome, but a status. */
#define SEG_REFUSE_RECV 0x80

/* Maximum of scatter/gather entries of a segment: max_sge of a WQE. */
#define SEG_MAX_IOV 32

struct seg;
struct why;

/* Network addresses of a datagram, for the GRH that the receiver gets. 40 bytes. */
struct seg_net {
	uint8_t sgid[16], dgid[16];	/* both IPv4-mapped, or both IPv6 */
	/*
	 * InfiniBand only: sl, path_bits and slid. path_bits: low bits of the local LID to which the datagram was sent; in a
	 * multicast copy for another process the receiving port (engine/ib_mcast.c).
	 */
	uint32_t flow_label : 20, sl : 4, path_bits : 7;
	uint32_t v1 : 1;		/* RoCEv1 */
	uint8_t traffic_class, hop_limit;	/* hop_limit 0: no GRH (InfiniBand only) */
	uint16_t slid;			/* 0: RoCE */
};

/* Destination QP number of multicast (IBA 9.2.3): all QPs attached to the group. */
#define MULTICAST_QPN 0xffffffu

/* Access to payload in another process. */
struct seg_pull {
	/*
	 * Copies len bytes from payload offset off to dst. 0; -EFAULT: dst cannot be written; -EIO: the peer's memory is
	 * unreadable. After -EIO the caller drops the segment; the link has informed the peer.
	 */
	int (*copy)(const struct seg *seg, uint64_t off, const struct iovec *dst,
		    int ndst, uint64_t len);
};

struct seg {
	uint8_t service;	/* enum seg_service */
	uint8_t type;		/* enum seg_type */
	uint8_t flags;		/* SEG_F_* */
	uint8_t syndrome;	/* AETH */
	bool bad_icrc;		/* to be sent on a wire: the packets fail the receiver's ICRC check */
	/* Arrived request: it is answered with this AETH syndrome; SEG_REFUSE_RECV + status: its receive fails; 0: neither. */
	uint8_t refuse;
	uint16_t pkey;
	uint16_t path_mtu;	/* payload bytes of a full packet, 256 to 4096 */
	uint32_t dqpn;		/* 24 bits */
	uint32_t sqpn;		/* 24 bits; 0: unknown, as in RC and UC packets from a wire, which do not contain it */
	uint32_t psn;		/* of the first packet */
	uint32_t npkts;		/* number of PSNs, at least 1 */
	uint32_t len;		/* payload bytes without pad */
	uint32_t imm;		/* immediate as on the wire, rkey of IETH, or FETH */
	uint64_t va;		/* RETH, AtomicETH */
	uint32_t rkey;
	uint32_t dma_len;	/* RETH: bytes of the whole message */
	union {
		struct {
			uint64_t swap_add, compare;
		};
		uint64_t orig;	/* AtomicAckETH */
	};
	uint32_t msn;		/* AETH, 24 bits; with refuse: the number of the rule of `ruse fault` that demands it */
	uint32_t qkey;		/* DETH */
	/*
	 * Valid only during the call that passes the segment. In a segment to send: set on UD; NULL on RC and UC, which use the
	 * link's addresses. In an arrived segment: set on UD, and on all services from a wire.
	 */
	const struct seg_net *net;
	/* In a NAK: the responder's reason; valid as long as net. NULL: the link does not carry it. */
	const struct why *why;

	/* Payload, valid only during the call: in this process's memory or, if pull is set, read by pull->copy(). */
	const struct iovec *iov;
	int niov;
	const struct seg_pull *pull;
	void *pull_arg;
};

/* AETH syndromes (IBA 9.7.5.1.1, tables 45 to 47). */
#define AETH_TYPE_MASK 0xe0
#define AETH_ACK 0x00
#define AETH_RNR_NAK 0x20
#define AETH_NAK 0x60
#define AETH_ACK_UNLIMITED 0x1f	/* no end-to-end credits */
#define AETH_NAK_PSN_SEQ 0x60
#define AETH_NAK_INV_REQ 0x61
#define AETH_NAK_REM_ACC 0x62
#define AETH_NAK_REM_OP 0x63

/* Does it answer a request of RC? */
static inline bool seg_is_answer(const struct seg *seg)
{
	return seg->type == SEG_ACK || seg->type == SEG_READ_RESP || seg->type == SEG_ATOMIC_ACK;
}

/* Number of packets for len payload bytes; at least one. */
static inline uint32_t seg_pkts(uint32_t len, uint32_t mtu)
{
	return len ? (uint32_t)(((uint64_t)len + mtu - 1) / mtu) : 1;
}

/* The name; "?" for an unknown number. */
const char *seg_service_name(uint8_t service);

#endif
