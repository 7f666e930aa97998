/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <time.h>
#include "base/sys.h"
#include "base/util.h"
#include "engine/engine.h"
#include "engine/own.h"
#include "engine/rused.h"
#include "remote/wait.h"

/*
 * Wake-ups without a message, after which each further wait first sleeps and looks for a hang-up. The byte in the socket
 * may be that of a reader or of a rused that was killed (ipc/inbox.h): then it stays, and recv() neither tells the
 * hang-up nor fails with EAGAIN.
 */
#define WAITS_IN_VAIN 3u

#define PAUSE_NAPS 10
#define PAUSE_NAP_NS (10 * NS_MS)	/* after each nap remote_pause() looks whether the descriptor is closed */

static bool wait_hung_up(int fd)
{
	static const struct timespec nap = { .tv_nsec = 100 * NS_US };
	struct timespec none = { 0 };
	struct pollfd p = { .fd = fd };

	sys_call(SYS_nanosleep, &nap, NULL);
	return sys_call(SYS_ppoll, &p, 1, &none, NULL, 8) == 1;
}

int remote_wait(struct remote_wait *w)
{
	int ret;

	if (w->held == -1) {
		w->held = own_dup(w->fd);
		if (w->held == -EBADF)
			return w->held;
		if (w->held >= 0)
			w->fd = w->held;
	}
	if (w->waits++ >= WAITS_IN_VAIN) {
		if (wait_hung_up(w->fd))
			return -EIO;
		if (sys_call(SYS_fcntl, w->fd, F_GETFL) & O_NONBLOCK)
			return -EAGAIN;
	}
	/* If the thread is cancelled here, the dup is closed. */
	ret = engine_caller()->sock_wait(w->fd, w->held >= 0);
	return ret == -ECONNRESET ? -EIO : ret;
}

void remote_pause(int fd)
{
	static const struct timespec nap = { .tv_nsec = PAUSE_NAP_NS };

	for (int i = 0; i < PAUSE_NAPS; i++) {
		long rc = sys_call(SYS_nanosleep, &nap, NULL);

		/*
		 * opensm cancels the thread that reads. If that happened in its log, the next cancellation point, the log
		 * would stay locked.
		 */
		pthread_testcancel();
		if (rc || sys_call(SYS_fcntl, fd, F_GETFD) < 0)
			return;
	}
}
