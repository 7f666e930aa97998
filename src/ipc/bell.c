/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <poll.h>
#include <time.h>
#include "base/sys.h"
#include "ipc/bell.h"
#include "queue/barrier.h"

#define SENT_S 2	/* longest wait, in seconds, for a byte that rused is about to send */

static bool bell_take(int fd)
{
	char c;
	struct iovec iov = { &c, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	return sys_recvmsg(fd, &m, MSG_DONTWAIT) != -EAGAIN;
}

/* Waits until fd is readable or hung up, but no longer than SENT_S. */
static void bell_await(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct timespec left = { .tv_sec = SENT_S };

	/* The raw system call writes the remaining time to left. */
	while (sys_call(SYS_ppoll, &p, 1, &left, NULL, 8) == -EINTR)
		;
}

static bool put_back(const struct bell *b)
{
	return b->ready(b->of) && atomic_cmpxchg(b->shown, 0u, 1u);
}

void bell_settle(const struct bell *b, int fd)
{
	if (!READ_ONCE(*b->shown) || b->ready(b->of) || !atomic_cmpxchg(b->shown, 1u, 0u))
		return;
	smp_mb();
	if (put_back(b) || bell_take(fd))
		return;
	bell_await(fd);
	if (!put_back(b))
		bell_take(fd);
}

bool bell_show(const struct bell *b)
{
	/* Order the caller's writes before the read of *shown. */
	smp_mb();
	return !READ_ONCE(*b->shown) && atomic_cmpxchg(b->shown, 0u, 1u);
}
