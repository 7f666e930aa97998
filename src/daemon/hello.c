/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A client says what it is: the first message of a connection. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fds.h"
#include "base/log.h"
#include "base/memfd.h"
#include "daemon/daemon.h"

/* Copies a name for logs and status; unprintable characters become '?'. */
static int hello_text(char *to, const char *from, size_t size)
{
	size_t i;

	if (!memchr(from, 0, size))
		return -EPROTO;
	for (i = 0; i < size; i++)
		to[i] = !from[i] || (from[i] > ' ' && from[i] < 127) ? from[i] : '?';
	return 0;
}

/*
 * Returns a number for a process that connects. A process that had a number from an earlier rused
 * (`wanted`) gets the same one if it is free, because the peers of the process know it by this
 * number.
 */
static uint32_t hello_number(struct processes *cs, uint32_t wanted)
{
	if (wanted && wanted <= IPC_PROC_MAX && !client_by_proc(cs, wanted))
		return wanted;
	do {
		cs->next_proc = cs->next_proc < IPC_PROC_MAX ? cs->next_proc + 1 : 1;
	} while (client_by_proc(cs, cs->next_proc));
	return cs->next_proc;
}

_Static_assert(IPC_LIKE_VALUES == LIKE_VALUES, "struct like in the answer");
_Static_assert(sizeof(((struct ipc_hello_reply *)0)->like_name) == LIKE_NAME, "its name");

static void hello_like(struct ipc_hello_reply *rep, const struct like *like)
{
	memcpy(rep->like_name, like->name, sizeof(rep->like_name));
	memcpy(rep->like_value, &like->driver, sizeof(rep->like_value));
}

int client_hello(struct client *c, const struct ipc_hello *q, int *fds, int nfds,
		 struct ipc_hello_reply *rep, int *notify)
{
	int rc, sv[2];

	*notify = -1;
	if (c->hello || nfds == 2)
		return -EPROTO;
	rc = hello_text(c->p.comm, q->comm, sizeof(c->p.comm));
	if (!rc)
		rc = hello_text(c->p.sock_name, q->sock, sizeof(c->p.sock_name));
	if (!rc && nfds)
		rc = memfd_check(fds[0], sizeof(struct proc_page));
	if (rc)
		return rc;
	/* Refuse a process of another network namespace: both may use the same $RUSE_DIR, but not the same addresses. */
	if (nfds && q->netns && q->netns != c->r->place.netns)
		return -EXDEV;
	if (nfds) {
		c->p.page_fd = fds[0];
		fds[0] = -1;
		c->p.proc = hello_number(&c->r->processes, q->proc);
		c->fabric.page_fd = c->p.page_fd;
		c->fabric.proc = c->p.proc;
	}
	c->p.run = q->run;
	c->hello = true;
	c->p.since = c->r->loop.now;
	rep->pid = (uint32_t)getpid();
	rep->proc = c->p.proc;
	strcpy(rep->rundir, c->r->place.rundir);
	snprintf(rep->netdevs, sizeof(rep->netdevs), "%s", c->r->devices.spec ?: "");
	snprintf(rep->like_spec, sizeof(rep->like_spec), "%s", c->r->devices.like_spec ?: "");
	hello_like(rep, c->r->host.like);
	log_info("process %u (pid %d, %s): connected", c->p.proc, c->p.pid, c->p.comm);
	if (nfds == 3) {
		rc = port_adopt(&c->r->port, fds + 1);
		if (rc)
			log_warn("process %u passed invalid sockets of UDP port 4791: %s", c->p.proc,
				 strerror(-rc));
	}
	if (!c->p.proc)
		return 0;
	/*
	 * Socket pair for notifications. It has type SOCK_DGRAM because such a socket does not
	 * become readable when its peer is closed: the end of rused is no notification.
	 */
	rc = fds_pair(SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, sv);
	if (rc)
		return rc;
	c->notify_fd = sv[0];
	*notify = sv[1];
	return 0;
}
