/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rings of a umad file: order and wrap-around, the byte for poll(), which MADs may be posted, and
 * invalid values in the memory, as a hostile program could write them.
 *
 * The test plays rused with put(), which writes a packet to rx and sends the byte as ipc/bell.h
 * says.
 */
#include <errno.h>
#include <pthread.h>
#include <rdma/ib_user_mad.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/testing.h"
#include "ipc/umad_shm.h"
#include "queue/barrier.h"
#include "wire/mad.h"

static struct umad_shm *s;
static uint32_t posted[UMAD_TIDS];
static int sv[2];
static uint32_t rx;	/* position of rused in rx */

static int setup(void **state)
{
	s = calloc(1, sizeof(*s));
	if (!s || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sv))
		return -1;
	umad_shm_init(s);
	memset(posted, 0, sizeof(posted));
	rx = 0;
	return 0;
}

static int teardown(void **state)
{
	free(s);
	close(sv[0]);
	close(sv[1]);
	return 0;
}

static void ring_bell(void)
{
	assert_int_equal(send(sv[0], "", 1, 0), 1);
}

/* Writes a packet as rused does. False: no room. */
static bool put(uint32_t value)
{
	struct umad_slot *slot = umad_shm_room(s, rx);
	struct bell b = umad_shm_bell(s);
	bool before, after;

	if (!slot)
		return false;
	before = bell_show(&b);
	/* Write atomically: a slow reader may still read the slot, in which another reader has taken the previous packet. */
	WRITE_ONCE(*(uint32_t *)slot->data, value);
	slot->len = sizeof(value);
	smp_store_release(&slot->state, umad_slot_word(rx++, UMAD_SLOT_READY));
	WRITE_ONCE(s->tail, rx);
	after = bell_show(&b);
	if (before)
		ring_bell();
	if (after)
		ring_bell();
	return true;
}

static bool get(uint32_t *value)
{
	struct umad_slot *slot;
	uint32_t pos;

	for (;;) {
		slot = umad_shm_next(s, &pos);
		if (!slot)
			return false;
		*value = READ_ONCE(*(uint32_t *)slot->data);
		if (umad_shm_take(s, slot, pos))
			return true;
	}
}

static void settle(void)
{
	struct bell b = umad_shm_bell(s);

	bell_settle(&b, sv[1]);
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
		for (uint32_t i = 0; i < UMAD_RX; i++)
			assert_true(put(i));
		assert_false(put(0));
		for (uint32_t i = 0; i < UMAD_RX; i++) {
			settle();
			assert_true(readable());
			assert_true(get(&v));
			assert_int_equal(v, i);
		}
		settle();
		assert_false(readable());
	}
	assert_false(get(&v));
}

/* Positions exceed the ring's size and wrap at 2^32. */
static void wraps(void **state)
{
	uint32_t v;

	rx = UINT32_MAX - 5;
	s->head = s->tail = rx;
	for (uint32_t i = 0; i < UMAD_RX; i++)
		s->rx[(rx + i) % UMAD_RX].state =
			umad_slot_word(rx + i - UMAD_RX, UMAD_SLOT_TAKEN);
	for (uint32_t i = 0; i < 2 * UMAD_RX; i++) {
		assert_true(put(i));
		assert_true(get(&v));
		assert_int_equal(v, i);
	}
}

/* A thread that sends the readiness byte (ipc/bell.h) late, when bell_settle() already waits for it. */
static void *late_byte(void *arg)
{
	usleep(50000);
	ring_bell();
	return NULL;
}

/*
 * While a packet is unread, bell_settle() leaves the readiness byte in the socket; it waits for a byte that is
 * announced but not sent yet.
 */
static void bell(void **state)
{
	struct bell b = umad_shm_bell(s);
	pthread_t t;
	uint32_t v;

	settle();
	assert_false(readable());
	assert_true(put(1));
	assert_true(put(2));
	assert_true(get(&v));
	settle();
	assert_true(readable() && s->shown);
	assert_true(get(&v));
	/* shown is set, but its byte is not in the socket yet. */
	recv(sv[1], &v, 1, 0);
	assert_false(bell_show(&b));
	assert_int_equal(pthread_create(&t, NULL, late_byte, NULL), 0);
	settle();
	assert_int_equal(pthread_join(t, NULL), 0);
	assert_false(readable() || s->shown);
	/*
	 * A reader clears `shown` between the two calls of bell_show(): the second call sends the
	 * byte again.
	 */
	assert_true(bell_show(&b));
	s->shown = 0;
	assert_true(put(3));
	assert_true(readable() && s->shown);
	/* Another reader has cleared `shown`: the byte is that reader's. */
	assert_true(get(&v));
	s->shown = 0;
	settle();
	assert_true(readable());
}

/* rused is gone: bell_settle() does not wait for its byte. */
static void bell_dead(void **state)
{
	struct bell b = umad_shm_bell(s);

	assert_true(bell_show(&b));
	shutdown(sv[0], SHUT_RDWR);
	settle();
	assert_int_equal(s->shown, 0);
}

#define COUNT 20000u

static uint32_t sum;

static void *reader(void *arg)
{
	struct bell b = umad_shm_bell(s);
	uint32_t v;
	char c;

	while (READ_ONCE(sum) < COUNT) {
		if (get(&v)) {
			atomic_add(&sum, 1u);
			continue;
		}
		bell_settle(&b, sv[1]);
		if (READ_ONCE(sum) < COUNT)
			recv(sv[1], &c, 1, MSG_PEEK);
	}
	/* Wakes the other readers. */
	shutdown(sv[0], SHUT_RDWR);
	return NULL;
}

/* Two readers that sleep: each packet is taken once and no wake-up is lost. */
static void readers(void **state)
{
	pthread_t t[2];

	sum = 0;
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&t[i], NULL, reader, NULL), 0);
	for (uint32_t i = 0; i < COUNT;) {
		if (put(i))
			i++;
		else
			sched_yield();
	}
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_join(t[i], NULL), 0);
	assert_int_equal(sum, COUNT);
}

static void hostile_reader(void **state)
{
	uint32_t v;

	put(1);
	/* Any values that a program writes affect its own packets only. */
	s->head = 12345;
	get(&v);
	s->head = UINT32_MAX;
	s->tail = 99;
	get(&v);
	for (uint32_t i = 0; i < UMAD_RX; i++)
		s->rx[i].state = 0xffffffff;
	assert_null(umad_shm_room(s, rx));
	assert_false(get(&v));
}

/* Posting of written MADs. */

static uint8_t packet[IPC_UMAD_SHOWN] __attribute__((aligned(8)));

/* A SubnGet of agent 3 by a directed route of one hop out of port 1. */
static uint8_t *build(void)
{
	struct ib_user_mad_hdr *h = (void *)packet;
	uint8_t *mad = packet + sizeof(*h);

	memset(packet, 0, sizeof(packet));
	h->id = 3;
	mad[MAD_O_CLASS] = MAD_CLASS_SUBN_DR;
	mad[MAD_O_METHOD] = MAD_GET;
	mad[MAD_O_CLASS_SPECIFIC + 1] = 1;
	mad[SMP_O_INITIAL_PATH + 1] = 1;
	put_be64(mad + MAD_O_TID, 77);
	s->hdr_len = sizeof(*h);
	s->port = 1;
	s->agent[3] = UMAD_AGENT;
	return mad;
}

static bool sendable(void)
{
	return umad_shm_sendable(s, posted, packet, s->hdr_len + MAD_LEN);
}

static void routes(void **state)
{
	uint8_t *mad = build();

	assert_true(sendable());
	mad[SMP_O_INITIAL_PATH + 1] = 2;
	assert_false(sendable());
	mad = build();
	mad[MAD_O_CLASS_SPECIFIC] = 1;
	assert_false(sendable());
	mad = build();
	mad[MAD_O_CLASS_SPECIFIC + 1] = 0;
	assert_false(sendable());
	mad[MAD_O_CLASS_SPECIFIC + 1] = 64;
	assert_false(sendable());
	mad = build();
	put_be16(mad + MAD_O_STATUS, SMP_DIRECTION);
	assert_false(sendable());
	build()[MAD_O_CLASS] = MAD_CLASS_SUBN_LID;
	assert_true(sendable());
}

static void who_may(void **state)
{
	struct ib_user_mad_hdr *h = (void *)packet;

	build();
	h->id = 4;
	assert_false(sendable());
	h->id = UINT32_MAX;
	assert_false(sendable());
	build();
	h->grh_present = 1;
	assert_false(sendable());
	build();
	h->pkey_index = 1;
	assert_false(sendable());
	build();
	s->dead = 1;
	assert_false(sendable());
	s->dead = 0;
	s->port = 0;
	assert_false(sendable());
	build();
	assert_false(umad_shm_sendable(s, posted, packet, sizeof(packet) - 1));
	assert_false(umad_shm_sendable(s, posted, packet, sizeof(packet) + 1));
	/* Header lengths that no umad file has. */
	for (s->hdr_len = 0; s->hdr_len < 400; s->hdr_len++)
		assert_true(s->hdr_len == 56 || s->hdr_len == 64 || !sendable());
	/* SMPs use QP 0, all other classes QP 1. */
	build();
	s->agent[3] = UMAD_AGENT | UMAD_AGENT_QP1;
	assert_false(sendable());
	build()[MAD_O_CLASS] = MAD_CLASS_PERF;
	assert_false(sendable());
	s->agent[3] |= UMAD_AGENT_QP1;
	assert_true(sendable());
	/* A class without RMPP from an agent with RMPP fails with EINVAL, which rused reports. */
	s->agent[3] |= UMAD_AGENT_RMPP;
	assert_false(sendable());
	build()[MAD_O_CLASS] = MAD_CLASS_SUBN_ADM;
	s->agent[3] = UMAD_AGENT | UMAD_AGENT_QP1;
	assert_true(sendable());
	packet[sizeof(*h) + RMPP_O_RTIME_FLAGS] = RMPP_F_ACTIVE;
	assert_false(sendable());
}

/* A MAD is not sendable while a send with the same hash is in progress, whether that one was posted or sent by request. */
static void transactions(void **state)
{
	uint8_t *mad = build();
	uint32_t tid = umad_shm_tid(mad);

	posted[tid]++;
	assert_false(sendable());
	put_be64(mad + MAD_O_TID, 78);
	assert_true(sendable());
	put_be64(mad + MAD_O_TID, 77);
	s->ended[tid]++;
	assert_true(sendable());
	s->begun[tid]++;
	assert_false(sendable());
	s->ended[tid]++;
	assert_true(sendable());
	/* The upper 32 bits of the TID belong to the agent. */
	put_be64(mad + MAD_O_TID, 5ull << 32 | 77);
	assert_int_equal(umad_shm_tid(mad), tid);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(order), TEST(wraps), TEST(bell), TEST(bell_dead), TEST(readers),
		TEST(hostile_reader), TEST(routes), TEST(who_may), TEST(transactions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
