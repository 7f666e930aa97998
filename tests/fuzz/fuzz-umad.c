/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes two umad files on two device ports: ioctls, writes and reads of any size, time, closes, and
 * removal of the device. Answers must stay within the buffers, and all memory must be freed.
 */
#include <rdma/ib_user_mad.h>
#include <stdlib.h>
#include "abi/umad/umad_internal.h"
#include "fuzz.h"

#define STEP_HDR 4
#define STEP_LEN (STEP_HDR + 124)
#define QUEUE 32

struct end {
	struct mad_port mad;
	struct umad_port port;
	struct umad_file *f;
	uint32_t pending;
	uint8_t queue[QUEUE][MAD_LEN];	/* sent, not yet delivered */
	uint32_t head, tail;
};

static struct mad_ports host;
static struct end ends[2];
static ns_t now;

static int send(void *ctx, const struct mad_addr *a, const void *mad, size_t len)
{
	struct end *e = ctx;

	REQUIRE(len == MAD_LEN);
	if (e->head - e->tail < QUEUE)
		memcpy(e->queue[e->head++ % QUEUE], mad, MAD_LEN);
	return 0;
}

static const struct mad_ops mad_ops = { .send = send };

static int check_addr(void *ctx, const struct mad_addr *a)
{
	return a->sl > 15 ? -1 : 0;
}

static int set_sm(void *ctx, bool sm)
{
	return 0;
}

static const struct umad_port_ops port_ops = { check_addr, set_sm };

static void queued(void *ctx)
{
	((struct end *)ctx)->pending++;
}

static void dead(void *ctx)
{
}

static const struct umad_file_ops file_ops = { .queued = queued, .dead = dead };

static void do_ioctl(struct end *e, const uint8_t *p)
{
	static const unsigned int cmds[] = {
		IB_USER_MAD_REGISTER_AGENT, IB_USER_MAD_UNREGISTER_AGENT, IB_USER_MAD_ENABLE_PKEY,
		IB_USER_MAD_REGISTER_AGENT2, 0x1b05,
	};
	unsigned int cmd = cmds[p[1] % ARRAY_SIZE(cmds)];
	int len = umad_ioctl_len(cmd);
	struct umad_answer a;
	uint8_t *arg = malloc(len > 0 ? (size_t)len : 1);

	REQUIRE(arg);
	if (len > 0)
		memcpy(arg, p + STEP_HDR, (size_t)len);
	a = umad_ioctl(e->f, cmd, arg, now);
	REQUIRE(a.rc <= 0 && (len < 0 ? a.rc < 0 && !a.len : a.off + a.len <= (uint32_t)len));
	free(arg);
}

static void do_write(struct end *e, const uint8_t *p)
{
	size_t len = (size_t)(p[1] << 4 | p[2] >> 4);
	uint8_t *buf = calloc(1, len + STEP_LEN);

	REQUIRE(buf);
	memcpy(buf, p + STEP_HDR, STEP_LEN - STEP_HDR);
	REQUIRE(umad_write(e->f, buf, len, now) <= (ssize_t)len);
	free(buf);
}

static void do_read(struct end *e, const uint8_t *p)
{
	size_t count = (size_t)(p[1] << 6), copied, want = umad_next_len(e->f);
	uint8_t *buf = malloc(count + 1);
	ssize_t n;

	REQUIRE(buf);
	n = umad_read(e->f, buf, count, &copied);
	REQUIRE(copied <= count && (n < 0 || ((size_t)n == copied && (size_t)n == want)));
	if (n >= 0)
		e->pending--;
	if (n >= 0 && p[2] & 1) {
		umad_unread(e->f);
		e->pending++;
	}
	REQUIRE(e->f->npackets == e->pending);
	free(buf);
}

static void deliver(struct end *e, struct end *to, uint32_t n)
{
	struct mad_addr from = { .qp = 1, .qpn = 1, .lid = 1 };
	uint8_t mad[MAD_LEN];

	while (n-- && e->tail != e->head) {
		memcpy(mad, e->queue[e->tail++ % QUEUE], MAD_LEN);
		mad_input(&to->mad, &from, mad, MAD_LEN, now);
	}
}

static void step(const uint8_t *p)
{
	struct end *e = &ends[p[0] >> 7];

	switch (p[0] & 7) {
	case 0:
		do_ioctl(e, p);
		break;
	case 1:
	case 2:
		do_write(e, p);
		break;
	case 3:
		do_read(e, p);
		break;
	case 4:
	case 5:
		deliver(e, &ends[p[0] >> 6 & 1], p[1]);
		break;
	case 6:
		now += p[1] * 100 * NS_MS;
		mad_timer(&host, now);
		break;
	case 7:
		if (p[1] == 0x55)
			umad_port_remove(&e->port, now);
		umad_close(e->f, now);
		e->pending = 0;
		/*
		 * The next open finds a device port that is not removed, as if a new device were in the
		 * place of the old one.
		 */
		e->port.removed = false;
		REQUIRE(!umad_open(&e->port, &file_ops, e, &e->f));
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	now = 0;
	mad_ports_init(&host);
	for (struct end *e = ends; e < ends + 2; e++) {
		memset(e, 0, sizeof(*e));
		e->mad = (struct mad_port){ .ops = &mad_ops, .ctx = e, .qps = 3 };
		mad_port_init(&e->mad, &host);
		e->port = (struct umad_port){ .mad = &e->mad, .ops = &port_ops, .ctx = e };
		umad_port_init(&e->port);
		REQUIRE(!umad_open(&e->port, &file_ops, e, &e->f));
	}
	for (; size >= STEP_LEN; data += STEP_LEN, size -= STEP_LEN)
		step(data);
	for (struct end *e = ends; e < ends + 2; e++) {
		umad_close(e->f, now);
		mad_port_fini(&e->mad, now);
	}
	REQUIRE(mad_wake(&host) == NS_NEVER);
	mad_ports_fini(&host);
	return 0;
}
