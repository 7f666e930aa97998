/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "wire/be.h"
#include "wire/hdr.h"

#define BTH_SE 0x80
#define BTH_MIGREQ 0x40
#define BTH_PAD_SHIFT 4
#define BTH_TVER_MASK 0x0f
#define BTH_FECN 0x80
#define BTH_BECN 0x40
#define BTH_ACKREQ 0x80
#define FETH_MASK 0x3fu

void bth_get(const void *p, struct bth *h)
{
	const uint8_t *b = p;

	h->opcode = b[0];
	h->se = b[1] & BTH_SE;
	h->migreq = b[1] & BTH_MIGREQ;
	h->pad = b[1] >> BTH_PAD_SHIFT & 3;
	h->tver = b[1] & BTH_TVER_MASK;
	h->pkey = get_be16(b + 2);
	h->fecn = b[4] & BTH_FECN;
	h->becn = b[4] & BTH_BECN;
	h->dqpn = get_be24(b + 5);
	h->ackreq = b[8] & BTH_ACKREQ;
	h->psn = get_be24(b + 9);
}

void bth_put(void *p, const struct bth *h)
{
	uint8_t *b = p;

	b[0] = h->opcode;
	b[1] = (uint8_t)((h->se ? BTH_SE : 0) | (h->migreq ? BTH_MIGREQ : 0) |
			 (h->pad & 3) << BTH_PAD_SHIFT | (h->tver & BTH_TVER_MASK));
	put_be16(b + 2, h->pkey);
	b[4] = (uint8_t)((h->fecn ? BTH_FECN : 0) | (h->becn ? BTH_BECN : 0));
	put_be24(b + 5, h->dqpn);
	b[8] = h->ackreq ? BTH_ACKREQ : 0;
	put_be24(b + 9, h->psn);
}

void deth_get(const void *p, struct deth *h)
{
	const uint8_t *b = p;

	h->qkey = get_be32(b);
	h->sqpn = get_be24(b + 5);
}

void deth_put(void *p, const struct deth *h)
{
	uint8_t *b = p;

	put_be32(b, h->qkey);
	b[4] = 0;
	put_be24(b + 5, h->sqpn);
}

void reth_get(const void *p, struct reth *h)
{
	const uint8_t *b = p;

	h->va = get_be64(b);
	h->rkey = get_be32(b + 8);
	h->dma_len = get_be32(b + 12);
}

void reth_put(void *p, const struct reth *h)
{
	uint8_t *b = p;

	put_be64(b, h->va);
	put_be32(b + 8, h->rkey);
	put_be32(b + 12, h->dma_len);
}

void atomic_eth_get(const void *p, struct atomic_eth *h)
{
	const uint8_t *b = p;

	h->va = get_be64(b);
	h->rkey = get_be32(b + 8);
	h->swap_add = get_be64(b + 12);
	h->compare = get_be64(b + 20);
}

void atomic_eth_put(void *p, const struct atomic_eth *h)
{
	uint8_t *b = p;

	put_be64(b, h->va);
	put_be32(b + 8, h->rkey);
	put_be64(b + 12, h->swap_add);
	put_be64(b + 20, h->compare);
}

void aeth_get(const void *p, struct aeth *h)
{
	const uint8_t *b = p;

	h->syndrome = b[0];
	h->msn = get_be24(b + 1);
}

void aeth_put(void *p, const struct aeth *h)
{
	uint8_t *b = p;

	b[0] = h->syndrome;
	put_be24(b + 1, h->msn);
}

uint64_t atomic_ack_get(const void *p)
{
	return get_be64(p);
}

void atomic_ack_put(void *p, uint64_t orig)
{
	put_be64(p, orig);
}

uint32_t imm_get(const void *p)
{
	uint32_t imm;

	memcpy(&imm, p, sizeof(imm));
	return imm;
}

void imm_put(void *p, uint32_t imm)
{
	memcpy(p, &imm, sizeof(imm));
}

uint32_t ieth_get(const void *p)
{
	return get_be32(p);
}

void ieth_put(void *p, uint32_t rkey)
{
	put_be32(p, rkey);
}

uint32_t feth_get(const void *p)
{
	return get_be32(p) & FETH_MASK;
}

void feth_put(void *p, uint32_t feth)
{
	put_be32(p, feth & FETH_MASK);
}
