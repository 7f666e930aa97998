/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a program does with an umadN without asking rused: umad_local.c, for umad.c. */
#ifndef RUSE_ENGINE_UMAD_LOCAL_H
#define RUSE_ENGINE_UMAD_LOCAL_H

#include <sys/types.h>
#include "ipc/umad_shm.h"

struct umad_map {
	struct umad_shm *shm;
	uint32_t engine;		/* engine.generation: a forked child posts nothing */
	int kick;			/* eventfd of engine.generation: wakes rused */
	uint32_t tx;			/* position of the next MAD; this and posted under the connection's lock */
	uint32_t posted[UMAD_TIDS];
};

/* Who waits for a packet. */
struct umad_wait {
	int fd;			/* to wait at */
	int held;		/* ours, that is the file; -1: not yet */
	uint32_t waits;
};

/*
 * Maps a file's memory, which rused says is that of number: 0, and kick is taken; -ENOMEM, -EPROTO.
 * *map until engine_umad_release().
 */
int umad_map_open(uint32_t number, int memfd, int kick, void **map);
/* True: the bytes, which are the caller's own copy, are on their way. False: rused is to be asked. */
bool umad_post(struct umad_map *map, const void *data, size_t len);
/* read(): bytes or -errno, -EAGAIN: there is nothing. *seq: a long packet, which is rused's. */
ssize_t umad_read_ring(struct umad_map *map, void *buf, size_t count, uint32_t *seq);
/* After a read(), or before waiting; took: there may be room now. */
void umad_settle(struct umad_map *map, int fd, bool took);
/* Until there is something. 0 or -errno. */
int umad_wait(struct umad_map *map, struct umad_wait *w);

#endif
