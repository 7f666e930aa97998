/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/sys.h"
#include "ipc/version.h"

const char ipc_release[] = RUSE_VERSION;

void ipc_version_refuse(int fd, const struct ipc_hdr *hdr)
{
	struct ipc_hdr h = {
		.version = IPC_VERSION, .type = hdr->type, .flags = IPC_F_REPLY, .seq = hdr->seq,
		.error = -EPROTONOSUPPORT,
	};

	ipc_send(fd, &h, ipc_release, strlen(ipc_release), NULL, 0);
}

void ipc_version_note(struct ipc_conn *c, const struct ipc_hdr *hdr, const char *body, size_t len)
{
	char *to = c->other_release;

	memset(to, 0, sizeof(c->other_release));
	c->other_version = hdr->version;
	if (hdr->error != -EPROTONOSUPPORT)
		return;
	for (size_t i = 0; i < min(len, sizeof(c->other_release) - 1); i++)
		to[i] = body[i] > ' ' && body[i] < 127 ? body[i] : '?';
}

void ipc_version_text(const struct ipc_conn *c, const char *what, char *text, size_t size)
{
	snprintf(text, size, "%s is of version %s (messages %d), the rused that runs here (pid %d) of version %s "
		 "(messages %u): they do not work together. `ruse stop --now` ends that rused; the next program starts "
		 "one of its own version", what, ipc_release, IPC_VERSION, c->other_pid,
		 c->other_release[0] ? c->other_release : "unknown", c->other_version);
}
