/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "engine/pollstate.h"

struct pollstate_row {
	enum pollstate_id next;
	unsigned int actions;
};

/*
 * The events EMPTY_POLL and NONE have conditions, for which see pollstate_step(). Peers clear the
 * request for wake-ups when they wake the thread, so each round in ASLEEP makes it again.
 */
static const struct pollstate_row pollstate_rows[POLLSTATE_IDS][POLLSTATE_EVENTS] = {
	[POLLSTATE_ASLEEP] = {
		[POLLSTATE_EMPTY_POLL] = { POLLSTATE_POLLED, POLLSTATE_NO_WAKE | POLLSTATE_KICK },
		[POLLSTATE_ARM] = { POLLSTATE_ASLEEP, 0 },
		[POLLSTATE_ALIVE] = { POLLSTATE_ASLEEP, 0 },
		[POLLSTATE_NONE] = { POLLSTATE_ASLEEP, POLLSTATE_WAKE },
		[POLLSTATE_SOME] = { POLLSTATE_ASLEEP, POLLSTATE_WAKE },
		[POLLSTATE_MANY] = { POLLSTATE_STREAM, 0 },
	},
	[POLLSTATE_POLLED] = {
		[POLLSTATE_EMPTY_POLL] = { POLLSTATE_POLLED, 0 },
		[POLLSTATE_ARM] = { POLLSTATE_ASLEEP, POLLSTATE_WAKE },
		[POLLSTATE_ALIVE] = { POLLSTATE_POLLED, 0 },
		[POLLSTATE_NONE] = { POLLSTATE_ASLEEP, POLLSTATE_WAKE },
		[POLLSTATE_SOME] = { POLLSTATE_ASLEEP, POLLSTATE_WAKE },
		[POLLSTATE_MANY] = { POLLSTATE_STREAM, 0 },
	},
	[POLLSTATE_STREAM] = {
		[POLLSTATE_EMPTY_POLL] = { POLLSTATE_POLLED, POLLSTATE_NO_WAKE | POLLSTATE_KICK },
		[POLLSTATE_ARM] = { POLLSTATE_STREAM, 0 },
		[POLLSTATE_ALIVE] = { POLLSTATE_STREAM, 0 },
		[POLLSTATE_NONE] = { POLLSTATE_ASLEEP, POLLSTATE_WAKE },
		[POLLSTATE_SOME] = { POLLSTATE_STREAM, 0 },
		[POLLSTATE_MANY] = { POLLSTATE_STREAM, 0 },
	},
};

unsigned int pollstate_step(struct pollstate *s, enum pollstate_event event, ns_t now)
{
	const struct pollstate_row *row = &pollstate_rows[s->id][event];

	if (event == POLLSTATE_EMPTY_POLL && s->id != POLLSTATE_POLLED &&
	    ++s->empty < TUNE_HABIT)
		return 0;
	if (event == POLLSTATE_NONE && s->id == POLLSTATE_STREAM && now < s->until)
		return 0;
	if (event == POLLSTATE_ARM || event == POLLSTATE_SOME || event == POLLSTATE_MANY ||
	    row->next != s->id)
		s->empty = 0;
	if (event == POLLSTATE_MANY || (event == POLLSTATE_SOME && row->next == POLLSTATE_STREAM))
		s->until = now + TUNE_SOON;
	WRITE_ONCE(s->id, (uint32_t)row->next);
	return row->actions;
}

enum pollstate_event pollstate_round(int n)
{
	if (!n)
		return POLLSTATE_NONE;
	return n < TUNE_STREAM ? POLLSTATE_SOME : POLLSTATE_MANY;
}

void pollstate_seen_look(struct pollstate_seen *s, uint32_t gen)
{
	s->polls += gen - s->gen;
	s->gen = gen;
}

void pollstate_seen_check(struct pollstate_seen *s, uint32_t gen)
{
	pollstate_seen_look(s, gen);
	if (s->polls < s->grace / TUNE_GRACE * TUNE_HABIT)
		s->grace = TUNE_GRACE;
	else
		s->grace = min(s->grace + s->grace / TUNE_TRUST, TUNE_GRACE_MAX);
	s->polls = 0;
}

void pollstate_seen_reset(struct pollstate_seen *s, uint32_t gen)
{
	*s = (struct pollstate_seen){ .gen = gen, .grace = TUNE_GRACE };
}

ns_t pollstate_due(const struct pollstate *s, const struct pollstate_seen *seen, ns_t now)
{
	switch (pollstate_get(s)) {
	case POLLSTATE_POLLED:
		return now + seen->grace;
	case POLLSTATE_STREAM:
		return now;
	case POLLSTATE_ASLEEP:
	case POLLSTATE_IDS:
		break;
	}
	return NS_NEVER;
}

bool pollstate_idle_looked(struct pollstate_idle *s, uint32_t gen, bool found)
{
	s->gen = gen;
	s->vain = found ? 0 : s->vain + 1;
	return pollstate_idle_watched(s);
}

void pollstate_idle_reset(struct pollstate_idle *s, uint32_t gen)
{
	*s = (struct pollstate_idle){ .gen = gen - TUNE_RARELY };
}
