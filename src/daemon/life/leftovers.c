/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Run directories of network namespaces that are gone.
 *
 * A rused that is killed together with its namespace leaves its run directory, which is beside this
 * rused's own and named by a number. Such a directory is removed if it belongs to this user, has
 * mode 0700 and is older than LEFT_AGE_S, if its lock is free, if no rused accepts connections to
 * its socket, and if no living process uses it. Only files that rused creates are
 * removed, so a directory with other files, such as the log of a crash, stays.
 *
 * Limit: if the killed rused was in another PID namespace, its processes are not visible here and
 * count as dead.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/life/leftovers.h"
#include "daemon/life/place.h"
#include "ipc/ipc.h"

#define LEFT_AGE_S 3600u

static bool is_number(const char *name)
{
	size_t n = strspn(name, "0123456789");

	return n && !name[n];
}

/* True if the file was written long ago, or is missing. */
static bool left_is_old(int dir, const char *name)
{
	uint64_t now = loop_wall_clock() / NS_S;
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return true;
	return (uint64_t)st.st_mtime + LEFT_AGE_S < now;
}

static void left_remove(const struct leftovers_ops *ops, int up, const char *name, int dir,
			const char *path)
{
	struct ipc_conn c;
	int lock;

	if (!left_is_old(dir, ".") || !left_is_old(dir, ops->latest) || ops->used(dir))
		return;
	lock = place_lock(dir);
	if (lock < 0)
		return;
	if (!ipc_connect(&c, path)) {
		ipc_close(&c);
		close(lock);
		return;
	}
	ops->clear(dir);
	unlinkat(dir, IPC_SOCK_NAME, 0);
	unlinkat(dir, IPC_LOG_NAME, 0);
	unlinkat(dir, PLACE_LOCK_NAME, 0);
	close(lock);
	unlinkat(up, name, AT_REMOVEDIR);
}

void leftovers_remove(const struct leftovers_ops *ops, const char *rundir)
{
	const char *own = strrchr(rundir, '/') + 1;
	char up[IPC_RUNDIR_MAX], path[IPC_RUNDIR_MAX];
	struct dirent *e;
	const char *slash;
	DIR *d;

	snprintf(up, sizeof(up), "%.*s", (int)(own - rundir - 1), rundir);
	slash = strrchr(up, '/');
	/* A run directory set by $RUSE_DIR may have unrelated directories beside it: remove none. */
	if (!is_number(own) || !slash || strncmp(slash, "/ruse", 5))
		return;
	d = opendir(up);
	while (d && (e = readdir(d))) {
		int fd;

		if (!is_number(e->d_name) || !strcmp(e->d_name, own) ||
		    snprintf(path, sizeof(path), "%s/%s", up, e->d_name) >= (int)sizeof(path))
			continue;
		fd = place_dir(path);
		if (fd < 0)
			continue;
		left_remove(ops, dirfd(d), e->d_name, fd, path);
		close(fd);
	}
	if (d)
		closedir(d);
}
