/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a process and rused say about files of /dev/infiniband/umadN and issmN.
 *
 * IPC_UMAD_OPEN: open(). Body ipc_umad_open; reply ipc_umad_opened and one end of a
 * SOCK_SEQPACKET pair: the file lives until that is closed everywhere. umadN: what can be read
 * is in memory (ipc/umad_shm.h), a memfd sealed against shrinking; it and an eventfd that wakes
 * rused for what is written there are two more descriptors. A packet longer than
 * IPC_UMAD_SHOWN, and whatever is behind it, waits: only its number is there. issmN: one
 * datagram as soon as it is ours, of one byte, 0 or an errno. When the device goes the other end
 * is closed.
 *
 * IPC_UMAD_CALL: read(), write() and ioctl() of a umadN, by whichever process has it. Body
 * ipc_umad and the bytes that follow it, or, for more than IPC_UMAD_INLINE of write(), a memfd;
 * reply ipc_umad_reply and bytes, or a memfd. -EBADF: no such file; it was a former rused's, or
 * the device is gone.
 *
 * IPC_UMAD_KICK: as the eventfd, but an error says that rused is gone. Body ipc_umad_kick, no answer.
 */
#ifndef RUSE_IPC_UMAD_MSG_H
#define RUSE_IPC_UMAD_MSG_H

#include "base/util.h"

struct ipc_umad_open {
	uint32_t minor;		/* of the device, see abi/umad/umad.h */
	uint32_t nonblock;	/* issmN: -EAGAIN if another has it open */
};

struct ipc_umad_opened {
	uint32_t file;		/* its number, not to be guessed */
	uint32_t pad;
};

#define IPC_UMAD_INLINE 4096
#define IPC_UMAD_SHOWN 320	/* the longer header and a MAD */

struct ipc_umad_kick {
	uint32_t file;
};

enum ipc_umad_op {
	UMAD_OP_WRITE,
	UMAD_OP_READ,		/* what seq stands for; -EAGAIN: no longer */
	UMAD_OP_TAKE,		/* the program has got that: the next */
	UMAD_OP_IOCTL,
	UMAD_OP_SYNC,		/* nothing but what IPC_UMAD_KICK does */
	UMAD_OPS
};

struct ipc_umad {
	uint32_t file;
	uint16_t op;		/* enum ipc_umad_op */
	uint16_t len;		/* bytes that follow */
	uint32_t cmd;		/* UMAD_OP_IOCTL */
	uint32_t seq;		/* UMAD_OP_READ, UMAD_OP_TAKE */
	uint64_t count;		/* third argument of read() or write() */
};

struct ipc_umad_reply {
	int32_t ret;		/* what the call returns, 0 for a read() or write() that was one */
	uint32_t taken;		/* UMAD_OP_TAKE: 1: it was this one */
	uint32_t off;		/* UMAD_OP_IOCTL: where in the argument the bytes belong */
	uint32_t len;		/* bytes that belong into the program's memory, whatever ret is */
};

#endif
