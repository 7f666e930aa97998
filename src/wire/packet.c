/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets. Building: the opcode follows from type and place in the message, its row
 * in the opcode table gives the headers, and the payload is gathered with or without
 * a CRC. Parsing: packet_check() checks everything that the headers alone can tell,
 * so that reading the fields cannot fail.
 */
#include <errno.h>
#include <string.h>
#include "wire/be.h"
#include "wire/crc.h"
#include "wire/icrc.h"
#include "wire/packet.h"
#include "wire/psn.h"

#define QPN_SMI 0u
#define QPN_GSI 1u

static const char *const drop_names[] = {
	[PACKET_OK] = "ok",
	[PACKET_SHORT] = "too short",
	[PACKET_OPCODE] = "bad opcode",
	[PACKET_TVER] = "bad transport version",
	[PACKET_QPN] = "bad destination QP",
	[PACKET_HDRS] = "headers cut",
	[PACKET_PAD] = "bad pad count",
	[PACKET_ALIGN] = "length not a multiple of 4",
	[PACKET_PAYLOAD] = "unexpected payload",
	[PACKET_LONG] = "payload too long",
};

_Static_assert(ARRAY_SIZE(drop_names) == PACKET_NDROPS, "a name for each reason");

const char *packet_drop_name(enum packet_drop d)
{
	return (unsigned int)d < PACKET_NDROPS ? drop_names[d] : "?";
}

/* Payload range of packet i. */
static int packet_cut(const struct seg *seg, uint32_t i, struct packet_part *part)
{
	uint32_t mtu = seg->path_mtu;
	uint64_t off = (uint64_t)i * mtu;

	if (mtu < PACKET_MTU_MIN || mtu > PACKET_MTU_MAX || i >= packet_count(seg))
		return -EINVAL;
	if (packet_count(seg) != seg_pkts(seg->len, mtu))
		return -EINVAL;
	part->off = (uint32_t)off;
	part->len = (uint32_t)min((uint64_t)mtu, seg->len - off);
	part->pad = -part->len & 3;
	return 0;
}

static void packet_put_ext(const struct seg *seg, const struct opcode_info *op, uint8_t *p)
{
	if (opcode_has(op, HDR_DETH))
		deth_put(p + op->off[HDR_DETH], &(struct deth){ seg->qkey, seg->sqpn });
	if (opcode_has(op, HDR_FETH))
		feth_put(p + op->off[HDR_FETH], seg->imm);
	if (opcode_has(op, HDR_RETH))
		reth_put(p + op->off[HDR_RETH],
			 &(struct reth){ seg->va, seg->rkey, seg->dma_len });
	if (opcode_has(op, HDR_ATOMIC))
		atomic_eth_put(p + op->off[HDR_ATOMIC],
			       &(struct atomic_eth){ seg->va, seg->rkey, seg->swap_add,
						     seg->compare });
	if (opcode_has(op, HDR_AETH))
		aeth_put(p + op->off[HDR_AETH], &(struct aeth){ seg->syndrome, seg->msn });
	if (opcode_has(op, HDR_ATOMIC_ACK))
		atomic_ack_put(p + op->off[HDR_ATOMIC_ACK], seg->orig);
	if (opcode_has(op, HDR_IMM))
		imm_put(p + op->off[HDR_IMM], seg->imm);
	if (opcode_has(op, HDR_IETH))
		ieth_put(p + op->off[HDR_IETH], seg->imm);
}

/* Headers of a packet of the segment that starts, ends the message. */
static uint32_t packet_head(const struct seg *seg, bool start, bool end)
{
	int op = opcode_of((enum seg_service)seg->service, (enum seg_type)seg->type, start, end);
	const struct opcode_info *info = op < 0 ? NULL : opcode_info((uint8_t)op);

	return info ? info->hdr_len : 0;
}

uint64_t packet_octets(const struct seg *seg)
{
	bool start = seg->flags & SEG_F_START, end = seg->flags & SEG_F_END;
	uint32_t n = packet_count(seg);
	uint64_t octets = ALIGN_UP((uint64_t)seg->len, 4) + (uint64_t)n * ICRC_LEN;

	if (n == 1)
		return octets + packet_head(seg, start, end);
	octets += packet_head(seg, start, false) + packet_head(seg, false, end);
	if (n > 2)
		octets += (uint64_t)(n - 2) * packet_head(seg, false, false);
	return octets;
}

int packet_headers(const struct seg *seg, uint32_t i, void *buf, struct packet_part *part)
{
	bool last = i == packet_count(seg) - 1;
	const struct opcode_info *info;
	struct bth bth;
	int op;

	op = opcode_of(seg->service, seg->type, i == 0 && seg->flags & SEG_F_START,
		       last && seg->flags & SEG_F_END);
	if (op < 0 || packet_cut(seg, i, part))
		return -EINVAL;
	info = opcode_info((uint8_t)op);
	if (part->len && !(info->flags & OPF_PAYLOAD))
		return -EINVAL;
	bth = (struct bth){
		.opcode = (uint8_t)op,
		.se = last && seg->flags & SEG_F_SOLICITED,
		/* Without an alternate path a QP is in the state Migrated (IBA 17.2.8). */
		.migreq = true,
		.pad = (uint8_t)part->pad,
		.pkey = seg->pkey,
		.dqpn = seg->dqpn,
		.ackreq = last && seg->flags & SEG_F_ACKREQ,
		.psn = psn_add(seg->psn, i),
	};
	bth_put(buf, &bth);
	packet_put_ext(seg, info, buf);
	part->hdr_len = info->hdr_len;
	return 0;
}

static int packet_memcpy(void *dst, const void *src, size_t len)
{
	memcpy(dst, src, len);
	return 0;
}

/* Copies the payload to dst: with copy if crc is NULL, else with copy_crc, which continues *crc. */
static int packet_gather(const struct seg *seg, const struct packet_part *part, uint8_t *dst,
			 packet_copy_fn copy, packet_copy_crc_fn copy_crc, uint32_t *crc)
{
	uint64_t off = part->off;
	uint32_t left = part->len;

	if (seg->pull) {
		struct iovec to = { dst, part->len };

		return seg->pull->copy(seg, off, &to, 1, part->len);
	}
	for (int k = 0; k < seg->niov && left; k++) {
		const struct iovec *v = &seg->iov[k];
		const uint8_t *from;
		size_t n;
		int err;

		if (off >= v->iov_len) {
			off -= v->iov_len;
			continue;
		}
		n = min(v->iov_len - (size_t)off, (size_t)left);
		from = (const uint8_t *)v->iov_base + off;
		err = crc ? copy_crc(dst, from, n, crc) : copy(dst, from, n);
		if (err)
			return err;
		off = 0;
		dst += n;
		left -= (uint32_t)n;
	}
	return left ? -EINVAL : 0;
}

int packet_build(const struct seg *seg, uint32_t i, void *buf, size_t size, packet_copy_fn copy)
{
	uint8_t hdr[PACKET_HDR_MAX], *p = buf;
	struct packet_part part;
	size_t len;
	int err;

	err = packet_headers(seg, i, hdr, &part);
	if (err)
		return err;
	len = (size_t)part.hdr_len + part.len + part.pad;
	if (len > size)
		return -ENOSPC;
	memcpy(p, hdr, part.hdr_len);
	if (part.len) {
		err = packet_gather(seg, &part, p + part.hdr_len, copy ? copy : packet_memcpy, NULL,
				    NULL);
		if (err)
			return err;
	}
	memset(p + part.hdr_len + part.len, 0, part.pad);
	return (int)len;
}

int packet_payload(const struct seg *seg, const struct packet_part *part, void *dst,
		   packet_copy_fn copy, packet_copy_crc_fn copy_crc, uint32_t *crc)
{
	bool apart = seg->pull || !copy_crc;
	uint8_t *p = dst;
	int err;

	if (part->len) {
		err = packet_gather(seg, part, p, copy, copy_crc, apart ? NULL : crc);
		if (err)
			return err;
	}
	memset(p + part->len, 0, part->pad);
	if (apart)
		*crc = crc32_add(*crc, p, part->len + part->pad);
	else if (part->pad)
		*crc = crc32_add(*crc, p + part->len, part->pad);
	return 0;
}

/* QP 0, QP 1 and the multicast QP number are valid for datagrams only. */
static bool packet_qpn_ok(enum seg_service service, uint32_t dqpn)
{
	return service == SEG_UD ||
	       (dqpn != QPN_SMI && dqpn != QPN_GSI && dqpn != MULTICAST_QPN);
}

static enum packet_drop packet_check(const struct bth *bth, const struct opcode_info *op,
				     size_t len)
{
	size_t rest;

	if (!op)
		return PACKET_OPCODE;
	if (bth->tver)
		return PACKET_TVER;
	if (!packet_qpn_ok(op->service, bth->dqpn))
		return PACKET_QPN;
	if (len < op->hdr_len)
		return PACKET_HDRS;
	rest = len - op->hdr_len;
	if (bth->pad && bth->pad >= rest)
		return PACKET_PAD;
	if (rest % 4)
		return PACKET_ALIGN;
	if (rest && !(op->flags & OPF_PAYLOAD))
		return PACKET_PAYLOAD;
	if (rest - bth->pad > PACKET_MTU_MAX)
		return PACKET_LONG;
	return PACKET_OK;
}

static void packet_get_ext(const uint8_t *p, const struct opcode_info *op, struct seg *seg)
{
	if (opcode_has(op, HDR_DETH)) {
		struct deth h;

		deth_get(p + op->off[HDR_DETH], &h);
		seg->qkey = h.qkey;
		seg->sqpn = h.sqpn;
	}
	if (opcode_has(op, HDR_FETH))
		seg->imm = feth_get(p + op->off[HDR_FETH]);
	if (opcode_has(op, HDR_RETH)) {
		struct reth h;

		reth_get(p + op->off[HDR_RETH], &h);
		seg->va = h.va;
		seg->rkey = h.rkey;
		seg->dma_len = h.dma_len;
	}
	if (opcode_has(op, HDR_ATOMIC)) {
		struct atomic_eth h;

		atomic_eth_get(p + op->off[HDR_ATOMIC], &h);
		seg->va = h.va;
		seg->rkey = h.rkey;
		seg->swap_add = h.swap_add;
		seg->compare = h.compare;
	}
	if (opcode_has(op, HDR_AETH)) {
		struct aeth h;

		aeth_get(p + op->off[HDR_AETH], &h);
		seg->syndrome = h.syndrome;
		seg->msn = h.msn;
	}
	if (opcode_has(op, HDR_ATOMIC_ACK))
		seg->orig = atomic_ack_get(p + op->off[HDR_ATOMIC_ACK]);
	if (opcode_has(op, HDR_IMM))
		seg->imm = imm_get(p + op->off[HDR_IMM]);
	if (opcode_has(op, HDR_IETH))
		seg->imm = ieth_get(p + op->off[HDR_IETH]);
}

enum packet_drop packet_parse(const void *buf, size_t len, struct seg *seg, struct iovec *iov)
{
	const struct opcode_info *op;
	const uint8_t *p = buf;
	enum packet_drop drop;
	struct bth bth;

	if (len < BTH_LEN)
		return PACKET_SHORT;
	bth_get(p, &bth);
	op = opcode_info(bth.opcode);
	drop = packet_check(&bth, op, len);
	if (drop != PACKET_OK)
		return drop;

	*seg = (struct seg){
		.service = op->service,
		.type = op->type,
		.flags = (uint8_t)((op->flags & OPF_START ? SEG_F_START : 0) |
				   (op->flags & OPF_END ? SEG_F_END : 0) |
				   (bth.ackreq ? SEG_F_ACKREQ : 0) |
				   (bth.se ? SEG_F_SOLICITED : 0)),
		.pkey = bth.pkey,
		.dqpn = bth.dqpn,
		.psn = bth.psn,
		.npkts = 1,
		.len = (uint32_t)(len - op->hdr_len - bth.pad),
	};
	packet_get_ext(p, op, seg);
	packet_set_mtu(seg, PACKET_MTU_MAX);
	*iov = (struct iovec){ (void *)(uintptr_t)(p + op->hdr_len), seg->len };
	seg->iov = iov;
	seg->niov = seg->len ? 1 : 0;
	return PACKET_OK;
}
