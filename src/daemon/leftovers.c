/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Run directories of network namespaces that are gone.
 *
 * They are siblings of rused's own, named by numbers; a rused that was killed with its namespace
 * has left them. One is removed if it is this user's, mode 0700, older than LEFT_AGE_S, if its
 * lock can be had, no socket answers, and no living process has a lease there. Only files that
 * rused makes are removed: a directory with others, such as the log of a crash, stays.
 * Limit: a process of another PID namespace is not seen here.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/sysfs/sysfs.h"
#include "daemon/daemon.h"

#define LEFT_AGE_S 3600u

static bool is_number(const char *name)
{
	size_t n = strspn(name, "0123456789");

	return n && !name[n];
}

static bool old_enough(int dir, const char *name)
{
	uint64_t now = loop_wall_clock() / NS_S;
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return true;
	return (uint64_t)st.st_mtime + LEFT_AGE_S < now;
}

/* hosts/N of a fabric. */
static void remove_hosts(int dir)
{
	int fd = openat(dir, "hosts", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		int host;

		if (!is_number(e->d_name))
			continue;
		host = openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (host < 0)
			continue;
		sysfs_remove(host);
		close(host);
		unlinkat(fd, e->d_name, AT_REMOVEDIR);
	}
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
	unlinkat(dir, "hosts", AT_REMOVEDIR);
}

static void remove_one(int up, const char *name, int dir, const char *path)
{
	struct ipc_conn c;
	int lock;

	if (!old_enough(dir, ".") || !old_enough(dir, "leases") || orphans_alive(dir))
		return;
	lock = place_lock(dir);
	if (lock < 0)
		return;
	if (!ipc_connect(&c, path)) {
		ipc_close(&c);
		close(lock);
		return;
	}
	sysfs_remove(dir);
	remove_hosts(dir);
	unlinkat(dir, IPC_SOCK_NAME, 0);
	unlinkat(dir, IPC_LOG_NAME, 0);
	unlinkat(dir, "leases", 0);
	unlinkat(dir, "lock", 0);
	close(lock);
	unlinkat(up, name, AT_REMOVEDIR);
}

void leftovers_remove(const char *rundir)
{
	const char *own = strrchr(rundir, '/') + 1;
	char up[IPC_RUNDIR_MAX], path[IPC_RUNDIR_MAX];
	struct dirent *e;
	const char *slash;
	DIR *d;

	snprintf(up, sizeof(up), "%.*s", (int)(own - rundir - 1), rundir);
	slash = strrchr(up, '/');
	/* A directory by $RUSE_DIR has strangers beside it. */
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
		remove_one(dirfd(d), e->d_name, fd, path);
		close(fd);
	}
	if (d)
		closedir(d);
}
