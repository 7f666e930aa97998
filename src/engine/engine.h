/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The engine: what makes a process its own NIC. One lock, one progress
 * thread, one connection to rused; it joins abi/uverbs, core, xport and link.
 * preload/ calls in here; nothing in here knows about libc names.
 *
 * Functions take the lock themselves.
 */
#ifndef RUSE_ENGINE_H
#define RUSE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct event_file;
struct uverbs_file;

/*
 * Kept by preload/: this thread is known not to block SIGSEGV and SIGBUS, which
 * guarded copies may raise. A blocked one would kill the process.
 */
extern __thread bool engine_thread_ready __attribute__((tls_model("initial-exec")));

struct thread_guard {
	bool restore;
	uint64_t mask;		/* the kernel's sigset, to block again */
};

/* What the engine needs from preload/. Called with the lock held; raw system calls only. */
struct engine_host {
	/* Register fd (an eventfd that the engine has made) as this event file in the descriptor table. 0 or -errno. */
	int (*event_install)(struct event_file *ev, int fd, bool is_async);
	/* Takes it out again, without a call of engine_event_close(). */
	void (*event_uninstall)(int fd);
	/* The event file that the program's descriptor is, or NULL. */
	struct event_file *(*event_lookup)(int fd);
	/* fd is one of the engine's own, not to be closed by the program; or no longer. */
	void (*own_fd)(int fd, bool own);
	/* The lowest of the program's descriptors not below from that is this uverbs or event file, or -1. */
	int (*program_fd)(const void *file, int from);
	/* In a forked child: closes and forgets all that own_fd() named. */
	void (*own_reset)(void);
	/* read(2) as the program's libc does it, a cancellation point: bytes or -errno. Never under the lock. */
	ssize_t (*event_wait)(int fd, void *buf, size_t len);
	/* Is the program's descriptor one of our uverbs files? */
	bool (*is_uverbs)(int fd);
	/*
	 * Around a call into the engine on a thread that is not engine_thread_ready: sees to
	 * it that a guarded copy may fault. Not under the lock.
	 */
	void (*thread_enter)(struct thread_guard *g);
	void (*thread_leave)(const struct thread_guard *g);
	/*
	 * Waits until an rdma_cm, umad or issm file's descriptor is readable, as recv(2) of the program's libc does
	 * it, a cancellation point: 0; -EAGAIN with O_NONBLOCK, -EINTR, -EIO: rused is gone. own:
	 * it is one of the engine's, closed if the thread is cancelled. Never under the lock.
	 */
	int (*ucma_wait)(int fd, bool own);
	/*
	 * Holds the rdma_cm file that the program's descriptor is, until ucma_put(*ref): what
	 * engine_ucma_open() gave. -EINVAL, -ENOENT none open.
	 */
	int (*ucma_get)(int fd, void **file, void **ref);
	void (*ucma_put)(void *ref);
	/* Path of rused to start, as found beside libruse.so. */
	const char *rused_path;
};

/* Once, at load: stores the pointer, nothing else (no thread, socket or allocation). */
void engine_setup(const struct engine_host *host);
/*
 * First touch of RDMA: connects to rused, starting it when none runs, and reads
 * the host page. 0 or -errno; later calls are cheap and try again after a failure.
 */
int engine_attach(void);
/* RUN/sys of the attached host: what replaces /sys in paths. Valid after engine_attach(). */
const char *engine_sysfs(void);
/* Somebody is about to read counters in sysfs: rused writes them anew. */
void engine_counters(void);
/* A fresh raw-netlink socket to rused (IPC_NETLINK): fd, close-on-exec, or -errno. */
int engine_netlink(void);
/* Does /dev/infiniband/uverbsN with this minor (192 + N) exist? */
bool engine_has_uverbs(uint32_t minor);

/*
 * open(): the descriptor (a sealed memfd whose offsets are the mmap offsets;
 * close-on-exec if asked) and the file. -ENOENT, -EMFILE, ...
 */
int engine_open(uint32_t minor, bool cloexec, struct uverbs_file **f);
/* The last descriptor of the file was closed. */
void engine_close(struct uverbs_file *f);
/*
 * mmap() of a ring, readable, writable and shared: where it is mapped already. NULL: not to be had
 * so, map it; also of what is no ring's. The caller holds the file.
 */
void *engine_map(struct uverbs_file *f, size_t len, uint64_t offset);
/* munmap(). True: it was had from engine_map(), and stays mapped as long as the file needs it. */
bool engine_unmap(void *addr, size_t len);
ssize_t engine_write(struct uverbs_file *f, const void *buf, size_t count);
int engine_ioctl(struct uverbs_file *f, unsigned long cmd, void *arg);

/*
 * The program read from an event file's descriptor (fd, with the O_NONBLOCK
 * state it has): blocks as read(2) would. Bytes or -errno.
 */
ssize_t engine_event_read(struct event_file *ev, int fd, void *buf, size_t count);
/* The last descriptor of the event file was closed. */
void engine_event_close(struct event_file *ev);

/* open() of rdma_cm: a descriptor, close-on-exec, and what stands for the file; -errno. */
int engine_ucma_open(void **file);
/* The last descriptor of it in this process was closed, and no call is on it. */
void engine_ucma_release(void *file);
/* write() to such a file, by this or any process that has it: bytes or -errno; -EIO: its rused is gone. */
ssize_t engine_ucma_write(void *file, int fd, const void *buf, size_t count);

/* Is there a umadN or issmN with this minor (abi/umad/umad.h)? After engine_attach(). */
bool engine_has_umad(uint32_t minor);
/*
 * open() of it: a descriptor, close-on-exec, and what stands for the file, NULL for issmN; -errno.
 * issmN waits, unless nonblock, until nobody else has it: a cancellation point, -EINTR.
 */
int engine_umad_open(uint32_t minor, bool nonblock, void **file);
/* As engine_ucma_release(). */
void engine_umad_release(void *file);
/* Calls on a umadN by this or any process that has it: bytes, 0 or -errno; -EIO: its rused or device is gone. */
ssize_t engine_umad_write(void *file, const void *buf, size_t count);
/* Blocks as read(2) would, by the O_NONBLOCK of fd. */
ssize_t engine_umad_read(void *file, int fd, void *buf, size_t count);
int engine_umad_ioctl(void *file, unsigned long cmd, void *arg);

/*
 * fork(): before, and after in parent and child. What the parent had open
 * answers EIO in the child until the parent is dead, then the child takes it
 * over; what the child opens is its own. A child is also recognised where no
 * atfork handler ran.
 */
void engine_fork_prepare(void);
void engine_fork_parent(void);
void engine_fork_child(void);

/* The process is about to end: nothing that peers wait for is held back any longer. */
void engine_ending(void);

/* Impossible state: DEVICE_FATAL on every context, commands answer EIO. Never aborts. */
void engine_fail(const char *why);

#endif
