/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The cgroup of rused.
 *
 * rused starts in the cgroup of the program that started it. Whatever kills that cgroup (systemd when
 * a service is stopped, a CI runner when a job ends) would kill rused, which serves other programs.
 * So rused leaves it:
 *
 *	1. A systemd manager puts rused into a scope of its own: the manager of this user, or for root
 *	   that of the system. busctl asks it over D-Bus and runs as a child, so rused serves meanwhile.
 *	2. Without a manager, or if it refuses, rused enters the cgroup "rused" (version 2) below the
 *	   topmost ancestor of its own cgroup where it may create that. All rused processes with this
 *	   ancestor share it. The last one removes it.
 *	3. Else rused stays, as in a container, which can usually not write cgroups.
 *
 * Each step is logged at level info. A failed step is not an error.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "daemon/life/cgroup.h"

/* The manager answers before it has moved rused. */
#define CGROUP_MOVE_NS NS_S
#define CGROUP_TRIES 3

struct cgroup_manager {
	char private[sizeof(((struct sockaddr_un *)0)->sun_path)];	/* the manager's own socket */
	char bus[128];		/* D-Bus address of the bus on which it answers */
};

/* Fills m with manager number n. False: there are no more. A name that does not fit is left empty. */
static bool cgroup_manager_get(unsigned int n, struct cgroup_manager *m)
{
	const char *env = getenv("XDG_RUNTIME_DIR");
	char user[32];

	memset(m, 0, sizeof(*m));
	snprintf(user, sizeof(user), "/run/user/%u", (unsigned int)geteuid());
	if (n == 0 && (!env || *env != '/' || strlen(env) > 80))
		return true;
	if (n < 2) {
		snprintf(m->private, sizeof(m->private), "%.80s/systemd/private", n ? user : env);
		snprintf(m->bus, sizeof(m->bus), "--address=unix:path=%.80s/bus", n ? user : env);
		return true;
	}
	if (n > 2 || geteuid())
		return false;
	strcpy(m->private, "/run/systemd/private");
	strcpy(m->bus, "--address=unix:path=/run/dbus/system_bus_socket");
	return true;
}

/*
 * True if a manager of this user listens at the path and knows rused by the same PID. A container may
 * have the socket of its host; the PID of the manager is then not visible (0).
 */
static bool cgroup_manager_usable(const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	struct ucred cr = { 0 };
	socklen_t len = sizeof(cr);
	bool usable;
	int fd;

	if (!*path)
		return false;
	strcpy(sa.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return false;
	usable = !connect(fd, (struct sockaddr *)&sa, sizeof(sa)) &&
		 !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cr, &len) && cr.pid > 0 &&
		 cr.uid == geteuid();
	close(fd);
	return usable;
}

/* Reads /proc/self/cgroup. False if that is not possible. */
static bool cgroup_read(char *text, size_t size)
{
	int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[max(n, (ssize_t)0)] = '\0';
	return n > 0;
}

/* The path of rused's cgroup (version 2), "/..." without a trailing slash. False: it has none. */
static bool cgroup_path(char *path, size_t size)
{
	char text[CGROUP_PATH_MAX], *line, *end;

	if (!cgroup_read(text, sizeof(text)))
		return false;
	line = strncmp(text, "0::", 3) ? strstr(text, "\n0::") : text;
	if (!line)
		return false;
	line = strstr(line, "0::") + 3;
	end = strchrnul(line, '\n');
	/* "/../x": outside of this cgroup namespace */
	if (*line != '/' || !strncmp(line, "/..", 3) || (size_t)(end - line) >= size)
		return false;
	*end = '\0';
	strcpy(path, line);
	return true;
}

/* Where the whole hierarchy (version 2) is mounted. False: nowhere. */
static bool cgroup_mount(char *path, size_t size)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, root[8], where[256];
	bool found = false;
	size_t room = 0;

	while (f && !found && getline(&line, &room, f) > 0)
		found = strstr(line, " - cgroup2 ") &&
			sscanf(line, "%*s %*s %*s %7s %255s", root, where) == 2 &&
			!strcmp(root, "/") && strlen(where) < size;
	if (found)
		strcpy(path, where);
	free(line);
	if (f)
		fclose(f);
	return found;
}

/* Moves rused into the cgroup with this directory. 0 or -errno. */
static int cgroup_enter(const char *dir)
{
	char procs[CGROUP_PATH_MAX + 16];
	int fd, rc;

	snprintf(procs, sizeof(procs), "%s/cgroup.procs", dir);
	fd = open(procs, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = write(fd, "0", 1) == 1 ? 0 : -errno;
	close(fd);
	return rc;
}

/* Creates the cgroup and moves rused into it. 0 or -errno. */
static int cgroup_make(const char *dir)
{
	int rc = -ENOENT;
	bool made;

	/* -ENOENT: another rused that exits has removed it in between. */
	for (int i = 0; i < CGROUP_TRIES && rc == -ENOENT; i++) {
		made = !mkdir(dir, 0755);
		if (!made && errno != EEXIST)
			return -errno;
		rc = cgroup_enter(dir);
		if (rc && made)
			rmdir(dir);
	}
	return rc;
}

/* Moves rused into a cgroup "rused" below the topmost possible ancestor of its cgroup. */
static void cgroup_leave_alone(struct cgroup *c)
{
	char mount[256], path[CGROUP_PATH_MAX - 512];
	size_t len = 0;
	int rc = -EROFS;

	if (!cgroup_path(path, sizeof(path)) || !cgroup_mount(mount, sizeof(mount))) {
		log_info("staying in the cgroup of the program that started rused: "
			 "no cgroup of version 2 is visible");
		return;
	}
	/* The part of the path before each slash is an ancestor. "/" itself has none. */
	for (; path[len] && path[1]; len += 1 + strcspn(path + len + 1, "/")) {
		snprintf(c->made, sizeof(c->made), "%s%.*s/rused", mount, (int)len, path);
		rc = cgroup_make(c->made);
		if (!rc) {
			log_info("moved from the cgroup %s to %s", path, c->made);
			return;
		}
	}
	c->made[0] = '\0';
	log_info("staying in the cgroup %s of the program that started rused: %s", path,
		 path[1] ? strerror(-rc) : "it is the topmost one");
}

static void cgroup_ask(struct cgroup *c);

/* Called when the manager has had time to move rused. */
static void cgroup_check(struct timer *t, ns_t now)
{
	struct cgroup *c = container_of(t, struct cgroup, check);
	char text[CGROUP_PATH_MAX];

	if (cgroup_read(text, sizeof(text)) && strstr(text, c->scope))
		log_info("moved to the scope %s of systemd", c->scope);
	else
		cgroup_ask(c);
}

static void cgroup_child_ended(struct loop_fd *f, uint32_t events)
{
	struct cgroup *c = container_of(f, struct cgroup, child);
	int status = 0;

	if (waitpid(c->child_pid, &status, WNOHANG) != c->child_pid)
		return;
	loop_del(c->loop, &c->child);
	if (status || timer_set(&c->loop->timers, &c->check, c->loop->now + CGROUP_MOVE_NS)) {
		log_info("systemd did not create the scope %s: status %#x of busctl", c->scope, status);
		cgroup_ask(c);
	}
}

/* Starts busctl, which asks the manager on this bus for a scope with rused. 0 or -errno. */
static int cgroup_spawn(struct cgroup *c, char *bus)
{
	char pid[16];
	char *argv[] = { (char *)"busctl", bus, (char *)"--quiet", (char *)"call",
			 (char *)"org.freedesktop.systemd1", (char *)"/org/freedesktop/systemd1",
			 (char *)"org.freedesktop.systemd1.Manager", (char *)"StartTransientUnit",
			 (char *)"ssa(sv)a(sa(sv))", c->scope, (char *)"fail",
			 (char *)"3", (char *)"PIDs", (char *)"au", (char *)"1", pid,
			 (char *)"CollectMode", (char *)"s", (char *)"inactive-or-failed",
			 (char *)"Description", (char *)"s", (char *)"rused, the daemon of ruse",
			 (char *)"0", NULL };
	posix_spawnattr_t attr;
	posix_spawn_file_actions_t files;
	sigset_t none;
	int rc, fd;

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	sigemptyset(&none);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawn_file_actions_init(&files);
	for (fd = 0; fd < 3; fd++)
		posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
	rc = -posix_spawnp(&c->child_pid, "busctl", &files, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	if (rc)
		return rc;
	fd = (int)syscall(SYS_pidfd_open, c->child_pid, 0);
	rc = fd < 0 ? -errno : loop_add(c->loop, &c->child, fd, EPOLLIN);
	if (rc && fd >= 0)
		close(fd);
	return rc;
}

/* Asks the next manager. If there are no more, rused moves itself. */
static void cgroup_ask(struct cgroup *c)
{
	struct cgroup_manager m;
	int rc;

	while (cgroup_manager_get(c->next++, &m)) {
		if (!cgroup_manager_usable(m.private))
			continue;
		rc = cgroup_spawn(c, m.bus);
		if (!rc)
			return;
		log_info("cannot ask systemd for a scope: busctl: %s", strerror(-rc));
	}
	cgroup_leave_alone(c);
}

void cgroup_init(struct cgroup *c, struct loop *loop)
{
	c->loop = loop;
	c->child.fd = -1;
	c->child.fn = cgroup_child_ended;
	c->check.fn = cgroup_check;
	snprintf(c->scope, sizeof(c->scope), "rused-%d.scope", (int)getpid());
}

void cgroup_leave(struct cgroup *c)
{
	cgroup_ask(c);
}

void cgroup_fini(struct cgroup *c)
{
	char parent[CGROUP_PATH_MAX];

	loop_del(c->loop, &c->child);
	if (!c->made[0])
		return;
	/*
	 * A cgroup with a process cannot be removed. The parent does not take rused if it has
	 * controllers enabled for its children: an empty cgroup stays then.
	 */
	strcpy(parent, c->made);
	*strrchr(parent, '/') = '\0';
	if (!cgroup_enter(parent))
		rmdir(c->made);
}
