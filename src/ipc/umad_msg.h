/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a process and rused say about files of /dev/infiniband/umadN and issmN.
 *
 * IPC_UMAD_OPEN: open(). Body ipc_umad_open; reply ipc_umad_opened and one end of a
 * SOCK_SEQPACKET pair: the file lives until that is closed everywhere. umadN: there is a
 * datagram in it for each packet that can be read, up to some number. issmN: one datagram as
 * soon as it is ours, of one byte, 0 or an errno. When the device goes the other end is closed.
 *
 * IPC_UMAD_CALL: read(), write() and ioctl() of a umadN, by whichever process has it. Body
 * ipc_umad and the bytes that follow it, or, for more than IPC_UMAD_INLINE of write(), a memfd;
 * reply ipc_umad_reply and bytes, or a memfd. -EBADF: no such file; it was a former rused's, or
 * the device is gone.
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

enum ipc_umad_op {
	UMAD_OP_WRITE,
	UMAD_OP_READ,
	UMAD_OP_UNREAD,		/* the program's buffer was not there: what was read last is first again */
	UMAD_OP_IOCTL,
	UMAD_OPS
};

struct ipc_umad {
	uint32_t file;
	uint16_t op;		/* enum ipc_umad_op */
	uint16_t len;		/* bytes that follow */
	uint32_t cmd;		/* UMAD_OP_IOCTL */
	uint32_t pad;
	uint64_t count;		/* third argument of read() or write() */
};

struct ipc_umad_reply {
	int32_t ret;		/* what the call returns, 0 for a read() or write() that was one */
	uint32_t taken;		/* datagrams to be taken out of the file's socket */
	uint32_t off;		/* UMAD_OP_IOCTL: where in the argument the bytes belong */
	uint32_t len;		/* bytes that belong into the program's memory, whatever ret is */
};

#endif
