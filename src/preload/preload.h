/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Interposed functions of libc, which call the engine.
 *
 * A hook first checks whether the call concerns ruse, by descriptor (fdtab_lookup()) or path
 * (paths_maybe()), and else calls the real function; this costs a few nanoseconds. A call that is
 * handled here changes errno only if it fails.
 */
#ifndef RUSE_PRELOAD_PRELOAD_H
#define RUSE_PRELOAD_PRELOAD_H

#include <errno.h>
#include "preload/real.h"
#include "vfile/fdtab.h"

struct event_file;

/* Converts a result, >= 0 or -errno, to libc's convention. e: errno to restore on success. */
static inline long libc_result(long ret, int e)
{
	errno = ret < 0 ? (int)-ret : e;
	return ret < 0 ? -1 : ret;
}

/* calls_alloc.c: looks whether the program frees its memory by functions of this library. Before memory_open(). */
void preload_alloc_look(void);

/* memory.c: lets memory that peers can map come from the arena. loaded: libibverbs is loaded, but no device was opened yet. */
void memory_open(bool loaded);

/* main.c: connects to rused, starting it if necessary. 0 or -errno; may change errno. */
int preload_attach(void);

/* fork.c: true if the process, or one that it is a copy of, has used RDMA. */
bool preload_attached(void);

/*
 * fork.c: true if this process owns the tables that it sees. False in a vfork child, which uses its
 * parent's memory: it must not change the tables and gets the raw system calls.
 */
bool preload_owns_tables(void);

/*
 * fork.c: true if this process has opened the engine's descriptors in the table. A child of a vfork() or of a clone() that
 * the program has made itself has not: it may close them, as it cannot use them.
 */
bool fork_protects_own(void);
/* The engine's descriptors in the table are this process's from now on. */
void fork_made_own(void);

/* True for the engine's descriptors, which the program must not see, unless they are another process's. */
static inline bool preload_hidden(const struct vfile *vf)
{
	return vf->kind == VFILE_OWN && fork_protects_own();
}

/* Registers the arena's handlers of fork(). Called before those of the program are. Calls after the first do nothing. */
void fork_handlers(void);

/* Called at the first attach: registers the fork handlers and makes this process the owner of the tables. 0 or -errno. */
int fork_setup(void);

/* calls_mem.c: before an ioctl() of a userfaultfd. */
void preload_userfault(unsigned long cmd, const void *arg);

/* calls_io.c: removes the stale entry of fd, which the kernel has just returned as new, from the table of RDMA descriptors. */
void preload_fd_forget(int fd);

static inline int preload_fd_fresh(int fd)
{
	if (unlikely(fdtab_lookup(fd)))
		preload_fd_forget(fd);
	return fd;
}

/*
 * First in each handler of pthread_cleanup_push(): AddressSanitizer does not see that libc's cancellation has left frames, and
 * takes their part of the stack for used.
 */
#ifdef __SANITIZE_ADDRESS__
void __asan_handle_no_return(void);
#define preload_unwound() __asan_handle_no_return()
#else
#define preload_unwound() ((void)0)
#endif

/* calls_io.c: handler of pthread_cleanup_push() that drops the reference to a struct vfile. */
void preload_cancelled_put(void *vf);

/* engine_ops.c: functions of struct engine_ops. */
int preload_event_install(struct event_file *ev, int fd, bool is_async);
void preload_event_uninstall(int fd);
struct event_file *preload_event_lookup(int fd);
int preload_program_fd(const void *file, int from);
ssize_t preload_event_wait(int fd, void *buf, size_t len);
bool preload_is_uverbs(int fd);
int preload_sock_wait(int fd, bool own);
int preload_ucma_get(int fd, void **file, void **ref);
void preload_ucma_put(void *ref);

/* calls_close.c: function of struct engine_ops. */
void preload_own_reset(void);

/* engine_ops.c: registers the result of engine_open() at fd. 0 or -errno. */
struct uverbs_file;
int preload_uverbs_install(int fd, uint32_t minor, struct uverbs_file *f);
/*
 * engine_ops.c: registers the result of remote_ucma_open() or remote_umad_open() at fd. 0 or -errno.
 */
int preload_rused_install(int fd, enum vfile_kind kind, uint32_t minor, void *file);

#endif
