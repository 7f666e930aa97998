/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets from running processes. This program listens on a socket whose name rused
 * announces to all processes. Each process connects and sends a ring in shared memory, into
 * which it copies its packets.
 *
 * A packet in a ring sends no notification: the rings are polled every few milliseconds and
 * merged in order of time. A packet is delivered SETTLE_NS after its time stamp, because an older
 * packet of another process may still arrive. A packet that takes longer than that to its ring is
 * delivered late, out of order.
 */
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/list.h"
#include "base/rand.h"
#include "cli/capture.h"
#include "cli/cli.h"
#include "cli/late.h"

#define SETTLE_NS 5000000ull	/* time from a packet's time stamp to its delivery */
#define NAP_MIN 1		/* ms between two polls of the rings after a packet was delivered; doubles up to NAP_MAX */
#define NAP_MAX 10		/* ms, while no packets come */
#define NAP_NOBODY 100		/* ms, while no process is connected */
#define RETRY_NS NS_S		/* interval of attempts to connect to a new rused */
#define ANSWER_BYTES 4096	/* at most, of the answer to IPC_CAPTURE */
#define MAX_POLL 256		/* number of processes that are watched for their exit: the first ones in live.sources */

/* A process that delivers packets. */
struct source {
	struct list_head node;
	int fd, pid;
	char comm[16];
	struct capring_side rd;
	bool have, gone;	/* have: rec and frame hold a packet; gone: the process has exited or sent invalid data */
	uint64_t lost;
	struct caprec rec;
	uint8_t frame[CAPRING_FRAME_MAX];
};

struct live {
	struct list_head sources;
	int listen;
	struct ipc_conn conn;
	struct ipc_capture want;
	uint64_t lost;		/* packets lost by processes that have exited */
	uint64_t retry_at;
	int nap;		/* ms until the next poll of the rings */
	struct {
		uint64_t at;	/* time at which rused was asked for pid; 0: not yet */
		int pid;
	} owner[1024];		/* cache for live_pid_of(): the process that has leased each block of QP numbers */
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * NS_S + (uint64_t)ts.tv_nsec;
}

static int listen_at(const char *name)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	memcpy(sa.sun_path + 1, name, strlen(name));
	if (bind(fd, (struct sockaddr *)&sa, len) || listen(fd, SOMAXCONN)) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	return fd;
}

/*
 * Connects to rused and registers the capture; then all processes that run send their packets, but for those that it
 * tells. start: starts rused if none runs. 0, or -errno and the connection is closed.
 */
static int live_enlist(struct live *l, bool start)
{
	int rc = start ? cli_rused_attach(&l->conn, NULL) : cli_rused_connect(&l->conn, NULL);
	char text[ANSWER_BYTES];
	struct ipc_msg m = { IPC_REQ(IPC_CAPTURE, &l->want), .reply = text,
			     .room = sizeof(text) - 1 };
	struct json_object *o;

	if (rc)
		return rc;
	rc = ipc_call(&l->conn, &m);
	if (rc) {
		ipc_close(&l->conn);
		return rc;
	}
	text[m.rlen] = '\0';
	o = json_tokener_parse(text);
	if (json_object_is_type(o, json_type_object))
		cli_take_late("capture", o);
	json_object_put(o);
	return 0;
}

struct live *live_open(uint32_t snaplen)
{
	struct live *l = calloc(1, sizeof(*l));
	int rc;

	if (!l)
		return NULL;
	list_init(&l->sources);
	l->conn.fd = -1;
	l->nap = NAP_MIN;
	l->want.snaplen = snaplen;
	snprintf(l->want.sock, sizeof(l->want.sock), "ruse-cap-%d-%08x", getpid(), rand_u32());
	rc = l->listen = listen_at(l->want.sock);
	if (rc >= 0)
		rc = live_enlist(l, true);
	if (!rc)
		return l;
	if (rc == -ENOSPC)
		fputs("ruse capture: too many captures are running; stop one of them\n", stderr);
	else
		cli_rused_complain("capture", rc);
	live_close(l);
	return NULL;
}

/*
 * Receives the first message of a process. It contains the process's name, and the descriptor of its
 * ring is attached. Waits at most a second.
 */
static int source_greet(struct source *s)
{
	struct pollfd p = { .fd = s->fd, .events = POLLIN };
	struct capring_hello hello;
	size_t len = sizeof(hello);
	struct ipc_hdr h;
	int fds[IPC_MAX_FDS], nfds = IPC_MAX_FDS, rc;

	if (poll(&p, 1, 1000) <= 0)
		return -ETIMEDOUT;
	rc = ipc_recv(s->fd, MSG_DONTWAIT, &h, &hello, &len, fds, &nfds);
	if (rc)
		return rc;
	if (len == sizeof(hello) && h.type == IPC_CAPTURE && nfds)
		s->rd = capring_side(capring_map(fds[0]));
	while (nfds)
		close(fds[--nfds]);
	if (!s->rd.ring)
		return -EPROTO;
	s->pid = s->pid ? s->pid : hello.pid;
	for (size_t i = 0; i < sizeof(s->comm) - 1 && hello.comm[i]; i++)
		s->comm[i] = hello.comm[i] >= ' ' && hello.comm[i] < 127 ? hello.comm[i] : '?';
	return 0;
}

/* Accepts one connection; closes it if it is of another user or its first message is invalid. Returns false if none was waiting. */
static bool accept_source(struct live *l)
{
	int fd = accept4(l->listen, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred cr = { 0 };
	socklen_t len = sizeof(cr);
	struct source *s;

	if (fd < 0)
		return false;
	s = calloc(1, sizeof(*s));
	if (s && !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cr, &len) && cr.uid == geteuid()) {
		s->fd = fd;
		s->pid = cr.pid;
		if (!source_greet(s)) {
			list_add_tail(&s->node, &l->sources);
			return true;
		}
	}
	close(fd);
	free(s);
	return true;
}

static void source_end(struct live *l, struct source *s)
{
	l->lost += capring_nlost(s->rd.ring);
	munmap(s->rd.ring, CAPRING_SIZE);
	list_del(&s->node);
	close(s->fd);
	free(s);
}

/* Reads the next packet from a source's ring into s->rec and s->frame, unless these still hold a packet. */
static void source_refill(struct source *s)
{
	int rc = s->have ? 0 : capring_get(&s->rd, &s->rec, s->frame);

	if (rc == 1)
		s->have = true;
	if (rc < 0) {
		fprintf(stderr, "ruse capture: process %d (%s) sent invalid data; ignoring it\n",
			s->pid, s->comm);
		s->gone = true;
	}
}

static struct source *source_oldest(struct live *l)
{
	struct source *s, *first = NULL;

	list_for_each_entry(s, &l->sources, node)
		if (s->have && (!first || s->rec.ns < first->rec.ns))
			first = s;
	return first;
}

/* Delivers all packets with time stamps up to until. Returns the last result of fn. */
static int live_drain(struct live *l, uint64_t until, captured_fn fn, void *arg)
{
	struct source *s, *t;
	int rc = 0;

	list_for_each_entry(s, &l->sources, node)
		source_refill(s);
	while (!rc) {
		s = source_oldest(l);
		if (!s || s->rec.ns > until)
			break;
		const struct captured p = {
			.ns = s->rec.ns, .frame = s->frame, .caplen = s->rec.caplen,
			.len = s->rec.len, .dev = s->rec.dev, .note = s->rec.note,
			.in = s->rec.in, .sqpn = s->rec.sqpn, .dqpn = s->rec.dqpn,
			.pid = s->pid, .comm = s->comm,
		};

		rc = fn(&p, arg);
		s->have = false;
		source_refill(s);
		l->nap = NAP_MIN;
	}
	list_for_each_entry_safe(s, t, &l->sources, node)
		if (s->gone && !s->have)
			source_end(l, s);
	return rc;
}

/* Sleeps until a process connects or exits, or the rings are to be polled. */
static void live_nap(struct live *l)
{
	struct pollfd p[2 + MAX_POLL];
	struct source *s, *of[MAX_POLL];
	nfds_t n = 0;
	int ms = list_empty(&l->sources) ? NAP_NOBODY : l->nap;

	p[0] = (struct pollfd){ .fd = l->listen, .events = POLLIN };
	p[1] = (struct pollfd){ .fd = l->conn.fd, .events = POLLIN };
	list_for_each_entry(s, &l->sources, node) {
		if (n == MAX_POLL || s->gone)
			continue;
		of[n] = s;
		p[2 + n++] = (struct pollfd){ .fd = s->fd, .events = POLLIN };
	}
	l->nap = min(l->nap * 2, NAP_MAX);
	if (poll(p, 2 + n, ms) <= 0)
		return;
	/*
	 * A process sends nothing after its first message, so any event on its socket means that it
	 * has exited. Its ring stays mapped, and the packets in it are still delivered.
	 */
	for (nfds_t i = 0; i < n; i++)
		of[i]->gone = p[2 + i].revents;
	if (p[1].revents)
		ipc_close(&l->conn);
	while (accept_source(l))
		;
}

int live_poll(struct live *l, bool stop, captured_fn fn, void *arg)
{
	uint64_t now = now_ns();

	/*
	 * At the end accept the connections that wait: a process that ran only briefly may have exited
	 * already, but its first message and its ring can still be received.
	 */
	while (stop && accept_source(l))
		;
	if (stop)
		return live_drain(l, now, fn, arg);
	live_nap(l);
	now = now_ns();
	/* The connection to rused was lost. A new rused does not know of this capture: register it there. */
	if (l->conn.fd < 0 && now >= l->retry_at) {
		l->retry_at = now + RETRY_NS;
		live_enlist(l, false);
	}
	return live_drain(l, now - SETTLE_NS, fn, arg);
}

uint64_t live_lost(const struct live *l)
{
	uint64_t lost = l->lost;
	struct source *s;

	list_for_each_entry(s, &l->sources, node)
		lost += capring_nlost(s->rd.ring);
	return lost;
}

int live_pid_of(struct live *l, uint32_t qpn)
{
	uint32_t block = qpn >> 14 & 1023;
	struct ipc_peer peer = { .block = block };
	struct ipc_msg m = { IPC_REQ(IPC_PEER, &peer), IPC_ANSWER(&peer) };
	uint64_t now = now_ns();

	if (l->owner[block].at && now - l->owner[block].at < (uint64_t)NS_S)
		return l->owner[block].pid;
	if (ipc_call(&l->conn, &m))
		peer.pid = 0;
	if (l->conn.failed)
		ipc_close(&l->conn);
	l->owner[block].at = now;
	l->owner[block].pid = peer.pid;
	return peer.pid;
}

const char *live_comm_of(const struct live *l, int pid)
{
	struct source *s;

	list_for_each_entry(s, &l->sources, node)
		if (pid && s->pid == pid)
			return s->comm;
	return "";
}

void live_close(struct live *l)
{
	struct source *s, *t;

	list_for_each_entry_safe(s, t, &l->sources, node)
		source_end(l, s);
	ipc_close(&l->conn);
	if (l->listen >= 0)
		close(l->listen);
	free(l);
}
