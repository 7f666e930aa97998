/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of messages (messages.def): what a message looks like. */
#ifndef RUSE_IPC_MESSAGES_H
#define RUSE_IPC_MESSAGES_H

#include "ipc/ipc.h"

enum ipc_form {
	IPC_EXACT,		/* size bytes */
	IPC_OPTIONAL,		/* size bytes, or none */
	IPC_HEAD,		/* a structure of size bytes, and any number of further bytes */
	IPC_TEXT,		/* an answer of any length, in IPC_F_MORE messages */
	IPC_POSTED,		/* no answer; the request may be in the channel's queue (ipc/channel.h) */
	IPC_NO_ANSWER
};

struct ipc_row {
	struct ipc_body {
		enum ipc_form form;
		uint32_t size;
	} request, answer;
	int takes, gives;	/* most descriptors of the request, and of the answer */
};

extern const struct ipc_row ipc_rows[IPC_NTYPES];	/* by type */

/*
 * Checks a header, the body's length and the number of descriptors against the table. 0 or -EPROTO. reply: the message is
 * an answer. Fuzzed.
 */
int ipc_check(const struct ipc_hdr *hdr, size_t len, int nfds, bool reply);

#endif
