/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages about files of /dev/infiniband/rdma_cm.
 *
 * IPC_UCMA_OPEN: open(). It has no body. The reply is ipc_ucma_open with three descriptors: one end of a SOCK_SEQPACKET
 * pair and two memfds, the file's memory and the id cards (cmshare/ucma_shm.h). The file exists until all processes have
 * closed this end. The socket holds one byte while events are available. -EMFILE: too many files.
 *
 * IPC_UCMA_WRITE: write() to such a file, from any process that has it open. Body: ipc_ucma, the command, and for
 * SET_OPTION the option's value. Reply: ipc_ucma_reply and the response, or, if
 * ret is not 0 and rused knows the reason, struct why. -EBADF: this rused has no such file; an earlier
 * rused may have created it.
 *
 * IPC_UCMA_POST: like IPC_UCMA_WRITE, but without a reply. A process uses it if the id's card (struct cmshare_rec, in
 * memory that rused shares) says that the command will succeed. If it fails nevertheless, the program gets an error
 * event (ucma_write_posted() in abi/ucma/ucma.h). A message with count 0 carries no command: it only tells rused that events
 * were taken from the ring.
 */
#ifndef RUSE_IPC_UCMA_MSG_H
#define RUSE_IPC_UCMA_MSG_H

#include "base/util.h"

#define IPC_UCMA_LATE 2000000u
#define IPC_UCMA_TWICE 0x80000000u

struct ipc_ucma_open {
	uint32_t file;		/* random number of the file */
	uint32_t pad;
};

#define IPC_UCMA_CMD 512	/* bytes, the longest command */
#define IPC_UCMA_OPT 4096	/* bytes, the longest valid option of SET_OPTION */

struct ipc_ucma {
	uint32_t file;
	uint32_t len;		/* bytes of the command, which follows this header; the option's value follows the command */
	uint64_t count;		/* third argument of write(), at least len */
	/*
	 * What only the process can find out. MIGRATE_ID: aux is the number of the file that the command's fd refers to.
	 * SET_OPTION: aux is the length of the option's value in bytes. aux_error: 0, or the -errno of reading it.
	 * CONNECT, ACCEPT, DISCONNECT: aux are the microseconds that the message is late by `ruse run --shake`, at most
	 * IPC_UCMA_LATE; with IPC_UCMA_TWICE it is sent at once, and again then.
	 */
	uint32_t aux;
	int32_t aux_error;
};

struct ipc_ucma_reply {
	int32_t ret;		/* 0: all bytes accepted, or -errno */
	uint32_t pad;
};

#endif
