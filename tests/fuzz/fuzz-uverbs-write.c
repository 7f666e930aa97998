/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes the uverbs write() commands. The input is a series of records {command, flags, words in,
 * words out, body}. The flags decide whether the lengths in the header are correct.
 */
#include "fuzz-uverbs.h"

#define F_EX 0x01
#define F_LIE 0x02	/* in_words as given, even if it is wrong */
#define F_ASIDE 0x80
/* Offset of the address that MODIFY_SRQ's provider data holds. */
#define SRQ_MI (sizeof(struct ib_uverbs_modify_srq))

struct record {
	uint8_t command, flags, in, out;
};

static size_t put_command(const struct record *r, const uint8_t *body, size_t len)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_ex_cmd_hdr ex;
	} *h = (void *)arena;
	bool ex = r->flags & F_EX;
	size_t hdrs = ex ? sizeof(*h) : sizeof(h->hdr);
	uint64_t resp;

	memcpy(arena + hdrs, body, len);
	h->hdr.command = r->command | (ex ? IB_USER_VERBS_CMD_FLAG_EXTENDED : 0);
	h->hdr.out_words = r->out;
	h->hdr.in_words = (uint16_t)(r->flags & F_LIE ? r->in : ex ? len / 8 : (len + hdrs) / 4);
	if (ex) {
		h->ex.response = r->flags & F_LIE ? 0 : in_arena(0x1000 + (size_t)r->in * 16);
		/* The provider's part of the response is up to 7 words long. */
		h->ex.provider_in_words = 0;
		h->ex.provider_out_words = r->in & 7;
		h->ex.cmd_hdr_reserved = r->flags >> 6 & 1;
	} else if (len >= sizeof(resp)) {
		memcpy(&resp, arena + hdrs, sizeof(resp));
		/*
		 * A command with a response begins with the response's address: move the address
		 * into the arena. A command without a response begins with another field: leave it.
		 */
		if (r->command >= WRITE_ROWS || write_rows[r->command].has_resp) {
			resp = in_arena(resp);
			memcpy(arena + hdrs, &resp, sizeof(resp));
		}
	}
	if (!ex && r->command == IB_USER_VERBS_CMD_MODIFY_SRQ && len >= SRQ_MI + sizeof(resp)) {
		memcpy(&resp, arena + hdrs + SRQ_MI, sizeof(resp));
		resp = in_arena(resp);
		memcpy(arena + hdrs + SRQ_MI, &resp, sizeof(resp));
	}
	return hdrs + len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct record first = { IB_USER_VERBS_CMD_GET_CONTEXT, 0, 0, 2 };
	static const uint8_t eight[8];
	struct record r;
	size_t len;

	fuzz_open();
	if (size && !(data[0] & 0x40))
		uverbs_write(file, arena, put_command(&first, eight, sizeof(eight)));
	while (size >= sizeof(r)) {
		memcpy(&r, data, sizeof(r));
		data += sizeof(r);
		size -= sizeof(r);
		if (r.flags & F_ASIDE) {
			fuzz_aside(r.in);
			continue;
		}
		len = (size_t)(r.in & 0x3f) * 4;
		len = min(len, size);
		uverbs_write(file, arena, put_command(&r, data, len));
		data += len;
		size -= len;
	}
	fuzz_close();
	return 0;
}
