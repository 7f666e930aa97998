/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rused stops listening in two steps: it shuts the socket down, so that connect() fails with
 * ECONNREFUSED, and then accepts what is left in the queue. A socket of the service manager
 * (ruse.socket) is not shut down: the manager starts the next rused for what connects to it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "daemon/life/listener.h"
#include "daemon/life/place.h"

#define BACKLOG 128
#define GIVEN_FD 3		/* SD_LISTEN_FDS_START of sd_listen_fds(3) */

static void listener_event(struct loop_fd *f, uint32_t events)
{
	struct listener *l = container_of(f, struct listener, sock);

	l->accept(l->ctx, f->fd);
}

void listener_init(struct listener *l, struct loop *loop, struct place *place,
		   bool (*accept)(void *ctx, int fd), void *ctx)
{
	l->loop = loop;
	l->place = place;
	l->accept = accept;
	l->ctx = ctx;
	l->sock = (struct loop_fd){ .fd = -1, .fn = listener_event };
}

bool listener_given(struct listener *l)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	int type = 0, listens = 0;
	socklen_t len = sizeof(int);

	l->given = -1;
	if (!pid || !count || strtol(pid, NULL, 10) != getpid())
		return true;
	if (strcmp(count, "1") || getsockopt(GIVEN_FD, SOL_SOCKET, SO_TYPE, &type, &len) ||
	    type != SOCK_SEQPACKET ||
	    getsockopt(GIVEN_FD, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) || !listens)
		return false;
	fcntl(GIVEN_FD, F_SETFD, FD_CLOEXEC);
	fcntl(GIVEN_FD, F_SETFL, O_NONBLOCK);
	l->given = GIVEN_FD;
	return true;
}

/* Makes RUN/rused.sock a link of the given socket. A descriptor of the socket, or -errno. */
static int listener_link(const struct listener *l)
{
	struct sockaddr_un sa = { 0 };
	socklen_t len = sizeof(sa) - 1;
	struct stat there, st;

	if (getsockname(l->given, (struct sockaddr *)&sa, &len) || lstat(sa.sun_path, &st))
		return -errno;
	/* ruse.socket has made the link already, so that a program could start rused. */
	if (fstatat(l->place->run, IPC_SOCK_NAME, &there, AT_SYMLINK_NOFOLLOW) ||
	    there.st_ino != st.st_ino || there.st_dev != st.st_dev) {
		unlinkat(l->place->run, IPC_SOCK_NAME, 0);
		if (linkat(AT_FDCWD, sa.sun_path, l->place->run, IPC_SOCK_NAME, 0))
			return -errno;
	}
	/* The process that has called listen() last is the peer that SO_PEERCRED names: not systemd. */
	if (listen(l->given, BACKLOG))
		return -errno;
	return fcntl(l->given, F_DUPFD_CLOEXEC, 0);
}

/* Creates RUN/rused.sock. A descriptor of the socket, or -errno. */
static int listener_bind(const struct listener *l)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd, rc;

	if (snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/" IPC_SOCK_NAME, l->place->rundir) >=
	    (int)sizeof(sa.sun_path))
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	/* rused holds the lock, so the old socket's owner is dead. */
	unlinkat(l->place->run, IPC_SOCK_NAME, 0);
	if (!bind(fd, (struct sockaddr *)&sa, sizeof(sa)) && !listen(fd, BACKLOG))
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

int listener_open(struct listener *l)
{
	int fd = -1, rc;

	if (l->given >= 0) {
		fd = listener_link(l);
		if (fd < 0) {
			log_warn("cannot link the socket of the service manager to %s/" IPC_SOCK_NAME
				 ": %s; rused makes a socket of its own",
				 l->place->rundir, strerror(-fd));
			close(l->given);
			l->given = -1;
		}
	}
	if (fd < 0)
		fd = listener_bind(l);
	if (fd < 0)
		return fd;
	place_bound(l->place);
	rc = loop_add(l->loop, &l->sock, fd, EPOLLIN);
	if (rc)
		close(fd);
	return rc;
}

void listener_stop(struct listener *l)
{
	if (l->sock.fd < 0)
		return;
	/* The next rused accepts what connects to a given socket. */
	if (l->given < 0)
		shutdown(l->sock.fd, SHUT_RD);
	while (l->accept(l->ctx, l->sock.fd))
		;
	loop_del(l->loop, &l->sock);
}

void listener_unlink(const struct listener *l)
{
	if (l->given < 0 && place_ours(l->place))
		unlinkat(l->place->run, IPC_SOCK_NAME, 0);
}
