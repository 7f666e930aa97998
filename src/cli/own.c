/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ruse run --own: a rused for one program and its descendants, in a run directory of its own.
 *
 * ruse stays as the parent of the program. It is also the reaper of orphans among its descendants
 * (PR_SET_CHILD_SUBREAPER), so rused, which the first program that uses RDMA starts, becomes its
 * child. When the program has ended, ruse tells rused to exit, waits for that, and removes the
 * directory. If ruse is killed the directory stays; the next `ruse run --own` removes it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <getopt.h>
#include <json-c/json.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/child.h"
#include "cli/cli.h"
#include "cli/gate.h"

#define OWN_TRIES 20
#define OWN_END_TRIES 200	/* a rused that starts while the tree ends is given 10 s */
#define OWN_NAP_MS 50
#define OWN_SILENT_S 10		/* a rused that does not answer so long is ended by signals */

static int own_remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	remove(path);
	return 0;
}

/*
 * Removes the run directory of a killed `ruse run --own`, in which no rused runs. A running `ruse run --own` has its
 * directory locked, a rused the file "lock".
 */
static void own_clear_one(const char *path)
{
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), lock;
	struct stat st;

	if (dir < 0)
		return;
	if (!fstat(dir, &st) && st.st_uid == geteuid() && !flock(dir, LOCK_EX | LOCK_NB)) {
		lock = openat(dir, "lock", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		if (lock < 0 || !flock(lock, LOCK_EX | LOCK_NB))
			nftw(path, own_remove_entry, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
		if (lock >= 0)
			close(lock);
	}
	close(dir);
}

static void own_clear(const char *up)
{
	char path[PATH_MAX];
	struct dirent *e;
	DIR *d = opendir(up);

	while (d && (e = readdir(d)))
		if (ipc_rundir_is_own(e->d_name) &&
		    snprintf(path, sizeof(path), "%s/%s", up, e->d_name) < (int)sizeof(path))
			own_clear_one(path);
	if (d)
		closedir(d);
}

/*
 * Creates a directory and locks it until this program ends. False: errno says why, or another `ruse run --own` has
 * removed it before it was locked.
 */
static bool own_dir_make(char *path)
{
	struct stat mine, there;
	int fd;

	if (!mkdtemp(path) || chmod(path, 0700))	/* whatever the umask is */
		return false;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB) && !fstat(fd, &mine) &&
	       !stat(path, &there) && mine.st_ino == there.st_ino;
}

/* Creates the run directory and sets RUSE_DIR to it. 0 or -errno; then path is the last parent tried. */
static int own_dir_create(char *path, size_t size)
{
	const char *const up[] = { getenv("XDG_RUNTIME_DIR"), "/tmp" };
	int rc;

	for (size_t i = 0; i < ARRAY_SIZE(up); i++) {
		if (!up[i] || *up[i] != '/' || strlen(up[i]) > IPC_RUNDIR_MAX / 2)
			continue;
		own_clear(up[i]);
		for (int tries = 0; tries < OWN_TRIES; tries++) {
			snprintf(path, size, "%s/" IPC_OWN_PREFIX "XXXXXX", up[i]);
			if (own_dir_make(path))
				return setenv("RUSE_DIR", path, 1) ? -errno : 0;
		}
	}
	rc = -errno;
	snprintf(path, size, "%s", up[ARRAY_SIZE(up) - 1]);
	return rc;
}

/* After a program that has failed: its failures, which end with the run directory, to stderr. */
static void own_explain(void)
{
	char *args[] = { (char *)"explain", (char *)"last", NULL };
	struct json_object *saved = cli_saved_failures();
	pid_t pid;

	json_object_put(saved);
	if (!saved)
		return;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		dup2(STDERR_FILENO, STDOUT_FILENO);
		optind = 1;
		exit(cmd_explain(2, args));
	}
	if (pid > 0)
		cli_child_wait(pid);
}

/* Waits for the end of rused, if it is a visible child; else own_end() tries again. */
static void own_wait_rused(pid_t pid)
{
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Ends the rused in the directory, if one runs. */
static void own_stop(const char *dir)
{
	struct ipc_shutdown req = { .now = 1 };
	struct ipc_conn c;
	int rc;

	if (ipc_connect_within(&c, dir, OWN_SILENT_S))
		return;
	rc = ipc_greet(&c, "ruse", NULL);
	if (!rc)
		rc = ipc_call(&c, &(struct ipc_msg){ IPC_REQ(IPC_SHUTDOWN, &req) });
	ipc_close(&c);
	if (!rc || rc == -EPIPE || (rc == -ETIMEDOUT && cli_rused_kill(c.other_pid)))
		own_wait_rused(c.other_pid);
}

/* As own_remove_entry(), but the log of a rused that has crashed stays. */
static int own_remove_but_crash(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	if (at->level == 1 && !strcmp(path + at->base, IPC_CRASH_NAME))
		return 0;
	return own_remove_entry(path, st, kind, at);
}

/*
 * Removes the directory with all that rused has left: files that stay for the next rused, and those of a rused that was
 * killed. False: a rused that starts or ends has the lock, or it has made a file meanwhile.
 */
static bool own_remove(const char *dir)
{
	char path[IPC_RUNDIR_MAX + 32];
	int lock;

	snprintf(path, sizeof(path), "%s/lock", dir);
	lock = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (lock < 0 || !flock(lock, LOCK_EX | LOCK_NB))
		nftw(dir, own_remove_but_crash, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	if (lock >= 0)
		close(lock);
	return access(dir, F_OK) && errno == ENOENT;
}

/*
 * Ends rused and removes the run directory. failed: the program has failed. Then the directory is renamed: a program that
 * goes on finds none, and does not start another rused. One that was started meanwhile is ended too.
 */
static void own_end(const char *dir, bool failed)
{
	char gone[IPC_RUNDIR_MAX + 8], crash[IPC_RUNDIR_MAX + 32];

	own_stop(dir);
	if (failed)
		own_explain();
	snprintf(gone, sizeof(gone), "%s.end", dir);
	if (rename(dir, gone))
		snprintf(gone, sizeof(gone), "%s", dir);
	snprintf(crash, sizeof(crash), "%s/" IPC_CRASH_NAME, gone);
	for (int tries = 0; tries < OWN_END_TRIES; tries++) {
		own_stop(gone);
		if (own_remove(gone))
			return;
		if (!access(crash, F_OK)) {
			fprintf(stderr, "ruse run --own: rused has crashed: see %s; the next `ruse run --own` removes it\n", crash);
			return;
		}
		poll(NULL, 0, OWN_NAP_MS);
	}
	fprintf(stderr, "ruse run --own: cannot remove %s\n", gone);
}

int cli_run_own(char **argv, int (*exec)(char **argv), struct gate *gate)
{
	char dir[IPC_RUNDIR_MAX];
	int status, rc = own_dir_create(dir, sizeof(dir));

	if (rc) {
		fprintf(stderr, "ruse run --own: cannot make a directory in %s: %s\n", dir, strerror(-rc));
		return EXIT_FAILED;
	}
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)) {
		fprintf(stderr, "ruse run --own: PR_SET_CHILD_SUBREAPER: %s\n", strerror(errno));
		rmdir(dir);
		return EXIT_FAILED;
	}
	status = gate ? gate_run(gate, argv, exec) : cli_child_run(argv, exec, NULL);
	own_end(dir, status);
	return status;
}
