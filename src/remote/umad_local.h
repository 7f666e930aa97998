/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* umad_local.c, for umad.c: operations on a umadN that need no answer of rused. */
#ifndef RUSE_REMOTE_UMAD_LOCAL_H
#define RUSE_REMOTE_UMAD_LOCAL_H

#include <sys/types.h>
#include "base/util.h"
#include "ipc/umad_shm.h"

#define UMAD_GONE_QUICK 9	/* reads of a file whose device is gone that are answered at once, within UMAD_GONE_NS */
#define UMAD_GONE_NS NS_S

struct remote_umad_map {
	struct umad_shm *shm;
	uint32_t engine;		/* engine.generation; in a forked child it differs: the child posts no MADs */
	uint32_t posted[UMAD_TIDS];	/* MADs posted by this process, by umad_shm_tid() */
	uint32_t ngone;			/* read()s that have failed because the device is gone */
	ns_t gone_at[UMAD_GONE_QUICK];	/* times of the last of them, a ring */
};

/* Map the memory of file `number` of rused. 0, -ENOMEM, -EPROTO. */
int remote_umad_map_open(uint32_t number, int memfd, void **map);
/*
 * Send a MAD without waiting for the answer. data must be a copy that the program cannot change.
 * False: rused must be asked.
 */
bool remote_umad_post(struct remote_umad_map *map, const void *data, size_t len);
/*
 * read() from the ring. Bytes or -errno; -EAGAIN: no packet. *seq is not 0: the packet is long and
 * must be fetched from rused. *why: the reason of a failure, also if the packet says that a request
 * has timed out; WHY_NONE: none.
 */
ssize_t remote_umad_read_ring(struct remote_umad_map *map, void *buf, size_t count, uint32_t *seq,
			      struct why *why);
/*
 * Called after a read() and before waiting: make the descriptor's readability match the ring. took:
 * a packet was read, so rused may have waited for room.
 */
void remote_umad_settle(struct remote_umad_map *map, int fd, bool took);
/*
 * A read() fails because the device is gone. opensm calls read() again at once, for ever, and logs each failure: from
 * the tenth failure within a second on, this waits before it returns. A signal or close() ends the wait,
 * which is a cancellation point.
 */
void remote_umad_gone_pause(struct remote_umad_map *map, int fd);
/* umad_why.c */
/* The function of libibumad that uses an ioctl. */
const char *remote_umad_ioctl_call(unsigned long cmd);
/* Logs that a call has failed with -errno, unless that is an answer and no failure. why NULL: unknown. Returns ret. */
ssize_t remote_umad_failed(const char *call, ssize_t ret, const struct why *why);

#endif
