/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "link/lost.h"

bool seg_readable(const struct seg *seg, uint64_t off, uint64_t len, seg_copy *copy)
{
	uint8_t bounce[4096];

	while (len) {
		uint64_t n = min(len, (uint64_t)sizeof(bounce));
		struct iovec iov = { bounce, n };

		if (copy(&iov, 1, 0, seg->iov, seg->niov, off, n))
			return false;
		off += n;
		len -= n;
	}
	return true;
}

void link_tell_lost(struct link *l, uint32_t dqpn, uint32_t sqpn, uint32_t psn, uint16_t pkey)
{
	const struct seg nak = {
		.service = SEG_RC,
		.type = SEG_ACK,
		.flags = SEG_F_START | SEG_F_END,
		.syndrome = AETH_NAK_PSN_SEQ,
		.pkey = pkey,
		.path_mtu = 256,
		.dqpn = dqpn,
		.sqpn = sqpn,
		.psn = psn,
		.npkts = 1,
	};

	l->host->input(l, &nak);
}
