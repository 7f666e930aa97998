/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "daemon/state/lease.h"

void lease_changed(struct lease_table *t, uint32_t b)
{
	if (t->record)
		t->record(t->arg, b, &t->block[b]);
}

void lease_init(struct lease_table *t, uint32_t start,
		void (*record)(void *arg, uint32_t block, const struct lease *l), void *arg)
{
	memset(t, 0, sizeof(*t));
	t->next = 1 + start % (LEASE_BLOCKS - 1);
	t->record = record;
	t->arg = arg;
}

static bool lease_taken(const struct lease *l)
{
	return l->proc || l->orphan;
}

int lease_get(struct lease_table *t, uint32_t proc, int32_t pid, ns_t now)
{
	uint32_t i;

	for (i = 0; i < LEASE_BLOCKS - 1; i++) {
		uint32_t b = t->next;
		struct lease *l = &t->block[b];

		t->next = b + 1 < LEASE_BLOCKS ? b + 1 : 1;
		if (lease_taken(l) || now < l->rest)
			continue;
		*l = (struct lease){ .proc = proc, .pid = pid };
		lease_changed(t, b);
		return (int)b;
	}
	return -ENOSPC;
}

int lease_reclaim(struct lease_table *t, uint32_t block, uint32_t proc, int32_t pid)
{
	struct lease *l;

	if (!block || block >= LEASE_BLOCKS)
		return -EINVAL;
	l = &t->block[block];
	if (l->proc == proc)
		return 0;
	if ((l->proc || l->orphan) && (l->pid != pid || (l->proc && !pid)))
		return -EBUSY;
	*l = (struct lease){ .proc = proc, .pid = pid, .slot = l->slot };
	lease_changed(t, block);
	return 0;
}

static void lease_put(struct lease_table *t, uint32_t b, ns_t now)
{
	t->block[b] = (struct lease){ .rest = now + LEASE_REST, .slot = t->block[b].slot };
	lease_changed(t, b);
}

void lease_put_all(struct lease_table *t, uint32_t proc, ns_t now)
{
	uint32_t b;

	for (b = 1; b < LEASE_BLOCKS; b++)
		if (proc && t->block[b].proc == proc)
			lease_put(t, b, now);
}

void lease_orphan(struct lease_table *t, uint32_t block, int32_t pid, uint32_t slot)
{
	t->block[block] = (struct lease){ .pid = pid, .orphan = true, .slot = slot };
	lease_changed(t, block);
}

void lease_orphan_died(struct lease_table *t, uint32_t block, ns_t now)
{
	if (t->block[block].orphan)
		lease_put(t, block, now);
}

bool lease_any(const struct lease_table *t)
{
	uint32_t b;

	for (b = 1; b < LEASE_BLOCKS; b++)
		if (t->block[b].proc || (t->block[b].orphan && t->block[b].pid > 0))
			return true;
	return false;
}

uint32_t lease_owner(const struct lease_table *t, uint32_t block)
{
	return block && block < LEASE_BLOCKS ? t->block[block].proc : 0;
}

bool lease_awaited(const struct lease_table *t, uint32_t block)
{
	/* Without a PID the end of the process cannot be observed. */
	return block < LEASE_BLOCKS && t->block[block].orphan && t->block[block].pid > 0;
}
