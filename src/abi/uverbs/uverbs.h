/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The uverbs ABI of one open /dev/infiniband/uverbsN: write() commands and the
 * ioctl method tree, by tables (do_*.c hold the handlers, both ways in share
 * them). The caller holds the engine's lock. User memory is reached through
 * umem only.
 */
#ifndef RUSE_ABI_UVERBS_H
#define RUSE_ABI_UVERBS_H

#include <sys/types.h>
#include "core/device.h"
#include "core/qp.h"

struct uverbs_file;

/* What uverbs needs from the process around it: engine/ and preload/, or a fake in tests. */
struct uverbs_host {
	/*
	 * A new event file gets a descriptor (O_CLOEXEC) of this process: the fd, or
	 * -errno. On success the descriptor owns the reference that came with it.
	 */
	int (*fd_install)(struct uverbs_file *f, struct event_file *ev);
	/* The event file behind a descriptor of this process, NULL if it is none. */
	struct event_file *(*fd_lookup)(struct uverbs_file *f, int fd);
	/* Doorbell for a QP whose send queue has news: 0 or -EINVAL (state). */
	int (*doorbell)(struct qp *qp);
	/* Before a QP goes to RESET or ERR: what its peer has already answered counts. */
	void (*qp_ending)(struct qp *qp);
	/* After a QP was modified or is about to be destroyed: transport and timers. */
	void (*qp_modified)(struct qp *qp, enum qp_state old, uint32_t mask);
	int (*qp_created)(struct qp *qp);
	void (*qp_destroying)(struct qp *qp);
	/* The live values for query_qp. */
	void (*qp_query)(struct qp *qp, uint32_t *rq_psn, uint32_t *sq_psn, bool *draining);
	/* A CQ was armed: the program is about to sleep. */
	void (*cq_armed)(struct cq *cq);
	/*
	 * An object (enum uverbs_default_objects; PD, CQ, MR, QP, SRQ) is there or
	 * has changed; gone: it is about to be destroyed. May be NULL.
	 */
	void (*obj_shown)(struct uverbs_file *f, uint16_t kind, void *obj, bool gone);
	/* Undoes fd_install of a call that failed after it: the program never learnt the descriptor. */
	void (*fd_uninstall)(struct uverbs_file *f, struct event_file *ev, int fd);
};

/* uctx outlives the file; its ops allocate ring memory. */
int uverbs_open(struct ucontext *uctx, const struct uverbs_host *host,
		const struct event_file_ops *ev_ops, struct uverbs_file **f);
/* Destroys every object in dependency order, as the kernel does at the last close. */
void uverbs_close(struct uverbs_file *f);

/* write(2) on the file: count on success, -errno as the kernel orders its checks (abi.md B2). */
ssize_t uverbs_write(struct uverbs_file *f, const void *buf, size_t count);
/* ioctl(2): 0 or more, or -errno (abi.md B3). */
int uverbs_ioctl(struct uverbs_file *f, unsigned long cmd, void *arg);

/* Every live object (enum uverbs_default_objects), and every event file that is still there. */
void uverbs_for_each_obj(struct uverbs_file *f,
			 void (*fn)(struct uverbs_file *f, uint16_t kind, void *obj));
void uverbs_for_each_event(struct uverbs_file *f, void (*fn)(struct event_file *ev));

struct ucontext *uverbs_ucontext(struct uverbs_file *f);

/* GET_CONTEXT has succeeded on this file. */
bool uverbs_has_context(const struct uverbs_file *f);

/*
 * An event without an object (enum ib_event_type; element is the port number)
 * for every async event file of this file, as the kernel's event handlers do.
 */
void uverbs_async_all(struct uverbs_file *f, uint32_t type, uint64_t element);

/*
 * The device is gone: all objects are destroyed, async files get DEVICE_FATAL
 * and then read EIO. From now on commands answer EIO, except that DESTROY
 * commands still take handles away and report events, as in the kernel.
 */
void uverbs_disassociate(struct uverbs_file *f);

#endif
