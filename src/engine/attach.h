/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The connection to rused. The caller holds the engine lock unless a comment says otherwise. */
#ifndef RUSE_ENGINE_ATTACH_H
#define RUSE_ENGINE_ATTACH_H

#include "engine/rused.h"
#include "ipc/pages.h"

/* Connect if there is no connection, starting rused if none runs. 0 or -errno. */
int attach_locked(void);
/* As attach_locked(), but starts no rused and logs nothing. */
int attach_running(void);
/* Logs why an open failed with err (-errno). Only the first call in a process logs. */
void attach_tell(int err);
/*
 * For the progress thread: connects if there is no connection and a rused runs. Does not start a
 * rused, so that the thread never waits for the start; the next command that needs rused does. A
 * failure is not reported: the thread tries again after a second.
 */
void attach_if_running(void);
/*
 * The connection lock. Lock order: engine lock first. conn_lock() returns false if this thread
 * holds it already. engine.conn is changed only with both locks held, which conn_close() and
 * conn_watch() require.
 */
bool conn_lock(void);
void conn_unlock(void);
/* Close the connection. With both locks held. */
void conn_close(void);
/* Add the connection to the epoll set, which reports its end. With both locks held. */
void conn_watch(void);
/* The name of the process (/proc/self/comm, that of its first thread), NUL-terminated. */
void own_comm(char *comm, size_t size);
/* The device with this uverbs minor among those that this process may see, or NULL. */
const struct host_dev *host_dev_by_minor(const struct host_page *copy, uint32_t minor);

#endif
