/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RUSE_BASE_PROC_H
#define RUSE_BASE_PROC_H

/*
 * The state of a process or thread, a letter as of proc(5), such as 'S' or 'T'. path: its file /proc/.../stat. -errno; -ENOENT:
 * there is none; -EPROTO: the file has no state.
 */
int proc_state(const char *path);

#endif
