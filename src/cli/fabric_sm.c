/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The subnet manager of a fabric: `ruse fabric up --sm` starts opensm, `ruse fabric down` ends it.
 *
 * opensm is a child that waits until rused knows its process id and has chosen the host. It then
 * becomes opensm, in a session of its own, and outlives this program.
 */
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "ipc/fabric_msg.h"

#define SM_POLL_MS 50
#define SM_ACTIVE_MS 60000	/* longest wait until the ports are active */
#define SM_END_MS 5000		/* from SIGTERM to SIGKILL */

bool cli_sm_find(char *path)
{
	/* Debian installs it in a directory that is not in the PATH of users. */
	static const char more[] = ":/usr/local/sbin:/usr/sbin:/sbin";
	const char *env = getenv("PATH");
	char *dirs, *rest, *dir;
	bool found = false;

	if (asprintf(&dirs, "%s%s", env ? env : "", more) < 0)
		return false;
	for (rest = dirs; !found && (dir = strsep(&rest, ":"));)
		found = *dir == '/' && snprintf(path, PATH_MAX, "%s/opensm", dir) < PATH_MAX &&
			!access(path, X_OK);
	free(dirs);
	return found;
}

/* Creates RUN/opensm. 0 or -errno. */
static int sm_dir(char *dir, size_t size)
{
	char run[IPC_RUNDIR_MAX];
	int rc = ipc_rundir(run, sizeof(run));

	if (rc)
		return rc;
	snprintf(dir, size, "%s/" FABRIC_SM_DIR, run);
	/* chmod(): whatever the umask is. */
	if (mkdir(dir, 0700) ? errno != EEXIST : chmod(dir, 0700))
		return -errno;
	return setenv("RUSE_DIR", run, 1) ? -errno : 0;
}

/* In the child: waits for the name of the host, then becomes opensm. Returns if it cannot. */
static void sm_child(const char *opensm, const char *dir, const char *lib, int from)
{
	char host[256], out[PATH_MAX], log[PATH_MAX];
	ssize_t n = read(from, host, sizeof(host) - 1);
	int fd;

	if (n <= 0)
		return;
	host[n] = '\0';
	snprintf(out, sizeof(out), "%s/out", dir);
	snprintf(log, sizeof(log), "%s/log", dir);
	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		dup2(fd, STDIN_FILENO);
	fd = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0)
		return;
	setsid();
	umask(077);
	if (setenv("RUSE_HOST", host, 1) || setenv("OSM_TMP_DIR", dir, 1) ||
	    setenv("OSM_CACHE_DIR", dir, 1) || cli_set_preload(lib) || chdir("/"))
		return;
	execl(opensm, "opensm", "-f", log, (char *)NULL);
	fprintf(stderr, "%s: %s\n", opensm, strerror(errno));
}

/* Tells rused of the process; writes the name of its host to the pipe. 0, or EXIT_USAGE and it has told why. */
static int sm_register(struct ipc_conn *c, pid_t pid, const char *host, int to)
{
	char words[512];
	int n = snprintf(words, sizeof(words), "sm%c%d%c%s", 0, pid, 0, host ? host : "");
	struct json_object *o;
	const char *name;
	int rc = EXIT_USAGE;

	if (n >= (int)sizeof(words)) {
		fputs("ruse fabric: the name of the host is too long\n", stderr);
		return rc;
	}
	o = cli_fabric_ask(c, words, (size_t)n + !!host);
	name = o ? cli_json_string(o, "host") : NULL;
	if (name && write(to, name, strlen(name)) == (ssize_t)strlen(name)) {
		printf("opensm (pid %d) runs on host %s\n", pid, name);
		rc = 0;
	}
	json_object_put(o);
	return rc;
}

/* True if every port with a cable is active. */
static bool sm_is_active(struct ipc_conn *c)
{
	static const char words[] = "show\0nodes";
	struct json_object *o = cli_fabric_ask(c, words, sizeof(words)), *nodes;
	bool active = json_object_object_get_ex(o, "nodes", &nodes);

	for (size_t i = 0; active && i < json_object_array_length(nodes); i++) {
		struct json_object *node = json_object_array_get_idx(nodes, i);

		active = cli_json_u64(node, "links") == cli_json_u64(node, "active");
	}
	json_object_put(o);
	return active;
}

static int sm_wait_active(struct ipc_conn *c, pid_t pid, const char *dir)
{
	char line[256] = "", path[PATH_MAX];
	FILE *f;

	for (int ms = 0; ms < SM_ACTIVE_MS; ms += SM_POLL_MS) {
		if (sm_is_active(c))
			return 0;
		if (waitpid(pid, NULL, WNOHANG) == pid) {
			snprintf(path, sizeof(path), "%s/out", dir);
			f = fopen(path, "re");
			while (f && fgets(line, sizeof(line), f))
				;
			if (f)
				fclose(f);
			line[strcspn(line, "\n")] = '\0';
			fprintf(stderr, "ruse fabric: opensm has ended: %s; see %s/log\n", line, dir);
			return 1;
		}
		poll(NULL, 0, SM_POLL_MS);
	}
	fprintf(stderr, "ruse fabric: not all ports are active yet; see %s/log\n", dir);
	return 0;
}

int cli_sm_start(struct ipc_conn *c, const char *opensm, const char *host)
{
	char dir[IPC_RUNDIR_MAX + sizeof(FABRIC_SM_DIR) + 1], lib[PATH_MAX];
	int to[2], rc = sm_dir(dir, sizeof(dir));
	pid_t pid;

	if (cli_find_file_or_say("libruse.so", lib))
		return 1;
	if (!rc && pipe2(to, O_CLOEXEC))
		rc = -errno;
	if (rc)
		return cli_rused_complain("fabric", rc);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		close(to[1]);
		sm_child(opensm, dir, lib, to[0]);
		_exit(EXIT_FAILED);
	}
	close(to[0]);
	rc = pid < 0 ? cli_rused_complain("fabric", -errno) : sm_register(c, pid, host, to[1]);
	close(to[1]);
	if (rc && pid > 0)
		waitpid(pid, NULL, 0);
	return rc ? rc : sm_wait_active(c, pid, dir);
}

/* Ends a process by SIGTERM, then by SIGKILL. False: it still runs. */
static bool sm_kill(int pid)
{
	struct pollfd p = { .fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1,
			    .events = POLLIN };
	static const int signals[] = { SIGTERM, SIGKILL };
	bool ended = false;

	if (p.fd < 0)
		return pid > 0 && errno == ESRCH;
	for (size_t i = 0; !ended && i < ARRAY_SIZE(signals); i++) {
		syscall(SYS_pidfd_send_signal, p.fd, signals[i], NULL, 0);
		ended = poll(&p, 1, SM_END_MS) == 1;
	}
	close(p.fd);
	return ended;
}

char *cli_sm_end(struct ipc_conn *c, bool all)
{
	struct json_object *o = cli_fabric_try(c, "sm", sizeof("sm")), *list, *started;
	char *text = NULL;
	size_t len;
	FILE *f = o ? open_memstream(&text, &len) : NULL;

	if (!f || !json_object_object_get_ex(o, "managers", &list))
		list = NULL;
	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		struct json_object *m = json_object_array_get_idx(list, i);
		int pid = (int)cli_json_u64(m, "pid");

		if ((all || (json_object_object_get_ex(m, "started", &started) &&
			     json_object_get_boolean(started))) && sm_kill(pid))
			continue;
		fprintf(f, "%spid %d on host %s", ftell(f) ? ", " : "", pid,
			cli_json_string(m, "host"));
	}
	if (f)
		fclose(f);
	json_object_put(o);
	return text;
}
