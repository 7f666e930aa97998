/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rdma_cm commands that need no answer of rused. */
#ifndef RUSE_REMOTE_UCMA_LOCAL_H
#define RUSE_REMOTE_UCMA_LOCAL_H

#include "ipc/ucma_msg.h"
#include "cmshare/ucma_shm.h"

#define REMOTE_UCMA_ANSWER_MAX 1024

/* An open rdma_cm file: what this process has mapped of it. A forked child inherits the mappings. */
struct remote_ucma_map {
	struct cmshare_file *shm;
	const struct cmshare_rec *recs;	/* CMSHARE_RECS */
};

/* A command with its attachments, in the layout that rused expects. */
struct remote_ucma_cmd {
	struct ipc_ucma h;
	uint8_t cmd[IPC_UCMA_CMD + IPC_UCMA_OPT];
	uint32_t opt_len;	/* bytes of the option after the command */
	struct remote_ucma_map *from;	/* MIGRATE_ID: the file that has the id; NULL: none */
	int from_fd;		/* the program's descriptor of that file */
	void *from_ref;		/* for engine_ops.ucma_put() */
};

struct remote_ucma_answer {
	size_t len;		/* of data */
	struct ipc_ucma_reply h;
	uint8_t data[REMOTE_UCMA_ANSWER_MAX];
};

/*
 * Execute the command here if possible: *ret is 0 or -errno, and r has the response. GET_EVENT
 * waits. False: rused must be asked.
 */
bool remote_ucma_local(struct remote_ucma_map *map, int fd, const struct remote_ucma_cmd *c,
		       struct remote_ucma_answer *r,
		       int *ret);
/* rused has answered c with ret. After a RESOLVE_ADDR that succeeded, the next to the same destination can be posted. */
void remote_ucma_answered(const struct remote_ucma_cmd *c, int ret);

/*
 * Log the failure of a command of /dev/infiniband/rdma_cm, with the reason from rused. Ignores what is no reason of the
 * table. error: positive errno, 0: none.
 */
void remote_ucma_refused(uint32_t cmd, int error, const struct why *why);
/* The same for an event, if it reports a failure. */
void remote_ucma_event(const struct rdma_ucm_event_resp *ev, const struct why *why);
#endif
