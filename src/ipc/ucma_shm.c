/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The readers' side of rdma_cm's shared memory.
 *
 * There are as many bytes in a file's socket as UCMA_SHOWN says, and one for each
 * reader that has just withdrawn it and is about to take it out. rused makes events
 * READY and shows them, unless something is shown; a reader withdraws when it finds
 * none, and looks again. `filling` says that rused is in between.
 */
#include <string.h>
#include "base/sys.h"
#include "ipc/ucma_shm.h"

#define TRIES 200	/* for a rused that is in the middle of something, or was killed there */

/* Where the search begins: what is further back than the ring is long is not there. */
static uint32_t first(const struct ucma_shm *s, uint32_t tail)
{
	uint32_t head = READ_ONCE(s->head);

	return tail - head > UCMA_RING ? tail - UCMA_RING : head;
}

bool ucma_shm_take(struct ucma_shm *s, struct rdma_ucm_event_resp *ev)
{
	uint32_t tail = smp_load_acquire(&s->tail);

	for (uint32_t pos = first(s, tail); pos != tail; pos++) {
		struct ucma_slot *slot = ucma_slot(s, pos);
		uint32_t ready = ucma_slot_word(pos, UCMA_SLOT_READY);

		if (smp_load_acquire(&slot->state) != ready)
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
		if (READ_ONCE(ucma_slot(s, pos)->state) == ucma_slot_word(pos, UCMA_SLOT_READY))
			return true;
	return false;
}

/* Nothing there, and nothing about to be. Not known counts as something. */
static bool empty(struct ucma_shm *s)
{
	for (int i = 0; i < TRIES; i++) {
		if (!smp_load_acquire(&s->filling))
			return !ucma_shm_ready(s);
		sys_call(SYS_sched_yield);
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

/* Where the id is in the commands that may be posted, behind the header. */
static const uint16_t id_at[] = {
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
