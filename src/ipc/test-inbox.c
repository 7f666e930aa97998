/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ring of messages from rused: order and wrap-around, a full ring, the byte for poll(), readers that sleep or have
 * died, a rused that has died, and invalid values in the memory, as a hostile program or a hostile rused could write
 * them. The ring is in ordinary memory, and a socket pair holds the byte.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/testing.h"
#include "ipc/inbox.h"

static struct inbox *in;
static struct inbox_writer w;
static int sv[2];

static int setup(void **state)
{
	in = mmap(NULL, sizeof(*in), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (in == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sv))
		return -1;
	w = (struct inbox_writer){ .in = in, .fd = sv[0] };
	return 0;
}

static int teardown(void **state)
{
	munmap(in, sizeof(*in));
	close(sv[0]);
	close(sv[1]);
	return 0;
}

static void reap(void)
{
	uint32_t pos;
	bool gone;

	while (inbox_reap(&w, &pos, &gone))
		;
}

/* Makes a message READY. False: no room. */
static bool add(uint32_t value)
{
	struct inbox_slot *slot;

	reap();
	slot = inbox_room(&w);
	if (!slot)
		return false;
	slot->tag = 7;
	/* Atomic: a slow reader may still read the slot, in which another reader has taken the previous message. */
	WRITE_ONCE(*(uint32_t *)slot->data, value);
	slot->len = sizeof(value);
	slot->why.id = WHY_NONE;
	inbox_add(&w);
	return true;
}

/* Adds a message and shows it, as rused does. False: no room. */
static bool put(uint32_t value)
{
	bool ret;

	inbox_begin(&w);
	ret = add(value);
	inbox_end(&w);
	return ret;
}

static bool get(uint32_t *value)
{
	struct inbox_slot *slot;
	uint32_t pos;

	for (;;) {
		slot = inbox_next(in, &pos);
		if (!slot)
			return false;
		*value = READ_ONCE(*(uint32_t *)slot->data);
		if (inbox_take(in, slot, pos))
			return true;
	}
}

/* Number of bytes in the socket; removes them. */
static int bytes(void)
{
	char c;
	int n = 0;

	while (recv(sv[1], &c, 1, MSG_DONTWAIT) == 1)
		n++;
	return n;
}

static bool readable(void)
{
	char c;

	return recv(sv[1], &c, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

static void order(void **state)
{
	uint32_t v;

	assert_false(get(&v));
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < INBOX_SLOTS; i++)
			assert_true(put(i));
		assert_false(put(0));
		for (uint32_t i = 0; i < INBOX_SLOTS; i++) {
			inbox_settle(in, sv[1]);
			assert_true(readable());
			assert_true(get(&v));
			assert_int_equal(v, i);
		}
		inbox_settle(in, sv[1]);
		assert_false(readable());
		assert_int_equal(in->shown, 0);
	}
	assert_false(get(&v));
}

/* Positions exceed the ring's size and wrap at 2^32. */
static void wraps(void **state)
{
	uint32_t v;

	w.reaped = w.tail = UINT32_MAX - 5;
	in->head = in->tail = w.tail;
	for (uint32_t i = 0; i < INBOX_SLOTS; i++)
		assert_true(put(i));
	assert_false(put(0));
	for (uint32_t i = 0; i < 2 * INBOX_SLOTS; i++) {
		assert_true(get(&v));
		assert_int_equal(v, i);
		assert_true(put(INBOX_SLOTS + i));
	}
}

static void withdrawn(void **state)
{
	uint32_t v, pos;
	bool gone;

	for (uint32_t i = 0; i < 3; i++)
		assert_true(put(i));
	assert_true(inbox_withdraw(in, 0));
	assert_true(inbox_withdraw(in, 2));
	assert_false(inbox_withdraw(in, 2));
	assert_false(inbox_withdraw(in, 3));
	assert_true(get(&v));
	assert_int_equal(v, 1);
	assert_false(get(&v));
	assert_false(inbox_withdraw(in, 1));
	inbox_settle(in, sv[1]);
	assert_false(readable());
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(inbox_reap(&w, &pos, &gone));
		assert_int_equal(pos, i);
		assert_int_equal(gone, i != 1);
	}
	assert_false(inbox_reap(&w, &pos, &gone));
	/* All that rused adds is withdrawn before it can be read: no byte. */
	inbox_begin(&w);
	assert_true(add(3));
	assert_true(inbox_withdraw(in, 3));
	inbox_end(&w);
	assert_false(readable());
	assert_int_equal(in->shown, 0);
}

/* A reader compares what it has read from a slot with the position: the slot may have another message meanwhile. */
static void reused(void **state)
{
	struct inbox_slot *slot;
	uint32_t pos, v;

	assert_true(put(1));
	slot = inbox_next(in, &pos);
	assert_non_null(slot);
	assert_true(inbox_there(slot, pos));
	assert_true(get(&v));
	assert_false(inbox_there(slot, pos));
	for (uint32_t i = 0; i < INBOX_SLOTS; i++)
		assert_true(put(i));
	assert_ptr_equal(inbox_slot(in, w.tail - 1), slot);
	assert_false(inbox_there(slot, pos));
	assert_false(inbox_take(in, slot, pos));
}

/* One byte, as long as there is a message; a reader clears `shown` only when rused has sent the byte. */
static void byte(void **state)
{
	uint32_t v;

	inbox_settle(in, sv[1]);
	assert_false(readable());
	assert_true(put(1));
	assert_true(put(2));
	assert_true(get(&v));
	inbox_settle(in, sv[1]);
	assert_true(in->shown);
	assert_int_equal(bytes(), 1);
	/* rused is about to send the byte: the reader leaves it to a later call. */
	assert_true(get(&v));
	bytes();
	in->shown = 1;
	inbox_begin(&w);
	inbox_settle(in, sv[1]);
	assert_int_equal(in->shown, 1);
	in->filling = INBOX_FILLED;
	/* Another reader has cleared `shown`: the byte is that reader's, and rused sends one of its own. */
	in->shown = 0;
	assert_true(put(3));
	assert_true(get(&v));
	in->shown = 0;
	inbox_settle(in, sv[1]);
	assert_true(readable());
	assert_true(put(4));
	assert_int_equal(bytes(), 2);
}

/* When a reader must tell rused: messages wait and the ring is half empty, or each message counts. */
static void tell(void **state)
{
	uint32_t v;

	for (uint32_t i = 0; i < INBOX_SLOTS; i++)
		assert_true(put(i));
	assert_true(get(&v));
	assert_false(inbox_must_tell(in));
	/* A reader has made room before `more` was set. */
	assert_true(inbox_set_more(&w, INBOX_MORE_QUEUED));
	reap();
	assert_false(inbox_set_more(&w, INBOX_MORE_QUEUED));
	for (uint32_t i = 1; i < INBOX_SLOTS / 2; i++) {
		assert_false(inbox_must_tell(in));
		assert_true(get(&v));
	}
	assert_true(inbox_must_tell(in));
	assert_false(inbox_must_tell(in));	/* once */
	/* A slow reader has set head back: the reader of the last message tells. */
	bell_want(&in->more, INBOX_MORE_QUEUED);
	while (get(&v))
		in->head = 1;
	assert_true(inbox_must_tell(in));
	assert_true(put(0));
	assert_true(put(0));
	reap();
	assert_false(inbox_set_more(&w, INBOX_MORE_EACH));
	assert_true(get(&v));
	assert_true(inbox_must_tell(in));
	/* All messages are read and their slots free: no reader comes to tell, and there is room for those that wait. */
	assert_true(get(&v));
	assert_false(get(&v));
	reap();
	assert_true(inbox_set_more(&w, INBOX_MORE_QUEUED));
	assert_false(inbox_set_more(&w, INBOX_MORE_EACH));
}

/* A reader that dies at any step takes at most its message with it; the byte that it leaves stays. */
static void reader_dies(void **state)
{
	struct inbox_slot *slot;
	uint32_t pos, v;
	pid_t pid;

	for (int step = 0; step < 3; step++) {
		assert_true(put(1));
		pid = fork();
		if (!pid) {
			slot = inbox_next(in, &pos);
			if (slot && step && inbox_take(in, slot, pos) && step > 1)
				in->shown = 0;
			_exit(0);
		}
		assert_true(pid > 0 && waitpid(pid, NULL, 0) == pid);
		assert_int_equal(get(&v), step == 0);
		inbox_settle(in, sv[1]);
		assert_int_equal(readable(), step == 2);
		assert_true(put(2));
		assert_true(readable());
		assert_true(get(&v));
		assert_int_equal(v, 2);
		inbox_settle(in, sv[1]);
		assert_int_equal(readable(), step == 2);
	}
}

/* rused dies while it adds messages: no reader waits for it for ever, and the descriptor stays readable. */
static void rused_dies(void **state)
{
	uint32_t v;

	assert_true(put(1));
	assert_true(get(&v));
	inbox_begin(&w);
	inbox_settle(in, sv[1]);
	assert_true(readable());
	in->filling = INBOX_FILLED;
	close(sv[0]);
	/* There is no end to send the byte to. */
	in->shown = 0;
	assert_true(put(2));
	assert_true(get(&v));
	inbox_settle(in, sv[1]);
	assert_int_equal(in->shown, 0);
	sv[0] = dup(sv[1]);
}

#define COUNT 20000u
#define READERS 3

static uint32_t sum, calls;

static void *reader(void *arg)
{
	uint32_t v;
	char c;

	while (READ_ONCE(sum) < COUNT) {
		if (get(&v)) {
			atomic_add(&sum, 1u);
			inbox_settle(in, sv[1]);
			if (inbox_must_tell(in))
				atomic_add(&calls, 1u);
			continue;
		}
		inbox_settle(in, sv[1]);
		if (READ_ONCE(sum) < COUNT)
			recv(sv[1], &c, 1, MSG_PEEK);
	}
	/* Wakes the other readers. */
	shutdown(sv[0], SHUT_RDWR);
	return NULL;
}

/* Readers that sleep: each message is taken once, no wake-up is lost, and rused hears of room. */
static void readers(void **state)
{
	pthread_t t[READERS];
	uint32_t done = 0;

	sum = calls = 0;
	for (int i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, reader, NULL), 0);
	for (uint32_t i = 0; i < COUNT;) {
		do {
			inbox_begin(&w);
			while (i < COUNT && add(i))
				i++;
			inbox_end(&w);
			reap();
		} while (inbox_set_more(&w, i < COUNT ? INBOX_MORE_QUEUED : INBOX_MORE_NOT));
		/* Without a wake-up by a reader the test would hang here. */
		while (i < COUNT && READ_ONCE(calls) == done)
			sched_yield();
		done = READ_ONCE(calls);
	}
	for (int i = 0; i < READERS; i++)
		assert_int_equal(pthread_join(t[i], NULL), 0);
	assert_int_equal(sum, COUNT);
}

/* Any values that a program writes affect its own messages only. */
static void hostile_reader(void **state)
{
	uint32_t pos;
	bool gone;

	for (uint32_t i = 0; i < INBOX_SLOTS; i++)
		assert_true(put(i));
	memset(in, 0xff, sizeof(*in));
	assert_false(inbox_set_more(&w, INBOX_MORE_NOT));
	/* All states are invalid: the messages count as read. */
	for (uint32_t i = 0; i < INBOX_SLOTS; i++)
		assert_true(inbox_reap(&w, &pos, &gone));
	assert_false(inbox_reap(&w, &pos, &gone));
	assert_true(put(1));
	assert_int_equal(in->filling, INBOX_FILLED);
	/* Positions of the future, all READY: rused frees only what it has written. */
	for (uint32_t i = 0; i < INBOX_SLOTS; i++)
		in->slot[i].state = inbox_word(w.tail + i, INBOX_READY);
	while (inbox_reap(&w, &pos, &gone))
		assert_true(pos != w.tail);
	assert_true(w.tail - w.reaped <= INBOX_SLOTS);
	/* `shown` is cleared each time: rused's bytes fill the socket, and rused does not block. */
	for (uint32_t i = 0; i < 100000; i++) {
		in->shown = 0;
		put(i);
		reap();
		in->slot[w.reaped % INBOX_SLOTS].state = 0;
	}
}

/* Nor does a program go wrong or wait for ever by what rused writes. */
static void hostile_writer(void **state)
{
	uint32_t v;

	for (uint32_t i = 0; i < 4; i++)
		assert_true(put(i));
	in->head = 77777;	/* more than INBOX_SLOTS ahead of tail: readers search the whole ring */
	assert_true(get(&v));
	in->tail += 100000;	/* each slot's state has an older position, so no slot has a message */
	assert_false(get(&v));
	memset(in, 0xff, sizeof(*in));
	assert_false(get(&v));
	inbox_settle(in, sv[1]);
	assert_true(inbox_must_tell(in));
	memset(in, 0, sizeof(*in));
	in->shown = 1;	/* there is no byte */
	bytes();
	inbox_settle(in, sv[1]);
	assert_int_equal(in->shown, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(order), TEST(wraps), TEST(withdrawn), TEST(reused), TEST(byte), TEST(tell),
		TEST(reader_dies), TEST(rused_dies), TEST(readers), TEST(hostile_reader),
		TEST(hostile_writer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
