/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A process and a rused of different versions (IPC_VERSION) do not work together: they would misread messages
 * and shared memory. rused answers the first message with -EPROTONOSUPPORT in a header of its own version, and its
 * release as the body; this form never changes. Either end logs or tells the difference.
 */
#ifndef RUSE_IPC_VERSION_H
#define RUSE_IPC_VERSION_H

#include "ipc/ipc.h"

/* The release of this program or library, such as "0.1.0". */
extern const char ipc_release[];

/* Answers a message of another version. */
void ipc_version_refuse(int fd, const struct ipc_hdr *hdr);
/* Keeps in c what an answer of another version says. */
void ipc_version_note(struct ipc_conn *c, const struct ipc_hdr *hdr, const char *body, size_t len);
/* Writes the message for the user, after a call that returned -EPROTONOSUPPORT. what: "this ruse", "libruse.so". */
void ipc_version_text(const struct ipc_conn *c, const char *what, char *text, size_t size);

#endif
