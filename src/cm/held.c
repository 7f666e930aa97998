/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * REQs for which the consumer has no room (-ENOMEM, a full backlog) are kept for a
 * while and tried again, as if the wire had been slow. The kernel drops them, and
 * the peer waits for its own timer, 6 seconds; but there every MAD costs both
 * sides' time, while here a burst of connections within a host is through before
 * the listener's process has run at all.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cm/rx_internal.h"

#define HELD_MAX 16384u		/* REQs; further ones are dropped */
#define HELD_FOR (4 * NS_S)	/* before the peer repeats it */
#define HELD_RETRY (2 * NS_MS)

struct cm_held {
	struct list_head list;
	struct cm_av from;	/* dev NULL: it has gone while this was tried */
	ns_t until;
	uint8_t mad[CM_MAD_LEN];
};

static void put_back(struct cm *cm, struct cm_held *h)
{
	list_add_tail(&h->list, &cm->held);
	cm->nheld++;
	cm->count++;
}

static struct cm_held *take_first(struct cm *cm)
{
	struct cm_held *h = list_first_entry(&cm->held, struct cm_held, list);

	list_del(&h->list);
	cm->nheld--;
	cm->count--;
	return h;
}

/* True if there is still no room for it. */
static bool try_again(struct cm *cm, struct cm_held *h, ns_t now)
{
	struct cm_rx rx = { .cm = cm, .from = &h->from, .mad = h->mad, .now = now };

	cm_msg_hdr(h->mad, &rx.hdr);
	cm->trying = h;
	cm_req_handler(&rx);
	cm->trying = NULL;
	return rx.full && h->from.dev;
}

/* Each once, in turn, but not those of a listener that has just proved to be full. */
static void held_due(struct timer *t, ns_t now)
{
	struct cm *cm = container_of(t, struct cm, held_timer);
	const struct cm_device *full_dev = NULL;
	uint64_t full_id = 0, id;
	struct cm_held *h;
	uint32_t n;

	for (n = cm->nheld; n && cm->nheld; n--) {
		h = take_first(cm);
		id = cm_get(h->mad, CM_REQ_SERVICE_ID);
		if (h->until <= now) {
			free(h);
		} else if (full_dev == h->from.dev && full_id == id) {
			put_back(cm, h);
		} else if (try_again(cm, h, now)) {
			full_dev = h->from.dev;
			full_id = id;
			put_back(cm, h);
		} else {
			free(h);
		}
	}
	timer_set(&cm->timers, t, cm->nheld ? now + HELD_RETRY : NS_NEVER - 1);
}

void cm_hold(const struct cm_rx *rx)
{
	struct cm *cm = rx->cm;
	struct cm_held *h;

	if (cm->nheld >= HELD_MAX)
		return;
	h = malloc(sizeof(*h));
	if (!h)
		return;
	h->from = *rx->from;
	h->until = rx->now + HELD_FOR;
	memcpy(h->mad, rx->mad, CM_MAD_LEN);
	if (!cm->nheld)
		timer_set(&cm->timers, &cm->held_timer, rx->now + HELD_RETRY);
	put_back(cm, h);
}

void cm_held_remove_device(struct cm *cm, const struct cm_device *dev)
{
	struct cm_held *h;
	uint32_t n;

	if (cm->trying && cm->trying->from.dev == dev)
		cm->trying->from.dev = NULL;
	for (n = cm->nheld; n; n--) {
		h = take_first(cm);
		if (h->from.dev == dev)
			free(h);
		else
			put_back(cm, h);
	}
}

int cm_held_init(struct cm *cm)
{
	list_init(&cm->held);
	cm->held_timer.fn = held_due;
	/* Its place in the heap is taken now, so that arming it cannot fail. */
	return timer_set(&cm->timers, &cm->held_timer, NS_NEVER - 1);
}

void cm_held_fini(struct cm *cm)
{
	while (cm->nheld)
		free(take_first(cm));
}
