/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the run directory of rused for this user and network namespace.
 *
 * It is $RUSE_DIR if set, else a directory named by the inode of the network namespace, below the
 * first usable one of:
 *
 *	$XDG_RUNTIME_DIR/ruse
 *	/run/user/UID/ruse
 *	/tmp/ruse-UID
 *	/tmp/ruse-UID.RANDOM
 *
 * UID is the user id outside of the user namespace, so root in two user namespaces of different
 * users differs. /tmp is writable for all users: a directory owned by another user, or accessible
 * to others, is skipped. The last form is found by reading /tmp; if there are several, the first by
 * name is used.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/rand.h"
#include "base/sys.h"
#include "ipc/ipc.h"
#include "ipc/ipc_internal.h"

#define NETNS_MAX 24		/* bytes of "/" and an inode number */
#define RIVAL_NS (20 * NS_MS)	/* time for another process that has read /tmp to finish its mkdir() */

void ipc_sleep(ns_t ns)
{
	struct timespec left = { .tv_sec = ns / NS_S, .tv_nsec = ns % NS_S };

	while (sys_call(SYS_ppoll, NULL, 0, &left, NULL, 8) == -EINTR)
		;
}

/* 0 if path is a directory of this user with no access for others; else -errno. */
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

	if (!rc)	/* whatever the program's umask is */
		sys_call(SYS_fchmodat, AT_FDCWD, path, 0700);
	return rc && rc != -EEXIST ? (int)rc : check_dir(path);
}

bool ipc_rundir_is_own(const char *path)
{
	const char *slash = strrchr(path, '/');

	return !strncmp(slash ? slash + 1 : path, IPC_OWN_PREFIX, strlen(IPC_OWN_PREFIX));
}

/*
 * Makes a path absolute, as rused runs in /. The working directory is that of the first use of this value in the process:
 * after chdir() the run directory is still the same. path has IPC_RUNDIR_MAX bytes. 0 or -errno.
 */
static int absolute_dir(const char *env, char *path, size_t size)
{
	static char first[IPC_RUNDIR_MAX], found[IPC_RUNDIR_MAX];
	char cwd[IPC_RUNDIR_MAX];
	size_t used;
	long n;

	if (!strcmp(env, first) && strlen(found) < size) {
		strcpy(path, found);
		return 0;
	}
	n = sys_call(SYS_getcwd, cwd, min(size, sizeof(cwd)));
	if (n < 0)
		return n == -ERANGE ? -ENAMETOOLONG : (int)n;
	used = (size_t)n;
	cwd[used - 1] = '/';
	if (used + strlen(env) + 1 > size)
		return -ENAMETOOLONG;
	memcpy(path, cwd, used);
	strcpy(path + used, env);
	strcpy(first, env);
	strcpy(found, path);
	return 0;
}

static int explicit_dir(const char *env, bool make, char *path, size_t size)
{
	size_t used;
	int rc = 0;

	snprintf(path, size, "%s", env);	/* for messages, cut to fit */
	if (env[0] != '/')
		rc = absolute_dir(env, path, size);
	else if (strlen(env) >= size)
		rc = -ENAMETOOLONG;
	if (rc)
		return rc;
	used = strlen(path);
	while (used > 1 && path[used - 1] == '/')
		path[--used] = '\0';
	/* `ruse run --own` has removed it: a program that outlives the command must not start a new rused. */
	return make && !ipc_rundir_is_own(path) ? make_dir(path) : check_dir(path);
}

/* The effective user id, translated to the parent user namespace. In the initial user namespace it is unchanged. */
static unsigned int outer_uid(void)
{
	unsigned int uid = (unsigned int)sys_call(SYS_geteuid), first, outer, count;
	int fd = sys_openat(AT_FDCWD, "/proc/self/uid_map", O_RDONLY | O_CLOEXEC, 0);
	ssize_t n = -1;
	char text[4096];

	if (fd >= 0) {
		n = sys_read(fd, text, sizeof(text) - 1);
		sys_close(fd);
	}
	text[max(n, (ssize_t)0)] = '\0';
	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (sscanf(line, "%u %u %u", &first, &outer, &count) == 3 && uid >= first &&
		    uid - first < count)
			return outer + (uid - first);
	}
	return uid;
}

struct entry {			/* struct linux_dirent64 */
	uint64_t ino;
	int64_t off;
	uint16_t len;
	uint8_t type;
	char name[];
};

/*
 * Copies "/tmp/NAME" to path if NAME begins with the prefix, the directory belongs to this user, and path is empty or sorts
 * after "/tmp/NAME".
 */
static void take_entry(const struct entry *e, const char *prefix, char *path, size_t size)
{
	char try[IPC_RUNDIR_MAX];
	int n;

	if (strncmp(e->name, prefix, strlen(prefix)))
		return;
	n = snprintf(try, sizeof(try), "/tmp/%s", e->name);
	if (n > 0 && (size_t)n < min(size, sizeof(try)) && !check_dir(try) &&
	    (!*path || strcmp(try, path) < 0))
		strcpy(path, try);
}

/* Finds the first directory by name of this user in /tmp with the prefix. 0, -ENOENT or -errno. */
static int find_random(char *path, size_t size, const char *prefix)
{
	_Alignas(struct entry) char buf[4096];
	long n;
	int fd;

	strcpy(path, "/tmp");
	fd = sys_openat(AT_FDCWD, "/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	*path = '\0';
	while ((n = sys_call(SYS_getdents64, fd, buf, sizeof(buf))) > 0)
		for (long at = 0; at < n;) {
			const struct entry *e = (const void *)(buf + at);

			take_entry(e, prefix, path, size);
			at += e->len;
		}
	sys_close(fd);
	if (n < 0)
		strcpy(path, "/tmp");
	return n < 0 ? (int)n : *path ? 0 : -ENOENT;
}

static int random_dir(char *path, size_t size, unsigned int uid)
{
	char prefix[32];
	int rc;

	snprintf(prefix, sizeof(prefix), "ruse-%u.", uid);
	rc = find_random(path, size, prefix);
	if (rc != -ENOENT)
		return rc;
	snprintf(path, size, "/tmp/%s%08x", prefix, rand_u32());
	rc = make_dir(path);
	if (rc)
		return rc;
	/* Another process may have created such a directory at the same time. Both processes take the first by name. */
	ipc_sleep(RIVAL_NS);
	return find_random(path, size, prefix);
}

int ipc_user_dir(char *path, size_t size)
{
	const char *env = secure_getenv("XDG_RUNTIME_DIR");
	unsigned int uid = outer_uid();
	char run[32];

	snprintf(run, sizeof(run), "/run/user/%u", uid);
	/* After su or sudo -E, XDG_RUNTIME_DIR belongs to another user: ignore it. */
	for (int i = 0; i < 2; i++, env = run) {
		if (!env || *env != '/' || strlen(env) + sizeof("/ruse") + NETNS_MAX > size ||
		    check_dir(env))
			continue;
		snprintf(path, size, "%s/ruse", env);
		if (!make_dir(path))
			return 0;
	}
	snprintf(path, size, "/tmp/ruse-%u", uid);
	return make_dir(path) ? random_dir(path, size, uid) : 0;
}

static int rundir_find(bool make, char *path, size_t size)
{
	static const char netns[] = "/proc/self/ns/net";
	const char *env = secure_getenv("RUSE_DIR");
	struct stat ns;
	size_t n;
	int rc;

	size = min(size, (size_t)IPC_RUNDIR_MAX);
	if (env && *env)
		return explicit_dir(env, make, path, size);
	strcpy(path, netns);
	rc = (int)sys_call(SYS_newfstatat, AT_FDCWD, netns, &ns, 0);
	if (!rc)
		rc = ipc_user_dir(path, size);
	if (rc)
		return rc;
	n = strlen(path);
	if (n + NETNS_MAX > size)
		return -ENAMETOOLONG;
	snprintf(path + n, size - n, "/%llu", (unsigned long long)ns.st_ino);
	return make_dir(path);
}

int ipc_rundir(char *path, size_t size)
{
	return rundir_find(true, path, size);
}

int ipc_rundir_there(char *path, size_t size)
{
	return rundir_find(false, path, size);
}
