/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RUSE_BASE_PROC_H
#define RUSE_BASE_PROC_H

#include <stdint.h>

/*
 * The state of a process or thread, a letter as of proc(5), such as 'S' or 'T'. path: its file /proc/.../stat. -errno; -ENOENT:
 * there is none; -EPROTO: the file has no state.
 */
int proc_state(const char *path);

/* When a process was started, in clock ticks since the machine's start (field 22 of /proc/PID/stat). 0: no such process. */
uint64_t proc_start_time(int pid);

#endif
