/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/memfd.h"
#include "core/umem.h"
#include "engine/engine.h"
#include "engine/rused.h"
#include "wire/mad.h"
#include "remote/remote.h"
#include "remote/umad_local.h"
#include "remote/wait.h"

int remote_umad_map_open(uint32_t number, int memfd, void **file)
{
	struct umad_shm *s = memfd_map(memfd, sizeof(*s), true);
	bool good = s && s->number == number;
	struct remote_umad_map *map = good ? calloc(1, sizeof(*map)) : NULL;

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
	struct remote_umad_map *map = file;

	if (!map)
		return;
	memfd_unmap(map->shm, sizeof(*map->shm));
	free(map);
}

static int umad_post_msg(const struct umad_shm *s, const void *msg, size_t len)
{
	struct rused_msg m = { .q = { .type = IPC_UMAD_POST, .req = msg, .len = len },
			       .of = s->generation };

	return rused_post(&m);
}

bool remote_umad_post(struct remote_umad_map *map, const void *data, size_t len)
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
	if (!umad_post_msg(s, &m, sizeof(m.h) + len))
		return true;
	atomic_add(count, (uint32_t)-1);
	return false;
}

ssize_t remote_umad_read_ring(struct remote_umad_map *map, void *buf, size_t count, uint32_t *seq,
			      struct why *why)
{
	struct umad_shm *s = map->shm;
	struct inbox_slot *slot;
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
		slot = inbox_next(&s->inbox, &pos);
		if (!slot)
			return -EAGAIN;
		len = READ_ONCE(slot->len);
		n = READ_ONCE(slot->tag);
		why->id = READ_ONCE(slot->why.id);
		if (why->id)
			memcpy(why->arg, slot->why.arg, sizeof(why->arg));
		ret = n ? 0 : len > sizeof(slot->data) ? -EIO : count < len ? -EINVAL :
		      umem_copy(buf, slot->data, len);
		/*
		 * The packet stays in the ring: it is long and must be fetched from rused (n), or
		 * it cannot be delivered (ret). If another reader has taken it meanwhile, n and ret
		 * are invalid, and the next packet is read.
		 */
		if (n || ret) {
			if (!inbox_there(slot, pos))
				continue;
			*seq = n;
			if (ret == -EINVAL)
				why_set(why, UMAD_READ_SHORT, count, len);
			return ret;
		}
		if (inbox_take(&s->inbox, slot, pos))
			return len;
	}
}

void remote_umad_settle(struct remote_umad_map *map, int fd, bool took)
{
	struct umad_shm *s = map->shm;
	struct ipc_umad_post q = { .file = s->number };

	inbox_settle(&s->inbox, fd);
	if (took && inbox_must_tell(&s->inbox))
		umad_post_msg(s, &q, sizeof(q));
}

void remote_umad_gone_pause(struct remote_umad_map *map, int fd)
{
	/* Threads that read at the same time may overwrite each other's times: one of them waits too early or too late. */
	ns_t *oldest = &map->gone_at[atomic_add(&map->ngone, 1) % UMAD_GONE_QUICK];
	ns_t first = READ_ONCE(*oldest);

	if (first && engine_now() - first < UMAD_GONE_NS)
		remote_pause(fd);
	WRITE_ONCE(*oldest, engine_now());
}
