/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <unistd.h>
#include "ipc/res.h"

#define TRIES 3

int res_read(int page_fd, uint32_t n, struct res_rec *rec)
{
	off_t at = (off_t)(RES_OFFSET + (uint64_t)n * sizeof(*rec));

	if (n >= RES_MAX)
		return -ENODATA;
	for (int i = 0; i < TRIES; i++) {
		if (pread(page_fd, rec, sizeof(*rec), at) != (ssize_t)sizeof(*rec))
			return -ENODATA;
		if (!(rec->seq & 1) && rec->seq == rec->seq_end)
			return rec->kind > RES_FREE && rec->kind < RES_KINDS ? 0 : -ENOENT;
	}
	return -ENOENT;
}
