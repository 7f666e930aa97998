/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RMPP receiver (IBA 13.6.4, 13.6.6; the kernel's mad_rmpp.c). Segments may arrive
 * in any order within the window. An ACK is sent for the first segment, when the
 * window is full, when the message is complete, and for repeated segments. A
 * complete message is kept without its data for RMPP_KEEP_MS, so that a sender that
 * missed the last ACK gets another. An incomplete one is aborted after RMPP_RECV_MS.
 */
#include <stdlib.h>
#include "mad/mad_internal.h"

_Static_assert(RMPP_WINDOW <= 64, "rmpp_rx.later has a bit for each");

/* True if both remote ends are the same port: by LID, and by GID if there is a GRH. */
bool addr_same_peer(const struct mad_addr *a, const struct mad_addr *b)
{
	return a->lid == b->lid && a->grh == b->grh && (!a->grh || !memcmp(a->gid, b->gid, 16));
}

static struct rmpp_rx *rmpp_find_in(struct list_head *list, const struct mad_addr *from,
				    const uint8_t *mad, uint8_t method)
{
	struct rmpp_rx *rx;

	list_for_each_entry(rx, list, link)
		if (mad_tid(rx->first) == mad_tid(mad) && rx->addr.qpn == from->qpn &&
		    rx->first[MAD_O_CLASS] == mad[MAD_O_CLASS] &&
		    rx->first[MAD_O_CLASS_VERSION] == mad[MAD_O_CLASS_VERSION] &&
		    rx->first[MAD_O_METHOD] == method && addr_same_peer(&rx->addr, from))
			return rx;
	return NULL;
}

struct rmpp_rx *rmpp_find(struct mad_agent *a, const struct mad_addr *from, const uint8_t *mad,
			  uint8_t method)
{
	struct rmpp_rx *rx = rmpp_find_in(&a->recvs, from, mad, method);

	return rx ? rx : rmpp_find_in(&a->finished, from, mad, method);
}

void rmpp_rx_free(struct rmpp_rx *rx)
{
	struct mad_agent *a = rx->agent;

	list_del(&rx->link);
	timer_cancel(&a->port->host->timers, &rx->timer);
	if (rx->complete)
		a->nfinished--;
	else
		a->nrecvs--;
	a->recv_bytes -= rx->buf ? rx->size : 0;
	free(rx->buf);
	free(rx);
}

static void rmpp_rx_timer(struct timer *t, ns_t now)
{
	struct rmpp_rx *rx = container_of(t, struct rmpp_rx, timer);

	if (!rx->complete)
		rmpp_nack(rx->agent, &rx->addr, rx->first, RMPP_ABORT, RMPP_ST_T2L);
	rmpp_rx_free(rx);
}

static uint32_t rmpp_recv_data_len(const struct rmpp_rx *rx)
{
	return MAD_LEN - mad_hdr_len(rx->first[MAD_O_CLASS]);
}

static void rmpp_rx_ack(struct rmpp_rx *rx, const uint8_t *mad)
{
	rx->last_ack = rx->seg_num;
	rmpp_send_ack(rx->agent, &rx->addr, mad, rx->seg_num, rx->newwin);
}

/*
 * Keeps a complete message for another RMPP_KEEP_MS. Called at completion and for each repeated
 * segment.
 */
static void rmpp_keep(struct rmpp_rx *rx, ns_t now)
{
	if (timer_set(&rx->agent->port->host->timers, &rx->timer, now + RMPP_KEEP_MS * NS_MS))
		rmpp_rx_free(rx);
}

/* Makes room for segment seg; false: no memory, or beyond the limits. */
static bool rmpp_grow(struct rmpp_rx *rx, uint32_t seg)
{
	uint64_t need = (uint64_t)mad_hdr_len(rx->first[MAD_O_CLASS]) +
			(uint64_t)seg * rmpp_recv_data_len(rx);
	struct mad_agent *a = rx->agent;
	uint32_t size = rx->size;
	uint8_t *buf;

	if (need <= size)
		return true;
	if (need > RMPP_MAX_BYTES)
		return false;
	size = roundup_pow2((uint32_t)need);
	if (a->recv_bytes + size - rx->size > RMPP_MAX_AGENT_BYTES)
		return false;
	buf = realloc(rx->buf, size);
	if (!buf)
		return false;
	a->recv_bytes += size - rx->size;
	rx->buf = buf;
	rx->size = size;
	return true;
}

static void rmpp_store(struct rmpp_rx *rx, uint32_t seg, const uint8_t *mad)
{
	uint32_t hdr = mad_hdr_len(mad[MAD_O_CLASS]), data = MAD_LEN - hdr;

	memcpy(rx->buf + hdr + (seg - 1) * data, mad + hdr, data);
	if (seg == 1)
		memcpy(rx->buf, mad, hdr);
	if (mad[RMPP_O_RTIME_FLAGS] & RMPP_F_LAST) {
		rx->last = seg;
		rx->last_len = get_be32(mad + RMPP_O_LEN_WIN);
	}
}

/*
 * Length of headers and all data. If the PayloadLength of the last segment is invalid, that segment
 * counts as full.
 */
static uint32_t rmpp_whole_len(const struct rmpp_rx *rx)
{
	uint32_t pad = rx->last_len <= RMPP_DATA_LEN ? RMPP_DATA_LEN - rx->last_len : 0;

	return mad_hdr_len(rx->first[MAD_O_CLASS]) + rx->last * rmpp_recv_data_len(rx) -
	       min(pad, rx->last * rmpp_recv_data_len(rx));
}

/* The message is complete: msg gets the buffer; rx stays to answer repeated segments. */
static bool rmpp_finish(struct rmpp_rx *rx, struct rmpp_msg *msg, ns_t now)
{
	struct mad_agent *a = rx->agent;

	rx->complete = true;
	a->nrecvs--;
	list_del(&rx->link);
	if (a->nfinished == RMPP_MAX_FINISHED)
		rmpp_rx_free(list_first_entry(&a->finished, struct rmpp_rx, link));
	list_add_tail(&rx->link, &a->finished);
	a->nfinished++;
	rx->seg_num = rx->last;
	rx->newwin = max(rx->newwin, rx->last);
	rmpp_rx_ack(rx, rx->first);
	*msg = (struct rmpp_msg){ rx->buf, rmpp_whole_len(rx), rx->addr };
	a->recv_bytes -= rx->size;
	rx->buf = NULL;
	rmpp_keep(rx, now);
	return true;
}

static void rmpp_refuse(struct rmpp_rx *rx, const uint8_t *mad)
{
	rmpp_nack(rx->agent, &rx->addr, mad, RMPP_STOP, RMPP_ST_RESX);
	rmpp_rx_free(rx);
}

static bool rmpp_rx_continue(struct rmpp_rx *rx, const uint8_t *mad, uint32_t seg,
			     struct rmpp_msg *msg, ns_t now)
{
	uint64_t bit;

	if (seg > rx->newwin)
		return false;
	if (rx->complete || seg <= rx->last_ack) {
		rmpp_rx_ack(rx, mad);
		if (rx->complete)
			rmpp_keep(rx, now);
		return false;
	}
	if (seg <= rx->seg_num || (rx->last && seg > rx->last))
		return false;
	bit = 1ull << (seg - rx->seg_num - 1);
	if (rx->later & bit)
		return false;
	if (!rmpp_grow(rx, seg)) {
		rmpp_refuse(rx, mad);
		return false;
	}
	rmpp_store(rx, seg, mad);
	rx->later |= bit;
	while (rx->later & 1) {
		rx->later >>= 1;
		rx->seg_num++;
	}
	if (rx->last && rx->seg_num >= rx->last)
		return rmpp_finish(rx, msg, now);
	if (rx->seg_num == rx->newwin) {
		rx->newwin += RMPP_WINDOW;
		rmpp_rx_ack(rx, mad);
	}
	return false;
}

static bool rmpp_rx_start(struct mad_agent *a, const struct mad_addr *from, const uint8_t *mad,
			  struct rmpp_msg *msg, ns_t now)
{
	struct timer_heap *timers = &a->port->host->timers;
	struct rmpp_rx *rx = NULL;

	if (a->nrecvs < RMPP_MAX_RECVS)
		rx = calloc(1, sizeof(*rx));
	if (!rx) {
		rmpp_nack(a, from, mad, RMPP_STOP, RMPP_ST_RESX);
		return false;
	}
	rx->agent = a;
	rx->timer.fn = rmpp_rx_timer;
	rx->addr = *from;
	memcpy(rx->first, mad, MAD_LEN);
	rx->seg_num = rx->newwin = rx->repwin = 1;
	list_add_tail(&rx->link, &a->recvs);
	a->nrecvs++;
	if (!rmpp_grow(rx, 1) || timer_set(timers, &rx->timer, now + RMPP_RECV_MS * NS_MS)) {
		rmpp_refuse(rx, mad);
		return false;
	}
	rmpp_store(rx, 1, mad);
	if (rx->last)
		return rmpp_finish(rx, msg, now);
	rx->newwin += RMPP_WINDOW;
	rmpp_rx_ack(rx, mad);
	return false;
}

static bool rmpp_rx_data(struct mad_agent *a, const struct mad_addr *from, const uint8_t *mad,
			 struct rmpp_msg *msg, ns_t now)
{
	uint32_t seg = get_be32(mad + RMPP_O_SEG);
	bool first = mad[RMPP_O_RTIME_FLAGS] & RMPP_F_FIRST;
	struct rmpp_rx *rx;

	if (mad[RMPP_O_STATUS]) {
		rmpp_nack(a, from, mad, RMPP_ABORT, RMPP_ST_BAD_STATUS);
		return false;
	}
	if (first != (seg == 1)) {
		rmpp_nack(a, from, mad, RMPP_ABORT, RMPP_ST_BAD_SEG);
		return false;
	}
	rx = rmpp_find(a, from, mad, mad[MAD_O_METHOD]);
	if (rx)
		return rmpp_rx_continue(rx, mad, seg, msg, now);
	return seg == 1 && rmpp_rx_start(a, from, mad, msg, now);
}

void rmpp_stray(struct mad_agent *a, const struct mad_addr *from, const uint8_t *mad, ns_t now)
{
	struct rmpp_rx *rx = rmpp_find(a, from, mad, mad[MAD_O_METHOD]);

	if (!rx || !rx->complete)
		return;
	rmpp_rx_ack(rx, mad);
	rmpp_keep(rx, now);
}

/*
 * Handles STOP or ABORT. Its sender may be the sender or the receiver of a transfer, so both an
 * incomplete message from it and a send to it end.
 */
static void rmpp_rx_end(struct mad_agent *a, const struct mad_addr *from, const uint8_t *mad,
			ns_t now)
{
	uint8_t st = mad[RMPP_O_STATUS];
	bool valid = mad[RMPP_O_TYPE] == RMPP_STOP ?
			     st == RMPP_ST_RESX :
			     st >= RMPP_ST_ABORT_MIN && st <= RMPP_ST_ABORT_MAX;
	struct rmpp_rx *rx = rmpp_find(a, from, mad, mad[MAD_O_METHOD]);

	if (rx && !rx->complete)
		rmpp_rx_free(rx);
	rmpp_abort_tx(a, from, mad, valid ? st : RMPP_ST_BAD_STATUS, now);
	if (!valid)
		rmpp_nack(a, from, mad, RMPP_ABORT, RMPP_ST_BAD_STATUS);
}

static void rmpp_rx_bad(struct mad_agent *a, const struct mad_addr *from, const uint8_t *mad,
			uint8_t status, ns_t now)
{
	rmpp_abort_tx(a, from, mad, status, now);
	rmpp_nack(a, from, mad, RMPP_ABORT, status);
}

bool rmpp_input(struct mad_agent *a, const struct mad_addr *from, const uint8_t *mad,
		struct rmpp_msg *msg, ns_t now)
{
	if (mad[RMPP_O_VERSION] != RMPP_VERSION) {
		rmpp_rx_bad(a, from, mad, RMPP_ST_UNV, now);
		return false;
	}
	switch (mad[RMPP_O_TYPE]) {
	case RMPP_DATA:
		return rmpp_rx_data(a, from, mad, msg, now);
	case RMPP_ACK:
		rmpp_ack(a, from, mad, now);
		return false;
	case RMPP_STOP:
	case RMPP_ABORT:
		rmpp_rx_end(a, from, mad, now);
		return false;
	default:
		rmpp_rx_bad(a, from, mad, RMPP_ST_BADT, now);
		return false;
	}
}
