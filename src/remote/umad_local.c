/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/memfd.h"
#include "base/sys.h"
#include "core/umem.h"
#include "engine/engine.h"
#include "engine/own.h"
#include "engine/rused.h"
#include "queue/barrier.h"
#include "wire/mad.h"
#include "remote/remote.h"
#include "remote/umad_local.h"

int umad_map_open(uint32_t number, int memfd, void **file)
{
	struct umad_shm *s = memfd_map(memfd, sizeof(*s), true);
	bool good = s && s->number == number;
	struct umad_map *map = good ? calloc(1, sizeof(*map)) : NULL;

	if (!map) {
		memfd_unmap(s, sizeof(*s));
		return good ? -ENOMEM : -EPROTO;
	}
	map->shm = s;
	map->engine = engine_process();
	*file = map;
	return 0;
}

void remote_umad_release(void *file)
{
	struct umad_map *map = file;

	if (!map)
		return;
	memfd_unmap(map->shm, sizeof(*map->shm));
	free(map);
}

bool umad_post(struct umad_map *map, const void *data, size_t len)
{
	struct {
		struct ipc_umad_post h;
		uint8_t data[IPC_UMAD_SHOWN];
	} m = { .h.file = map->shm->number };
	struct umad_shm *s = map->shm;
	uint32_t *count, before;

	if (map->engine != engine_process() || len > sizeof(m.data) || len < MAD_LEN)
		return false;
	/* Count first: as soon as the MAD is posted, rused may count the end of its transaction. */
	count = &map->posted[umad_shm_tid((const uint8_t *)data + len - MAD_LEN)];
	before = READ_ONCE(*count);
	if (!umad_shm_sendable(s, map->posted, data, len) ||
	    !atomic_cmpxchg(count, before, before + 1))
		return false;
	memcpy(m.data, data, len);
	if (!rused_post(s->generation, IPC_UMAD_POST, &m, sizeof(m.h) + len))
		return true;
	atomic_add(count, (uint32_t)-1);
	return false;
}

ssize_t umad_read_ring(struct umad_map *map, void *buf, size_t count, uint32_t *seq,
		       struct why *why)
{
	struct umad_shm *s = map->shm;
	struct umad_slot *slot;
	uint32_t pos, len, n;
	int ret;

	*seq = 0;
	if (count < READ_ONCE(s->hdr_len)) {
		why_set(why, UMAD_READ_SHORT, count, READ_ONCE(s->hdr_len));
		return -EINVAL;
	}
	for (;;) {
		if (READ_ONCE(s->dead))
			return -EIO;
		slot = umad_shm_next(s, &pos);
		if (!slot)
			return -EAGAIN;
		len = READ_ONCE(slot->len);
		n = READ_ONCE(slot->seq);
		why->id = WHY_NONE;
		if (READ_ONCE(slot->why))
			memcpy(why, slot->data + UMAD_SLOT_WHY, sizeof(*why));
		ret = n ? 0 : len > sizeof(slot->data) ? -EIO : count < len ? -EINVAL :
		      umem_copy(buf, slot->data, len);
		/*
		 * The packet stays in the ring: it is long and must be fetched from rused (n), or
		 * it cannot be delivered (ret). If another reader has taken it meanwhile, n and ret
		 * are invalid, and the next packet is read.
		 */
		if (n || ret) {
			if (!umad_shm_there(slot, pos))
				continue;
			*seq = n;
			if (ret == -EINVAL)
				why_set(why, UMAD_READ_SHORT, count, len);
			return ret;
		}
		if (umad_shm_take(s, slot, pos))
			return len;
	}
}

/* Tell rused that the ring has room again. */
static void umad_tell_read(struct umad_map *map)
{
	struct umad_shm *s = map->shm;
	struct ipc_umad_post q = { .file = s->number };

	if (READ_ONCE(s->tail) - READ_ONCE(s->head) > UMAD_RX / 2 ||
	    !atomic_xchg(&s->more, 0u))
		return;
	rused_post(s->generation, IPC_UMAD_POST, &q, sizeof(q));
}

void umad_settle(struct umad_map *map, int fd, bool took)
{
	struct bell b = umad_shm_bell(map->shm);

	bell_settle(&b, fd);
	/* rused sets `more` and then looks whether packets were taken; here it is the opposite. */
	smp_mb_after_atomic();
	if (took && READ_ONCE(map->shm->more))
		umad_tell_read(map);
}

/* The wait holds a dup of the descriptor, so that a close() by another thread does not end it. */
int umad_wait(struct umad_map *map, struct umad_wait *w)
{
	static const struct timespec nap = { .tv_nsec = 100 * NS_US };
	int ret;

	if (w->waits++ >= REMOTE_WAITS_IN_VAIN)
		sys_call(SYS_nanosleep, &nap, NULL);
	if (w->held == -1) {
		w->held = own_dup(w->fd);
		if (w->held == -EBADF)
			return w->held;
		if (w->held >= 0)
			w->fd = w->held;
	}
	/* If the thread is cancelled here, the dup is closed. */
	ret = engine_caller()->ucma_wait(w->fd, w->held >= 0);
	return ret == -ECONNRESET ? -EIO : ret;
}
