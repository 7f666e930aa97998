/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages about files of /dev/infiniband/umadN and issmN.
 *
 * IPC_UMAD_OPEN: open(). Body ipc_umad_open; reply ipc_umad_opened and one end of a SOCK_SEQPACKET
 * pair. The file lives until that end is closed in all processes; rused closes the other end when
 * the device is removed. For umadN the reply also carries a memfd with the packets to be read
 * (ipc/umad_shm.h), sealed against shrinking, and an eventfd that wakes rused for packets written
 * there. A packet longer than IPC_UMAD_SHOWN is in the ring as a number only, and later packets
 * wait behind it. For issmN, one datagram of one byte follows when the open has succeeded (0) or
 * failed (errno).
 *
 * IPC_UMAD_CALL: read(), write() and ioctl() of a umadN, from any process that has the file. Body
 * ipc_umad and its bytes, or a memfd for a write() of more than IPC_UMAD_INLINE bytes; reply
 * ipc_umad_reply and bytes, or a memfd. -EBADF: no such file, its rused has exited, or the device
 * was removed.
 *
 * IPC_UMAD_KICK: like the eventfd, but reports an error if rused is gone. Body ipc_umad_kick, no
 * answer.
 */
#ifndef RUSE_IPC_UMAD_MSG_H
#define RUSE_IPC_UMAD_MSG_H

#include "base/util.h"

struct ipc_umad_open {
	uint32_t minor;		/* minor number, see abi/umad/umad.h */
	uint32_t nonblock;	/* issmN: if it is open already, return -EAGAIN instead of waiting */
};

struct ipc_umad_opened {
	uint32_t file;		/* random number of the file */
	uint32_t pad;
};

#define IPC_UMAD_INLINE 4096
#define IPC_UMAD_SHOWN 320	/* bytes of the longer header and a MAD */

struct ipc_umad_kick {
	uint32_t file;
};

enum ipc_umad_op {
	UMAD_OP_WRITE,
	UMAD_OP_READ,		/* copy packet seq; -EAGAIN: already taken */
	UMAD_OP_TAKE,		/* the program has received packet seq: remove it */
	UMAD_OP_IOCTL,
	UMAD_OP_SYNC,		/* only what IPC_UMAD_KICK does */
	UMAD_OPS
};

struct ipc_umad {
	uint32_t file;
	uint16_t op;		/* enum ipc_umad_op */
	uint16_t len;		/* bytes that follow this header */
	uint32_t cmd;		/* UMAD_OP_IOCTL */
	uint32_t seq;		/* UMAD_OP_READ, UMAD_OP_TAKE */
	uint64_t count;		/* length argument of read() or write() */
};

struct ipc_umad_reply {
	int32_t ret;		/* result of the call; 0 for a read() or write() that succeeded */
	uint32_t taken;		/* UMAD_OP_TAKE: 1: the packet was removed */
	uint32_t off;		/* UMAD_OP_IOCTL: offset of the bytes in the argument */
	uint32_t len;		/* bytes to copy to the program's memory, also if ret is an error */
};

#endif
