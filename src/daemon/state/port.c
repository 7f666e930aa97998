/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sockets of UDP port 4791, and the BPF program that steers packets to them. port.h explains slots
 * (the indices of the sockets), the park (a pair of Unix sockets in which copies of them wait for
 * the next rused) and the lock.
 *
 * port_want() opens UDP port 4791: it takes the lock, creates the park and opens the socket of slot 0.
 * port_lease() gives a block of QP numbers a slot and returns its socket. It uses the slot of a
 * block that was returned less than LEASE_REST ago only if no other slot is free and no new one can
 * be added. After a restart of rused, port_adopt() takes over lock, park and sockets from the first
 * process that connects again and passes the park.
 */
#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fds.h"
#include "base/log.h"
#include "daemon/state/lease.h"
#include "daemon/state/port.h"
#include "gsi/gsi.h"
#include "wire/be.h"
#include "wire/ipudp.h"

#define LOCK_ADDR "ruse-udp-4791"
#define DRAIN_MAX 65536		/* limit of the datagrams dropped from a socket before another block of QP numbers gets it */

struct parked {
	uint32_t is_lock, slot;
};

static void port_slots_reset(struct port *p)
{
	memset(p->slot, 0, sizeof(p->slot));
	p->nslots = 0;
	p->lock = p->park[0] = p->park[1] = p->drop.fd = -1;
}

struct port_steering {
	uint32_t block, slot;
};

/*
 * Generates the BPF program that steers packets to QP numbers of block s[i].block to the socket of index s[i].slot,
 * others to that of index 0. Returns its length; 0: more than `room` instructions.
 */
static uint32_t port_program(const struct port_steering *s, uint32_t n, struct sock_filter *prog,
			     uint32_t room)
{
	uint32_t len = 0;

	if (room < 4 + 2 * n)
		return 0;
	/* BTH: bytes 5 to 7 are the destination QP number. */
	prog[len++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4);
	prog[len++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 14);
	prog[len++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, LEASE_BLOCKS - 1);
	for (uint32_t i = 0; i < n; i++) {
		prog[len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, s[i].block,
							   0, 1);
		prog[len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, s[i].slot);
	}
	prog[len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
	return len;
}

void port_steer(struct port *p)
{
	static struct sock_filter prog[2 * LEASE_BLOCKS + 4];
	static struct port_steering s[LEASE_BLOCKS];
	struct sock_fprog fp = { .filter = prog };
	uint32_t n = 0;

	if (!p->nslots)
		return;
	for (uint32_t b = 1; b < LEASE_BLOCKS; b++) {
		const struct lease *l = &p->leases->block[b];

		if ((l->proc || l->orphan) && l->slot && l->slot < p->nslots)
			s[n++] = (struct port_steering){ b, l->slot };
	}
	fp.len = (unsigned short)port_program(s, n, prog, ARRAY_SIZE(prog));
	if (setsockopt(p->slot[0], SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &fp, sizeof(fp)))
		log_err("cannot attach the BPF program to UDP port 4791: %m");
}

static int park_put(struct port *p, int fd, const struct parked *what)
{
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(sizeof(int))];
	} ctl = { .align = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec iov = { (void *)what, sizeof(*what) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = ctl.buf,
			    .msg_controllen = sizeof(ctl.buf) };

	memcpy(CMSG_DATA(&ctl.align), &fd, sizeof(fd));
	return sendmsg(p->park[0], &m, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Peeks at the next message of the park, the socket pair of port.h; the message stays there. 0; -EAGAIN: no more messages. */
static int park_peek(const int park[2], struct parked *what, int *fd)
{
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(sizeof(int))];
	} ctl;
	struct iovec iov = { what, sizeof(*what) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = ctl.buf,
			    .msg_controllen = sizeof(ctl.buf) };
	struct cmsghdr *h;
	ssize_t n;

	n = recvmsg(park[1], &m, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0)
		return -errno;
	h = CMSG_FIRSTHDR(&m);
	if (!h || h->cmsg_type != SCM_RIGHTS || h->cmsg_len != CMSG_LEN(sizeof(int)))
		return n ? -EPROTO : -EAGAIN;
	memcpy(fd, CMSG_DATA(h), sizeof(*fd));
	if (n == (ssize_t)sizeof(*what))
		return 0;
	close(*fd);
	return -EPROTO;
}

/*
 * A socket of UDP port 4791 on all addresses of the host, IPv6 and IPv4, or IPv4 alone without IPv6. fd or -errno.
 */
static int port_member(void)
{
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6, .sin6_port = be16_of(ROCE_PORT) };
	struct sockaddr_in a4 = { .sin_family = AF_INET, .sin_port = be16_of(ROCE_PORT) };
	int fd, on = 1, off = 0, rc, err;

	fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 && errno == EAFNOSUPPORT) {
		fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		off = -1;
	}
	if (fd < 0)
		return -errno;
	/* Without SO_REUSEADDR, which would let another user bind UDP port 4791 and take its traffic. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
	/*
	 * Enable UDP_GRO on every socket of the SO_REUSEPORT group. Before the kernel merges
	 * datagrams with GRO, it looks up one socket of the group and checks that it accepts merged
	 * datagrams. At that point the BPF program may not find the BTH, and the lookup returns
	 * slot 0 instead of the socket that gets the datagrams.
	 */
	setsockopt(fd, SOL_UDP, UDP_GRO, &on, sizeof(on));
	if (!off)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	rc = off ? bind(fd, (struct sockaddr *)&a4, sizeof(a4)) :
		   bind(fd, (struct sockaddr *)&a6, sizeof(a6));
	err = errno;
	off = 0;
	setsockopt(fd, IPPROTO_IP, IP_MULTICAST_ALL, &off, sizeof(off));
	setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_ALL, &off, sizeof(off));
	if (!rc)
		return fd;
	close(fd);
	return -err;
}

static void port_drain(int fd)
{
	char c;

	for (int i = 0; i < DRAIN_MAX && recv(fd, &c, 1, MSG_DONTWAIT | MSG_TRUNC) >= 0; i++)
		;
}

static void port_drop_event(struct loop_fd *f, uint32_t events)
{
	gsi_wire_input(container_of(f, struct port, drop)->gsi, f->fd);
}

/*
 * Adds a new socket to the SO_REUSEPORT group, and puts a copy of its descriptor into the park (port.h). Returns its
 * slot, or -errno.
 */
static int port_slot_add(struct port *p)
{
	struct parked what = { .slot = p->nslots };
	int fd, rc;

	if (p->nslots == PORT_SLOTS)
		return -ENOSPC;
	fd = port_member();
	if (fd < 0)
		return fd;
	rc = park_put(p, fd, &what);
	if (rc && p->nslots) {
		/* Keep the socket although the park has no copy of it, since no socket may leave the SO_REUSEPORT group. */
		log_err("cannot set aside a socket of UDP port 4791: %s", strerror(-rc));
	}
	p->slot[p->nslots] = fd;
	return (int)p->nslots++;
}

static int port_lock_take(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return -errno;
	memcpy(a.sun_path + 1, LOCK_ADDR, sizeof(LOCK_ADDR) - 1);
	if (!bind(fd, (struct sockaddr *)&a,
		  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof(LOCK_ADDR))))
		return fd;
	err = errno;
	close(fd);
	return -err;
}

static bool port_orphans_hold(const struct port *p)
{
	for (uint32_t b = 1; b < LEASE_BLOCKS; b++)
		if (p->leases->block[b].orphan && p->leases->block[b].slot)
			return true;
	return false;
}

static void port_close(struct port *p)
{
	if (p->drop.fd >= 0)
		loop_del(p->loop, &p->drop);
	for (uint32_t i = 0; i < p->nslots; i++)
		close(p->slot[i]);
	if (p->lock >= 0)
		close(p->lock);
	for (int i = 0; i < 2; i++)
		if (p->park[i] >= 0)
			close(p->park[i]);
	port_slots_reset(p);
}

/*
 * Adds the socket of slot 0 (packets to no leased QP number) to the event loop: packets for QP1 are handled, others
 * dropped. The loop gets a duplicate, because loop_del() closes the descriptor.
 */
static int port_drop_watch(struct port *p)
{
	int fd = dup(p->slot[0]), rc;

	if (fd < 0)
		return -errno;
	if (gsi_wire_prepare(fd))
		log_warn("UDP port 4791: cannot receive packets for QP1");
	p->drop.fn = port_drop_event;
	rc = loop_add(p->loop, &p->drop, fd, EPOLLIN);
	if (rc)
		close(fd);
	return rc;
}

/* Opens UDP port 4791, which is closed. 0 or -errno. */
static int port_open(struct port *p)
{
	struct parked lock = { .is_lock = 1 };
	int rc;

	rc = port_lock_take();
	if (rc < 0)
		return rc == -EADDRINUSE && port_orphans_hold(p) ? -EAGAIN : rc;
	p->lock = rc;
	rc = fds_pair(SOCK_SEQPACKET | SOCK_CLOEXEC, p->park);
	if (!rc)
		rc = park_put(p, p->lock, &lock);
	if (!rc)
		rc = min(port_slot_add(p), 0);
	if (!rc)
		rc = port_drop_watch(p);
	if (rc)
		port_close(p);
	return rc;
}

/* Notes the result of port_want() or port_lease(), and logs a failure that is new. Returns it. */
static int port_result(struct port *p, int rc)
{
	int err = min(rc, 0);

	if (err && err != p->err)
		log_warn("cannot open UDP port 4791: %s; only links within this host work%s",
			 strerror(-err), p->nslots ? "" : " until it is open; it is tried again every second");
	p->err = err;
	return rc;
}

static void port_retry(struct timer *t, ns_t now)
{
	struct port *p = container_of(t, struct port, retry);

	if (port_want(p))
		return;
	log_info("UDP port 4791 is open now");
	p->opened(p);
}

void port_init(struct port *p, struct loop *l, struct lease_table *leases, struct gsi *gsi,
	       void (*opened)(struct port *p))
{
	p->opened = opened;
	p->loop = l;
	p->leases = leases;
	p->gsi = gsi;
	p->err = 0;
	p->retry = (struct timer){ .fn = port_retry };
	port_slots_reset(p);
}

int port_want(struct port *p)
{
	int rc = p->nslots ? 0 : port_open(p);

	if (!p->nslots && !timer_armed(&p->retry))
		timer_set(&p->loop->timers, &p->retry, p->loop->now + PORT_RETRY);
	return port_result(p, rc);
}

/*
 * Finds a slot that no leased block uses. rests: nor a block that rests, i.e. was returned less than LEASE_REST ago.
 * 0: none.
 */
static uint32_t port_slot_free(const struct port *p, bool rests)
{
	static bool used[PORT_SLOTS];

	memset(used, 0, sizeof(used));
	for (uint32_t b = 1; b < LEASE_BLOCKS; b++) {
		const struct lease *l = &p->leases->block[b];
		bool rest = rests && p->loop->now < l->rest;

		if (l->slot < PORT_SLOTS && (l->proc || l->orphan || rest))
			used[l->slot] = true;
	}
	for (uint32_t i = 1; i < p->nslots; i++)
		if (!used[i])
			return i;
	return 0;
}

/* The socket for a leased block; the port is open. -errno: none. */
static int port_socket(struct port *p, uint32_t block)
{
	struct lease *l = &p->leases->block[block];
	int slot;

	if (l->slot && l->slot < p->nslots)
		return p->slot[l->slot];
	slot = (int)port_slot_free(p, true);
	if (!slot)
		slot = port_slot_add(p);
	/*
	 * No slot is free, and no socket can be added: take the slot of a block that was returned less than
	 * LEASE_REST ago. Packets that still arrive for that block then go to slot 0, where rused drops them.
	 */
	if (slot == -ENOSPC && port_slot_free(p, false))
		slot = (int)port_slot_free(p, false);
	if (slot < 0)
		return slot;
	/* Remove the slot from the block of QP numbers that had it before, which may be leased again. */
	for (uint32_t b = 1; b < LEASE_BLOCKS; b++)
		if (p->leases->block[b].slot == (uint32_t)slot)
			p->leases->block[b].slot = 0;
	port_drain(p->slot[slot]);
	l->slot = (uint32_t)slot;
	lease_changed(p->leases, block);
	port_steer(p);
	return p->slot[slot];
}

int port_lease(struct port *p, uint32_t block)
{
	int rc = port_want(p);

	return rc ? rc : port_result(p, port_socket(p, block));
}

static bool port_is_member(int fd)
{
	struct sockaddr_in6 a = { 0 };
	socklen_t len = sizeof(a);
	int type = 0;
	socklen_t tlen = sizeof(type);

	return !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &tlen) && type == SOCK_DGRAM &&
	       !getsockname(fd, (struct sockaddr *)&a, &len) && a.sin6_port == be16_of(ROCE_PORT);
}

int port_adopt(struct port *p, const int park[2])
{
	int zero = 0, fd = -1, rc;
	struct parked what;

	if (p->nslots)
		return 0;
	if (setsockopt(park[1], SOL_SOCKET, SO_PEEK_OFF, &zero, sizeof(zero)))
		return -errno;
	while (!(rc = park_peek(park, &what, &fd))) {
		if (what.is_lock && p->lock < 0) {
			p->lock = fd;
		} else if (!what.is_lock && what.slot == p->nslots && p->nslots < PORT_SLOTS &&
			   port_is_member(fd)) {
			p->slot[p->nslots++] = fd;
		} else {
			close(fd);
			rc = -EPROTO;
			break;
		}
	}
	if (rc == -EAGAIN && p->nslots && p->lock >= 0) {
		p->park[0] = dup(park[0]);
		p->park[1] = dup(park[1]);
		rc = p->park[0] < 0 || p->park[1] < 0 ? -EMFILE : port_drop_watch(p);
	}
	if (rc) {
		port_close(p);
		return rc;
	}
	log_info("UDP port 4791: took over %u sockets of an earlier rused", p->nslots);
	return 0;
}

void port_fini(struct port *p)
{
	timer_cancel(&p->loop->timers, &p->retry);
	port_close(p);
}
