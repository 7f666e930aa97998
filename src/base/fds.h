/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Creation of descriptors under a seccomp filter that refuses a call or one of its flags. Each
 * function tries the call with its flags, then without close-on-exec and nonblock. fds_event() and
 * fds_accept() then try the older call, eventfd or accept. The flags that were left out are set
 * with fcntl(). If another thread forks and executes a program before that, the program inherits
 * the descriptor. Functions return the descriptor, unless stated otherwise, or -errno.
 */
#ifndef RUSE_BASE_FDS_H
#define RUSE_BASE_FDS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * True if rc, the result of a call, is -EPERM, -EACCES, -EINVAL or -ENOSYS: a seccomp filter may
 * have refused the call, or the kernel does not have it.
 */
bool fds_refused(long rc);
/* eventfd(2). If EFD_SEMAPHORE is refused the call fails: it cannot be set afterwards. */
int fds_event(uint32_t count, int flags);
/*
 * A pipe of one page. fd[0] reads, and waits; fd[1] reads and writes, and does not. 0 or -errno: a filter refuses it, or
 * /proc is missing.
 */
int fds_event_pipe(int fd[2]);
/* What to tell the user when fds_memory() is refused. */
#define FDS_MEMORY_REFUSED "memfd_create() is refused, which ruse needs for its queues: a seccomp filter or a " \
			   "security module of the system must permit it; see `ruse doctor`"
/*
 * memfd_create(2). -ENOSYS: it is refused. There is no other way: only a memfd can be sealed, and memory that a peer
 * can shrink would kill this process. If MFD_ALLOW_SEALING is refused the call fails: it cannot be set afterwards.
 */
int fds_memory(const char *name, unsigned int flags);
/* accept4(2) without the peer's address. */
int fds_accept(int listener, int flags);
/* socketpair(2) of AF_UNIX. type may include SOCK_CLOEXEC and SOCK_NONBLOCK. 0 or -errno. */
int fds_pair(int type, int sv[2]);

#endif
