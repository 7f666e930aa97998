/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the other parts of ruse, and connects to rused. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "cli/cli.h"
#include "ipc/attach.h"
#include "ipc/version.h"

#define SILENT_S 3	/* longest wait for a rused that has not answered this command before */

/* Where the other parts are, relative to the directory of this program: first in the build tree, second when installed. */
static const char *const places[] = { "", "../" RUSE_LIBDIR "/ruse/" };

/* The directory of this program, with a slash at the end. dir has PATH_MAX bytes. */
static int own_dir(char *dir)
{
	ssize_t n = readlink("/proc/self/exe", dir, PATH_MAX - 1);
	char *slash;

	/* Without /proc: the path by which this program was executed. */
	if (n < 0) {
		const char *file = (const char *)getauxval(AT_EXECFN);

		if (!file || !realpath(file, dir))
			return -ENOENT;
		n = (ssize_t)strlen(dir);
	}
	dir[n] = '\0';
	slash = strrchr(dir, '/');
	if (!slash)
		return -ENOENT;
	slash[1] = '\0';
	return 0;
}

bool cli_dir_absolute(void)
{
	const char *dir = getenv("RUSE_DIR");
	char cwd[PATH_MAX], *path = NULL;
	bool done;

	if (!dir || !*dir || *dir == '/')
		return true;
	done = getcwd(cwd, sizeof(cwd)) && asprintf(&path, "%s/%s", cwd, dir) >= 0 &&
	       !setenv("RUSE_DIR", path, 1);
	if (!done)
		fprintf(stderr, "ruse: the run directory %s cannot be made absolute: %m\n", dir);
	free(path);
	return done;
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

/* The run directory of the last call, if it is why that has failed; "": it is not. */
static char find_rundir[IPC_RUNDIR_MAX];
static bool find_told;		/* cli_rused_attach() has told why it failed */

int cli_rused_connect(struct ipc_conn *c, uint32_t *pid)
{
	/* A command may ask several times: it waits once for a rused that is stopped. */
	static bool silent;
	int rc = cli_rused_connect_within(c, pid, silent ? SILENT_S : 0);

	silent |= rc == -ETIMEDOUT;
	return rc;
}

int cli_rused_connect_within(struct ipc_conn *c, uint32_t *pid, int seconds)
{
	const char *env = getenv("RUSE_DIR");
	int rc;

	rc = ipc_rundir_there(find_rundir, sizeof(find_rundir));
	if (rc == -ENOENT && env && *env)
		return -ENXIO;
	if (!rc)
		rc = seconds ? ipc_connect_within(c, find_rundir, seconds) :
			       ipc_connect(c, find_rundir);
	if (!rc)
		*find_rundir = '\0';
	if (!rc)
		rc = ipc_greet(c, "ruse", pid);
	if (rc == -EPROTONOSUPPORT)
		find_tell_version(c);
	return rc == -EPIPE ? -ECONNREFUSED : rc;	/* EPIPE: rused was exiting */
}

const char *cli_rused_where(void)
{
	return find_rundir;
}

static int cli_greet(struct ipc_conn *c, void *pid)
{
	return ipc_greet(c, "ruse", pid);
}

int cli_rused_attach(struct ipc_conn *c, uint32_t *pid)
{
	char rused[PATH_MAX], text[400];
	struct ipc_failure f;
	int rc;

	rc = cli_rused_connect(c, pid);
	if (!cli_rused_absent(rc) && rc != -ENXIO)
		return rc;
	*find_rundir = '\0';
	rc = cli_find_file_or_say("rused", rused);
	find_told = rc;
	if (rc)
		return rc;
	rc = ipc_attach(c, rused, find_rundir, sizeof(find_rundir), cli_greet, pid, &f);
	find_told = rc;
	if (!rc) {
		*find_rundir = '\0';
	} else if (rc == f.err && !strcmp(f.step, IPC_STEP_RUNDIR)) {
		fprintf(stderr, "ruse: no run directory: %s: %s; RUSE_DIR names one\n", find_rundir, strerror(-rc));
	} else if (rc != -EPROTONOSUPPORT) {
		ipc_failure_text(&f, rc, text, sizeof(text));
		fprintf(stderr, "ruse: cannot reach rused in the run directory %s: %s\n", find_rundir, text);
	}
	return rc;
}

int cli_rused_complain(const char *cmd, int rc)
{
	if (rc == -EPROTONOSUPPORT || find_told)
		return 1;	/* cli_rused_connect() or cli_rused_attach() has told */
	if (rc == -ENXIO) {
		fprintf(stderr, "ruse %s: there is no run directory %s (RUSE_DIR)\n", cmd, getenv("RUSE_DIR"));
		return 1;
	}
	if (rc == -EPERM && *find_rundir)
		fprintf(stderr, "ruse %s: the run directory %s belongs to another user, or others may use it: "
			"its mode must be 0700\n", cmd, find_rundir);
	else
		fprintf(stderr, "ruse %s: %s%s%s\n", cmd, find_rundir, *find_rundir ? ": " : "", strerror(-rc));
	return 1;
}
