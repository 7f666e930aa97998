/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages about files of /dev/infiniband/umadN and issmN.
 *
 * IPC_UMAD_OPEN: open(). Body: ipc_umad_open. Reply: ipc_umad_opened and one end of a SOCK_SEQPACKET pair. The file
 * exists until all processes have closed this end; rused closes the other end when the device is removed.
 *
 * For umadN the reply carries one more descriptor: a memfd, sealed against shrinking, with the memory of ipc/umad_shm.h.
 * Its ring of received packets has only the number of a packet that is longer than IPC_UMAD_SHOWN; until such a packet is
 * taken, later packets wait in rused.
 *
 * For issmN the reply is not the result of the open. rused sends the result later as one byte over the socket pair: 0, or
 * the errno.
 *
 * IPC_UMAD_CALL: read(), write() and ioctl() of a umadN, from any process that has the file open. Body: ipc_umad and the
 * bytes of the call; a write() of more than IPC_UMAD_INLINE bytes passes them in a memfd instead. Reply: ipc_umad_reply
 * and bytes, or a memfd. -EBADF: no such file, the rused that created it has exited, or the device was removed.
 *
 * IPC_UMAD_POST: write() of a MAD that cannot fail (umad_shm_sendable()), without a reply. Body: ipc_umad_post and the
 * bytes. Without bytes it only tells rused that packets were taken from the ring.
 */
#ifndef RUSE_IPC_UMAD_MSG_H
#define RUSE_IPC_UMAD_MSG_H

#include "base/util.h"
#include "why/why.h"

struct ipc_umad_open {
	uint32_t minor;		/* minor number, see abi/umad/umad.h */
	uint32_t nonblock;	/* issmN: if it is open already, return -EAGAIN instead of waiting */
};

struct ipc_umad_opened {
	uint32_t file;		/* random number of the file */
	uint32_t pad;
};

#define IPC_UMAD_INLINE 4096
#define IPC_UMAD_OUT (IPC_UMAD_INLINE + sizeof(struct why))
#define IPC_UMAD_SHOWN 320	/* bytes: 64 of struct ib_user_mad_hdr, the longer of umad's two headers, and 256 of a MAD */

struct ipc_umad_post {
	uint32_t file;
	uint32_t pad;
};

enum ipc_umad_op {
	UMAD_OP_WRITE,
	UMAD_OP_READ,		/* copy packet seq; -EAGAIN: already taken */
	UMAD_OP_TAKE,		/* the program has received packet seq: remove it */
	UMAD_OP_IOCTL,
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
	uint16_t taken;		/* UMAD_OP_TAKE: 1: the packet was removed */
	uint16_t why;		/* 1: after the bytes follows a struct why: why the call has failed */
	uint32_t off;		/* UMAD_OP_IOCTL: offset, in the struct that the argument points to, of the bytes to copy */
	uint32_t len;		/* bytes to copy to the program's memory, also if ret is an error */
};

#endif
