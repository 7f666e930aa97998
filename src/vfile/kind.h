/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kinds of descriptors for which libruse.so takes the kernel's place. All of them are
 * real descriptors, so that calls not in this table work unchanged in the real kernel:
 * poll, epoll, select, mmap, fcntl flags, inheritance. Interposed calls:
 *
 *   kind          backed by          interposed
 *   UVERBS        memfd              write, writev, ioctl: the uverbs ABI;
 *                 (mmap offsets)     read, readv: EINVAL; fstat, statx: the
 *                                    character device; close: release
 *   EVENT_ASYNC   read end of a      read, readv: one 16-byte record; write, writev:
 *                 pipe               EBADF; ioctl: ENOTTY; close: release
 *   EVENT_COMP    the same           the same with 8-byte records
 *   UCMA          one end of a       write, writev: the rdma_cm ABI; read, readv:
 *                 SOCK_SEQPACKET     EINVAL; ioctl: ENOTTY; fstat, statx: the
 *                 pair; rused has    character device
 *                 the other end
 *   UMAD          the same           write, writev, read, readv, ioctl: the umad
 *                                    ABI; fstat, statx: the character device
 *   ISSM          the same           all of these fail as the kernel's issm device
 *                                    does; fstat, statx: the character device
 *   NETLINK       the same           bind, connect, getsockname, getpeername,
 *                                    send and recv families: the addresses;
 *                                    getsockopt, setsockopt of SOL_NETLINK
 *   COUNTER       the file in the    read, readv, pread from offset 0: the
 *                 run directory      counter of that moment
 *   OWN           descriptors of     close, read, write, ioctl, fcntl, dup: EBADF;
 *                 libruse.so itself  dup2 onto it: EBUSY; close_range, closefrom:
 *                                    skipped
 *
 * OWN protects against programs that close all descriptors ("for (fd = 3; ...)"). With
 * kernel RDMA a program has only the descriptors that it has opened.
 */
#ifndef RUSE_VFILE_KIND_H
#define RUSE_VFILE_KIND_H

#include "base/util.h"

/* In this order: files of the kernel's RDMA code come first. */
enum vfile_kind {
	VFILE_UVERBS,
	VFILE_EVENT_ASYNC,
	VFILE_EVENT_COMP,
	VFILE_UCMA,
	VFILE_UMAD,
	VFILE_ISSM,
	VFILE_NETLINK,
	VFILE_COUNTER,
	VFILE_OWN,
};

struct vfile;

struct vfile_ops {
	/*
	 * Called after the last descriptor was closed and the last call on it has
	 * returned. vf is a copy, valid during the call.
	 */
	void (*release)(struct vfile *vf);
};

/* State of a netlink socket that a Unix socket does not have. */
struct vfile_nl {
	uint32_t portid;	/* 0: not bound */
	uint32_t groups;	/* multicast groups 1 to 32 joined; bit 0: group 1 */
	uint32_t options;	/* bit n: the SOL_NETLINK option with number n is on */
	/*
	 * The last request, kept until an answer to it is read. If rused dies before it answers, the
	 * request is sent again to the next rused. asked_len: length of the request; 0: no request is
	 * kept, because its answer was read or because it did not fit.
	 */
	uint32_t asked_len;
	uint8_t asked[64];
};

/*
 * An open file, shared by its descriptors (dup()). Its memory is never freed, only reused
 * for another file: a thread that looks up a descriptor while another thread closes it
 * reads a valid vfile, possibly of another file.
 */
struct vfile {
	uint32_t refs;		/* descriptors and calls in progress; 0: free */
	enum vfile_kind kind;
	const struct vfile_ops *ops;
	void *file;		/* UVERBS, EVENT_*, UCMA, UMAD: object of engine/; COUNTER: object of preload/ */
	uint32_t minor;		/* UVERBS, UMAD, ISSM: minor number of the character device */
	struct vfile_nl nl;	/* NETLINK */
};

#endif
