/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages about files of /dev/infiniband/rdma_cm.
 *
 * IPC_UCMA_OPEN: open(). No body; reply ipc_ucma_open, one end of a SOCK_SEQPACKET pair, and two
 * memfds: the file's memory and the id cards (ipc/ucma_shm.h). The file lives until that end is
 * closed in all processes. The socket holds one byte while events are available. -EMFILE: too many
 * files.
 *
 * IPC_UCMA_WRITE: write() to such a file, from any process that has it. Body ipc_ucma, the command,
 * and SET_OPTION's option; reply ipc_ucma_reply and the response. -EBADF: no such file; it may be
 * from a rused that has exited.
 *
 * IPC_UCMA_POST: like IPC_UCMA_WRITE without a reply, for a command whose success the id's card
 * predicts. If the command fails after all, the program gets an event. With count 0 it carries no
 * command and says that events have been taken from the ring.
 */
#ifndef RUSE_IPC_UCMA_MSG_H
#define RUSE_IPC_UCMA_MSG_H

#include "base/util.h"

struct ipc_ucma_open {
	uint32_t file;		/* random number of the file */
	uint32_t pad;
};

#define IPC_UCMA_CMD 512	/* bytes, the longest command */
#define IPC_UCMA_OPT 4096	/* bytes, the longest valid option of SET_OPTION */

struct ipc_ucma {
	uint32_t file;
	uint32_t len;		/* bytes of the command that follows; then SET_OPTION's option */
	uint64_t count;		/* third argument of write(), at least len */
	/*
	 * Value behind the command's pointer or descriptor. MIGRATE_ID: number of the file at its
	 * fd; SET_OPTION: bytes of the option. aux_error: -errno if there is none.
	 */
	uint32_t aux;
	int32_t aux_error;
};

struct ipc_ucma_reply {
	int32_t ret;		/* 0: all bytes accepted, or -errno */
	uint32_t pad;
};

#endif
