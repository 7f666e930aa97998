/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The engine plays the NIC of a process: one lock, one progress thread, one connection to rused. It
 * joins abi/uverbs, core, xport and link. preload/ intercepts libc calls of the program and calls
 * the functions below; the engine intercepts none. They take the engine lock themselves.
 */
#ifndef RUSE_ENGINE_H
#define RUSE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct event_file;
struct uverbs_file;

/*
 * Set by preload/: this thread is known to block neither SIGSEGV nor SIGBUS. Guarded copies may
 * raise these signals; if they were blocked, they would kill the process.
 */
extern __thread bool engine_thread_ready __attribute__((tls_model("initial-exec")));

struct thread_guard {
	bool restore;
	uint64_t mask;		/* kernel sigset to restore */
};

/* Needed from preload/. The engine lock is held unless noted; raw system calls only. */
struct engine_host {
	/* Enter fd, an eventfd, into the descriptor table as this event file. 0 or -errno. */
	int (*event_install)(struct event_file *ev, int fd, bool is_async);
	/* Remove it again, without a call of engine_event_close(). */
	void (*event_uninstall)(int fd);
	/* The event file behind a descriptor of the program, or NULL. Valid while the engine lock is held. */
	struct event_file *(*event_lookup)(int fd);
	/*
	 * own: from now on fd is the engine's, and the program must not close it. !own: ends this.
	 * Used by own_fd() and own_close() (own.h).
	 */
	void (*own_fd)(int fd, bool own);
	/* The lowest descriptor >= from that refers to this uverbs or event file, or -1. */
	int (*program_fd)(const void *file, int from);
	/* In a forked child: close and forget all descriptors registered with own_fd(). */
	void (*own_reset)(void);
	/*
	 * read(2) of the program's libc, a cancellation point. Bytes or -errno. Not under the lock.
	 */
	ssize_t (*event_wait)(int fd, void *buf, size_t len);
	/* Is the descriptor a uverbs file of ruse? */
	bool (*is_uverbs)(int fd);
	/*
	 * Around a call into the engine on a thread without engine_thread_ready: unblock the signals
	 * that guarded copies may raise, and restore the mask. Not under the lock.
	 */
	void (*thread_enter)(struct thread_guard *g);
	void (*thread_leave)(const struct thread_guard *g);
	/*
	 * Waits until the descriptor of an rdma_cm, umad or issm file is readable, by recv(2) of
	 * the program's libc, a cancellation point. 0, -EINTR; -EAGAIN: O_NONBLOCK; -EIO: rused is
	 * gone. own: fd is the engine's, closed if the thread is cancelled. Never under the lock.
	 */
	int (*ucma_wait)(int fd, bool own);
	/* The rdma_cm file of a descriptor, held until ucma_put(*ref). -EINVAL, -ENOENT: none. */
	int (*ucma_get)(int fd, void **file, void **ref);
	void (*ucma_put)(void *ref);
	/* Path of the rused to start, found beside libruse.so. */
	const char *rused_path;
};

/* Once, when the library is loaded. Stores the pointer only: no thread, socket or allocation. */
void engine_setup(const struct engine_host *host);
/*
 * Connect to rused, starting it if necessary, and map the host page. 0 or -errno. Later calls are
 * cheap; after a failure they try again.
 */
int engine_attach(void);
/* RUN/sys of the attached host, which replaces /sys in paths. Valid after engine_attach(). */
const char *engine_sysfs(void);
/* Ask rused to update the counter files in sysfs, before one of them is read. If that fails they stay as they are. */
void engine_counters(void);
/* A new netlink socket to rused (IPC_NETLINK): fd with close-on-exec, or -errno. */
int engine_netlink(void);
/* Does /dev/infiniband/uverbsN with this minor (192 + N) exist? */
bool engine_has_uverbs(uint32_t minor);

/*
 * open() of uverbsN: the descriptor, a memfd whose offsets are the mmap offsets, and the file in
 * *f. -ENOENT: no such device; -EIO: the engine has failed; -EMFILE, -ENOMEM and others.
 */
int engine_open(uint32_t minor, bool cloexec, struct uverbs_file **f);
/* Called when the last descriptor of the file was closed. */
void engine_close(struct uverbs_file *f);
/*
 * mmap() of a ring: the address where the engine has it mapped, readable, writable and shared.
 * NULL: the caller must map it (no ring, or too many open files). The caller holds the file.
 */
void *engine_map(struct uverbs_file *f, size_t len, uint64_t offset);
/* munmap(). True: the range is from engine_map() and stays mapped while the file needs it. */
bool engine_unmap(void *addr, size_t len);
/*
 * write() and ioctl(): bytes or 0, or -errno; -EIO: the engine has failed, or f is the parent's. In
 * a signal handler that interrupted the engine, write() notes a doorbell and returns count; ioctl()
 * returns -EDEADLK.
 */
ssize_t engine_write(struct uverbs_file *f, const void *buf, size_t count);
int engine_ioctl(struct uverbs_file *f, unsigned long cmd, void *arg);

/* read() on an event file: blocks by the O_NONBLOCK state of fd. Bytes or -errno. */
ssize_t engine_event_read(struct event_file *ev, int fd, void *buf, size_t count);
/* Called when the last descriptor of the event file was closed. */
void engine_event_close(struct event_file *ev);

/* open() of rdma_cm: a descriptor with close-on-exec, and *file for the calls below. -errno. */
int engine_ucma_open(void **file);
/* Called when its last descriptor in this process was closed and no call uses it. */
void engine_ucma_release(void *file);
/* write() by any process that has the file open. Bytes or -errno; -EIO: its rused is gone. */
ssize_t engine_ucma_write(void *file, int fd, const void *buf, size_t count);

/* Does a umadN or issmN with this minor (abi/umad/umad.h) exist? Valid after engine_attach(). */
bool engine_has_umad(uint32_t minor);
/*
 * open() of it: a descriptor with close-on-exec, and *file for the calls below, NULL for issmN.
 * Without nonblock, issmN waits until no other process has it open (cancellation point, -EINTR).
 */
int engine_umad_open(uint32_t minor, bool nonblock, void **file);
/* Like engine_ucma_release(). */
void engine_umad_release(void *file);
/* Calls by any process that has it open. Bytes, 0 or -errno; -EIO: rused or device is gone. */
ssize_t engine_umad_write(void *file, const void *buf, size_t count);
/* Blocks as read(2) would, by the O_NONBLOCK state of fd. */
ssize_t engine_umad_read(void *file, int fd, void *buf, size_t count);
int engine_umad_ioctl(void *file, unsigned long cmd, void *arg);

/*
 * fork(): before it, and after it in parent and child. In the child the parent's files answer EIO
 * until the parent is dead; then the child takes them over. Files that the child opens are its own.
 * A child is also recognised if no atfork handler ran.
 */
void engine_fork_prepare(void);
void engine_fork_parent(void);
void engine_fork_child(void);

/* Called before the process exits: send what has been held back, such as delayed ACKs. */
void engine_ending(void);

/* An impossible state: DEVICE_FATAL on every context; commands answer EIO. Never aborts. */
void engine_fail(const char *why);

#endif
