/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include "vfile/paths.h"

/*
 * Normalises a path: removes empty and "." components, and with ".." the component before
 * it. Keeps a trailing slash, which requires a directory. False: the result is too long.
 */
static bool path_normalise(const char *path, char *out, size_t size)
{
	size_t n = 0, len;

	for (const char *p = path; *p; p += len) {
		while (*p == '/')
			p++;
		len = strcspn(p, "/");
		if (!len || (len == 1 && p[0] == '.'))
			continue;
		if (len == 2 && p[0] == '.' && p[1] == '.') {
			while (n && out[--n] != '/')
				;
			continue;
		}
		if (n + 1 + len + 2 > size)
			return false;
		out[n++] = '/';
		memcpy(out + n, p, len);
		n += len;
	}
	if (!n || path[strlen(path) - 1] == '/')
		out[n++] = '/';
	out[n] = '\0';
	return true;
}

/* The rest of path after prefix; NULL: path does not start with prefix. */
static const char *path_after(const char *path, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(path, prefix, n) ? NULL : path + n;
}

/* Reads a decimal number without leading zeros up to the end of the component; sets *end there. */
static bool path_number(const char *p, uint32_t *v, const char **end)
{
	uint32_t n = 0;
	const char *s = p;

	while (*p >= '0' && *p <= '9' && p - s < 6)
		n = n * 10 + (uint32_t)(*p++ - '0');
	if (p == s || (*s == '0' && p - s > 1) || (*p && *p != '/'))
		return false;
	*v = n;
	*end = p;
	return true;
}

static bool path_ends(const char *p)
{
	return !*p || *p == '/';
}

/* True if path is prefix and a number. */
static bool device_number(const char *path, const char *prefix, uint32_t *n)
{
	const char *p = path_after(path, prefix), *end;

	return p && path_number(p, n, &end) && !*end;
}

static enum path_kind path_find_dev(const char *path, struct path_ref *ref)
{
	const char *p;
	uint32_t n;

	p = path_after(path, "/dev/infiniband");
	if (p && !strcmp(p, "/rdma_cm"))
		return PATH_UCMA;
	if (p && path_ends(p)) {
		/* "uverbs0/" is not a device: in the tree it gives ENOTDIR, as in the kernel. */
		if (device_number(p, "/uverbs", &n)) {
			ref->minor = UVERBS_BASE_MINOR + n;
			return PATH_UVERBS;
		}
		if (device_number(p, "/umad", &n) && n < ISSM_BASE_MINOR) {
			ref->minor = n;
			return PATH_UMAD;
		}
		if (device_number(p, "/issm", &n) && n < ISSM_BASE_MINOR) {
			ref->minor = ISSM_BASE_MINOR + n;
			return PATH_UMAD;
		}
		return PATH_TREE;
	}
	if (!device_number(path, "/dev/char/231:", &ref->minor))
		return PATH_NOT_OURS;
	if (ref->minor < UMAD_END_MINOR)
		return PATH_UMAD;
	return ref->minor >= UVERBS_BASE_MINOR ? PATH_UVERBS : PATH_NOT_OURS;
}

static enum path_kind path_find_sys(const char *path)
{
	const char *p, *end;
	uint32_t n;

	if (path_after(path, "/sys/class/infiniband") || path_after(path, "/sys/devices/virtual/infiniband"))
		return PATH_TREE;
	p = path_after(path, "/sys/class/misc/rdma_cm");
	if (!p)
		p = path_after(path, "/sys/devices/virtual/misc/rdma_cm");
	if (p && path_ends(p))
		return PATH_TREE;
	p = path_after(path, "/sys/dev/char/231:");
	if (p && path_number(p, &n, &end))
		return PATH_TREE;
	return PATH_NOT_OURS;
}

static enum path_kind path_find_plain(const char *path, struct path_ref *ref)
{
	return path[1] == 'd' ? path_find_dev(path, ref) : path_find_sys(path);
}

/* True if path_normalise() would not change the path. */
static bool path_is_plain(const char *path)
{
	return !strstr(path, "//") && !strstr(path, "/./") && !strstr(path, "/..");
}

enum path_kind paths_find(const char *path, struct path_ref *ref)
{
	size_t len;

	ref->kind = PATH_NOT_OURS;
	if (!paths_maybe(path))
		return ref->kind;
	/* Fast path: most paths here are the machine's /sys and /dev. */
	if (path[1] == 's' && !path_after(path, "/sys/"))
		return ref->kind;
	if (path[1] == 'd' && !path_after(path, "/dev/"))
		return ref->kind;
	len = strlen(path);
	if (likely(path_is_plain(path))) {
		ref->kind = path_find_plain(path, ref);
		if (ref->kind == PATH_NOT_OURS || len >= sizeof(ref->tail))
			return ref->kind = PATH_NOT_OURS;
		memcpy(ref->tail, path, len + 1);
		return ref->kind;
	}
	if (!path_normalise(path, ref->tail, sizeof(ref->tail)))
		return ref->kind;
	ref->kind = path_find_plain(ref->tail, ref);
	/*
	 * Below the redirected directories ".." may follow a symbolic link (device/..),
	 * so keep the path as it is and let the kernel resolve it.
	 */
	if (ref->kind == PATH_TREE && len < sizeof(ref->tail) &&
	    (path_after(path, "/sys/class/infiniband") || path_after(path, "/sys/devices/virtual/infiniband")))
		memcpy(ref->tail, path, len + 1);
	return ref->kind;
}

int paths_rewrite(const struct path_ref *ref, const char *sysroot, char *buf, size_t size)
{
	size_t root = strlen(sysroot), tail = strlen(ref->tail);

	/* RUN/sys -> RUN */
	if (root < 4 || strcmp(sysroot + root - 4, "/sys"))
		return -EINVAL;
	root -= 4;
	if (root + tail + 1 > size)
		return -ENAMETOOLONG;
	memcpy(buf, sysroot, root);
	memcpy(buf + root, ref->tail, tail + 1);
	return 0;
}
