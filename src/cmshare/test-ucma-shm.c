/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Readers of rdma_cm's shared memory: id records (struct cmshare_rec: the state of an id), and the events of an id that a
 * program destroys. put_of() writes events into the ring, as rused does.
 */
#include <rdma/rdma_user_cm.h>
#include <stdlib.h>
#include <string.h>
#include "base/testing.h"
#include "cmshare/ucma_shm.h"

static struct cmshare_file *s;

static int setup(void **state)
{
	s = calloc(1, sizeof(*s));
	return !s;
}

static int teardown(void **state)
{
	free(s);
	return 0;
}

static void recs(void **state)
{
	struct cmshare_rec *rec = calloc(1, sizeof(*rec));
	uint32_t v = 0;

	assert_non_null(rec);
	s->number = 5;
	rec->a.path_len = 42;
	rec->has = CMSHARE_HAS_PATH;
#define AT offsetof(struct cmshare_answers, path_len)
#define GET cmshare_rec_read(rec, s, 9, CMSHARE_HAS_PATH, AT, &v, 4)
	assert_false(GET);	/* the id's record belongs to no open file */
	rec->file = 5;
	assert_true(GET);
	assert_int_equal(v, 42);
	s->posted[9]++;		/* a command sent without waiting (IPC_UCMA_POST) is unfinished */
	assert_false(GET);
	rec->done++;
	assert_true(GET);
	rec->has = CMSHARE_HAS_ADDR;
	assert_false(GET);
	rec->has |= CMSHARE_HAS_PATH;
	rec->lock.word = 1;	/* a write that never ends */
	assert_false(GET);
	free(rec);
}

static void put_of(uint32_t owner, enum inbox_state state)
{
	struct inbox_slot *slot = inbox_slot(&s->inbox, s->inbox.tail);
	struct rdma_ucm_event_resp ev = { .id = owner };

	slot->tag = owner;
	memcpy(slot->data, &ev, sizeof(ev));
	slot->state = inbox_word(s->inbox.tail++, state);
}

static void destroyed(void **state)
{
	struct cmshare_rec *rec = calloc(1, sizeof(*rec));
	struct rdma_ucm_event_resp ev;
	uint32_t n = 99;

	assert_non_null(rec);
	s->number = 5;
#define DESTROY cmshare_rec_destroy(rec, s, 9, &n)
	assert_false(DESTROY);	/* the id's record belongs to no open file */
	rec->file = 5;
	assert_false(DESTROY);	/* CMSHARE_CAN_DESTROY is missing, as for a listener */
	assert_false(s->gone[9]);
	rec->has = CMSHARE_CAN_DESTROY;
	s->posted[9]++;		/* a command sent without waiting (IPC_UCMA_POST) is unfinished, such as DISCONNECT */
	/*
	 * The record says that programs have read 4 events of id 9 before ring position 100 (`reported`, `reaped`).
	 * From position 100 on the ring has four events of id 9: 2 read (TAKEN), 1 withdrawn (GONE), 1 unread
	 * (READY). So cmshare_rec_destroy() must report 4 + 2 = 6 read events.
	 */
	s->inbox.head = s->inbox.tail = 98;
	put_of(9, INBOX_TAKEN);
	put_of(9, INBOX_TAKEN);
	put_of(9, INBOX_TAKEN);
	put_of(8, INBOX_TAKEN);
	put_of(9, INBOX_TAKEN);
	put_of(9, INBOX_GONE);
	put_of(9, INBOX_READY);
	put_of(8, INBOX_READY);
	rec->reported = 4;
	rec->reaped = 100;
	/* One more unread event, which rused has added without having moved the tail yet. */
	put_of(9, INBOX_READY);
	s->inbox.tail--;
	rec->last = 107;
	assert_true(DESTROY);
	assert_int_equal(n, 6);
	assert_int_equal(s->posted[9], 2);
	assert_int_equal(inbox_slot(&s->inbox, 104)->state, inbox_word(104, INBOX_GONE));
	assert_int_equal(inbox_slot(&s->inbox, 106)->state, inbox_word(106, INBOX_GONE));
	assert_false(DESTROY);	/* destroyed already */
	s->inbox.tail++;
	assert_true(cmshare_take_event(s, &ev, NULL));
	assert_int_equal(ev.id, 8);
	assert_false(cmshare_take_event(s, &ev, NULL));
	/* As if DESTROY_ID could not be sent to rused: cmshare_rec_keep() makes the id valid again. */
	cmshare_rec_keep(s, 9);
	assert_int_equal(s->posted[9], 1);
	/*
	 * record->reaped is more than a whole ring behind the id's last event: record->reported includes the events
	 * that rused has overwritten.
	 */
	s->inbox.tail = rec->last = 105 + 3 * INBOX_SLOTS;
	assert_true(DESTROY);
	assert_int_equal(n, 4);
	cmshare_rec_keep(s, 9);
	rec->lock.word = 1;	/* a write that never ends */
	assert_false(DESTROY);
	assert_false(s->gone[9]);
	free(rec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(recs, setup, teardown),
		cmocka_unit_test_setup_teardown(destroyed, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
