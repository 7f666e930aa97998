/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes RDMA netlink: any bytes as a datagram. The first byte chooses the caller's privilege and
 * what the host has. Every answer must consist of whole messages and fit into iproute2's buffer.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>

#include "abi/netlink/nldev.h"
#include "fuzz.h"

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
		if (at > len)	/* an error message that echoes the request is not padded */
			at = len;
	}
}

/* Enough objects for an answer of several datagrams. */
#define NRES 400
static struct nldev_res res[NRES];
static struct nldev_cm_id cm_id;	/* for res[].cm, which rused always sets: never NULL */

static const struct nldev_res *objects(void *arg, size_t *n)
{
	*n = *(const uint8_t *)arg & 16 ? NRES : 0;
	return *n ? res : NULL;
}

static int newlink(void *arg, const char *name, const char *type, const char *ndev)
{
	return strlen(name) && strlen(type) && strlen(ndev) ? 0 : -EINVAL;
}

static int dellink(void *arg, int dev)
{
	return dev < HOST_MAX_DEVS ? 0 : -ENODEV;
}

static int rename_dev(void *arg, int dev, const char *name)
{
	return strlen(name) ? 0 : -EINVAL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct host_page page;
	static const struct like_shown shown = {
		.dir[LIKE_HW_COUNTERS] = { .n = 1, .name = { "sent_pkts" } },
	};
	struct nldev_ctx h = { .page = &page, .shown = &shown };
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
		h.stat[i][0] = data[0];
	}
	for (i = 0; i < NRES; i++) {
		memset(&res[i], data[0] & 64 ? 0xff : i, sizeof(res[i]));
		res[i].rec.kind = (uint8_t)(RES_CTX + i % (RES_KINDS - RES_CTX));
		memset(&cm_id, data[0] & 64 ? 0xff : i, sizeof(cm_id));
		res[i].cm = &cm_id;
		res[i].rec.dev_index = 1;
		res[i].id = (uint32_t)i;
		res[i].base = 0;
		res[i].pid = i;
	}
	h.objects = objects;
	h.arg = (void *)(uintptr_t)data;
	h.newlink = newlink;
	h.dellink = dellink;
	h.rename = rename_dev;
	nldev_input(&h, data + 1, size - 1, check, NULL);
	return 0;
}
