/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rdma_cm's commands that need no answer of rused. */
#ifndef RUSE_ENGINE_UCMA_LOCAL_H
#define RUSE_ENGINE_UCMA_LOCAL_H

#include "ipc/ucma_msg.h"
#include "ipc/ucma_shm.h"

#define UCMA_ANSWER_MAX 1024

/* An open file in this process. A forked child's is the same memory. */
struct ucma_map {
	struct ucma_shm *shm;
	const struct ucma_card *cards;	/* UCMA_CARDS */
};

/* A command with what belongs to it, as rused wants it. */
struct ucma_cmd {
	struct ipc_ucma h;
	uint8_t cmd[IPC_UCMA_CMD + IPC_UCMA_OPT];
	uint32_t opt_len;	/* bytes of the option behind the command */
	struct ucma_map *from;	/* MIGRATE_ID's file, or NULL; its descriptor, what holds it */
	int from_fd;
	void *from_ref;
};

struct ucma_answer {
	size_t len;		/* of data */
	struct ipc_ucma_reply h;
	uint8_t data[UCMA_ANSWER_MAX];
};

/*
 * Does what can be done here: *ret is 0 or -errno, r has the response. GET_EVENT waits. False:
 * it is rused's.
 */
bool ucma_local(struct ucma_map *map, int fd, const struct ucma_cmd *c, struct ucma_answer *r,
		int *ret);
/* What rused has answered to a command that it was asked: of a RESOLVE_ADDR that is kept in mind. */
void ucma_resolved(const struct ucma_cmd *c, int ret);
/* Before a fork, under the lock: rused has seen all that was posted. The child has a connection of its own. */
void ucma_sync(void);

#endif
