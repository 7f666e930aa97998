/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the files of shake/. */
#ifndef RUSE_SHAKE_INTERNAL_H
#define RUSE_SHAKE_INTERNAL_H

#include "base/list.h"
#include "link/kept.h"
#include "shake/shake.h"
#include "wire/psn.h"

/* A direction of a QP: what the peer asks, and what it answers. */
enum shake_side { SHAKE_REQUESTS, SHAKE_ANSWERS, SHAKE_SIDES };

/* Segments that have arrived and wait, in order. */
struct shake_queue {
	struct list_head segs;	/* struct shake_seg */
	uint32_t n;
	size_t bytes;
	ns_t until;		/* until then all of the direction wait; 0: none does */
};

struct shake_seg {
	struct list_head entry;
	struct link *from;
	size_t size;		/* of this allocation */
	struct seg_kept kept;
	struct shake_part part;	/* of the target, to which the payload belongs, if the rest is placed; len 0: it is whole */
	uint8_t data[];
};

struct shake_state {
	struct shake_qp qp;	/* the first member */
	uint32_t number;	/* of the QP among those of the process, from 0 */
	struct shake_queue queue[SHAKE_SIDES];
	/* The segment that the transport handles: how it came, and where it was kept; NULL: it was not. */
	struct link *from;
	ns_t now;
	const struct shake_seg *again;
	struct late_state {
		uint32_t sq_index, done;	/* the QP's sq.index as last seen; requests before that */
		uint32_t judged;	/* requests whose answer was judged */
	} late;
	struct place_state {
		uint32_t writes, reads;	/* events so far */
		uint32_t event;		/* the last decision, for place_rest() */
		uint64_t bits, before, len;
	} place;
	struct overtake_state {
		uint32_t reads, event;
		ns_t until, wait;	/* until: 0: no answer waits */
		bool told;
	} overtake;
	struct rnr_state {
		uint32_t sends, psn;	/* psn: of the request that was judged last, if `judged` */
		bool judged;
		ns_t until;	/* 0: it does not wait */
	} rnr;
	uint32_t messages;	/* of UD and UC */
};

static inline struct shake_state *shake_of(const struct qp *qp)
{
	return (struct shake_state *)qp->shake;
}

/* points.c */
void points_begin(const struct shake_cfg *cfg);
/* Is this point a decision? *bits: random numbers for what becomes of it, always the same. */
bool points_decide(enum shake_kind kind, uint32_t object, uint32_t event, uint64_t *bits);
/* A decision is taken; returns the process's place. */
const char *points_take(void);

/* shake.c: tells of a decision. Its text has the arguments 1 to 4. */
void shake_tell(struct rdev *dev, uint32_t qpn, const struct why *why, uint32_t object,
		uint32_t event);
/* The same of a decision with values 2 and so on. */
#define shake_told(dev, qpn, object, id, event, ...)                                             \
	do {                                                                                     \
		struct why shake_why;                                                            \
		why_set(&shake_why, id, event, qpn, __VA_ARGS__);                                \
		shake_tell(dev, qpn, &shake_why, object, event);                                 \
	} while (0)
#define shake_took(qp, id, event, ...)                                                           \
	shake_told((qp)->dev, (qp)->qpn, shake_of(qp)->number, id, event, __VA_ARGS__)

/* A quarter of the time after which the peer repeats a request, as far as it is known. */
ns_t shake_peer_waits(const struct qp *qp);
/* Sets shake_qp.due. */
void shake_set_due(struct shake_state *s);

/* queue.c */
void queue_init(struct shake_state *s);
/* Does a segment of this direction wait? Then later ones wait behind it. */
bool queue_waits(const struct shake_state *s, enum shake_side side);
/* Keeps a copy of the segment behind the others. False: no room, or its payload cannot be read; then no other waits any more. */
bool queue_keep(struct qp *qp, enum shake_side side, const struct seg *seg, struct link *from,
		ns_t now, shake_replay *replay);
/* Keeps a segment before the others, of its payload only what belongs to the part of the target. False: as above. */
bool queue_keep_part(struct qp *qp, enum shake_side side, const struct seg *seg, uint64_t off,
		     const struct shake_part *part);
/* Lets the direction wait until this time. */
void queue_hold(struct qp *qp, enum shake_side side, ns_t until);
/* Hands over what waits. */
void queue_release(struct qp *qp, enum shake_side side, ns_t now, shake_replay *replay);
/* Frees what waits. links: the links that it refers to are of this process. */
void queue_forget(struct shake_state *s, bool links);

/* late.c: is the answer that comes the decision? Then it and those behind it wait. How long it may wait without a repetition. */
bool late_judges(struct qp *qp, const struct seg *seg, ns_t now);
ns_t late_most(const struct qp *qp, ns_t now);

/* place.c: shake_ops.place and .place_rest */
enum shake_place place_judges(struct qp *qp, const struct seg *seg, uint64_t before,
			      const struct iovec *dst, uint64_t len, struct shake_part *part);
bool place_keeps(struct qp *qp, const struct seg *seg, uint64_t off, const struct shake_part *part);

/* overtake.c: shake_ops.read; a segment comes; the time has come. */
bool overtake_judges(struct qp *qp);
void overtake_input(struct qp *qp, const struct seg *seg);
void overtake_due(struct shake_state *s, ns_t now);

/* rnr.c: shake_ops.rnr; the time has come. */
bool rnr_judges(struct qp *qp, uint32_t psn, ns_t now);
void rnr_due(struct shake_state *s, ns_t now);

/* unrel.c: shake_ops.input of UC and UD. */
bool unrel_judges(struct qp *qp, const struct seg *seg, struct link *from, ns_t now,
		  shake_replay *replay);

/* queues.c: shake_ops.cq_begin and those behind it. */
void queues_begin(void);
void queues_cq_begin(struct cq *cq);
void queues_cq_end(struct cq *cq);
ns_t queues_completion(struct cq *cq);
ns_t queues_event(struct cq *cq);
bool queues_arm(struct cq *cq, uint32_t n);

/* cm.c: shake_ops.cm and .qpn; a QP has its number. */
void cm_begin(void);
ns_t cm_message(enum shake_message message, bool *twice);
uint32_t cm_qpn(void);
void cm_qp_begin(const struct qp *qp);

/* keys.c: shake_ops.key_index, .key and .key_gone */
void keys_begin(void);
uint32_t keys_index(void);
uint32_t keys_new(struct rdev *dev, uint32_t key);
void keys_gone(uint32_t key);

#endif
