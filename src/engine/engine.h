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

/* Provided by preload/. Called with the engine lock held and making raw system calls only, unless a comment says otherwise. */
struct engine_ops {
	/* Enter fd, an eventfd, into the descriptor table as this event file. 0 or -errno. */
	int (*event_install)(struct event_file *ev, int fd, bool is_async);
	/* Undo event_install() at fd. engine_event_close() is not called. */
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
	/* read(2) of the program's libc, a cancellation point. Bytes or -errno. Not under the lock. */
	ssize_t (*event_wait)(int fd, void *buf, size_t len);
	/* Is the descriptor a uverbs file of ruse? */
	bool (*is_uverbs)(int fd);
	/* First on the progress thread: libc must not take it for one of the program's. */
	void (*thread_began)(void);
	/*
	 * Waits until the descriptor of an rdma_cm, umad or issm file is readable, by recv(2) of the
	 * program's libc, a cancellation point. 0; -EINTR; -EAGAIN: fd is O_NONBLOCK and not readable;
	 * -EIO: rused is gone. own: fd is a descriptor of the engine, which this function closes if the
	 * thread is cancelled. Never under the lock.
	 */
	int (*sock_wait)(int fd, bool own);
	/* The rdma_cm file of a descriptor, held until ucma_put(*ref). -ENOENT: fd is not open; -EINVAL: fd is another file. */
	int (*ucma_get)(int fd, void **file, void **ref);
	void (*ucma_put)(void *ref);
	/* --check: lets check/freed.h know what the program frees from now on. */
	void (*heap_watch)(void);
	/* Path of the rused to start, found beside libruse.so. */
	const char *rused_path;
};

/* Called once, when the library is loaded. Only stores the pointer: creates no thread, socket or allocation. */
void engine_setup(const struct engine_ops *host);
/*
 * Connect to rused, starting it if necessary, and map the host page (struct host_page: devices, fault rules,
 * captures). 0 or -errno. Later calls are cheap; after a failure they try again.
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
 * open() of uverbsN. Returns the program's descriptor and sets *f. The descriptor is a memfd, so the program can mmap() its rings
 * from it. -ENOENT: no such device; -EIO: the engine has failed; -EMFILE, -ENOMEM and others.
 */
int engine_open(uint32_t minor, bool cloexec, struct uverbs_file **f);
/* Called when the last descriptor of the file was closed. */
void engine_close(struct uverbs_file *f);
/*
 * mmap() of a ring. Returns the address at which the engine has the ring mapped, readable, writable and shared. NULL: offset is
 * not in the ring area, or too many files are open; the caller must call mmap() then. f must stay open during the call.
 */
void *engine_map(struct uverbs_file *f, size_t len, uint64_t offset);
/* munmap(). True: the range is from engine_map(). The engine unmaps it after its last use, so the caller must not. */
bool engine_unmap(void *addr, size_t len);
/*
 * write(): bytes or -errno; -EIO: the engine has failed, or f belongs to the parent process. In a signal handler that interrupted
 * the engine, the write must be a doorbell: it is executed when the engine unlocks, and count is returned.
 */
ssize_t engine_write(struct uverbs_file *f, const void *buf, size_t count);
/* ioctl(): 0 or -errno; -EIO as above; -EDEADLK: called in a signal handler that interrupted the engine. */
int engine_ioctl(struct uverbs_file *f, unsigned long cmd, void *arg);

/* read() on an event file. Bytes or -errno. Waits for an event unless fd is O_NONBLOCK. */
ssize_t engine_event_read(struct event_file *ev, int fd, void *buf, size_t count);
/* Called when the last descriptor of the event file was closed. */
void engine_event_close(struct event_file *ev);

/*
 * Called before fork(), and after it in the parent or in the child. In the child, calls on files that the parent opened fail with
 * EIO until the parent is dead; then the child takes the files over. Files that the child opens are its own. If no atfork handler
 * ran, the engine recognises the child at its next call.
 */
void engine_fork_prepare(void);
void engine_fork_parent(void);
void engine_fork_child(void);

/* Called before the process exits: send what has been held back, such as delayed ACKs. */
void engine_ending(void);

/* The bug handler (base/log.h) of a program: every context gets the event DEVICE_FATAL, and later commands fail with EIO. */
void engine_fail(const char *why);

#endif
