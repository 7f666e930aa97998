/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Segments as text, for the trace of the simulated link. */
#include <endian.h>
#include "sim_print.h"
#include "wire/aeth.h"
#include "wire/text.h"

static const char *const type_names[] = {
	[SEG_SEND] = "SEND",
	[SEG_SEND_IMM] = "SEND_IMM",
	[SEG_SEND_INV] = "SEND_INV",
	[SEG_WRITE] = "WRITE",
	[SEG_WRITE_IMM] = "WRITE_IMM",
	[SEG_READ_REQ] = "READ_REQ",
	[SEG_READ_RESP] = "READ_RESP",
	[SEG_ACK] = "ACK",
	[SEG_CMP_SWP] = "CMP_SWP",
	[SEG_FETCH_ADD] = "FETCH_ADD",
	[SEG_ATOMIC_ACK] = "ATOMIC_ACK",
	[SEG_ATOMIC_WRITE] = "ATOMIC_WRITE",
	[SEG_FLUSH] = "FLUSH",
};

_Static_assert(ARRAY_SIZE(type_names) == SEG_NTYPES, "a name for each type");

static void sim_print_type(const struct seg *seg, struct text *t)
{
	switch ((enum seg_type)seg->type) {
	case SEG_SEND:
		break;
	case SEG_SEND_IMM:
		text_add(t, " imm 0x%08x", be32toh(seg->imm));
		break;
	case SEG_SEND_INV:
		text_add(t, " inv 0x%x", seg->imm);
		break;
	case SEG_WRITE:
	case SEG_WRITE_IMM:
	case SEG_READ_REQ:
		if (seg->flags & SEG_F_START)
			text_add(t, " va 0x%llx rkey 0x%x dma %u", (unsigned long long)seg->va,
				 seg->rkey, seg->dma_len);
		break;
	case SEG_ATOMIC_WRITE:
		text_add(t, " va 0x%llx rkey 0x%x", (unsigned long long)seg->va, seg->rkey);
		break;
	case SEG_FLUSH:
		text_add(t, " plt %u sel %u va 0x%llx rkey 0x%x dma %u", seg->imm & SEG_FETH_PLT,
			 (seg->imm & SEG_FETH_SEL) >> SEG_FETH_SEL_SHIFT,
			 (unsigned long long)seg->va, seg->rkey, seg->dma_len);
		break;
	case SEG_CMP_SWP:
	case SEG_FETCH_ADD:
		text_add(t, " va 0x%llx rkey 0x%x", (unsigned long long)seg->va, seg->rkey);
		break;
	case SEG_READ_RESP:
	case SEG_ACK:
	case SEG_ATOMIC_ACK:
		text_add(t, " %s", aeth_syndrome_name(seg->syndrome));
		if ((seg->syndrome & AETH_TYPE_MASK) == AETH_RNR_NAK)
			text_add(t, " %u", seg->syndrome & ~AETH_TYPE_MASK);
		text_add(t, " msn %u", seg->msn);
		break;
	case SEG_NTYPES:
		break;
	}
	if (seg->service == SEG_UD)
		text_add(t, " qkey 0x%x", seg->qkey);
}

void sim_print(const struct seg *seg, char *buf, size_t size)
{
	struct text t;

	text_init(&t, buf, size);
	text_add(&t, "%s %s", seg_service_name(seg->service), type_names[seg->type]);
	text_add(&t, "%s%s", seg->flags & SEG_F_START ? " start" : "",
		 seg->flags & SEG_F_END ? " end" : "");
	text_add(&t, " psn %u+%u qp 0x%x", seg->psn, seg->npkts, seg->dqpn);
	if (seg->sqpn)
		text_add(&t, "<-0x%x", seg->sqpn);
	text_add(&t, " len %u", seg->len);
	sim_print_type(seg, &t);
	text_add(&t, "%s%s", seg->flags & SEG_F_ACKREQ ? " ackreq" : "",
		 seg->flags & SEG_F_SOLICITED ? " solicited" : "");
}
