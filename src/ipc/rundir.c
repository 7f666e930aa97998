/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where rused of this user and network namespace is found.
 *
 * $RUSE_DIR as it is; else a directory named by the inode of the network
 * namespace below $XDG_RUNTIME_DIR/ruse or /tmp/ruse-UID. /tmp is everybody's:
 * a directory that another user made first, or that others may write, is
 * refused (-EPERM), not used.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/sys.h"
#include "ipc/ipc.h"
#include "ipc/ipc_internal.h"

void ipc_sleep(ns_t ns)
{
	struct timespec left = { .tv_sec = ns / NS_S, .tv_nsec = ns % NS_S };

	while (sys_call(SYS_ppoll, NULL, 0, &left, NULL, 8) == -EINTR)
		;
}

/* Ours, a directory, and nobody else's to write or search. */
static int check_dir(const char *path)
{
	struct stat st;
	int rc;

	rc = (int)sys_call(SYS_newfstatat, AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW);
	if (rc)
		return rc;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	if (st.st_uid != (uid_t)sys_call(SYS_geteuid) || (st.st_mode & 077))
		return -EPERM;
	return 0;
}

static int make_dir(const char *path)
{
	long rc = sys_call(SYS_mkdirat, AT_FDCWD, path, 0700);

	return rc && rc != -EEXIST ? (int)rc : check_dir(path);
}

static int explicit_dir(const char *env, char *path, size_t size)
{
	size_t used = 0;

	if (env[0] != '/') {	/* rused runs in /: what it is told must be absolute */
		long n = sys_call(SYS_getcwd, path, size);

		if (n < 0)
			return n == -ERANGE ? -ENAMETOOLONG : (int)n;
		used = (size_t)n;
		path[used - 1] = '/';
	}
	if (used + strlen(env) + 1 > size)
		return -ENAMETOOLONG;
	strcpy(path + used, env);
	used = strlen(path);
	while (used > 1 && path[used - 1] == '/')
		path[--used] = '\0';
	return make_dir(path);
}

int ipc_rundir(char *path, size_t size)
{
	const char *env = secure_getenv("RUSE_DIR");
	struct stat ns;
	size_t n;
	int rc;

	size = min(size, (size_t)IPC_RUNDIR_MAX);
	if (env && *env)
		return explicit_dir(env, path, size);
	rc = (int)sys_call(SYS_newfstatat, AT_FDCWD, "/proc/self/ns/net", &ns, 0);
	if (rc)
		return rc;
	env = secure_getenv("XDG_RUNTIME_DIR");
	/* After su or sudo -E it is the other user's: then as if unset. */
	if (env && *env == '/' && !check_dir(env))
		n = (size_t)snprintf(path, size, "%s/ruse", env);
	else
		n = (size_t)snprintf(path, size, "/tmp/ruse-%u", (unsigned int)sys_call(SYS_geteuid));
	if (n + 24 > size)
		return -ENAMETOOLONG;
	rc = make_dir(path);
	if (rc)
		return rc;
	snprintf(path + n, size - n, "/%llu", (unsigned long long)ns.st_ino);
	return make_dir(path);
}
