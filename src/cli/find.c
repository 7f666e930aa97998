/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the other parts of ruse, and connects to rused. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "ipc/attach.h"
#include "ipc/version.h"

/* Where the other parts are, relative to the directory of this program: first in the build tree, second when installed. */
static const char *const places[] = { "", "../" RUSE_LIBDIR "/ruse/" };

/* The directory of this program, with a slash at the end. dir has PATH_MAX bytes. */
static int own_dir(char *dir)
{
	ssize_t n = readlink("/proc/self/exe", dir, PATH_MAX - 1);
	char *slash;

	if (n < 0)
		return -errno;
	dir[n] = '\0';
	slash = strrchr(dir, '/');
	if (!slash)
		return -ENOENT;
	slash[1] = '\0';
	return 0;
}

int cli_find_file(const char *name, char *path)
{
	char dir[PATH_MAX];
	char try[PATH_MAX];
	size_t i;
	int rc;

	rc = own_dir(dir);
	if (rc)
		return rc;
	for (i = 0; i < ARRAY_SIZE(places); i++) {
		int n = snprintf(try, sizeof(try), "%s%s%s", dir, places[i], name);

		if (n > 0 && (size_t)n < sizeof(try) && !access(try, R_OK) &&
		    realpath(try, path))
			return 0;
	}
	return -ENOENT;
}

int cli_find_file_or_say(const char *name, char *path)
{
	char dir[PATH_MAX];
	size_t i;
	int rc;

	rc = cli_find_file(name, path);
	if (!rc)
		return 0;
	fprintf(stderr, "ruse: cannot find %s, a part of ruse; searched:\n", name);
	if (!own_dir(dir))
		for (i = 0; i < ARRAY_SIZE(places); i++)
			fprintf(stderr, "  %s%s\n", dir, places[i]);
	return rc;
}

bool cli_rused_absent(int rc)
{
	return rc == -ENOENT || rc == -ECONNREFUSED;
}

/* Tells once that rused is of another version. */
static void find_tell_version(const struct ipc_conn *c)
{
	static bool told;
	char text[320];

	if (told)
		return;
	told = true;
	ipc_version_text(c, "this ruse", text, sizeof(text));
	fprintf(stderr, "ruse: %s\n", text);
}

int cli_rused_connect(struct ipc_conn *c, uint32_t *pid)
{
	char rundir[IPC_RUNDIR_MAX];
	int rc;

	rc = ipc_rundir(rundir, sizeof(rundir));
	if (!rc)
		rc = ipc_connect(c, rundir);
	if (!rc)
		rc = ipc_greet(c, "ruse", pid);
	if (rc == -EPROTONOSUPPORT)
		find_tell_version(c);
	return rc == -EPIPE ? -ECONNREFUSED : rc;	/* EPIPE: rused was exiting */
}

static int cli_greet(struct ipc_conn *c, void *pid)
{
	return ipc_greet(c, "ruse", pid);
}

int cli_rused_attach(struct ipc_conn *c, uint32_t *pid)
{
	char rundir[IPC_RUNDIR_MAX] = "", rused[PATH_MAX];
	struct ipc_failure f;
	int rc;

	rc = cli_rused_connect(c, pid);
	if (!cli_rused_absent(rc))
		return rc;
	rc = cli_find_file_or_say("rused", rused);
	if (rc)
		return rc;
	rc = ipc_attach(c, rused, rundir, sizeof(rundir), cli_greet, pid, &f);
	if (rc)
		fprintf(stderr, "ruse: cannot reach rused in the run directory %s: %s: %s\n"
			"ruse: %s %s%s\n", rundir, f.step, strerror(-f.err), rused,
			f.said[0] ? "failed: " : "reported no error", f.said);
	return rc;
}

int cli_rused_complain(const char *cmd, int rc)
{
	if (rc == -EPROTONOSUPPORT)
		return 1;	/* cli_rused_connect() has told */
	fprintf(stderr, "ruse %s: %s\n", cmd,
		rc == -EPERM ? "the run directory belongs to another user, or others may use it: its mode must be 0700" :
			       strerror(-rc));
	return 1;
}
