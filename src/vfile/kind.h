/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every kind of descriptor that libruse.so plays the kernel for. All of them
 * are real descriptors (design 2.2, item 7), so that what is not named in the
 * table is the real kernel's business and right: poll, epoll, select, mmap,
 * fcntl flags, inheritance. What is interposed:
 *
 *   kind          backed by          interposed
 *   UVERBS        memfd              write, writev, ioctl: the uverbs ABI;
 *                 (mmap offsets)     read, readv: EINVAL; fstat, statx: the
 *                                    character device; close: release
 *   EVENT_ASYNC   eventfd,           read, readv: one 16-byte record;
 *                 EFD_SEMAPHORE      write, writev: EINVAL; close: release
 *   EVENT_COMP    the same           the same with 8-byte records
 *   UCMA          Unix socket that   write, writev: the rdma_cm ABI; read, readv:
 *                 rused holds the    EINVAL; ioctl: ENOTTY; fstat, statx: the
 *                 other end of       character device
 *   UMAD          the same           write, writev, read, readv, ioctl: the umad
 *                                    ABI; fstat, statx: the character device
 *   ISSM          the same           all of these fail as for a device without;
 *                                    fstat, statx: the character device
 *   NETLINK       Unix datagram      bind, connect, getsockname, getpeername,
 *                 socket to rused    send and recv families: the addresses;
 *                                    getsockopt, setsockopt of SOL_NETLINK
 *   OWN           anything that we    close, read, write, ioctl, fcntl, dup: EBADF;
 *                 need ourselves     dup2 onto it: EBUSY; close_range, closefrom:
 *                                    left out
 *
 * OWN is for programs that close what they do not know ("for (fd = 3; ...)"):
 * in the kernel's RDMA there is nothing to be closed but what they opened.
 */
#ifndef RUSE_VFILE_KIND_H
#define RUSE_VFILE_KIND_H

#include "base/util.h"

enum vfile_kind {
	VFILE_UVERBS,
	VFILE_EVENT_ASYNC,
	VFILE_EVENT_COMP,
	VFILE_UCMA,
	VFILE_UMAD,
	VFILE_ISSM,
	VFILE_NETLINK,
	VFILE_OWN,
};

struct vfile;

struct vfile_ops {
	/*
	 * The last descriptor was closed and nobody is inside a call on it any
	 * more. vf is a copy, valid for the call.
	 */
	void (*release)(struct vfile *vf);
};

/* What a netlink socket has that a Unix socket has not. */
struct vfile_nl {
	uint32_t portid;	/* 0 = not bound */
	uint32_t groups;	/* multicast groups 1..32 joined, bit 0 = group 1 */
	uint32_t options;	/* SOL_NETLINK flags that are set, by option number */
};

/*
 * An open file, shared by the descriptors that dup() made of it. Its memory is
 * never given back, only used again for another file: a thread that has looked
 * up a descriptor while another closes it reads a vfile, if not the right one.
 */
struct vfile {
	uint32_t refs;		/* descriptors, and calls in progress; 0 = free */
	enum vfile_kind kind;
	const struct vfile_ops *ops;
	void *file;		/* UVERBS, EVENT, UCMA, UMAD: the engine's */
	uint32_t minor;		/* UVERBS, UMAD, ISSM: of the character device */
	struct vfile_nl nl;	/* NETLINK */
};

#endif
