/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The run directory of rused.
 *
 * rused takes two locks: an abstract socket named by the mount namespace and the path, then
 * RUN/lock. Only RUN/lock decides which rused owns the directory. The abstract socket outlives the
 * directory: if the directory was deleted and created again, a new rused finds RUN/lock free, but
 * waits until the older rused, which has UDP port 4791 and the leased QP numbers, has released the
 * socket. It waits for at most LOCK_WAIT_NS, since the older rused may be stopped, and another user
 * may have bound the same name.
 *
 * inotify reports deletions in the directory. rused waits until there was none for PLACE_REST, as
 * rm -r deletes one file after the other. Then it compares the directory, the lock and the socket
 * with those that it has opened. If any of them is gone:
 *
 *	an idle rused exits;
 *	else, if RUN/lock is free, rused creates the directory, the lock and the socket again;
 *	else another rused owns the directory: rused accepts no new clients and exits after the last.
 *
 * dup3() puts the new directory in the place of the old one, so the descriptor p->run stays valid.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "daemon/life/crash.h"
#include "daemon/life/place.h"

#define LOCK_WAIT_NS (3 * NS_S)
#define LOCK_NAP_NS (20 * NS_MS)
#define LOG_RESERVED 4096	/* bytes: some forty lines */
#define PLACE_REST (500 * NS_MS)

static int open_dir(const char *path, struct stat *st)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int rc = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, st))
		rc = -errno;
	else if (st->st_uid != geteuid() || (st->st_mode & 077))
		rc = -EPERM;
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

int place_dir(const char *path)
{
	struct stat st;

	return open_dir(path, &st);
}

int place_open(struct place *p, const char *path)
{
	struct stat st = { 0 };
	int rc = 0;

	p->lock = p->name = p->log = p->watch.fd = -1;
	if (!path) {
		rc = ipc_rundir(p->rundir, sizeof(p->rundir));
	} else if (path[0] != '/' || strlen(path) >= sizeof(p->rundir)) {
		rc = path[0] != '/' ? -EINVAL : -ENAMETOOLONG;
	} else {
		strcpy(p->rundir, path);
	}
	if (rc)
		return rc;
	p->run = open_dir(p->rundir, &st);
	if (p->run < 0)
		return p->run;
	p->uid = st.st_uid;
	if (stat("/proc/self/ns/net", &st) == 0)
		p->netns = st.st_ino;
	return 0;
}

/* Binds the abstract socket. Its descriptor, or -errno; -EADDRINUSE: another rused of this path still runs. */
static int take_name(const struct place *p)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	unsigned int ns = 0;
	struct stat st;
	int fd, n, err;

	if (stat("/proc/self/ns/mnt", &st) == 0)
		ns = (unsigned int)st.st_ino;
	n = snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, "r%x:%s", ns, p->rundir);
	if (n >= (int)sizeof(a.sun_path) - 1)
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (!bind(fd, (struct sockaddr *)&a,
		  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)))
		return fd;
	err = errno;
	close(fd);
	return -err;
}

/* True if lock, an open descriptor, is the file RUN/lock in the directory run. */
static bool lock_there(int run, int lock)
{
	struct stat mine, there;

	return lock >= 0 && !fstat(lock, &mine) &&
	       !fstatat(run, PLACE_LOCK_NAME, &there, AT_SYMLINK_NOFOLLOW) &&
	       mine.st_ino == there.st_ino && mine.st_dev == there.st_dev;
}

bool place_ours(const struct place *p)
{
	return lock_there(p->run, p->lock);
}

int place_lock(int run)
{
	int fd = openat(run, PLACE_LOCK_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return -errno;
	if (!flock(fd, LOCK_EX | LOCK_NB) && lock_there(run, fd))
		return fd;
	close(fd);
	return -EBUSY;
}

/*
 * Tries to take the abstract socket and RUN/lock. 1: locked; 0: another process holds a lock, try
 * again; -errno. named: true: both locks are required; false: RUN/lock is enough.
 */
static int try_take(struct place *p, bool named)
{
	int rc;

	if (p->name < 0)
		p->name = take_name(p);
	if (p->name == -EADDRINUSE && named)
		return 0;
	rc = place_lock(p->run);
	if (rc == -EBUSY)
		return 0;
	if (rc < 0)
		return rc;
	p->lock = rc;
	return 1;
}

int place_take(struct place *p)
{
	const struct timespec nap = { .tv_nsec = LOCK_NAP_NS };
	struct ipc_conn c;
	ns_t waited;
	int rc;

	p->other = 0;
	for (waited = 0; waited <= LOCK_WAIT_NS; waited += LOCK_NAP_NS) {
		rc = try_take(p, waited < LOCK_WAIT_NS);
		if (rc)
			return rc;
		/* Only an answer proves that the other rused runs: one that is being killed still has socket and lock. */
		rc = ipc_connect(&c, p->rundir);
		if (!rc)
			rc = ipc_greet(&c, "rused", NULL);
		p->other = c.other_pid;
		if (!rc)
			ipc_close(&c);
		if (rc == -EPROTONOSUPPORT)	/* an answer, too: programs tell of the difference */
			rc = 0;
		/* -ETIMEDOUT: the other rused is stopped and will keep the lock, so waiting is useless. */
		if (!rc || rc == -ETIMEDOUT)
			return rc;
		nanosleep(&nap, NULL);
	}
	return -EBUSY;
}

static int open_log(const struct place *p)
{
	int fd = openat(p->run, IPC_LOG_NAME,
			O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return -errno;
	/* Room for the first lines, so that the log can tell of a file system that fills up later. Best effort. */
	(void)fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, LOG_RESERVED);
	return fd;
}

int place_log(struct place *p, bool foreground)
{
	int fd = foreground ? STDERR_FILENO : open_log(p);

	if (fd < 0)
		return fd;
	p->log = foreground ? -1 : fd;
	log_init("rused", fd);
	crash_watch(foreground ? -1 : p->run, IPC_LOG_NAME, IPC_CRASH_NAME);
	return 0;
}

void place_up(struct place *p, int null)
{
	if (p->log >= 0 && null >= 0)
		dup2(null, STDERR_FILENO);
}

void place_bound(struct place *p)
{
	struct stat st = { 0 };

	(void)fstatat(p->run, IPC_SOCK_NAME, &st, AT_SYMLINK_NOFOLLOW);
	p->sock_dev = st.st_dev;
	p->sock_ino = st.st_ino;
}

static bool tree_there(int run)
{
	return !faccessat(run, "sys/class/infiniband", F_OK, 0) &&
	       !faccessat(run, "dev/infiniband", F_OK, 0);
}

/* True if the path still leads to this rused's directory, lock and socket, and the device tree is there. */
static bool place_whole(const struct place *p)
{
	struct stat mine, st;

	return !fstat(p->run, &mine) && !lstat(p->rundir, &st) && mine.st_ino == st.st_ino &&
	       mine.st_dev == st.st_dev && place_ours(p) && tree_there(p->run) &&
	       !fstatat(p->run, IPC_SOCK_NAME, &st, AT_SYMLINK_NOFOLLOW) &&
	       st.st_ino == p->sock_ino && st.st_dev == p->sock_dev;
}

/*
 * Opens the run directory by its path; creates it if it is missing, unless `ruse run --own` has removed it. Also creates
 * its parent, if that has a name which ruse gives by default ("ruse...").
 */
static int find_dir(const struct place *p)
{
	char up[IPC_RUNDIR_MAX];
	struct stat st;
	char *slash;

	if (ipc_rundir_is_own(p->rundir))
		return open_dir(p->rundir, &st);
	strcpy(up, p->rundir);
	slash = strrchr(up, '/');
	*slash = '\0';
	if (mkdir(p->rundir, 0700) && errno == ENOENT) {
		slash = strrchr(up, '/');
		if (slash && !strncmp(slash, "/ruse", 5) && !mkdir(up, 0700))
			(void)mkdir(p->rundir, 0700);
	}
	return open_dir(p->rundir, &st);
}

/* Creates the log, RUN/leases and the sysfs tree in a new directory. */
static int place_refill(struct place *p)
{
	int fd = p->log < 0 ? -1 : open_log(p);

	if (fd >= 0) {
		dup3(fd, p->log, O_CLOEXEC);
		close(fd);
	}
	return p->ops->refill(p->ctx);
}

/* Creates what is missing of directory, lock, files and socket. 0; -EBUSY: another rused owns the directory; -errno. */
static int place_restore(struct place *p)
{
	int run = find_dir(p), lock, rc = 0;

	if (run < 0)
		return run;
	if (lock_there(run, p->lock)) {
		rc = tree_there(run) ? 0 : place_refill(p);
	} else {
		lock = place_lock(run);
		if (lock < 0) {
			close(run);
			return lock;
		}
		close(p->lock);
		p->lock = lock;
		dup3(run, p->run, O_CLOEXEC);
		rc = place_refill(p);
	}
	close(run);
	return rc ? rc : p->ops->listen(p->ctx);
}

static void place_check(struct timer *t, ns_t now)
{
	struct place *p = container_of(t, struct place, check);
	int rc;

	if (place_whole(p))
		return;
	if (!p->ops->needed(p->ctx)) {
		log_info("exiting: the run directory %s was deleted", p->rundir);
		p->loop->stop = true;
		return;
	}
	rc = place_restore(p);
	if (!rc) {
		log_warn("the run directory %s or its socket was deleted; created again", p->rundir);
		place_watch(p);
		return;
	}
	log_warn("the run directory %s or its socket was deleted and cannot be created: %s; "
		 "rused exits when its last client has disconnected",
		 p->rundir, strerror(-rc));
	place_unwatch(p);
	p->ops->drain(p->ctx);
}

static void place_event(struct loop_fd *f, uint32_t events)
{
	struct place *p = container_of(f, struct place, watch);
	_Alignas(struct inotify_event) char buf[4096];

	/* The event's content does not matter: place_check() checks everything. */
	if (read(f->fd, buf, sizeof(buf)) > 0)
		timer_set(&p->loop->timers, &p->check, p->loop->now + PLACE_REST);
}

void place_watch(struct place *p)
{
	static const uint32_t self = IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	char up[IPC_RUNDIR_MAX];

	place_unwatch(p);
	p->watch.fn = place_event;
	p->check.fn = place_check;
	strcpy(up, p->rundir);
	*(strrchr(up + 1, '/') ?: up + 1) = '\0';
	/* Watch the parent directory too: if it is renamed or deleted, the path is gone. */
	if (fd < 0 || inotify_add_watch(fd, p->rundir, self | IN_DELETE | IN_MOVE) < 0 ||
	    inotify_add_watch(fd, up, self) < 0 || loop_add(p->loop, &p->watch, fd, EPOLLIN))
		log_info("cannot watch the run directory %s for deletion: %m", p->rundir);
	if (fd >= 0 && p->watch.fd < 0)
		close(fd);
	/* Check for deletions that happened before the watch was set. */
	if (p->watch.fd >= 0 && !place_whole(p))
		timer_set(&p->loop->timers, &p->check, p->loop->now + PLACE_REST);
}

void place_unwatch(struct place *p)
{
	loop_del(p->loop, &p->watch);
}

void place_leave(struct place *p)
{
	if (place_ours(p))
		unlinkat(p->run, PLACE_LOCK_NAME, 0);
	close(p->lock);
	if (p->name >= 0)
		close(p->name);
}
