/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "ipc/pages.h"
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

int host_page_read(const struct host_page *page, struct host_page *copy)
{
	if (!seqlock_read(&page->lock, copy, page, sizeof(*page), READ_TRIES))
		return -EPROTO;
	return host_page_sane(copy) ? 0 : -EPROTO;
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
