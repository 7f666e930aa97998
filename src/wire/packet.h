/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Conversion of segments to packets and back. A packet is the payload of a RoCEv2 UDP
 * datagram without the ICRC: BTH, extended headers, payload, pad. The ICRC covers the
 * IP and UDP headers too, and the link adds it (wire/icrc.h).
 */
#ifndef RUSE_WIRE_PACKET_H
#define RUSE_WIRE_PACKET_H

#include "wire/hdr.h"
#include "wire/opcode.h"
#include "wire/seg.h"

#define PACKET_MTU_MIN 256
#define PACKET_MTU_MAX 4096
#define PACKET_HDR_MAX (BTH_LEN + ATOMIC_ETH_LEN)	/* no opcode has longer headers */
#define PACKET_MAX (PACKET_HDR_MAX + PACKET_MTU_MAX)

/* Reasons to drop a packet without an answer (IBA 9.6.1). */
enum packet_drop {
	PACKET_OK,
	PACKET_SHORT,		/* no room for a BTH */
	PACKET_OPCODE,		/* reserved, or not supported */
	PACKET_TVER,		/* transport version is not 0 */
	PACKET_QPN,		/* destination QP number not valid for the service */
	PACKET_HDRS,		/* shorter than the opcode's headers */
	PACKET_PAD,		/* pad count not 0 although no payload remains beside the pad */
	PACKET_ALIGN,		/* not a multiple of four bytes */
	PACKET_PAYLOAD,		/* payload with an opcode that has none */
	PACKET_LONG,		/* payload above the largest MTU */
	PACKET_NDROPS
};

const char *packet_drop_name(enum packet_drop d);

/* Lengths of a packet's parts, and its place in the segment. */
struct packet_part {
	uint32_t hdr_len;	/* bytes of headers */
	uint32_t off;		/* offset of the packet's payload in the segment's payload */
	uint32_t len;		/* payload bytes */
	uint32_t pad;		/* zero bytes after the payload, 0 to 3 */
};

/* Number of packets of the segment on a wire; a READ request is always one. */
static inline uint32_t packet_count(const struct seg *seg)
{
	return seg->type == SEG_READ_REQ ? 1 : seg->npkts;
}

/* Octets of these packets on a wire, from the BTH to the ICRC. The segment's type exists on its service. */
uint64_t packet_octets(const struct seg *seg);

/*
 * Writes the headers of packet i (from 0) of the segment to buf, which has
 * PACKET_HDR_MAX bytes, and sets *part: for links that add the payload themselves. 0, or
 * -EINVAL: the segment's type does not exist on its service, or path_mtu, len, npkts and i
 * are inconsistent.
 */
int packet_headers(const struct seg *seg, uint32_t i, void *buf, struct packet_part *part);

/* Copies memory that may be unmapped (core/umem.h): 0 or -EFAULT. */
typedef int (*packet_copy_fn)(void *dst, const void *src, size_t len);

/*
 * Writes packet i to buf of size bytes. If seg->pull is set, seg->pull->copy() copies the payload.
 * Otherwise copy() does; NULL: memcpy(), for memory that cannot fault. Returns the length in bytes;
 * -EINVAL as packet_headers(); -ENOSPC: buf is too small; -EFAULT: the payload cannot be read; with
 * seg->pull an error of seg->pull->copy().
 */
int packet_build(const struct seg *seg, uint32_t i, void *buf, size_t size, packet_copy_fn copy);

/* As packet_copy_fn, and continues *crc over the bytes copied (umem_copy_crc() in core/umem.h). */
typedef int (*packet_copy_crc_fn)(void *dst, const void *src, size_t len, uint32_t *crc);

/*
 * Writes payload and pad of a packet to dst and continues *crc, the CRC of the preceding bytes,
 * over them. copy_crc() copies and computes the CRC in one pass. If copy_crc is NULL, copy()
 * copies, which must not be NULL then; if seg->pull is set, seg->pull->copy() copies. In both cases
 * the CRC is computed after the copy. 0, or errors as packet_build().
 */
int packet_payload(const struct seg *seg, const struct packet_part *part, void *dst,
		   packet_copy_fn copy, packet_copy_crc_fn copy_crc, uint32_t *crc);

/*
 * Parses a packet into a segment of one packet. *iov becomes the segment's only entry
 * and refers to the payload in buf. FIRST and MIDDLE packets have type SEG_SEND or
 * SEG_WRITE, since only the last packet has an immediate or IETH. ACKs, READ requests
 * and atomics get START and END.
 *
 * The packet does not contain the path MTU: path_mtu is PACKET_MTU_MAX until
 * packet_set_mtu(). The responder checks lengths against MTU and RETH, since an error
 * there needs a NAK (IBA 9.7.4.1.6).
 */
enum packet_drop packet_parse(const void *buf, size_t len, struct seg *seg, struct iovec *iov);

/* Sets the path MTU of a parsed segment to that of its QP, PACKET_MTU_MIN to PACKET_MTU_MAX. */
static inline void packet_set_mtu(struct seg *seg, uint16_t mtu)
{
	seg->path_mtu = mtu;
	if (seg->type == SEG_READ_REQ)
		seg->npkts = seg_pkts(seg->dma_len, mtu);
}

/* Prints one line, "RC WRITE_ONLY psn 5 qp 0x11 len 8 ..."; returns its length. */
int packet_print(const void *buf, size_t len, char *out, size_t size);

#endif
