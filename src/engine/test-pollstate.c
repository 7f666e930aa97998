/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The poll state: each transition of the table, and what the constants mean, in virtual time. */
#include "base/testing.h"
#include "engine/pollstate.h"

#define WAKE POLLSTATE_WAKE
#define TAKE_OVER (POLLSTATE_NO_WAKE | POLLSTATE_KICK)

static ns_t now = NS_S;

static unsigned int step(struct pollstate *s, enum pollstate_event event)
{
	return pollstate_step(s, event, now);
}

/* Brings s into a state by the shortest way. */
static struct pollstate in(enum pollstate_id id)
{
	struct pollstate s = { 0 };

	if (id == POLLSTATE_POLLED)
		for (uint32_t i = 0; i < TUNE_HABIT; i++)
			step(&s, POLLSTATE_EMPTY_POLL);
	if (id == POLLSTATE_STREAM)
		step(&s, POLLSTATE_MANY);
	assert_int_equal(pollstate_get(&s), id);
	return s;
}

static const struct {
	enum pollstate_id from;
	enum pollstate_event event;
	enum pollstate_id to;
	unsigned int actions;
} transitions[] = {
	{ POLLSTATE_ASLEEP, POLLSTATE_EMPTY_POLL, POLLSTATE_ASLEEP, 0 },
	{ POLLSTATE_ASLEEP, POLLSTATE_ARM, POLLSTATE_ASLEEP, 0 },
	{ POLLSTATE_ASLEEP, POLLSTATE_ALIVE, POLLSTATE_ASLEEP, 0 },
	{ POLLSTATE_ASLEEP, POLLSTATE_NONE, POLLSTATE_ASLEEP, WAKE },
	{ POLLSTATE_ASLEEP, POLLSTATE_SOME, POLLSTATE_ASLEEP, WAKE },
	{ POLLSTATE_ASLEEP, POLLSTATE_MANY, POLLSTATE_STREAM, 0 },
	{ POLLSTATE_POLLED, POLLSTATE_EMPTY_POLL, POLLSTATE_POLLED, 0 },
	{ POLLSTATE_POLLED, POLLSTATE_ARM, POLLSTATE_ASLEEP, WAKE },
	{ POLLSTATE_POLLED, POLLSTATE_ALIVE, POLLSTATE_POLLED, 0 },
	{ POLLSTATE_POLLED, POLLSTATE_NONE, POLLSTATE_ASLEEP, WAKE },
	{ POLLSTATE_POLLED, POLLSTATE_SOME, POLLSTATE_ASLEEP, WAKE },
	{ POLLSTATE_POLLED, POLLSTATE_MANY, POLLSTATE_STREAM, 0 },
	{ POLLSTATE_STREAM, POLLSTATE_EMPTY_POLL, POLLSTATE_STREAM, 0 },
	{ POLLSTATE_STREAM, POLLSTATE_ARM, POLLSTATE_STREAM, 0 },
	{ POLLSTATE_STREAM, POLLSTATE_ALIVE, POLLSTATE_STREAM, 0 },
	{ POLLSTATE_STREAM, POLLSTATE_NONE, POLLSTATE_STREAM, 0 },
	{ POLLSTATE_STREAM, POLLSTATE_SOME, POLLSTATE_STREAM, 0 },
	{ POLLSTATE_STREAM, POLLSTATE_MANY, POLLSTATE_STREAM, 0 },
};

static void test_transitions(void **state)
{
	assert_int_equal(ARRAY_SIZE(transitions), POLLSTATE_IDS * POLLSTATE_EVENTS);
	for (size_t i = 0; i < ARRAY_SIZE(transitions); i++) {
		struct pollstate s = in(transitions[i].from);

		assert_int_equal(step(&s, transitions[i].event), transitions[i].actions);
		assert_int_equal(pollstate_get(&s), transitions[i].to);
	}
}

/* TUNE_HABIT empty polls: one less is not enough, from ASLEEP and from STREAM. */
static void test_polls(void **state)
{
	static const enum pollstate_id from[] = { POLLSTATE_ASLEEP, POLLSTATE_STREAM };

	for (size_t i = 0; i < ARRAY_SIZE(from); i++) {
		struct pollstate s = in(from[i]);

		for (uint32_t n = 1; n < TUNE_HABIT; n++) {
			assert_int_equal(step(&s, POLLSTATE_EMPTY_POLL), 0);
			assert_int_equal(pollstate_get(&s), from[i]);
		}
		assert_int_equal(step(&s, POLLSTATE_EMPTY_POLL), TAKE_OVER);
		assert_int_equal(pollstate_get(&s), POLLSTATE_POLLED);
	}
}

/* What shows that the program waits for something else lets the count begin anew. */
static void test_polls_begin_anew(void **state)
{
	static const enum pollstate_event breaks[] = { POLLSTATE_ARM, POLLSTATE_SOME,
						       POLLSTATE_MANY };

	for (size_t i = 0; i < ARRAY_SIZE(breaks); i++) {
		struct pollstate s = in(POLLSTATE_ASLEEP);

		for (uint32_t n = 1; n < TUNE_HABIT; n++)
			step(&s, POLLSTATE_EMPTY_POLL);
		step(&s, breaks[i]);
		assert_int_equal(step(&s, POLLSTATE_EMPTY_POLL), 0);
		assert_int_not_equal(pollstate_get(&s), POLLSTATE_POLLED);
	}
}

/* After POLLED as many empty polls are needed as before. */
static void test_polls_after_grace(void **state)
{
	struct pollstate s = in(POLLSTATE_POLLED);

	step(&s, POLLSTATE_NONE);
	for (uint32_t n = 1; n < TUNE_HABIT; n++)
		assert_int_equal(step(&s, POLLSTATE_EMPTY_POLL), 0);
	assert_int_equal(step(&s, POLLSTATE_EMPTY_POLL), TAKE_OVER);
}

/* A stream ends TUNE_SOON after its last segment, and not earlier. */
static void test_linger(void **state)
{
	struct pollstate s = in(POLLSTATE_STREAM);

	for (int i = 0; i < 100; i++) {
		now += TUNE_SOON - 1;
		assert_int_equal(step(&s, POLLSTATE_NONE), 0);
		assert_int_equal(pollstate_get(&s), POLLSTATE_STREAM);
		step(&s, i % 2 ? POLLSTATE_SOME : POLLSTATE_MANY);
	}
	now += TUNE_SOON;
	assert_int_equal(step(&s, POLLSTATE_NONE), WAKE);
	assert_int_equal(pollstate_get(&s), POLLSTATE_ASLEEP);
}

/* Segments 10 us apart are a stream. 1 ms without a segment is its end. */
static void test_stream_pace(void **state)
{
	struct pollstate s = in(POLLSTATE_STREAM);

	for (int i = 0; i < 100; i++) {
		now += 10 * NS_US;
		step(&s, POLLSTATE_NONE);
		assert_int_equal(pollstate_get(&s), POLLSTATE_STREAM);
		step(&s, POLLSTATE_SOME);
	}
	now += NS_MS;
	step(&s, POLLSTATE_NONE);
	assert_int_equal(pollstate_get(&s), POLLSTATE_ASLEEP);
}

/* Arming a CQ does not lengthen a stream. */
static void test_arm_in_stream(void **state)
{
	struct pollstate s = in(POLLSTATE_STREAM);

	now += TUNE_SOON;
	step(&s, POLLSTATE_ARM);
	assert_int_equal(step(&s, POLLSTATE_NONE), WAKE);
}

static void test_round(void **state)
{
	assert_int_equal(pollstate_round(0), POLLSTATE_NONE);
	assert_int_equal(pollstate_round(1), POLLSTATE_SOME);
	assert_int_equal(pollstate_round(TUNE_STREAM - 1), POLLSTATE_SOME);
	assert_int_equal(pollstate_round(TUNE_STREAM), POLLSTATE_MANY);
	/* A round takes in 64 segments at most. */
	assert_int_equal(pollstate_round(64), POLLSTATE_MANY);
}

static void test_due(void **state)
{
	struct pollstate s = in(POLLSTATE_ASLEEP);
	struct pollstate_seen seen;

	pollstate_seen_reset(&seen, 0);
	assert_true(pollstate_due(&s, &seen, now) == NS_NEVER);
	s = in(POLLSTATE_POLLED);
	assert_true(pollstate_due(&s, &seen, now) == now + TUNE_GRACE);
	s = in(POLLSTATE_STREAM);
	assert_true(pollstate_due(&s, &seen, now) == now);
}

/* What became of a program that polled: the checks, and how long after its last poll the thread has taken over. */
struct stopped {
	int checks;
	ns_t late;
};

/* A program polls once in `every` for `time`. */
static struct stopped program_stops(ns_t time, ns_t every)
{
	struct pollstate s = in(POLLSTATE_POLLED);
	ns_t begin = now, stop = now + time;
	struct pollstate_seen seen;
	struct stopped r = { 0 };
	uint32_t gen = UINT32_MAX - 1000, was = gen;

	pollstate_seen_reset(&seen, gen);
	while (pollstate_get(&s) == POLLSTATE_POLLED) {
		now = pollstate_due(&s, &seen, now);
		gen = was + (uint32_t)((min(now, stop) - begin) / every);
		if (gen != seen.gen)
			pollstate_seen_check(&seen, gen);
		else
			step(&s, POLLSTATE_NONE);
		r.checks++;
	}
	r.late = now - stop;
	return r;
}

/*
 * A program polls for a second and stops: there are fewer than 150 checks, and the thread takes over within two of them.
 * After a shorter time of polling it takes over sooner. A program that stops is noticed within 40 ms.
 */
static void test_program_stops(void **state)
{
	struct stopped r = program_stops(NS_S, NS_US);

	assert_in_range(r.checks, NS_S / TUNE_GRACE_MAX, 150);
	assert_true(r.late <= 2 * TUNE_GRACE_MAX);
	assert_true(r.late <= 40 * NS_MS);
	for (ns_t time = NS_MS; time <= 500 * NS_MS; time += NS_MS) {
		r = program_stops(time, NS_US);
		assert_true(r.late <= time / 15 + 3 * TUNE_GRACE);
	}
}

/* A program that polls seldom, or has begun to, is not trusted for longer than TUNE_GRACE. */
static void test_program_polls_seldom(void **state)
{
	struct stopped r = program_stops(NS_S, NS_MS / 4);
	struct pollstate_seen seen;

	assert_in_range(r.checks, NS_S / TUNE_GRACE, NS_S / TUNE_GRACE + 2);
	assert_true(r.late <= 2 * TUNE_GRACE);
	pollstate_seen_reset(&seen, 0);
	for (uint32_t i = 1; i <= 100; i++)
		pollstate_seen_check(&seen, i * 100000);
	assert_true(seen.grace == TUNE_GRACE_MAX);
	pollstate_seen_check(&seen, seen.gen + TUNE_GRACE_MAX / TUNE_GRACE * TUNE_HABIT - 1);
	assert_true(seen.grace == TUNE_GRACE);
}

/* Looks outside the checks do not change the time, and what they find counts. */
static void test_looks(void **state)
{
	struct pollstate_seen seen, other;

	pollstate_seen_reset(&seen, 7);
	other = seen;
	for (uint32_t i = 1; i <= 1000; i++) {
		pollstate_seen_look(&seen, 7 + i);
		assert_true(seen.grace == TUNE_GRACE);
	}
	pollstate_seen_check(&seen, 1007);
	pollstate_seen_check(&other, 1007);
	assert_true(seen.grace == other.grace && seen.grace > TUNE_GRACE);
}

/* One poll in TUNE_RARELY looks; as many looks in vain, and the thread watches. */
static void test_idle(void **state)
{
	uint32_t gen = UINT32_MAX - TUNE_RARELY, looks = 0;
	struct pollstate_idle s;

	pollstate_idle_reset(&s, gen);
	assert_true(pollstate_idle_due(&s, gen));
	while (!pollstate_idle_watched(&s)) {
		gen++;
		if (!pollstate_idle_due(&s, gen))
			continue;
		looks++;
		assert_int_equal(pollstate_idle_looked(&s, gen, false), looks == TUNE_RARELY);
		assert_false(pollstate_idle_due(&s, gen + TUNE_RARELY - 1));
	}
	assert_int_equal(looks, TUNE_RARELY);
	assert_false(pollstate_idle_due(&s, gen + TUNE_RARELY));
	pollstate_idle_reset(&s, gen);
	assert_true(pollstate_idle_due(&s, gen));
}

/* A packet now and then: the thread does not watch. */
static void test_idle_found(void **state)
{
	struct pollstate_idle s = { 0 };

	for (uint32_t look = 1; look < 10 * TUNE_RARELY; look++) {
		assert_true(pollstate_idle_due(&s, look * TUNE_RARELY));
		pollstate_idle_looked(&s, look * TUNE_RARELY, look % (TUNE_RARELY - 1) == 0);
		assert_false(pollstate_idle_watched(&s));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_transitions),
		cmocka_unit_test(test_polls),
		cmocka_unit_test(test_polls_begin_anew),
		cmocka_unit_test(test_polls_after_grace),
		cmocka_unit_test(test_linger),
		cmocka_unit_test(test_stream_pace),
		cmocka_unit_test(test_arm_in_stream),
		cmocka_unit_test(test_round),
		cmocka_unit_test(test_due),
		cmocka_unit_test(test_program_stops),
		cmocka_unit_test(test_program_polls_seldom),
		cmocka_unit_test(test_looks),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_idle_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
