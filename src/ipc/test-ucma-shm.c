/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Readers of rdma_cm's shared memory: order of events, the byte for poll(), id cards (struct ucma_card: the state of
 * an id), and invalid values in the memory, as a hostile program could write them.
 *
 * The test plays rused: put() and put_of() write events into a ring in ordinary memory, and a
 * socket pair holds the byte.
 */
#include <rdma/rdma_user_cm.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/testing.h"
#include "ipc/ucma_shm.h"

static struct ucma_shm *s;
static int sv[2];

static int setup(void **state)
{
	s = calloc(1, sizeof(*s));
	return !s || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sv);
}

static int teardown(void **state)
{
	free(s);
	close(sv[0]);
	close(sv[1]);
	return 0;
}

static void put(uint32_t n)
{
	while (n--) {
		struct ucma_slot *slot = ucma_slot(s, s->tail);

		slot->ev.id = s->tail;
		slot->state = ucma_slot_word(s->tail++, UCMA_SLOT_READY);
	}
	if (!s->shown) {
		assert_int_equal(send(sv[0], "", 1, 0), 1);
		s->shown = UCMA_SHOWN;
	}
}

static bool readable(void)
{
	char c;

	return recv(sv[1], &c, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

static void order(void **state)
{
	struct rdma_ucm_event_resp ev;

	s->head = s->tail = UINT32_MAX - 5;	/* positions wrap */
	put(UCMA_RING);
	for (uint32_t i = 0; i < UCMA_RING; i++) {
		ucma_shm_settle(s, sv[1]);
		assert_true(readable());
		assert_true(ucma_shm_take(s, &ev, NULL));
		assert_int_equal(ev.id, UINT32_MAX - 5 + i);
	}
	assert_false(ucma_shm_take(s, &ev, NULL));
	ucma_shm_settle(s, sv[1]);
	assert_false(readable());
	assert_int_equal(s->shown, UCMA_SHOWN_NOT);
}

static void withdrawn(void **state)
{
	struct rdma_ucm_event_resp ev;

	put(3);
	ucma_slot(s, 0)->state = ucma_slot_word(0, UCMA_SLOT_GONE);
	ucma_slot(s, 2)->state = ucma_slot_word(2, UCMA_SLOT_GONE);
	assert_true(ucma_shm_take(s, &ev, NULL));
	assert_int_equal(ev.id, 1);
	assert_false(ucma_shm_take(s, &ev, NULL));
	ucma_shm_settle(s, sv[1]);
	assert_false(readable());
}

static void killed(void **state)
{
	struct rdma_ucm_event_resp ev;

	/* rused was killed while `filling` was set: the byte for poll() stays. */
	put(1);
	assert_true(ucma_shm_take(s, &ev, NULL));
	s->filling = 1;
	ucma_shm_settle(s, sv[1]);
	assert_true(readable());
	/* Another reader has cleared `shown`: the byte is that reader's. */
	s->filling = 0;
	s->shown = UCMA_SHOWN_NOT;
	ucma_shm_settle(s, sv[1]);
	assert_true(readable());
}

static void hostile(void **state)
{
	struct rdma_ucm_event_resp ev;

	put(4);
	s->head = 77777;	/* more than UCMA_RING ahead of tail: readers search the whole ring */
	assert_true(ucma_shm_take(s, &ev, NULL));
	s->tail += 100000;	/* each slot's state has an older position, so no slot has an event */
	assert_false(ucma_shm_take(s, &ev, NULL));
	memset(s->slot, 0xff, sizeof(s->slot));
	assert_false(ucma_shm_ready(s));
}

static void cards(void **state)
{
	struct ucma_card *card = calloc(1, sizeof(*card));
	uint32_t v = 0;

	assert_non_null(card);
	s->number = 5;
	card->a.path_len = 42;
	card->has = UCMA_HAS_PATH;
#define AT offsetof(struct ucma_answers, path_len)
#define GET ucma_card_read(card, s, 9, UCMA_HAS_PATH, AT, &v, 4)
	assert_false(GET);	/* the id's card belongs to no open file */
	card->file = 5;
	assert_true(GET);
	assert_int_equal(v, 42);
	s->posted[9]++;		/* a command sent without waiting (IPC_UCMA_POST) is unfinished */
	assert_false(GET);
	card->done++;
	assert_true(GET);
	card->has = UCMA_HAS_ADDR;
	assert_false(GET);
	card->has |= UCMA_HAS_PATH;
	card->seq = 1;		/* a write that never ends */
	assert_false(GET);
	free(card);
}

static void put_of(uint32_t owner, uint32_t state)
{
	struct ucma_slot *slot = ucma_slot(s, s->tail);

	slot->owner = owner;
	slot->ev.id = owner;
	slot->state = ucma_slot_word(s->tail++, state);
}

static void destroyed(void **state)
{
	struct ucma_card *card = calloc(1, sizeof(*card));
	struct rdma_ucm_event_resp ev;
	uint32_t n = 99;

	assert_non_null(card);
	s->number = 5;
#define DESTROY ucma_card_destroy(card, s, 9, &n)
	assert_false(DESTROY);	/* the id's card belongs to no open file */
	card->file = 5;
	assert_false(DESTROY);	/* UCMA_CAN_DESTROY is missing, as for a listener */
	assert_false(s->gone[9]);
	card->has = UCMA_CAN_DESTROY;
	s->posted[9]++;		/* a command sent without waiting (IPC_UCMA_POST) is unfinished, such as DISCONNECT */
	/*
	 * The card says that programs have read 4 events of id 9 before ring position 100 (`reported`, `reaped`).
	 * From position 100 on the ring has four events of id 9: 2 read (TAKEN), 1 withdrawn (GONE), 1 unread
	 * (READY). So ucma_card_destroy() must report 4 + 2 = 6 read events.
	 */
	s->head = s->tail = 98;
	put_of(9, UCMA_SLOT_TAKEN);
	put_of(9, UCMA_SLOT_TAKEN);
	put_of(9, UCMA_SLOT_TAKEN);
	put_of(8, UCMA_SLOT_TAKEN);
	put_of(9, UCMA_SLOT_TAKEN);
	put_of(9, UCMA_SLOT_GONE);
	put_of(9, UCMA_SLOT_READY);
	put_of(8, UCMA_SLOT_READY);
	card->reported = 4;
	card->reaped = 100;
	/* One more unread event, which rused has added without having moved the tail yet. */
	put_of(9, UCMA_SLOT_READY);
	s->tail--;
	card->last = 107;
	assert_true(DESTROY);
	assert_int_equal(n, 6);
	assert_int_equal(s->posted[9], 2);
	assert_int_equal(ucma_slot(s, 104)->state, ucma_slot_word(104, UCMA_SLOT_GONE));
	assert_int_equal(ucma_slot(s, 106)->state, ucma_slot_word(106, UCMA_SLOT_GONE));
	assert_false(DESTROY);	/* destroyed already */
	s->tail++;
	assert_true(ucma_shm_take(s, &ev, NULL));
	assert_int_equal(ev.id, 8);
	assert_false(ucma_shm_take(s, &ev, NULL));
	/* As if DESTROY_ID could not be sent to rused: ucma_card_keep() makes the id valid again. */
	ucma_card_keep(s, 9);
	assert_int_equal(s->posted[9], 1);
	/*
	 * card->reaped is more than a whole ring behind the id's last event: card->reported includes the events
	 * that rused has overwritten.
	 */
	s->tail = card->last = 105 + 3 * UCMA_RING;
	assert_true(DESTROY);
	assert_int_equal(n, 4);
	ucma_card_keep(s, 9);
	card->seq = 1;		/* a write that never ends */
	assert_false(DESTROY);
	assert_false(s->gone[9]);
	free(card);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(order, setup, teardown),
		cmocka_unit_test_setup_teardown(withdrawn, setup, teardown),
		cmocka_unit_test_setup_teardown(killed, setup, teardown),
		cmocka_unit_test_setup_teardown(hostile, setup, teardown),
		cmocka_unit_test_setup_teardown(cards, setup, teardown),
		cmocka_unit_test_setup_teardown(destroyed, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
