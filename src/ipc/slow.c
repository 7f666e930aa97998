/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tells that rused does not answer, so that a program that waits for a stopped rused does not wait in silence. */
#include <stdio.h>

#include "base/log.h"
#include "base/proc.h"
#include "ipc/ipc_internal.h"
#include "shared/barrier.h"

void ipc_slow_tell(int pid)
{
	static int told = -1;
	char path[32];
	int state;

	if (READ_ONCE(told) == pid)
		return;
	WRITE_ONCE(told, pid);
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	state = pid ? proc_state(path) : 0;
	if (state == 'T' || state == 't')
		log_warn("rused (pid %d) has not answered for %d s: it is stopped (state %c); `kill -CONT %d` continues it, "
			 "`ruse stop --now` ends it", pid, IPC_SLOW_S, state, pid);
	else if (state > 0)
		log_warn("rused (pid %d, state %c) has not answered for %d s", pid, state, IPC_SLOW_S);
	else
		log_warn("rused has not answered for %d s", IPC_SLOW_S);
}
