/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of peers in virtual time, with a look-up that the test answers. */
#include "base/testing.h"
#include <errno.h>
#include "engine/peers.h"

static ns_t now;

/* What the next look-up does. */
static struct {
	int ret;
	struct link *link;
	ns_t takes;		/* at most the wait that the table permits */
	struct peers *inner;	/* it looks inner_key up itself */
	struct peer_key inner_key;
	uint32_t calls;
	ns_t waited;
} answer;

static ns_t virtual_now(void)
{
	return now;
}

static const struct peers_ops ops;

static int answer_look_up(struct peer *p, ns_t wait, void *arg)
{
	struct peers *inner = answer.inner;
	const struct peer *found;

	assert_ptr_equal(arg, &answer);
	if (inner) {
		answer.inner = NULL;
		assert_int_equal(peers_look_up(inner, &answer.inner_key, &ops, wait, arg, &found),
				 0);
	}
	answer.calls++;
	answer.waited = min(wait, answer.takes);
	now += answer.waited;
	p->link = answer.link;
	if (p->link)
		link_get(p->link);
	return answer.ret;
}

static const struct peers_ops ops = { .now = virtual_now, .look_up = answer_look_up };

static void answer_with(int ret, struct link *l, ns_t takes)
{
	memset(&answer, 0, sizeof(answer));
	answer.ret = ret;
	answer.link = l;
	answer.takes = takes;
}

/* A datagram, as the engine sends it. */
static struct link *datagram(struct peers *t, const struct peer_key *key)
{
	const struct peer *p = peers_known(t, key, now);

	if (!p)
		peers_look_up(t, key, &ops, peers_wait(t, key), &answer, &p);
	return p->link;
}

/* The time until the next datagram causes a look-up. */
static ns_t quiet(struct peers *t, const struct peer_key *key)
{
	ns_t began = now;
	uint32_t calls = answer.calls;

	while (answer.calls == calls) {
		now += NS_MS;
		assert_true(now < began + 60 * NS_S);
		if (peers_known(t, key, now))
			continue;
		return now - began;
	}
	return 0;
}

static struct link some_link(uint32_t refs)
{
	return (struct link){ .refs = refs };
}

static const struct peer_key here = { .addr = { 1, 2 }, .dev = 3, .block = 4 };

static void test_link_is_kept(void **state)
{
	struct link l = some_link(1);
	struct peers t = { 0 };

	answer_with(0, &l, NS_US);
	for (int i = 0; i < 10; i++, now += NS_S)
		assert_ptr_equal(datagram(&t, &here), &l);
	assert_int_equal(answer.calls, 1);
	assert_int_equal(l.refs, 2);
	/* Its peer dies, and no process has the numbers any more. */
	l.dead = true;
	answer_with(0, NULL, NS_US);
	assert_null(datagram(&t, &here));
	assert_int_equal(answer.calls, 1);
	assert_int_equal(l.refs, 1);
}

static void test_dead_link_is_dropped(void **state)
{
	static const struct peer_key there = { .addr = { 5, 6 }, .dev = 3, .block = 7 };
	struct link l = some_link(1), other = some_link(1);
	struct peers t = { 0 };

	answer_with(0, &l, NS_US);
	datagram(&t, &here);
	answer_with(0, &other, NS_US);
	datagram(&t, &there);
	peers_drop(&t, &l);
	assert_int_equal(l.refs, 1);
	assert_int_equal(other.refs, 2);
	assert_null(peers_known(&t, &here, now));
	assert_non_null(peers_known(&t, &there, now));
}

static void test_nobody(void **state)
{
	struct link l = some_link(1);
	struct peers t = { 0 };
	ns_t free;

	answer_with(0, NULL, 10 * NS_US);
	assert_null(datagram(&t, &here));
	assert_null(datagram(&t, &here));
	assert_int_equal(answer.calls, 1);
	free = quiet(&t, &here);
	assert_true(free >= PEERS_AGAIN && free <= 2 * PEERS_AGAIN);
	answer_with(0, &l, NS_US);
	assert_ptr_equal(datagram(&t, &here), &l);
	peers_forget(&t);
	assert_int_equal(l.refs, 1);
}

/*
 * A look-up that fails says nothing about the peer, which may only be slow, or rused is. It is
 * repeated soon, and must then not delay the program as long as the first one.
 */
static void test_failure(void **state)
{
	struct link l = some_link(1);
	struct peers t = { 0 };
	ns_t blocked = 0, free = 0;

	answer_with(-ETIMEDOUT, NULL, 10 * NS_S);
	assert_null(datagram(&t, &here));
	assert_int_equal(answer.waited, PEERS_WAIT_DATAGRAM);
	for (int i = 0; i < 10; i++) {
		ns_t began = now;

		free += quiet(&t, &here);
		assert_true(now - began < NS_S / 2);
		assert_null(datagram(&t, &here));
		blocked += answer.waited;
	}
	/* A stopped peer takes at most about a tenth of the program's time. */
	assert_true(blocked <= free / 9);
	answer_with(0, &l, NS_US);
	quiet(&t, &here);
	assert_ptr_equal(datagram(&t, &here), &l);
	/* A link that was found ends this: the next look-up waits as long as the first. */
	l.dead = true;
	answer_with(-ETIMEDOUT, NULL, 10 * NS_S);
	assert_null(datagram(&t, &here));
	assert_int_equal(answer.waited, PEERS_WAIT_DATAGRAM);
	peers_forget(&t);
}

/* rused takes a second to say that no process has the numbers. */
static void test_slow_nobody(void **state)
{
	struct peers t = { 0 };

	answer_with(0, NULL, NS_S);
	assert_null(datagram(&t, &here));
	assert_true(quiet(&t, &here) < NS_S / 2);
	assert_null(datagram(&t, &here));
	assert_int_equal(answer.waited, NS_S);
}

/* Each part of the key counts. */
static void test_keys(void **state)
{
	struct peer_key other[] = {
		{ .addr = { 9, 2 }, .dev = 3, .block = 4 },
		{ .addr = { 1, 9 }, .dev = 3, .block = 4 },
		{ .addr = { 1, 2 }, .dev = 9, .block = 4 },
		{ .addr = { 1, 2 }, .dev = 3, .block = 9 },
		{ .block = 0 },
	};
	struct link l = some_link(1);
	struct peers t = { 0 };

	answer_with(0, &l, NS_US);
	datagram(&t, &here);
	for (size_t i = 0; i < ARRAY_SIZE(other); i++)
		assert_null(peers_known(&t, &other[i], now));
	peers_forget(&t);
	assert_null(peers_known(&t, &here, now));
	assert_int_equal(l.refs, 1);
}

/* The next destination after this one with the same set. */
static struct peer_key next_of_set(struct peers *t, struct peer_key key)
{
	const struct peer *set = peers_set(t, &key);

	do {
		key.block++;
	} while (peers_set(t, &key) != set);
	return key;
}

/* More destinations than a set has entries: the oldest gives way, and no reference is lost. */
static void test_full_set(void **state)
{
	struct link l[PEERS_SET + 1], again = some_link(1);
	struct peer_key key[PEERS_SET + 1] = { here };
	struct peers t = { 0 };

	for (uint32_t i = 0; i <= PEERS_SET; i++) {
		if (i)
			key[i] = next_of_set(&t, key[i - 1]);
		l[i] = some_link(1);
		answer_with(0, &l[i], NS_US);
		assert_ptr_equal(datagram(&t, &key[i]), &l[i]);
	}
	assert_null(peers_known(&t, &key[0], now));
	assert_int_equal(l[0].refs, 1);
	answer_with(0, NULL, NS_US);
	for (uint32_t i = 1; i <= PEERS_SET; i++)
		assert_ptr_equal(datagram(&t, &key[i]), &l[i]);
	assert_int_equal(answer.calls, 0);
	/* An entry that is looked up again keeps the others. */
	l[2].dead = true;
	answer_with(0, &again, NS_US);
	assert_ptr_equal(datagram(&t, &key[2]), &again);
	assert_int_equal(l[2].refs, 1);
	for (uint32_t i = 1; i <= PEERS_SET; i++)
		assert_ptr_equal(datagram(&t, &key[i]), i == 2 ? &again : &l[i]);
	peers_forget(&t);
	for (uint32_t i = 0; i <= PEERS_SET; i++)
		assert_int_equal(l[i].refs, 1);
	assert_int_equal(again.refs, 1);
}

/* A look-up during which the same and another destination of the set are looked up. */
static void test_nested(void **state)
{
	struct peers t = { 0 };
	const struct peer_key inner[] = { here, next_of_set(&t, here) };
	struct link l = some_link(1);

	for (uint32_t i = 0; i < ARRAY_SIZE(inner); i++) {
		answer_with(0, &l, NS_US);
		answer.inner = &t;
		answer.inner_key = inner[i];
		assert_ptr_equal(datagram(&t, &here), &l);
		assert_int_equal(answer.calls, 2);
		assert_int_equal(l.refs, i ? 3 : 2);
		peers_forget(&t);
		assert_int_equal(l.refs, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_link_is_kept),
		cmocka_unit_test(test_dead_link_is_dropped),
		cmocka_unit_test(test_nobody),
		cmocka_unit_test(test_failure),
		cmocka_unit_test(test_slow_nobody),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_full_set),
		cmocka_unit_test(test_nested),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
