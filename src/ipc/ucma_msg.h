/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a process and rused say about files of /dev/infiniband/rdma_cm.
 *
 * IPC_UCMA_OPEN: open(). Body none; reply ipc_ucma_open and one end of a
 * SOCK_SEQPACKET pair: the file lives until that is closed everywhere. There is a
 * byte in it while events can be got. Two memfds: the file's memory and the cards
 * (ipc/ucma_shm.h). -EMFILE: too many files.
 *
 * IPC_UCMA_WRITE: write() to such a file, by whichever process has it. Body ipc_ucma
 * and the bytes that follow it; reply ipc_ucma_reply and the response. -EBADF: no
 * such file, it was a former rused's.
 *
 * IPC_UCMA_POST: the same without a reply, of a command that the id's card says will
 * answer 0. If it does not after all, the program gets an event that says so. With
 * count 0 it is none: events have been taken out of the ring.
 */
#ifndef RUSE_IPC_UCMA_MSG_H
#define RUSE_IPC_UCMA_MSG_H

#include "base/util.h"

struct ipc_ucma_open {
	uint32_t file;		/* its number, not to be guessed */
	uint32_t pad;
};

#define IPC_UCMA_CMD 512	/* no command is longer */
#define IPC_UCMA_OPT 4096	/* SET_OPTION: nor is an option; what is longer has a wrong size */

struct ipc_ucma {
	uint32_t file;
	uint32_t len;		/* bytes of the command, which follow; then SET_OPTION's option */
	uint64_t count;		/* third argument of write(), at least len */
	/*
	 * What the command's pointer or descriptor means: MIGRATE_ID: the number of the file that its
	 * fd is; SET_OPTION: bytes of the option. error: there is none, -errno.
	 */
	uint32_t aux;
	int32_t aux_error;
};

struct ipc_ucma_reply {
	int32_t ret;		/* 0: write() has taken it all, or -errno */
	uint32_t pad;
};

#endif
