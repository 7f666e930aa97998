/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The preload: libc's names in, calls of the engine out.
 *
 * A hook asks one question first, "is it ours?", by descriptor
 * (fdtab_lookup) or path (paths_maybe), and goes on to the real function when
 * it is not: a few nanoseconds. What it answers itself leaves errno as it
 * found it unless it fails.
 */
#ifndef RUSE_PRELOAD_PRELOAD_H
#define RUSE_PRELOAD_PRELOAD_H

#include <errno.h>
#include "preload/real.h"
#include "vfile/fdtab.h"

struct event_file;

/* The kernel's answer, 0 or more or -errno, as libc gives it. e: errno to keep on success. */
static inline long libc_result(long ret, int e)
{
	errno = ret < 0 ? (int)-ret : e;
	return ret < 0 ? -1 : ret;
}

/* main.c: connects to rused, starting it, at the first touch of RDMA. 0 or -errno; errno may change. */
int preload_attach(void);

/*
 * fork.c. Does this process own the tables it sees? False in a vfork child,
 * which runs on its parent's memory: it may change nothing of it and gets the
 * raw call only.
 */
bool process_owns_tables(void);
/* At the first attach: fork handlers and the word that tells a child. 0 or -ENOMEM. */
int fork_setup(void);

/* calls_io.c: fd has just been made by a call that does not go through us; an entry for it is stale. */
void fd_forget(int fd);

static inline int fd_fresh(int fd)
{
	if (unlikely(fdtab_lookup(fd)))
		fd_forget(fd);
	return fd;
}

/* calls_io.c: newfd is a dup of vf's descriptor. newfd, or -errno with newfd closed. */
int fd_share(int newfd, struct vfile *vf);

/* calls_io.c: for struct engine_host. */
int event_install(struct event_file *ev, int fd, bool is_async);
void event_uninstall(int fd);
struct event_file *event_lookup(int fd);
int program_fd(const void *file, int from);
ssize_t event_wait(int fd, void *buf, size_t len);
bool descriptor_is_uverbs(int fd);
int ucma_wait(int fd, bool own);
int ucma_get(int fd, void **file, void **ref);
void ucma_put(void *ref);

/* calls_close.c: for struct engine_host. */
void own_reset(void);

/* calls_io.c: registers the uverbs file that engine_open() gave at fd. 0 or -errno. */
struct uverbs_file;
int uverbs_install(int fd, uint32_t minor, struct uverbs_file *f);
/* calls_io.c: registers the file of engine_ucma_open() or engine_umad_open() at fd. 0 or -errno. */
int rused_install(int fd, enum vfile_kind kind, uint32_t minor, void *file);

#endif
