/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The wait for a message in a file's inbox (ipc/inbox.h), for read() of umadN and GET_EVENT of rdma_cm. */
#ifndef RUSE_REMOTE_WAIT_H
#define RUSE_REMOTE_WAIT_H

#include <stdint.h>

/* Starts with held -1 and waits 0. The caller closes held by own_close(). */
struct remote_wait {
	int fd;			/* descriptor to wait on */
	int held;		/* the engine's dup of it: a close() by another thread does not end the wait; -1: none yet */
	uint32_t waits;
};

/*
 * Waits until the descriptor is readable; a cancellation point. 0: look at the inbox again. -EBADF with held -EBADF: the
 * program has closed the descriptor before the wait. -EIO: rused is gone. -EAGAIN: O_NONBLOCK. -EINTR.
 */
int remote_wait(struct remote_wait *w);
/* Sleeps for 100 ms, or until a signal arrives or the program closes fd; a cancellation point. */
void remote_pause(int fd);

#endif
