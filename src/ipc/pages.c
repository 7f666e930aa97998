/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "ipc/pages.h"
#include "queue/barrier.h"
#include "wire/pkey.h"

/*
 * Attempts to copy the host page. A write takes microseconds, so after this many failed attempts rused must have died
 * during one.
 */
#define READ_TRIES 100000

/* Checks what readers use as an index or a string: rused is not trusted. */
static bool host_page_sane(const struct host_page *p)
{
	int i;

	if (p->magic != HOST_PAGE_MAGIC || p->version != 1)
		return false;
	for (i = 0; i < HOST_MAX_DEVS; i++) {
		const struct host_dev *d = &p->dev[i];

		if (!d->in_use)
			continue;
		if (d->ngids > HOST_MAX_GIDS || !memchr(d->name, 0, sizeof(d->name)) ||
		    !memchr(d->ndev, 0, sizeof(d->ndev)) || d->ib.npkeys > HOST_MAX_PKEYS ||
		    !memchr(d->ib.desc, 0, sizeof(d->ib.desc)))
			return false;
	}
	for (i = 0; i < HOST_MAX_CAPTURES; i++)
		if (p->capture[i].id && !memchr(p->capture[i].sock, 0, sizeof(p->capture[i].sock)))
			return false;
	return true;
}

/*
 * Copies word by word, so that no word is torn. The page may change during the copy; the caller
 * detects that by seq and discards the copy.
 */
static void page_copy(struct host_page *copy, const struct host_page *page)
{
	const uint32_t *from = (const uint32_t *)page;
	uint32_t *to = (uint32_t *)copy;

	for (size_t i = 0; i < sizeof(*page) / sizeof(*from); i++)
		to[i] = READ_ONCE(from[i]);
}

_Static_assert(sizeof(struct host_page) % sizeof(uint32_t) == 0, "copied by words");

int host_page_read(const struct host_page *page, struct host_page *copy)
{
	int tries;

	for (tries = 0; tries < READ_TRIES; tries++) {
		uint32_t seq = smp_load_acquire(&page->seq);

		if (seq & 1) {
			cpu_relax();
			continue;
		}
		page_copy(copy, page);
		smp_rmb();
		if (READ_ONCE(page->seq) == seq)
			return host_page_sane(copy) ? 0 : -EPROTO;
	}
	return -EPROTO;
}

int host_ib_find_pkey(const struct host_ib *ib, uint16_t pkey)
{
	int limited = -ENOENT;

	for (int i = 0; i < min((int)ib->npkeys, HOST_MAX_PKEYS); i++) {
		if (!pkey_same(ib->pkey[i], pkey))
			continue;
		if (ib->pkey[i] & 0x8000)
			return i;
		if (limited < 0)
			limited = i;
	}
	return limited;
}
