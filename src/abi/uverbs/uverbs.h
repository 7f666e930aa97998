/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The uverbs ABI of an open /dev/infiniband/uverbsN, in the program's process: write() commands and ioctl methods,
 * each with a table that has one row per command or method, and with handlers in do_*.c. The caller holds the engine
 * lock. The code in src/abi/uverbs copies from and to the program's memory only with the functions of core/umem.h: an
 * unmapped address gives -EFAULT.
 *
 * Errors are those of Linux 6.1. An unknown command fails with -EOPNOTSUPP (write) or -EPROTONOSUPPORT
 * (ioctl). A wrong length fails with -EINVAL, but with -ENOSPC if a plain (not extended) write()
 * command or the buffer for its response is too short.
 *
 * A uverbs_file owns its handles and their objects, and holds a reference to each event file that it
 * has made.
 */
#ifndef RUSE_ABI_UVERBS_H
#define RUSE_ABI_UVERBS_H

#include <sys/types.h>
#include "core/device.h"
#include "core/qp.h"

struct uverbs_file;
struct uverbs_req;

/* Functions that the caller provides. Called with the engine lock held. Only obj_shown and fault may be NULL. */
struct uverbs_ops {
	/*
	 * Makes a descriptor (O_CLOEXEC) of this process for a new event file. Returns it, or
	 * -errno. On success the descriptor owns the reference that the caller held.
	 */
	int (*fd_install)(struct uverbs_file *f, struct event_file *ev);
	/* The event file of a descriptor, without a new reference; NULL: it is not an event file. */
	struct event_file *(*fd_lookup)(struct uverbs_file *f, int fd);
	/* POST_SEND: WQEs were added to the send queue. 0, or -EINVAL: state below RTS. */
	int (*doorbell)(struct qp *qp);
	/* Called before the QP changes to RESET or ERR, to process responses that have already arrived. */
	void (*qp_ending)(struct qp *qp);
	/* Called after qp_modify(). old: the state before; mask: IB_QP_* of the command. */
	void (*qp_modified)(struct qp *qp, enum qp_state old, uint32_t mask);
	/* Called after qp_create(). 0, or -errno: CREATE_QP fails with it. */
	int (*qp_created)(struct qp *qp);
	/* Called before qp_destroy(). */
	void (*qp_destroying)(struct qp *qp);
	/*
	 * Gets current values for QUERY_QP: the PSN expected next (*rq_psn), the PSN to be sent next
	 * (*sq_psn), and whether the SQ is draining.
	 */
	void (*qp_query)(struct qp *qp, uint32_t *rq_psn, uint32_t *sq_psn, bool *draining);
	/* A CQ was armed: the program is about to sleep. */
	void (*cq_armed)(struct cq *cq);
	/*
	 * Called with gone false after an object was created or has changed, and with gone true
	 * before it is destroyed. kind: enum uverbs_default_objects.
	 */
	void (*obj_shown)(struct uverbs_file *f, uint16_t kind, void *obj, bool gone);
	/*
	 * Called before a command or ioctl method has an effect; name: of its row. 0; or -errno: it fails with it.
	 */
	int (*fault)(struct uverbs_file *f, const struct uverbs_req *r, const char *name);
	/* Undoes fd_install() when the command fails after it; the program has not seen fd. */
	void (*fd_uninstall)(struct uverbs_file *f, struct event_file *ev, int fd);
};

/*
 * Opens a file on the device of uctx. uctx, host and ev_ops must outlive it. -EIO: the device is
 * gone; -ENOMEM.
 */
int uverbs_open(struct ucontext *uctx, const struct uverbs_ops *host,
		const struct event_file_ops *ev_ops, struct uverbs_file **f);
/*
 * The last close: destroys all objects, users before what they use, drops the references to event
 * files, and frees f. Event files whose descriptors are still open remain: completion channels return
 * EIO, async event files get no more events.
 */
void uverbs_close(struct uverbs_file *f);

/* write(2) on the file. Returns count or -errno; see doc/abi/uverbs-write.md. */
ssize_t uverbs_write(struct uverbs_file *f, const void *buf, size_t count);
/* ioctl(2) on the file. Returns 0 or -errno; see doc/abi/uverbs-ioctl.md. */
int uverbs_ioctl(struct uverbs_file *f, unsigned long cmd, void *arg);

/* Calls fn for every live object. kind: enum uverbs_default_objects. */
void uverbs_for_each_obj(struct uverbs_file *f,
			 void (*fn)(struct uverbs_file *f, uint16_t kind, void *obj, void *arg),
			 void *arg);
/* Calls fn for every event file that f has made and that still exists. */
void uverbs_for_each_event(struct uverbs_file *f, void (*fn)(struct event_file *ev, void *arg),
			   void *arg);

struct ucontext *uverbs_ucontext(struct uverbs_file *f);

/* For uverbs_ops.fault: the QP that the command changes, asks for or destroys; NULL: none, or it does not exist. */
const struct qp *uverbs_fault_qp(const struct uverbs_req *r, const char *name);

/*
 * Queues a port event (enum ib_event_type; element is the port number) on all async event
 * files made by this file, as the kernel does.
 */
void uverbs_async_all(struct uverbs_file *f, uint32_t type, uint64_t element);

/*
 * The device was removed: destroys all objects but keeps their handles, and queues DEVICE_FATAL on
 * async event files, which get no event after it. Completion channels return EIO. Later commands fail with EIO. Only
 * destroy commands succeed: they free the handle and return its event counts, as in the kernel.
 */
void uverbs_disassociate(struct uverbs_file *f);
/* Was uverbs_disassociate() called? */
bool uverbs_is_gone(const struct uverbs_file *f);

#endif
