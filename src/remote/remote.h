/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Files of rdma_cm, umadN and issmN. The program's descriptor is one end of a socket pair whose other
 * end rused holds; reads and writes go to rused, through the memory that both share where possible.
 */
#ifndef RUSE_REMOTE_REMOTE_H
#define RUSE_REMOTE_REMOTE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* open() of rdma_cm. Returns a descriptor with close-on-exec, or -errno. *file is for the calls below. */
int remote_ucma_open(void **file);
/* Called when this process has closed the last descriptor of the rdma_cm file and no call uses the file. */
void remote_ucma_release(void *file);
/* write() by any process that has the file open. Bytes or -errno; -EIO: its rused is gone. */
ssize_t remote_ucma_write(void *file, int fd, const void *buf, size_t count);

/* Does a umadN or issmN with this minor (abi/umad/umad.h) exist? Valid after engine_attach(). */
bool remote_has_umad(uint32_t minor);
/*
 * open() of umadN or issmN. Returns a descriptor with close-on-exec, or -errno. *file is for the calls below; NULL for issmN.
 * Without nonblock, an open of issmN waits until no other process has it open (cancellation point, -EINTR).
 */
int remote_umad_open(uint32_t minor, bool nonblock, void **file);
/* Like remote_ucma_release(). */
void remote_umad_release(void *file);
/* write() on umadN, by any process that has it open. Bytes or -errno; -EIO: rused or the device is gone. */
ssize_t remote_umad_write(void *file, const void *buf, size_t count);
/* read() on umadN, with the same errors. Waits for a packet unless fd is O_NONBLOCK. */
ssize_t remote_umad_read(void *file, int fd, void *buf, size_t count);
/* ioctl() on umadN. 0 or -errno. rused or the device is gone: -EPIPE, or -EINVAL for UNREGISTER_AGENT, as in the kernel. */
int remote_umad_ioctl(void *file, unsigned long cmd, void *arg);

#endif
