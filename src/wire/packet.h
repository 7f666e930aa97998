/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets from segments and back. A packet here is what stands in a UDP
 * datagram of RoCEv2 without the last four bytes: BTH, extended headers,
 * payload, pad. The ICRC covers IP and UDP headers too and is the link's
 * (wire/icrc.h).
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

/* Why a packet is not for anybody: it is dropped without an answer (IBA 9.6.1). */
enum packet_drop {
	PACKET_OK,
	PACKET_SHORT,		/* no room for a BTH */
	PACKET_OPCODE,		/* reserved, or not supported */
	PACKET_TVER,		/* transport version is not 0 */
	PACKET_QPN,		/* destination QP number that the service cannot have */
	PACKET_HDRS,		/* shorter than the opcode's headers */
	PACKET_PAD,		/* pad count larger than what follows the headers, or without payload */
	PACKET_ALIGN,		/* not a multiple of four bytes */
	PACKET_PAYLOAD,		/* payload with an opcode that has none */
	PACKET_LONG,		/* payload above the largest MTU */
	PACKET_NDROPS
};

const char *packet_drop_name(enum packet_drop d);

/* Where the parts of a packet lie. */
struct packet_part {
	uint32_t hdr_len;	/* bytes of headers */
	uint32_t off;		/* of its payload in the segment's */
	uint32_t len;		/* payload bytes */
	uint32_t pad;		/* zero bytes after it, 0 to 3 */
};

/* Packets that the segment is on a wire; a READ request is one whatever it asks for. */
static inline uint32_t packet_count(const struct seg *seg)
{
	return seg->type == SEG_READ_REQ ? 1 : seg->npkts;
}

/*
 * Writes the headers of packet i (from 0) of the segment to buf, of
 * PACKET_HDR_MAX bytes, and says where its payload is: for links that gather.
 * 0, or -EINVAL if there is no such packet: the segment's type does not exist
 * on its service, or path_mtu, len and npkts contradict each other.
 */
int packet_headers(const struct seg *seg, uint32_t i, void *buf, struct packet_part *part);

/* 0 or -EFAULT; what core/umem.h has for memory that may not be there. */
typedef int (*packet_copy_fn)(void *dst, const void *src, size_t len);

/*
 * Writes the whole packet i to buf of size bytes. Payload is copied by copy
 * (NULL: memcpy, for memory that is sure to be there), or pulled if the segment
 * lies in another process. Length in bytes; -EINVAL as above; -ENOSPC: buf is
 * too small; -EFAULT, -EIO: the payload cannot be read.
 */
int packet_build(const struct seg *seg, uint32_t i, void *buf, size_t size, packet_copy_fn copy);

/* The same with a CRC of what was copied (core/umem.h, umem_copy_crc()). */
typedef int (*packet_copy_crc_fn)(void *dst, const void *src, size_t len, uint32_t *crc);

/*
 * What comes behind the headers of the packet with this part, payload and pad,
 * to dst, and its CRC, *crc being that of what comes before. copy_crc may be
 * NULL. 0, or an error as from packet_build().
 */
int packet_payload(const struct seg *seg, const struct packet_part *part, void *dst,
		   packet_copy_fn copy, packet_copy_crc_fn copy_crc, uint32_t *crc);

/*
 * Takes a packet apart into a segment of one packet; *iov, the segment's only
 * entry, refers to the payload in buf. FIRST and MIDDLE packets have the plain
 * type (SEG_SEND, SEG_WRITE): only the end of a message tells IMM and INV
 * apart. Packets of one (ACK, READ request, atomics) get START and END.
 *
 * The wire does not tell the path MTU: path_mtu is PACKET_MTU_MAX until
 * packet_set_mtu(). That the lengths suit the QP's MTU, the RETH or each other
 * is the responder's to check, for it answers with a NAK (IBA 9.7.4.1.6).
 */
enum packet_drop packet_parse(const void *buf, size_t len, struct seg *seg, struct iovec *iov);

/* For a parsed segment, when its QP is known: mtu from PACKET_MTU_MIN to PACKET_MTU_MAX. */
static inline void packet_set_mtu(struct seg *seg, uint16_t mtu)
{
	seg->path_mtu = mtu;
	if (seg->type == SEG_READ_REQ)
		seg->npkts = seg_pkts(seg->dma_len, mtu);
}

/* The packet on one line, as "RC WRITE_ONLY psn 5 qp 0x11 len 8 ..."; returns its length. */
int packet_print(const void *buf, size_t len, char *out, size_t size);

#endif
