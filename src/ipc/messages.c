/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>

#include "ipc/capring.h"
#include "ipc/fabric_msg.h"
#include "ipc/messages.h"
#include "ipc/ucma_msg.h"
#include "ipc/umad_msg.h"

#define BODY(type) { IPC_EXACT, sizeof(type) }
#define NO_BODY { IPC_EXACT, 0 }
#define OPTIONAL(type) { IPC_OPTIONAL, sizeof(type) }
#define HEAD(type) { IPC_HEAD, sizeof(type) }
#define BYTES { IPC_HEAD, 0 }
#define TEXT { IPC_TEXT, 0 }
#define POSTED { IPC_POSTED, 0 }
#define NO_ANSWER { IPC_NO_ANSWER, 0 }
#define MESSAGE(name, request, takes, answer, gives, who, handler) \
	[IPC_##name] = { request, answer, takes, gives },

const struct ipc_row ipc_rows[IPC_NTYPES] = {
#include "ipc/messages.def"
};

static bool len_ok(const struct ipc_body *b, size_t len)
{
	if (len > IPC_MAX - sizeof(struct ipc_hdr))
		return false;
	switch (b->form) {
	case IPC_EXACT:
		return len == b->size;
	case IPC_OPTIONAL:
		return !len || len == b->size;
	case IPC_HEAD:
		return len >= b->size;
	case IPC_TEXT:
		return true;
	case IPC_POSTED:
	case IPC_NO_ANSWER:
		break;
	}
	return false;
}

static bool answer_ok(const struct ipc_row *r, const struct ipc_hdr *hdr, size_t len)
{
	bool more = hdr->flags & IPC_F_MORE;

	if (!(hdr->flags & IPC_F_REPLY) || (hdr->flags & ~(IPC_F_REPLY | IPC_F_MORE)))
		return false;
	if (r->answer.form == IPC_POSTED || r->answer.form == IPC_NO_ANSWER)
		return false;
	if (more && (hdr->error || r->answer.form != IPC_TEXT))
		return false;
	if (hdr->error)
		return hdr->error >= -4095 && hdr->error < 0 && !len;
	return len_ok(&r->answer, len);
}

int ipc_check(const struct ipc_hdr *hdr, size_t len, int nfds, bool reply)
{
	const struct ipc_row *r;
	bool ok;

	if (hdr->version != IPC_VERSION || hdr->reserved)
		return -EPROTO;
	if (hdr->type < IPC_HELLO || hdr->type >= IPC_NTYPES)
		return -EPROTO;
	r = &ipc_rows[hdr->type];
	if (reply)
		ok = nfds <= r->gives && answer_ok(r, hdr, len);
	else
		ok = nfds <= r->takes && !hdr->flags && !hdr->error && len_ok(&r->request, len);
	return ok ? 0 : -EPROTO;
}
