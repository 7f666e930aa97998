/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Passes rused's own packets to `ruse capture`: the MADs that QP1 sends and receives. A MAD between
 * two ports of this host is captured once, when it is sent; a MAD from another host, when it
 * arrives. Processes capture their own packets by the same rule. ipc/capring.h describes the ring
 * that carries the packets.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "gsi/capture_out.h"
#include "gsi/gsi.h"
#include "ipc/capring.h"
#include "ipc/ipc.h"
#include "loop/loop.h"
#include "wire/frame.h"

_Static_assert(FRAME_MAX <= CAPRING_FRAME_MAX, "each frame fits into a ring");

static int capture_out_dial(const char *sock, uid_t uid)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	size_t n = strlen(sock);
	struct ucred cr = { 0 };
	socklen_t len = sizeof(cr);
	int fd, rc = 0;

	memcpy(sa.sun_path + 1, sock, n);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&sa,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)) ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cr, &len))
		rc = -errno;
	else if (cr.uid != uid)
		rc = -EPERM;
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

int capture_out_start(struct capture_out *out, const struct host_capture *h, uid_t uid)
{
	struct ipc_hdr hdr = { .version = IPC_VERSION, .type = IPC_CAPTURE };
	struct capring_hello hello = { .pid = getpid(), .comm = "rused" };
	struct capring *ring;
	int fd, memfd, rc;

	fd = capture_out_dial(h->sock, uid);
	if (fd < 0)
		return fd;
	ring = capring_new(&memfd);
	rc = ring ? ipc_send(fd, &hdr, &hello, sizeof(hello), &memfd, 1) : -ENOMEM;
	if (ring)
		close(memfd);
	if (rc) {
		if (ring)
			munmap(ring, CAPRING_SIZE);
		close(fd);
		return rc;
	}
	*out = (struct capture_out){ .fd = fd, .snaplen = h->snaplen,
				     .ring = capring_side(ring) };
	return 0;
}

void capture_out_stop(struct capture_out *out)
{
	if (!out->ring.ring)
		return;
	munmap(out->ring.ring, CAPRING_SIZE);
	close(out->fd);
	out->ring = capring_side(NULL);
}

bool capture_out_any(const struct capture_out all[HOST_MAX_CAPTURES])
{
	for (int i = 0; i < HOST_MAX_CAPTURES; i++)
		if (all[i].ring.ring)
			return true;
	return false;
}

void capture_out(struct capture_out all[HOST_MAX_CAPTURES], const char *dev,
		 const struct seg_net *net, uint16_t sport, const void *packet, size_t len,
		 bool in, const char *note)
{
	struct caprec rec = { .sqpn = GSI_QPN, .in = in };
	uint8_t frame[FRAME_MAX];
	struct bth bth;

	/* Without a capture the loop does nothing. */
	for (int i = 0; i < HOST_MAX_CAPTURES; i++) {
		struct capture_out *out = &all[i];

		if (!out->ring.ring)
			continue;
		if (!rec.len) {
			rec.ns = loop_wall_clock();
			bth_get(packet, &bth);
			rec.dqpn = bth.dqpn;
			memcpy(frame + frame_head(net), packet, len);
			rec.len = (uint32_t)frame_wrap(frame, net, sport, len);
			snprintf(rec.dev, sizeof(rec.dev), "%s", dev);
			snprintf(rec.note, sizeof(rec.note), "%s", note ?: "");
		}
		rec.caplen = min(rec.len, out->snaplen);
		capring_put(&out->ring, &rec, frame);
	}
}
