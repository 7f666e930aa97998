/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* umad_local.c, for umad.c: operations on a umadN that need no answer of rused. */
#ifndef RUSE_REMOTE_UMAD_LOCAL_H
#define RUSE_REMOTE_UMAD_LOCAL_H

#include <sys/types.h>
#include "ipc/umad_shm.h"

struct umad_map {
	struct umad_shm *shm;
	uint32_t engine;		/* engine.generation; in a forked child it differs: the child posts no MADs */
	uint32_t posted[UMAD_TIDS];	/* MADs posted by this process, by umad_shm_tid() */
};

/* Map the memory of file `number` of rused. 0, -ENOMEM, -EPROTO. */
int umad_map_open(uint32_t number, int memfd, void **map);
/*
 * Send a MAD without waiting for the answer. data must be a copy that the program cannot change.
 * False: rused must be asked.
 */
bool umad_post(struct umad_map *map, const void *data, size_t len);
/*
 * read() from the ring. Bytes or -errno; -EAGAIN: no packet. *seq is not 0: the packet is long and
 * must be fetched from rused. *why: the reason of a failure, also if the packet says that a request
 * has timed out; WHY_NONE: none.
 */
ssize_t umad_read_ring(struct umad_map *map, void *buf, size_t count, uint32_t *seq,
		       struct why *why);
/*
 * Called after a read() and before waiting: make the descriptor's readability match the ring. took:
 * a packet was read, so rused may have waited for room.
 */
void umad_settle(struct umad_map *map, int fd, bool took);
/* umad_why.c */
/* The function of libibumad that uses an ioctl. */
const char *umad_ioctl_call(unsigned long cmd);
/* Logs that a call has failed with -errno, unless that is an answer and no failure. why NULL: unknown. Returns ret. */
ssize_t umad_failed(const char *call, ssize_t ret, const struct why *why);

#endif
