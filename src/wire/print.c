/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "wire/aeth.h"
#include "wire/be.h"
#include "wire/mad.h"
#include "wire/packet.h"
#include "wire/text.h"

static void packet_print_ext(const struct seg *seg, const struct opcode_info *op, struct text *t)
{
	if (opcode_has(op, HDR_DETH))
		text_add(t, " sqp 0x%x qkey 0x%x", seg->sqpn, seg->qkey);
	if (opcode_has(op, HDR_FETH))
		text_add(t, " plt %u sel %u", seg->imm & SEG_FETH_PLT,
			 (seg->imm & SEG_FETH_SEL) >> SEG_FETH_SEL_SHIFT);
	if (opcode_has(op, HDR_RETH))
		text_add(t, " va 0x%llx rkey 0x%x dma %u", (unsigned long long)seg->va, seg->rkey,
			 seg->dma_len);
	if (opcode_has(op, HDR_ATOMIC))
		text_add(t, " va 0x%llx rkey 0x%x %s 0x%llx compare 0x%llx",
			 (unsigned long long)seg->va, seg->rkey,
			 seg->type == SEG_CMP_SWP ? "swap" : "add",
			 (unsigned long long)seg->swap_add, (unsigned long long)seg->compare);
	if (opcode_has(op, HDR_AETH))
		text_add(t, " %s 0x%02x msn %u", aeth_syndrome_name(seg->syndrome), seg->syndrome,
			 seg->msn);
	if (opcode_has(op, HDR_ATOMIC_ACK))
		text_add(t, " orig 0x%llx", (unsigned long long)seg->orig);
	if (opcode_has(op, HDR_IMM))
		text_add(t, " imm 0x%08x", be32toh(seg->imm));
	if (opcode_has(op, HDR_IETH))
		text_add(t, " inv 0x%x", seg->imm);
}

/* A datagram of 256 bytes to QP 0 or 1 is a MAD. */
static void packet_print_mad(const struct seg *seg, struct text *t)
{
	if (seg->service != SEG_UD || seg->dqpn > 1 || seg->len != MAD_LEN || seg->niov != 1)
		return;
	text_add(t, " | ");
	t->len += (size_t)mad_print(seg->iov[0].iov_base, seg->len, t->buf + t->len,
				    t->size - t->len);
}

int packet_print(const void *buf, size_t len, char *out, size_t size)
{
	const struct opcode_info *op;
	enum packet_drop drop;
	struct iovec iov;
	struct text t;
	struct seg seg;

	text_init(&t, out, size);
	drop = packet_parse(buf, len, &seg, &iov);
	if (drop != PACKET_OK) {
		text_add(&t, "%zu bytes, %s", len, packet_drop_name(drop));
		if (len)
			text_add(&t, ", opcode 0x%02x", *(const uint8_t *)buf);
		return (int)t.len;
	}
	op = opcode_info(*(const uint8_t *)buf);
	text_add(&t, "%s %s psn %u qp 0x%x len %u", seg_service_name(seg.service), op->name,
		 seg.psn, seg.dqpn, seg.len);
	packet_print_ext(&seg, op, &t);
	if (seg.pkey != 0xffff)
		text_add(&t, " pkey 0x%04x", seg.pkey);
	text_add(&t, "%s%s", seg.flags & SEG_F_ACKREQ ? " ackreq" : "",
		 seg.flags & SEG_F_SOLICITED ? " solicited" : "");
	packet_print_mad(&seg, &t);
	return (int)t.len;
}
