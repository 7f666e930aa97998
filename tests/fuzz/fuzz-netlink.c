/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RDMA netlink: any bytes as a datagram. The first byte chooses the caller's
 * privilege and what there is on the host. Every answer must be a chain of
 * whole messages with the request's sequence number, and short enough for
 * iproute2's buffer.
 */
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>

#include "abi/netlink/nldev.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(void *arg, const void *dgram, size_t len)
{
	size_t at = 0;

	if (!len || len > NLDEV_DGRAM_MAX)
		abort();
	while (at < len) {
		struct nlmsghdr h;

		if (len - at < sizeof(h))
			abort();
		memcpy(&h, (const char *)dgram + at, sizeof(h));
		if (h.nlmsg_len < sizeof(h) || h.nlmsg_len > len - at)
			abort();
		at += NLMSG_ALIGN(h.nlmsg_len);
		if (at > len)	/* the last one is not padded in an error's echo */
			at = len;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct host_page page;
	struct nldev_host h = { .page = &page };
	int i;

	if (!size)
		return 0;
	h.admin = data[0] & 1;
	for (i = 0; i < HOST_MAX_DEVS; i++) {
		struct host_dev *d = &page.dev[i];

		memset(d, 0, sizeof(*d));
		d->in_use = i == 0 || (data[0] & 2);
		d->index = (uint32_t)i + 1;
		d->minor = 192 + (uint32_t)i;
		memset(d->name, 'r', data[0] & 4 ? sizeof(d->name) - 1 : 3);
		strcpy(d->ndev, "eth0");
		d->ifindex = data[0] & 8 ? 0 : 2;
		h.counts[i].qp = data[0] & 16 ? 1 : 0;
	}
	nldev_input(&h, data + 1, size - 1, check, NULL);
	return 0;
}
