/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RMPP sender (IBA 13.6.3, 13.6.5; the kernel's mad_rmpp.c). A message is sent in
 * segments, each with the whole header, up to the window in the receiver's last ACK.
 * If no ACK arrives within RMPP_ACK_MS (or the shorter response timeout), everything
 * after the last acknowledged segment is repeated. The ACK of the last segment
 * completes the send if no response is expected. Otherwise this side becomes the receiver
 * of the response: it sends an ACK of segment 0, which tells the peer the first window of
 * the response, and the response completes the send.
 */
#include <errno.h>
#include "mad/mad_internal.h"

bool rmpp_active(const uint8_t *mad)
{
	return mad_class_has_rmpp(mad[MAD_O_CLASS]) && mad[RMPP_O_RTIME_FLAGS] & RMPP_F_ACTIVE;
}

static uint32_t rmpp_send_data_len(const struct mad_tx *tx)
{
	return MAD_LEN - mad_hdr_len(tx->mad[MAD_O_CLASS]);
}

void rmpp_prepare(struct mad_tx *tx)
{
	uint32_t hdr = mad_hdr_len(tx->mad[MAD_O_CLASS]), data = rmpp_send_data_len(tx);
	uint8_t *mad = tx->mad;

	mad[RMPP_O_VERSION] = RMPP_VERSION;
	mad[RMPP_O_TYPE] = RMPP_DATA;
	mad[RMPP_O_RTIME_FLAGS] &= (uint8_t)~RMPP_FLAGS;
	mad[RMPP_O_RTIME_FLAGS] |= RMPP_F_ACTIVE;
	mad[RMPP_O_STATUS] = RMPP_ST_OK;
	tx->seg_count = max((tx->len - hdr + data - 1) / data, 1u);
}

/*
 * Unused data bytes of the last segment. PayloadLength counts the class header of each segment and
 * the data without this padding.
 */
static uint32_t rmpp_pad_len(const struct mad_tx *tx)
{
	uint32_t hdr = mad_hdr_len(tx->mad[MAD_O_CLASS]);

	return tx->seg_count * rmpp_send_data_len(tx) - (tx->len - hdr);
}

static int rmpp_send_seg(const struct mad_tx *tx, uint32_t seg)
{
	uint32_t hdr = mad_hdr_len(tx->mad[MAD_O_CLASS]), data = rmpp_send_data_len(tx);
	uint32_t off = hdr + (seg - 1) * data, paylen = 0;
	uint8_t mad[MAD_LEN] = { 0 };

	memcpy(mad, tx->mad, hdr);
	if (off < tx->len)
		memcpy(mad + hdr, tx->mad + off, min(data, tx->len - off));
	if (seg == 1) {
		mad[RMPP_O_RTIME_FLAGS] |= RMPP_F_FIRST;
		paylen = tx->seg_count * RMPP_DATA_LEN - rmpp_pad_len(tx);
	}
	if (seg == tx->seg_count) {
		mad[RMPP_O_RTIME_FLAGS] |= RMPP_F_LAST;
		paylen = RMPP_DATA_LEN - rmpp_pad_len(tx);
	}
	put_be32(mad + RMPP_O_SEG, seg);
	put_be32(mad + RMPP_O_LEN_WIN, paylen);
	return port_send(tx->agent->port, &tx->addr, mad);
}

/*
 * Sends the segments that the window allows. 0, or -errno if the first cannot be sent. A failure
 * of a later one counts as loss: the timer repeats it.
 */
static int rmpp_send_window(struct mad_tx *tx, ns_t now)
{
	uint32_t end = min(tx->newwin, tx->seg_count), first = tx->seg_num;
	uint32_t ms = tx->timeout_ms;
	int rc = 0;

	while (tx->seg_num < end && !rc) {
		rc = rmpp_send_seg(tx, tx->seg_num + 1);
		if (!rc)
			tx->seg_num++;
	}
	if (tx->seg_num == first && rc)
		return rc;
	return tx_set_timer(tx, ms && ms < RMPP_ACK_MS ? ms : RMPP_ACK_MS, now);
}

/* Window of a response: from the requester's ACK of segment 0 if received, else one segment. */
static uint32_t rmpp_reply_window(const struct mad_tx *tx)
{
	struct rmpp_rx *rx;

	if (!(tx->mad[MAD_O_METHOD] & MAD_RESP))
		return 1;
	list_for_each_entry(rx, &tx->agent->finished, link)
		if (mad_tid(rx->first) == mad_tid(tx->mad) &&
		    rx->first[MAD_O_CLASS] == tx->mad[MAD_O_CLASS] &&
		    rx->first[MAD_O_CLASS_VERSION] == tx->mad[MAD_O_CLASS_VERSION] &&
		    !(rx->first[MAD_O_METHOD] & MAD_RESP) && addr_same_peer(&rx->addr, &tx->addr))
			return rx->repwin;
	return 1;
}

int rmpp_start(struct mad_tx *tx, ns_t now)
{
	tx->newwin = rmpp_reply_window(tx);
	return rmpp_send_window(tx, now);
}

int rmpp_retry(struct mad_tx *tx, ns_t now)
{
	/* All segments are acknowledged, but there is no response: do not repeat the request. */
	if (tx->last_ack == tx->seg_count)
		return -ECOMM;
	tx->seg_num = tx->last_ack;
	return rmpp_send_window(tx, now);
}

/* Sends a MAD with the headers of mad and the response bit inverted. */
static void rmpp_answer(struct mad_agent *a, const struct mad_addr *to, const uint8_t *mad,
			enum rmpp_type type, uint8_t status, uint32_t seg, uint32_t win)
{
	uint8_t out[MAD_LEN] = { 0 };

	memcpy(out, mad, mad_hdr_len(mad[MAD_O_CLASS]));
	out[MAD_O_METHOD] ^= MAD_RESP;
	out[RMPP_O_VERSION] = RMPP_VERSION;
	out[RMPP_O_TYPE] = type;
	out[RMPP_O_RTIME_FLAGS] &= (uint8_t)~RMPP_FLAGS;
	out[RMPP_O_RTIME_FLAGS] |= RMPP_F_ACTIVE;
	out[RMPP_O_STATUS] = status;
	put_be32(out + RMPP_O_SEG, seg);
	put_be32(out + RMPP_O_LEN_WIN, win);
	port_send(a->port, to, out);
}

void rmpp_nack(struct mad_agent *a, const struct mad_addr *to, const uint8_t *mad,
	       enum rmpp_type type, uint8_t status)
{
	rmpp_answer(a, to, mad, type, status, 0, 0);
}

void rmpp_send_ack(struct mad_agent *a, const struct mad_addr *to, const uint8_t *mad,
		   uint32_t seg, uint32_t win)
{
	rmpp_answer(a, to, mad, RMPP_ACK, RMPP_ST_OK, seg, win);
}

void rmpp_give_up(struct mad_tx *tx)
{
	uint8_t mad[MAD_LEN];

	memcpy(mad, tx->mad, sizeof(mad));
	mad[MAD_O_METHOD] ^= MAD_RESP;
	rmpp_nack(tx->agent, &tx->addr, mad, RMPP_ABORT, RMPP_ST_TMR);
}

void rmpp_abort_tx(struct mad_agent *a, const struct mad_addr *from, const uint8_t *mad,
		   uint8_t status, ns_t now)
{
	struct mad_tx *tx = tx_find(a, from, mad);

	if (tx && tx->last_ack < tx->seg_count)
		tx_done(tx, MAD_ABORTED, status, now);
}

/*
 * Handles an invalid ACK: ends the send that it belongs to with this status, and sends the peer an
 * ABORT with the same status.
 */
static void rmpp_bad_ack(struct mad_agent *a, const struct mad_addr *from, const uint8_t *mad,
			 uint8_t status, ns_t now)
{
	rmpp_abort_tx(a, from, mad, status, now);
	rmpp_nack(a, from, mad, RMPP_ABORT, status);
}

static void rmpp_tx_ack(struct mad_tx *tx, const struct mad_addr *from, const uint8_t *mad,
			uint32_t seg, uint32_t win, ns_t now)
{
	if (win < tx->newwin || seg < tx->last_ack)
		return;	/* an old ACK */
	if (seg > tx->last_ack) {
		tx->last_ack = seg;
		tx->seg_num = max(tx->seg_num, seg);
		tx->retries_left = tx->retries;
	}
	tx->newwin = win;
	if (tx->last_ack < tx->seg_count) {
		/*
		 * An error of rmpp_send_window() is ignored: the timer repeats segments that were not
		 * sent.
		 */
		if (tx->seg_num < tx->newwin)
			rmpp_send_window(tx, now);
		return;
	}
	if (!tx->timeout_ms) {
		tx_done(tx, MAD_SENT, 0, now);
		return;
	}
	tx_set_timer(tx, tx->timeout_ms, now);
	rmpp_send_ack(tx->agent, from, mad, 0, 1);
}

void rmpp_ack(struct mad_agent *a, const struct mad_addr *from, const uint8_t *mad, ns_t now)
{
	uint32_t seg = get_be32(mad + RMPP_O_SEG), win = get_be32(mad + RMPP_O_LEN_WIN);
	struct rmpp_rx *rx;
	struct mad_tx *tx;

	if (mad[RMPP_O_STATUS]) {
		rmpp_bad_ack(a, from, mad, RMPP_ST_BAD_STATUS, now);
		return;
	}
	if (win < seg) {
		rmpp_bad_ack(a, from, mad, RMPP_ST_W2S, now);
		return;
	}
	tx = tx_find(a, from, mad);
	if (!tx) {
		rx = seg ? NULL : rmpp_find(a, from, mad, mad[MAD_O_METHOD]);
		if (rx && rx->complete)
			rx->repwin = win;
		return;
	}
	if (!tx->seg_count)
		return;
	if (tx->last_ack == tx->seg_count) {
		/* The peer repeats the ACK of the last segment: it has not got the ACK of segment 0. */
		rmpp_send_ack(a, from, mad, 0, 1);
		return;
	}
	if (seg > tx->seg_count || seg > tx->newwin) {
		rmpp_bad_ack(a, from, mad, RMPP_ST_S2B, now);
		return;
	}
	rmpp_tx_ack(tx, from, mad, seg, win, now);
}
