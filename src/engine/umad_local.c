/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include "base/eventfd.h"
#include "base/memfd.h"
#include "base/sys.h"
#include "core/umem.h"
#include "engine/engine_internal.h"
#include "engine/umad_local.h"
#include "ipc/channel.h"

/*
 * Number of wake-ups without a packet, after which the byte that makes the socket readable is taken
 * for that of a reader killed before it removed the byte.
 */
#define WAITS_IN_VAIN 3u

int umad_map_open(uint32_t number, int memfd, int kick, void **file)
{
	struct umad_shm *s = memfd_map(memfd, sizeof(*s), true);
	bool good = s && s->number == number && fd_is_eventfd(kick);
	struct umad_map *map = good ? calloc(1, sizeof(*map)) : NULL;

	if (!map) {
		memfd_unmap(s, sizeof(*s));
		return good ? -ENOMEM : -EPROTO;
	}
	map->shm = s;
	map->engine = engine.generation;
	map->kick = own_fd(kick);
	*file = map;
	return 0;
}

void engine_umad_release(void *file)
{
	struct umad_map *map = file;

	if (!map)
		return;
	/*
	 * In a forked child this closes all descriptors of the parent's engine, also map->kick, the eventfd that
	 * wakes rused.
	 */
	engine_check_fork();
	if (map->engine == engine.generation)
		own_close(map->kick);
	memfd_unmap(map->shm, sizeof(*map->shm));
	free(map);
}

/* Is the rused of this file connected? The caller holds the connection lock. */
static bool connected(const struct umad_map *map)
{
	return engine.attached && engine.conn.fd >= 0 &&
	       engine.host_page->generation == map->shm->generation;
}

/* Wake rused. False: rused is gone. The caller holds the connection lock. */
static bool kick(const struct umad_map *map, enum umad_wake wake)
{
	struct ipc_umad_kick q = { .file = map->shm->number };
	uint64_t one = 1;

	switch (wake) {
	case UMAD_WAKE_NOT:
		break;
	case UMAD_WAKE:
		sys_write(map->kick, &one, sizeof(one));
		break;
	case UMAD_WAKE_LATE:
		return !ipc_post(&engine.conn, IPC_UMAD_KICK, &q, sizeof(q));
	}
	return true;
}

bool umad_post(struct umad_map *map, const void *data, size_t len)
{
	struct umad_shm *s = map->shm;
	enum umad_wake wake = UMAD_WAKE_NOT;
	bool done = false, gone;
	uint32_t generation, tid;

	engine_check_fork();
	if (map->engine != engine.generation || !conn_lock())
		return false;
	generation = engine.conn_generation;
	if (connected(map) && umad_shm_sendable(s, map->posted, data, len)) {
		tid = umad_shm_tid((const uint8_t *)data + READ_ONCE(s->hdr_len));
		/* Count first: as soon as the MAD is in the shared ring, rused may count the end of its transaction. */
		map->posted[tid]++;
		done = umad_shm_post(s, map->tx, data, len, &wake);
		if (done)
			map->tx++;
		else
			map->posted[tid]--;
	}
	gone = !kick(map, wake);
	conn_unlock();
	if (gone)
		conn_forget(generation);
	return done && !gone;
}

ssize_t umad_read_ring(struct umad_map *map, void *buf, size_t count, uint32_t *seq)
{
	struct umad_shm *s = map->shm;
	struct umad_slot *slot;
	uint32_t pos, len, n;
	int ret;

	*seq = 0;
	if (count < READ_ONCE(s->hdr_len))
		return -EINVAL;
	for (;;) {
		if (READ_ONCE(s->dead))
			return -EIO;
		slot = umad_shm_next(s, &pos);
		if (!slot)
			return -EAGAIN;
		len = READ_ONCE(slot->len);
		n = READ_ONCE(slot->seq);
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
			return ret;
		}
		if (umad_shm_take(s, slot, pos))
			return len;
	}
}

/* Tell rused that the ring has room again. */
static void tell_read(struct umad_map *map)
{
	struct umad_shm *s = map->shm;
	struct ipc_umad q = { .file = s->number, .op = UMAD_OP_SYNC };
	struct ipc_umad_reply r;
	size_t rsize = sizeof(r);

	if (READ_ONCE(s->tail) - READ_ONCE(s->head) > UMAD_RX / 2 ||
	    !atomic_xchg(&s->more, 0u))
		return;
	rused_ask(IPC_UMAD_CALL, &q, sizeof(q), -1, &r, &rsize, NULL, NULL);
}

void umad_settle(struct umad_map *map, int fd, bool took)
{
	struct bell b = umad_shm_bell(map->shm);

	bell_settle(&b, fd);
	if (took && READ_ONCE(map->shm->more))
		tell_read(map);
}

/* The wait holds a dup of the descriptor, so that a close() by another thread does not end it. */
int umad_wait(struct umad_map *map, struct umad_wait *w)
{
	static const struct timespec nap = { .tv_nsec = 100 * NS_US };
	struct bell b = umad_shm_bell(map->shm);
	int ret;

	if (w->waits++ >= WAITS_IN_VAIN) {
		bell_orphan(&b, w->fd);
		sys_call(SYS_nanosleep, &nap, NULL);
	}
	if (w->held == -1) {
		w->held = own_dup(w->fd);
		if (w->held == -EBADF)
			return w->held;
		if (w->held >= 0)
			w->fd = w->held;
	}
	/* If the thread is cancelled here, the dup is closed. */
	ret = engine.host->ucma_wait(w->fd, w->held >= 0);
	return ret == -ECONNRESET ? -EIO : ret;
}
