/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Files and directories below the run directory. A file is written as TMP_NAME and then renamed, so
 * readers never see a part of it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/sysfs/sysfs_internal.h"

#define TMP_NAME ".new"		/* in the run directory itself, so that no listing of sys or dev shows it */
#define MAX_DEPTH 16

/*
 * Gives TMP_NAME the name path. ext4 writes the data of a file to the disk if it is renamed over another file (option
 * auto_da_alloc), for which rused would wait, 2 ms on average and 150 ms on a busy disk. It does not if the two exchange
 * their names. Other file systems may not be able to exchange names.
 */
static int tree_name(int dir, const char *path)
{
	if (!renameat2(dir, TMP_NAME, dir, path, RENAME_EXCHANGE)) {
		unlinkat(dir, TMP_NAME, 0);
		return 0;
	}
	return renameat(dir, TMP_NAME, dir, path) ? -errno : 0;
}

int tree_put(int dir, const char *path, const char *text)
{
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, fd, rc = 0;
	size_t len = strlen(text);
	ssize_t n;

	fd = openat(dir, TMP_NAME, flags, 0444);
	if (fd < 0 && errno == EEXIST) {
		unlinkat(dir, TMP_NAME, 0);	/* left by a rused that was killed */
		fd = openat(dir, TMP_NAME, flags, 0444);
	}
	if (fd < 0)
		return -errno;
	n = write(fd, text, len);
	if (n != (ssize_t)len)
		rc = n < 0 ? -errno : -ENOSPC;
	close(fd);
	if (!rc)
		rc = tree_name(dir, path);
	if (rc)
		unlinkat(dir, TMP_NAME, 0);
	return rc;
}

int tree_link(int dir, const char *from, const char *path)
{
	if (!linkat(dir, from, dir, path, 0))
		return 0;
	if (errno != EEXIST)
		return -errno;
	unlinkat(dir, TMP_NAME, 0);
	if (linkat(dir, from, dir, TMP_NAME, 0))
		return -errno;
	if (renameat(dir, TMP_NAME, dir, path))
		return -errno;
	unlinkat(dir, TMP_NAME, 0);	/* if both are links to one file, rename() has left TMP_NAME */
	return 0;
}

int tree_mkdir(int dir, const char *path)
{
	char part[PATH_MAX];
	const char *p = path;

	while (p) {
		size_t n;

		p = strchr(p + 1, '/');
		n = p ? (size_t)(p - path) : strlen(path);
		if (n >= sizeof(part))
			return -ENAMETOOLONG;
		memcpy(part, path, n);
		part[n] = '\0';
		if (mkdirat(dir, part, 0755) && errno != EEXIST)
			return -errno;
	}
	return 0;
}

static void remove_below(int dir, const char *path, int depth)
{
	struct dirent *e;
	DIR *d;
	int fd;

	if (!unlinkat(dir, path, 0) || (errno != EISDIR && errno != EPERM) || depth > MAX_DEPTH)
		return;
	fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	d = fdopendir(fd);
	if (!d) {
		close(fd);
		return;
	}
	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			remove_below(fd, e->d_name, depth + 1);
	closedir(d);
	unlinkat(dir, path, AT_REMOVEDIR);
}

void tree_remove(int dir, const char *path)
{
	remove_below(dir, path, 0);
}

void tree_path(char *p, size_t size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p, size, fmt, ap);
	va_end(ap);
}
