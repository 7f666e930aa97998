/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packets for `ruse capture`.
 *
 * The host page (struct host_page, memory that rused shares with all processes) lists the running
 * captures. The process gives each of them a ring (ipc/capring.h), which it sends to the capture's
 * socket. Into the ring it copies each packet that it sends, and each packet that arrives from
 * another host. A packet between two processes of a host is therefore seen once, at its sender.
 *
 * Without a capture no link is wrapped and this file costs nothing. If a capture cannot be
 * reached, it is tried again at the next look at the host page. If a capture does not read
 * fast enough, packets are lost and counted.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/un.h>
#include <time.h>
#include "base/log.h"
#include "base/sys.h"
#include "engine/captures.h"
#include "engine/engine_internal.h"
#include "engine/wire.h"
#include "ipc/capring.h"
#include "ipc/ipc.h"
#include "link/capture.h"
#include "wire/frame.h"

_Static_assert(FRAME_MAX <= CAPRING_FRAME_MAX, "each frame fits into a ring");

static uint64_t captures_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * NS_S + (uint64_t)ts.tv_nsec;
}

/* The QP of this process that sends or receives the segment, or NULL. */
static const struct qp *captures_qp(const struct seg *seg, bool in)
{
	return engine_qp(in ? seg->dqpn : seg->sqpn);
}

static bool captures_net(const struct link *l, const struct seg *seg, bool in, struct seg_net *net)
{
	const struct qp *qp;

	if (seg->net) {
		*net = *seg->net;
	} else {
		const struct ib_uverbs_ah_attr *ah;

		qp = captures_qp(seg, in);
		if (!qp)
			return false;
		ah = &qp->attr.ah;
		*net = (struct seg_net){ .flow_label = ah->grh.flow_label & 0xfffff,
					 .traffic_class = ah->grh.traffic_class,
					 .hop_limit = ah->grh.hop_limit };
		memcpy(net->sgid, qp->dev->gid[ah->grh.sgid_index].raw, 16);
		memcpy(net->dgid, ah->grh.dgid, 16);
	}
	return true;
}

static void captures_text(char *to, size_t size, const char *from)
{
	size_t n = from ? strnlen(from, size - 1) : 0;

	if (n)
		memcpy(to, from, n);
}

static void captures_sink(const struct capture_frame *f, const struct seg *seg)
{
	struct caprec rec = { .len = f->len, .ns = f->ns, .sqpn = f->sqpn, .dqpn = f->dqpn,
			      .in = f->in };
	const struct qp *qp = captures_qp(seg, f->in);

	captures_text(rec.note, sizeof(rec.note), f->note);
	captures_text(rec.dev, sizeof(rec.dev), qp ? qp->dev->name : NULL);
	for (int i = 0; i < HOST_MAX_CAPTURES; i++) {
		struct capturer *w = &engine.captures.capturer[i];

		if (!w->id)
			continue;
		rec.caplen = min(f->len, w->snaplen);
		if (f->data)
			capring_put(&w->ring, &rec, f->data);
		else
			capring_lost(w->ring.ring);
	}
}

static const struct capture_cfg cfg = {
	.clock = captures_clock, .net = captures_net, .sink = captures_sink,
};

static void captures_wrap(struct link *l, bool in)
{
	if (capture_wrap(l, &cfg, in))
		log_warn("out of memory: packets of link %s are not captured", l->ops->name);
}

void captures_link(struct link *l)
{
	if (engine.captures.n)
		captures_wrap(l, l == wire_in());
}

static void captures_set_link(struct link *l, void *arg)
{
	if (arg)
		captures_wrap(l, false);
	else
		capture_unwrap(l);
}

static void captures_set_shm(struct link *l, uint32_t proc, uint32_t flags, void *arg)
{
	captures_set_link(l, arg);
}

static void captures_set_all(bool on)
{
	void *arg = on ? &engine.captures : NULL;

	captures_set_link(engine.loop, arg);
	shm_for_each(engine.ep, captures_set_shm, arg);
	wire_for_each(captures_set_link, arg);
	if (wire_in() && on)
		captures_wrap(wire_in(), true);
	else if (wire_in())
		capture_unwrap(wire_in());
}

static int capturer_dial(const char *sock)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	size_t n = strlen(sock);
	struct ucred cr = { 0 };
	socklen_t len = sizeof(cr);
	int fd, ret;

	memcpy(sa.sun_path + 1, sock, n);
	fd = sys_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return fd;
	ret = sys_connect(fd, (void *)&sa,
			  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n));
	if (!ret)
		ret = (int)sys_call(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &cr, &len);
	if (!ret && cr.uid != (uid_t)sys_call(SYS_geteuid))
		ret = -EPERM;
	if (ret) {
		sys_close(fd);
		return ret;
	}
	return own_fd(fd);
}

static int capturer_start(struct capturer *w, const struct host_capture *h)
{
	struct ipc_hdr hdr = { .version = IPC_VERSION, .type = IPC_CAPTURE };
	struct capring_hello hello = { .pid = (int32_t)sys_call(SYS_getpid) };
	struct capring *ring;
	int fd, memfd, ret;

	fd = capturer_dial(h->sock);
	if (fd < 0)
		return fd;
	ring = capring_new(&memfd);
	if (!ring) {
		own_close(fd);
		return -ENOMEM;
	}
	own_comm(hello.comm, sizeof(hello.comm));
	ret = ipc_send(fd, &hdr, &hello, sizeof(hello), &memfd, 1);
	sys_close(memfd);
	if (ret) {
		munmap(ring, CAPRING_SIZE);
		own_close(fd);
		return ret;
	}
	*w = (struct capturer){ .id = h->id, .snaplen = h->snaplen, .fd = fd,
				.ring = capring_side(ring) };
	return 0;
}

static void capturer_stop(struct capturer *w)
{
	munmap(w->ring.ring, CAPRING_SIZE);
	own_close(w->fd);
	w->id = 0;
}

static const struct host_capture *captures_find(const struct host_page *page, uint32_t id)
{
	for (int i = 0; i < HOST_MAX_CAPTURES; i++)
		if (page->capture[i].id == id)
			return &page->capture[i];
	return NULL;
}

void captures_refresh(const struct host_page *page)
{
	struct captures *c = &engine.captures;
	uint32_t before = c->n;

	for (int i = 0; i < HOST_MAX_CAPTURES; i++)
		if (c->capturer[i].id && !captures_find(page, c->capturer[i].id)) {
			capturer_stop(&c->capturer[i]);
			c->n--;
		}
	for (int i = 0; i < HOST_MAX_CAPTURES; i++) {
		const struct host_capture *h = &page->capture[i];
		struct capturer *room = NULL;
		bool have = !h->id;

		for (int k = 0; k < HOST_MAX_CAPTURES; k++) {
			have |= c->capturer[k].id == h->id;
			if (!c->capturer[k].id)
				room = &c->capturer[k];
		}
		if (!have && room && !capturer_start(room, h))
			c->n++;
	}
	if (!before != !c->n)
		captures_set_all(c->n);
}

void captures_attached(void)
{
	const struct host_page *page = engine.host_page;
	uint32_t any = engine.captures.n;

	for (int i = 0; i < HOST_MAX_CAPTURES; i++)
		any |= READ_ONCE(page->capture[i].id);
	if (likely(!any))
		return;
	page = host_page_copy();
	if (page)
		captures_refresh(page);
}
