/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/sys.h"
#include "base/sysmem.h"

/* The first bytes of a file as text; "" if it cannot be read. */
static void sysmem_read(const char *path, char *text, size_t size)
{
	int fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	ssize_t n = fd < 0 ? 0 : sys_read(fd, text, size - 1);

	text[max(n, (ssize_t)0)] = '\0';
	if (fd >= 0)
		sys_close(fd);
}

uint64_t sysmem_file(const char *path, uint64_t absent)
{
	char text[32], *end;
	uint64_t v;

	sysmem_read(path, text, sizeof(text));
	v = strtoull(text, &end, 10);
	return end == text ? absent : v;
}

/* The number behind the word `key` at the beginning of a line of text, or 0. */
static uint64_t sysmem_value(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *at = text; at; at = strchr(at, '\n'), at += !!at)
		if (!strncmp(at, key, len) && (at[len] == ' ' || at[len] == ':'))
			return strtoull(at + len + 1, NULL, 10);
	return 0;
}

/* The files of a memory cgroup, by version: limit, use, and what of the use can be dropped. */
static const struct sysmem_cgroup {
	const char *limit, *used, *inactive, *active;
} cgroup_v1 = { "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file", "total_active_file" },
  cgroup_v2 = { "memory.max", "memory.current", "inactive_file", "active_file" };

/* The limit of the cgroup m->dir; left: what of it is unused. UINT64_MAX: there is none. */
static uint64_t cgroup_memory(struct sysmem *m, const struct sysmem_cgroup *v, bool left)
{
	uint64_t limit, used;

	snprintf(m->path, sizeof(m->path), "%s/%s", m->dir, v->limit);
	limit = sysmem_file(m->path, UINT64_MAX);
	if (limit == UINT64_MAX || !left)
		return limit;
	snprintf(m->path, sizeof(m->path), "%s/%s", m->dir, v->used);
	used = sysmem_file(m->path, 0);
	snprintf(m->path, sizeof(m->path), "%s/memory.stat", m->dir);
	sysmem_read(m->path, m->text, sizeof(m->text));
	used -= min(used, sysmem_value(m->text, v->inactive) + sysmem_value(m->text, v->active));
	return limit > used ? limit - used : 0;
}

/* The least of the cgroup `path` and all above it. mount: where the hierarchy is. */
static uint64_t cgroups_memory(struct sysmem *m, const char *mount, const char *path, int len,
			       const struct sysmem_cgroup *v, bool left)
{
	const char *root = m->root ? m->root : "";
	size_t top = strlen(root) + strlen(mount);
	uint64_t least = UINT64_MAX;
	char *slash = m->dir;

	if (snprintf(m->dir, sizeof(m->dir), "%s%s%.*s", root, mount, len, path) >= (int)sizeof(m->dir))
		return least;
	while (slash && strlen(m->dir) >= top) {
		least = min(least, cgroup_memory(m, v, left));
		slash = strrchr(m->dir, '/');
		if (slash)
			*slash = '\0';
	}
	return least;
}

/* A line of /proc/self/cgroup: "number:controllers:/path"; version 2 has number 0 and no controllers. */
static uint64_t cgroup_line_memory(struct sysmem *m, const char *line, size_t len, bool left)
{
	static const char memory[] = ":memory:";
	const char *names = memchr(line, ':', len), *end = line + len;
	uint64_t least;

	if (!names)
		return UINT64_MAX;
	if (!strncmp(names, memory, sizeof(memory) - 1)) {
		names += sizeof(memory) - 1;
		return cgroups_memory(m, "/sys/fs/cgroup/memory", names, (int)(end - names), &cgroup_v1, left);
	}
	if (strncmp(names, "::", 2))
		return UINT64_MAX;
	names += 2;
	least = cgroups_memory(m, "/sys/fs/cgroup", names, (int)(end - names), &cgroup_v2, left);
	return min(least, cgroups_memory(m, "/sys/fs/cgroup/unified", names, (int)(end - names), &cgroup_v2, left));
}

static uint64_t sysmem_least(struct sysmem *m, bool left)
{
	const char *root = m->root ? m->root : "";
	uint64_t least = UINT64_MAX;
	const char *end;

	snprintf(m->path, sizeof(m->path), "%s/proc/meminfo", root);
	sysmem_read(m->path, m->text, sizeof(m->text));
	if (*m->text && left)
		least = (sysmem_value(m->text, "MemAvailable") + sysmem_value(m->text, "SwapFree")) << 10;
	else if (*m->text)
		least = sysmem_value(m->text, "MemTotal") << 10;
	snprintf(m->path, sizeof(m->path), "%s/proc/self/cgroup", root);
	sysmem_read(m->path, m->list, sizeof(m->list));
	for (const char *line = m->list; *line; line = end + !!*end) {
		end = strchrnul(line, '\n');
		least = min(least, cgroup_line_memory(m, line, (size_t)(end - line), left));
	}
	return least;
}

uint64_t sysmem_all(struct sysmem *m)
{
	return sysmem_least(m, false);
}

uint64_t sysmem_left(struct sysmem *m)
{
	return sysmem_least(m, true);
}

bool sysmem_size(const char *text, uint64_t *size)
{
	static const char units[] = "KMGT";
	const char *unit;
	char *end;

	errno = 0;
	*size = strtoull(text, &end, 10);
	if (end == text || errno || *text < '0' || *text > '9')
		return false;
	unit = *end ? strchr(units, *end & ~0x20) : NULL;
	if (*end && (!unit || !*unit || end[1]))
		return false;
	if (unit)
		*size = *size > UINT64_MAX >> 40 ? UINT64_MAX : *size << 10 * (unit - units + 1);
	return true;
}
