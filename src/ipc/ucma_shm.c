/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The readers' side of rdma_cm's shared memory.
 *
 * There are as many bytes in a file's socket as UCMA_SHOWN says, and one for each
 * reader that has just withdrawn it and is about to take it out. rused makes events
 * READY and shows them, unless something is shown; a reader withdraws when it finds
 * none, and looks again. `filling` says that rused is in between.
 */
#include <linux/futex.h>
#include <string.h>
#include <time.h>
#include "base/sys.h"
#include "ipc/ucma_shm.h"

#define TRIES 200	/* for a rused that is in the middle of something, or was killed there */
#define YIELDS 2	/* rused is where it wakes us: it wants our CPU, */
#define WAITS 20	/* or somebody else has it */
#define WAIT (2 * NS_MS)

/* Where the search begins: what is further back than the ring is long is not there. */
static uint32_t first(const struct ucma_shm *s, uint32_t tail)
{
	uint32_t head = READ_ONCE(s->head);

	return tail - head > UCMA_RING ? tail - UCMA_RING : head;
}

/* Is it there to be read? What belongs to an id that has been destroyed is not. */
static bool readable(const struct ucma_shm *s, const struct ucma_slot *slot, uint32_t pos)
{
	uint32_t owner;

	if (smp_load_acquire(&slot->state) != ucma_slot_word(pos, UCMA_SLOT_READY))
		return false;
	owner = READ_ONCE(slot->owner);
	return owner >= UCMA_CARDS || !READ_ONCE(s->gone[owner]);
}

bool ucma_shm_take(struct ucma_shm *s, struct rdma_ucm_event_resp *ev)
{
	uint32_t tail = smp_load_acquire(&s->tail);

	for (uint32_t pos = first(s, tail); pos != tail; pos++) {
		struct ucma_slot *slot = ucma_slot(s, pos);
		uint32_t ready = ucma_slot_word(pos, UCMA_SLOT_READY);

		if (!readable(s, slot, pos))
			continue;
		memcpy(ev, &slot->ev, sizeof(*ev));
		if (atomic_cmpxchg(&slot->state, ready, ucma_slot_word(pos, UCMA_SLOT_TAKEN))) {
			WRITE_ONCE(s->head, pos + 1);
			return true;
		}
	}
	return false;
}

bool ucma_shm_ready(struct ucma_shm *s)
{
	uint32_t tail = smp_load_acquire(&s->tail);

	for (uint32_t pos = first(s, tail); pos != tail; pos++)
		if (readable(s, ucma_slot(s, pos), pos))
			return true;
	return false;
}

/* Until rused has shown what it fills in, as far as it comes to that. */
static void wait_filled(struct ucma_shm *s)
{
	static const struct timespec most = { .tv_nsec = WAIT };

	if (READ_ONCE(s->filling) == UCMA_FILLING)
		(void)atomic_cmpxchg(&s->filling, (uint32_t)UCMA_FILLING,
				     (uint32_t)UCMA_FILLING_AWAITED);
	sys_call(SYS_futex, &s->filling, FUTEX_WAIT, UCMA_FILLING_AWAITED, &most);
}

/* Nothing there, and nothing about to be. Not known counts as something. */
static bool empty(struct ucma_shm *s)
{
	for (int i = 0; i < YIELDS + WAITS; i++) {
		if (!smp_load_acquire(&s->filling))
			return !ucma_shm_ready(s);
		if (i < YIELDS)
			sys_call(SYS_sched_yield);
		else
			wait_filled(s);
	}
	return false;
}

static void drop(int fd)
{
	char c;
	struct iovec iov = { &c, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	sys_recvmsg(fd, &m, MSG_DONTWAIT);
}

void ucma_shm_settle(struct ucma_shm *s, int fd)
{
	if ((!READ_ONCE(s->shown) && !READ_ONCE(s->filling)) || !empty(s) ||
	    !atomic_cmpxchg(&s->shown, (uint32_t)UCMA_SHOWN, (uint32_t)UCMA_SHOWN_NOT))
		return;
	smp_mb();
	/* One has come, and rused saw that the byte was there: it stays. Else there are two now. */
	if (!empty(s) && atomic_cmpxchg(&s->shown, (uint32_t)UCMA_SHOWN_NOT, (uint32_t)UCMA_SHOWN))
		return;
	drop(fd);
}

void ucma_shm_orphan(struct ucma_shm *s, int fd)
{
	if (!READ_ONCE(s->filling) && !READ_ONCE(s->shown))
		drop(fd);
}

bool ucma_card_read(const struct ucma_card *card, const struct ucma_shm *s, uint32_t id,
		    uint32_t has, size_t off, void *to, size_t len)
{
	for (int i = 0; i < TRIES; i++) {
		uint32_t seq = smp_load_acquire(&card->seq);
		bool good;

		if (seq & 1) {
			cpu_relax();
			continue;
		}
		good = READ_ONCE(card->file) == s->number && (READ_ONCE(card->has) & has) == has &&
		       READ_ONCE(card->done) == READ_ONCE(s->posted[id]);
		if (good && len)
			memcpy(to, (const uint8_t *)&card->a + off, len);
		smp_rmb();
		if (READ_ONCE(card->seq) == seq)
			return good;
	}
	return false;
}

/*
 * One of the id's, from a card that has not counted it: 1: it has been read; 0: it has not, and
 * will not be. rused marks a slot before it writes into it, so what was read between two looks at
 * the same word belongs to it.
 */
static uint32_t was_read(struct ucma_shm *s, uint32_t id, uint32_t pos)
{
	struct ucma_slot *slot = ucma_slot(s, pos);
	uint32_t word = smp_load_acquire(&slot->state), owner = READ_ONCE(slot->owner);
	uint32_t ready = ucma_slot_word(pos, UCMA_SLOT_READY);

	smp_rmb();
	if (owner != id || READ_ONCE(slot->state) != word)
		return 0;
	if (word == ready && atomic_cmpxchg(&slot->state, ready,
					    ucma_slot_word(pos, UCMA_SLOT_GONE)))
		return 0;
	return smp_load_acquire(&slot->state) == ucma_slot_word(pos, UCMA_SLOT_TAKEN);
}

/* Nothing that may be on its way to an id makes a listener of it, or a member of a group. */
static bool may_end(const struct ucma_card *card, const struct ucma_shm *s)
{
	return READ_ONCE(card->file) == s->number && (READ_ONCE(card->has) & UCMA_CAN_DESTROY);
}

bool ucma_card_destroy(const struct ucma_card *card, struct ucma_shm *s, uint32_t id,
		       uint32_t *reported)
{
	if (READ_ONCE(s->gone[id]) || !may_end(card, s))
		return false;
	/* From now on nobody reads what comes. */
	WRITE_ONCE(s->gone[id], (uint8_t)1);
	smp_mb();
	for (int i = 0; i < TRIES; i++) {
		uint32_t seq = smp_load_acquire(&card->seq), n = READ_ONCE(card->reported);
		uint32_t from = READ_ONCE(card->reaped), tail, last;

		smp_rmb();
		if (!may_end(card, s))
			break;
		tail = smp_load_acquire(&s->tail);
		/* What is further back has been counted: rused does before it uses a slot again. */
		if (tail - from > UCMA_RING)
			from = tail - UCMA_RING;
		last = READ_ONCE(card->last);
		for (; from != tail && (!last || (int32_t)(last - from) > 0); from++)
			n += was_read(s, id, from);
		smp_rmb();
		if ((seq & 1) || READ_ONCE(card->seq) != seq) {
			cpu_relax();
			continue;
		}
		atomic_add(&s->posted[id], 1u);
		*reported = n;
		return true;
	}
	WRITE_ONCE(s->gone[id], (uint8_t)0);
	return false;
}

void ucma_card_keep(struct ucma_shm *s, uint32_t id)
{
	WRITE_ONCE(s->gone[id], (uint8_t)0);
	atomic_add(&s->posted[id], (uint32_t)-1);
}

bool ucma_shm_spare(struct ucma_shm *s, uint32_t *id)
{
	for (uint32_t i = 0; i < UCMA_SPARES; i++) {
		uint32_t v = READ_ONCE(s->spare[i]) ? atomic_xchg(&s->spare[i], 0u) : 0;

		if (!v)
			continue;
		*id = v - 1;
		return *id < UCMA_CARDS;
	}
	return false;
}

void ucma_shm_spare_back(struct ucma_shm *s, uint32_t id)
{
	for (uint32_t i = 0; i < UCMA_SPARES; i++)
		if (atomic_cmpxchg(&s->spare[i], 0u, id + 1))
			return;
}

/* Where the id is in the commands that may be posted, behind the header. */
static const uint16_t id_at[] = {
	[RDMA_USER_CM_CMD_CREATE_ID] = offsetof(struct rdma_ucm_create_id, response) + 1,
	[RDMA_USER_CM_CMD_DESTROY_ID] = offsetof(struct rdma_ucm_destroy_id, id) + 1,
	[RDMA_USER_CM_CMD_RESOLVE_ADDR] = offsetof(struct rdma_ucm_resolve_addr, id) + 1,
	[RDMA_USER_CM_CMD_RESOLVE_ROUTE] = offsetof(struct rdma_ucm_resolve_route, id) + 1,
	[RDMA_USER_CM_CMD_CONNECT] = offsetof(struct rdma_ucm_connect, id) + 1,
	[RDMA_USER_CM_CMD_ACCEPT] = offsetof(struct rdma_ucm_accept, id) + 1,
	[RDMA_USER_CM_CMD_DISCONNECT] = offsetof(struct rdma_ucm_disconnect, id) + 1,
};

bool ucma_post_id(const void *cmd, size_t len, uint32_t *id)
{
	struct rdma_ucm_cmd_hdr hdr;
	size_t at;

	if (len < sizeof(hdr))
		return false;
	memcpy(&hdr, cmd, sizeof(hdr));
	if (hdr.cmd >= ARRAY_SIZE(id_at) || !id_at[hdr.cmd])
		return false;
	at = sizeof(hdr) + id_at[hdr.cmd] - 1;
	if (len < at + sizeof(*id))
		return false;
	memcpy(id, (const uint8_t *)cmd + at, sizeof(*id));
	return true;
}
