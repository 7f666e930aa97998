/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which thread takes in arriving segments: one of the program that polls a CQ, or the progress thread of
 * the process, and whether peers must wake the latter.
 *
 * A state machine without side effects. The caller reports events with the time, and carries out the
 * actions that pollstate_step() returns. All calls under the engine lock, but pollstate_get().
 */
#ifndef RUSE_ENGINE_POLLSTATE_H
#define RUSE_ENGINE_POLLSTATE_H

#include "base/tuning.h"
#include "shared/barrier.h"

enum pollstate_id {
	/*
	 * The program does not poll. The thread sleeps until a peer wakes it, and then takes in
	 * everything. Left for POLLED after TUNE_HABIT empty polls of the program, and for
	 * STREAM after a round with many segments.
	 */
	POLLSTATE_ASLEEP,
	/*
	 * The program polls and takes in everything; peers do not wake the thread. From time to time
	 * (struct pollstate_seen) the thread wakes by itself and checks for polls. Left for ASLEEP
	 * when there was none, or when the program arms a CQ.
	 */
	POLLSTATE_POLLED,
	/*
	 * A stream arrives for a program that does not poll (RDMA WRITE to a sleeping program). Its
	 * next segment comes sooner than a sleep and a wake-up take, so the thread polls. Left for
	 * ASLEEP when nothing came for TUNE_SOON, and for POLLED as from ASLEEP.
	 */
	POLLSTATE_STREAM,
	POLLSTATE_IDS
};

enum pollstate_event {
	/* Program: a poll found nothing. */
	POLLSTATE_EMPTY_POLL,
	/* Program: a CQ was armed, so the program is about to sleep. */
	POLLSTATE_ARM,
	/* Thread, in POLLED: the program has polled since the last check. No round is needed. */
	POLLSTATE_ALIVE,
	/* Thread: a round took in no segment, */
	POLLSTATE_NONE,
	/* fewer than TUNE_STREAM, */
	POLLSTATE_SOME,
	/* or at least as many. */
	POLLSTATE_MANY,
	POLLSTATE_EVENTS
};

enum {
	/* Ask peers for wake-ups, then look once more: one may have sent before it saw the request. */
	POLLSTATE_WAKE = 1,
	/* Tell peers that no wake-ups are needed. */
	POLLSTATE_NO_WAKE = 2,
	/* Wake the thread: the time until which it may sleep has changed. */
	POLLSTATE_KICK = 4,
};

struct pollstate {
	uint32_t id;		/* enum pollstate_id */
	uint32_t empty;		/* empty polls since the program last counted as not polling */
	ns_t until;		/* STREAM: when it ends, unless a segment comes */
};

/* The state, also without the lock. It may change at once. */
static inline enum pollstate_id pollstate_get(const struct pollstate *s)
{
	return (enum pollstate_id)READ_ONCE(s->id);
}

/* Report an event. Returns the actions to carry out: POLLSTATE_WAKE and others, 0: none. */
unsigned int pollstate_step(struct pollstate *s, enum pollstate_event event, ns_t now);

/* The event of a round of the thread that took in n segments. */
enum pollstate_event pollstate_round(int n);

/*
 * In POLLED, what the thread has seen of the program's polls, and the time from one check to the next: TUNE_GRACE at first. It
 * grows by a part in TUNE_TRUST with each check that finds TUNE_HABIT polls for each TUNE_GRACE, up to TUNE_GRACE_MAX; a check
 * that finds fewer makes it TUNE_GRACE again. So the thread takes over within 3 ms and a part in 15 of the time for which the
 * program has polled.
 */
struct pollstate_seen {
	uint32_t gen;		/* number of polls at the last look; it wraps */
	uint32_t polls;		/* found by looks since the last check */
	ns_t grace;
};

/* The thread has looked outside a check, and the program has polled. gen: number of polls so far. */
void pollstate_seen_look(struct pollstate_seen *s, uint32_t gen);
/* A check in POLLED: the program polls. */
void pollstate_seen_check(struct pollstate_seen *s, uint32_t gen);
/* The program does not poll. */
void pollstate_seen_reset(struct pollstate_seen *s, uint32_t gen);

/* The latest time for the thread's next event. NS_NEVER: when it is woken; now: at once. */
ns_t pollstate_due(const struct pollstate *s, const struct pollstate_seen *seen, ns_t now);

/*
 * In POLLED, sockets from which nothing is expected: one poll in TUNE_RARELY looks at them, and after
 * as many looks in vain the thread watches them. It wakes when one becomes readable, and polls look again.
 */
struct pollstate_idle {
	uint32_t gen;		/* number of polls at the last look */
	uint32_t vain;		/* looks in a row that found nothing; TUNE_RARELY: the thread watches */
};

static inline bool pollstate_idle_watched(const struct pollstate_idle *s)
{
	return s->vain >= TUNE_RARELY;
}

/* Must this poll look? gen: number of polls so far; it wraps. */
static inline bool pollstate_idle_due(const struct pollstate_idle *s, uint32_t gen)
{
	return !pollstate_idle_watched(s) && gen - s->gen >= TUNE_RARELY;
}

/* A poll has looked. Returns whether the thread must watch from now on. */
bool pollstate_idle_looked(struct pollstate_idle *s, uint32_t gen, bool found);
/* Polls look again, from the next one on. The thread need not watch. */
void pollstate_idle_reset(struct pollstate_idle *s, uint32_t gen);

#endif
