/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * LD_PRELOAD for programs that ruse starts.
 *
 * The loader splits LD_PRELOAD at spaces and colons; nothing quotes. If the path of libruse.so has one, the loader gets
 * a path through a symbolic link to the directory: lib-HASH, in the directory that contains the user's run directories
 * (ipc_user_dir()), which only this user can change. The link stays: programs use it as long as they start others.
 *
 * Limit: a program that changes its user cannot use the link, as it cannot enter that directory.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "ipc/ipc.h"

static bool loader_splits(const char *path)
{
	return strpbrk(path, " :") != NULL;
}

/* FNV-1a. */
static uint64_t loader_hash(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
	return hash;
}

static bool loader_links_to(const char *path, const char *dir)
{
	char now[PATH_MAX];
	ssize_t n = readlink(path, now, sizeof(now));

	return n == (ssize_t)strlen(dir) && !memcmp(now, dir, (size_t)n);
}

/* Makes path a symbolic link to dir, whatever it was. 0 or -errno. */
static int loader_link(const char *path, const char *dir)
{
	char fresh[PATH_MAX];
	int rc;

	if (loader_links_to(path, dir))
		return 0;
	if (snprintf(fresh, sizeof(fresh), "%s.%d", path, getpid()) >= (int)sizeof(fresh))
		return -ENAMETOOLONG;
	unlink(fresh);
	if (symlink(dir, fresh))
		return -errno;
	rc = rename(fresh, path) ? -errno : 0;
	if (rc)
		unlink(fresh);
	return rc;
}

/*
 * A path of lib, which is absolute, that the loader does not split; path has PATH_MAX bytes. 0, or -errno and path is what
 * failed; -EINVAL: the loader would split that.
 */
static int loader_path(const char *lib, char *path)
{
	const char *file = strrchr(lib, '/');
	char up[IPC_RUNDIR_MAX], dir[PATH_MAX];
	int rc, n;

	if (strlen(lib) >= PATH_MAX)
		return -ENAMETOOLONG;
	strcpy(path, lib);
	if (!loader_splits(lib))
		return 0;
	rc = ipc_user_dir(up, sizeof(up));
	strcpy(path, up);
	if (!rc && loader_splits(up))
		rc = -EINVAL;
	if (rc)
		return rc;
	snprintf(dir, sizeof(dir), "%.*s", (int)(file - lib), lib);
	/* IPC_RUNDIR_MAX is far less than PATH_MAX. */
	n = snprintf(path, PATH_MAX, "%s/lib-%016llx", up, (unsigned long long)loader_hash(dir));
	rc = loader_link(path, dir);
	if (!rc)
		snprintf(path + n, (size_t)(PATH_MAX - n), "%s", file);
	return rc;
}

int cli_set_preload(const char *lib)
{
	const char *old = getenv("LD_PRELOAD");
	const char *first = RUSE_PRELOAD_FIRST;
	char path[PATH_MAX], *value;
	int rc = loader_path(lib, path);

	if (rc == -EINVAL)
		fprintf(stderr, "ruse: cannot preload '%s': its path contains a space or a colon, and so does '%s', where a "
			"link to it could be\n", lib, path);
	else if (rc)
		fprintf(stderr, "ruse: cannot preload '%s': its path contains a space or a colon, and a link to it cannot be "
			"made: %s: %s\n", lib, path, strerror(-rc));
	if (rc)
		return rc;
	if (asprintf(&value, "%s%s%s%s%s", first, *first ? ":" : "", path,
		     old && *old ? ":" : "", old ? old : "") < 0)
		return -ENOMEM;
	rc = setenv("LD_PRELOAD", value, 1) ? -errno : 0;
	free(value);
	return rc;
}
