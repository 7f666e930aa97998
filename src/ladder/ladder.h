/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sequence charts of captured packets: a row per packet with time, PSN, opcode and length, as text or as a drawing.
 * Repeated packets, gaps of PSNs, NAKs, RNR NAKs, faults and reasons of failures are marked; CM messages and MADs have
 * their names.
 *
 * A chart has packets of any number of QPs and of any number of pairs of ends. Memory grows with the packets that are kept
 * and with the QPs that were seen, up to limits; see ladder_add().
 */
#ifndef RUSE_LADDER_LADDER_H
#define RUSE_LADDER_LADDER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct ladder;

/* A packet. It is read during ladder_add() only. */
struct ladder_packet {
	uint64_t ns;		/* since 1970 */
	const uint8_t *frame;	/* caplen bytes of an Ethernet frame of len bytes: RoCEv2, or InfiniBand as ruse captures it */
	uint32_t caplen, len;
	const char *note;	/* remark of the capture, such as a fault or the reason of a NAK; may be "", never NULL */
	uint32_t sqpn;		/* QP number that sent it; 0: unknown */
	int pid;		/* process that captured it; 0: unknown */
	const char *comm;	/* its name; "": unknown, never NULL */
	bool hidden;		/* it gets no row, but tells the order and the direction of others */
};

struct ladder_style {
	unsigned int columns;	/* width of the text, from 60; 80 fits a terminal */
	bool colour;		/* ANSI colours */
};

/* keep: packets that are kept for ladder_svg() at most; 0: none, the chart is only printed. NULL: no memory. */
struct ladder *ladder_new(size_t keep);
void ladder_free(struct ladder *l);
/* Times are since ns, not since the first packet. Before the first one. */
void ladder_zero(struct ladder *l, uint64_t ns);
/*
 * Takes the next packet; the packets come in order of their time. f, style: prints its row, and before it the heads of the
 * columns if its ends are others than those of the last row; f may be NULL. 0; -ENOMSG: it has no packet of InfiniBand or
 * RoCEv2; -ENOMEM.
 */
int ladder_add(struct ladder *l, const struct ladder_packet *p, FILE *f,
	       const struct ladder_style *style);
/* Draws the packets that are kept. title, alone: as for svg_begin(). Write errors: ferror(f). */
void ladder_svg(struct ladder *l, FILE *f, const char *title, bool alone);

#endif
