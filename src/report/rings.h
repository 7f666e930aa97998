/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The last packets of each connection, for charts of what went before a failure. Packets of both ends of a connection are
 * in one ring; datagrams are in that of their sender. A second copy keeps the packets around the first packet that needs
 * an explanation: a repetition, a NAK, or one with a remark such as a fault.
 */
#ifndef RUSE_REPORT_RINGS_H
#define RUSE_REPORT_RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RINGS_PACKETS 64	/* of a ring */
#define RINGS_MAX 1024		/* rings; the one without packets for the longest time gives way */
#define RINGS_BYTES (16u << 20)	/* of all packets that are kept */
#define RINGS_FRAME 128		/* bytes of a frame that are kept: the headers */

struct ladder;
struct ladder_packet;
struct rings;
struct ring;

/* NULL: no memory. */
struct rings *rings_new(void);
void rings_free(struct rings *rs);
/* Takes the next packet, in order of time. */
void rings_add(struct rings *rs, const struct ladder_packet *p);
/* The ring with packets of a QP; NULL: none. QP 0 and 1 of all devices are one. */
const struct ring *rings_find(const struct rings *rs, uint32_t qpn);
/* The ring with packets before `after` that is next in order of its last packet, newest first; NULL after: the newest. */
const struct ring *rings_next(const struct rings *rs, const struct ring *after);
size_t rings_count(const struct rings *rs);

/* Repetitions, NAKs and remarks so far. */
uint64_t ring_events(const struct ring *r);
/* The QPs of the ends; 0: unknown. */
uint32_t ring_qpn(const struct ring *r, int end);
/* The GID from which a QP of the ring has sent, 16 bytes; NULL: it has sent nothing. */
const uint8_t *ring_gid(const struct ring *r, uint32_t qpn);
/* True if the packets around the first event are not all among the last ones. */
bool ring_has_first(const struct ring *r);
/* Adds the last packets, or those around the first event, to a chart. Returns how many. */
size_t ring_chart(const struct ring *r, bool first, struct ladder *l);

#endif
