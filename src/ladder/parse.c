/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a captured packet is, as far as it was captured. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "ladder/ladder_internal.h"
#include "wire/aeth.h"
#include "wire/mad.h"

/* True if the header is there; its bytes are then at the result. */
static const uint8_t *parse_header(const struct ladder_parsed *d, enum hdr h, size_t len)
{
	if (!d->op || !opcode_has(d->op, h) || d->op->off[h] + len > d->f.len)
		return NULL;
	return d->f.packet + d->op->off[h];
}

/* Bytes of payload. A packet that was cut has the length that the capture tells. */
static uint32_t parse_len(const struct ladder_parsed *d)
{
	size_t head = (size_t)(d->f.packet - d->p->frame), len = d->f.len;
	size_t other = (d->op ? d->op->hdr_len : BTH_LEN) + d->bth.pad;

	if (d->kind == FRAME_CUT)
		len = d->p->len > head + ICRC_LEN ? d->p->len - head - ICRC_LEN : 0;
	return len > other ? (uint32_t)(len - other) : 0;
}

/* A datagram to QP 0 or 1. Its header tells its name, so the rest may be missing. */
static void parse_mad(struct ladder_parsed *d)
{
	size_t at = d->op ? d->op->hdr_len : 0, n;

	if (!d->op || d->op->service != SEG_UD || d->bth.dqpn > 1 || d->len != MAD_LEN ||
	    !d->f.packet || d->f.len < at + MAD_HDR_LEN)
		return;
	n = min(d->f.len - at, sizeof(d->mad_copy));
	memset(d->mad_copy, 0, sizeof(d->mad_copy));
	memcpy(d->mad_copy, d->f.packet + at, n);
	d->mad = d->mad_copy;
}

int ladder_parse(struct ladder_parsed *d, const struct ladder_packet *p)
{
	const uint8_t *h;
	struct deth deth;

	d->p = p;
	d->kind = frame_parse(p->frame, p->caplen, &d->f);
	if (d->kind == FRAME_OTHER || d->f.len < BTH_LEN)
		return -ENOMSG;
	bth_get(d->f.packet, &d->bth);
	d->op = opcode_info(d->bth.opcode);
	d->reth = (struct reth){ .va = 0 };
	d->aeth = (struct aeth){ .syndrome = 0 };
	d->mad = NULL;
	d->sqpn = p->sqpn;
	d->len = parse_len(d);
	h = parse_header(d, HDR_RETH, RETH_LEN);
	if (h)
		reth_get(h, &d->reth);
	h = parse_header(d, HDR_AETH, AETH_LEN);
	if (h)
		aeth_get(h, &d->aeth);
	h = parse_header(d, HDR_DETH, DETH_LEN);
	if (h) {
		deth_get(h, &deth);
		d->sqpn = deth.sqpn;
	}
	parse_mad(d);
	return 0;
}

void ladder_mark(struct ladder_row *row, enum ladder_class class, const char *fmt, ...)
{
	size_t len = strlen(row->mark);
	va_list ap;

	if (len && len + 2 < sizeof(row->mark)) {
		memcpy(row->mark + len, "; ", 3);
		len += 2;
	}
	va_start(ap, fmt);
	vsnprintf(row->mark + len, sizeof(row->mark) - len, fmt, ap);
	va_end(ap);
	row->class = max(row->class, (uint8_t) class);
}

static void label_answer(const struct ladder_parsed *d, struct ladder_row *row)
{
	static const char *const naks[] = { "PSN sequence error", "invalid request",
					    "remote access error", "remote operational error" };
	uint8_t s = d->aeth.syndrome;
	ns_t wait;

	row->class = LADDER_DIM;
	switch (s & AETH_TYPE_MASK) {
	case AETH_ACK:
		snprintf(row->label, sizeof(row->label), "ACK msn %u", d->aeth.msn);
		return;
	case AETH_RNR_NAK:
		wait = aeth_rnr_ns(s);
		snprintf(row->label, sizeof(row->label), "RNR NAK, wait %u.%02u ms",
			 (unsigned int)(wait / NS_MS),
			 (unsigned int)(wait % NS_MS / (NS_MS / 100)));
		row->class = LADDER_WARN;
		return;
	default:
		break;
	}
	row->class = LADDER_BAD;
	if ((s & AETH_TYPE_MASK) == AETH_NAK && (s & 0x1fu) < ARRAY_SIZE(naks))
		snprintf(row->label, sizeof(row->label), "NAK %s", naks[s & 0x1f]);
	else
		snprintf(row->label, sizeof(row->label), "NAK 0x%02x", s);
}

/* "CM REQ", "SA Get PathRecord": the words of mad_print() before the transaction ID. */
static void label_mad(const struct ladder_parsed *d, struct ladder_row *row)
{
	char line[512], *end;

	mad_print(d->mad, MAD_LEN, line, sizeof(line));
	end = strstr(line, " tid");
	if (end)
		*end = '\0';
	snprintf(row->label, sizeof(row->label), "%.*s", (int)sizeof(row->label) - 1, line);
}

void ladder_label(const struct ladder_parsed *d, struct ladder_row *row)
{
	uint32_t qpn, len = d->len;
	const char *service;

	if (cnp_get(d->f.packet, d->f.len, &qpn)) {
		snprintf(row->label, sizeof(row->label), "CNP");
		row->class = LADDER_WARN;
	} else if (!d->op) {
		snprintf(row->label, sizeof(row->label), "opcode 0x%02x", d->bth.opcode);
		row->class = LADDER_BAD;
	} else if (d->mad) {
		label_mad(d, row);
	} else if (d->op->flags & OPF_ACK && d->op->type == SEG_ACK) {
		label_answer(d, row);
	} else {
		service = d->op->service == SEG_RC ? "" : d->op->service == SEG_UC ? "UC " : "UD ";
		if (d->op->flags & OPF_READ && d->op->flags & OPF_REQ)
			len = d->reth.dma_len;
		if (len)
			snprintf(row->label, sizeof(row->label), "%s%s %u", service, d->op->name,
				 len);
		else
			snprintf(row->label, sizeof(row->label), "%s%s", service, d->op->name);
	}
}
