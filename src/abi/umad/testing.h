/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For the tests of src/abi/umad: an open umadN on each of the two ports of the simulated network in mad/testing.h. */
#ifndef RUSE_ABI_UMAD_TESTING_H
#define RUSE_ABI_UMAD_TESTING_H

#include <errno.h>
#include "abi/umad/umad_internal.h"
#include "mad/testing.h"

#define BUF_LEN (1u << 20)

struct tfile {
	struct umad_port port;
	struct umad_file *f;
	uint32_t queued, dead;
	int addr_rc, sm_rc;	/* results of check_addr() and set_sm() */
	struct mad_addr addr;	/* last argument of check_addr() */
	int sm;			/* IsSM bit */
};

static struct net net;
static struct tfile t[NET_PORTS];
static uint8_t buf[BUF_LEN];	/* packet that was read or will be written */
static size_t copied;

static int check_addr(void *ctx, const struct mad_addr *a)
{
	struct tfile *f = ctx;

	f->addr = *a;
	return f->addr_rc;
}

static int set_sm(void *ctx, bool sm)
{
	struct tfile *f = ctx;

	if (!f->sm_rc)
		f->sm = sm;
	return f->sm_rc;
}

static const struct umad_port_ops port_ops = { check_addr, set_sm };

static void on_queued(void *ctx)
{
	((struct tfile *)ctx)->queued++;
}

static void on_dead(void *ctx)
{
	((struct tfile *)ctx)->dead++;
}

static const struct umad_file_ops file_ops = { .queued = on_queued, .dead = on_dead };

static inline void setup_ports(bool roce)
{
	net_init(&net, roce);
	memset(t, 0, sizeof(t));
	for (uint32_t i = 0; i < NET_PORTS; i++) {
		t[i].port.mad = &net.ports[i].port;
		t[i].port.ops = &port_ops;
		t[i].port.ctx = &t[i];
		umad_port_init(&t[i].port);
		assert_int_equal(umad_open(&t[i].port, &file_ops, &t[i], &t[i].f), 0);
	}
}

static inline void teardown_ports(void)
{
	for (uint32_t i = 0; i < NET_PORTS; i++)
		if (t[i].f)
			umad_close(t[i].f, net.now);
	net_fini(&net);
}

/* Register an agent on port i with REGISTER_AGENT2. The id, or -errno. */
static inline int reg2(uint32_t i, uint8_t mgmt_class, uint8_t version, uint8_t rmpp,
		       uint32_t flags)
{
	struct ib_user_mad_reg_req2 r = { .qpn = 1, .mgmt_class = mgmt_class, .oui = 0x001405,
					  .mgmt_class_version = version, .rmpp_version = rmpp,
					  .flags = flags, .method_mask = { ~0ull, ~0ull } };
	struct umad_answer a = umad_ioctl(t[i].f, IB_USER_MAD_REGISTER_AGENT2, &r, net.now);

	return a.rc ? a.rc : (int)r.id;
}

/* Build a packet in buf: header for port `to`, agent id, and MAD headers. Returns the MAD. */
static inline uint8_t *packet(uint32_t id, uint32_t to, uint8_t mgmt_class, uint8_t version,
			      uint8_t method, uint32_t tid)
{
	struct ib_user_mad_hdr *h = (void *)buf;
	uint8_t *mad = buf + sizeof(*h);

	memset(buf, 0, sizeof(*h) + MAD_LEN);
	h->id = id;
	h->grh_present = net.roce;
	put_be32(&h->qpn, 1);
	if (net.roce)
		net_gid(to, h->gid);
	else
		put_be16(&h->lid, (uint16_t)(to + 1));
	mad[MAD_O_BASE_VERSION] = 1;
	mad[MAD_O_CLASS] = mgmt_class;
	mad[MAD_O_CLASS_VERSION] = version;
	mad[MAD_O_METHOD] = method;
	put_be64(mad + MAD_O_TID, 0xdead00000000 | tid);
	put_be24(mad + VENDOR_O_OUI, 0x001405);
	return mad;
}

static inline ssize_t write_packet(uint32_t i, size_t mad_len)
{
	return umad_write(t[i].f, buf, sizeof(struct ib_user_mad_hdr) + mad_len, net.now);
}

static inline ssize_t read_packet(uint32_t i, size_t count)
{
	assert_true(count <= sizeof(buf));
	memset(buf, 0xee, count);
	return umad_read(t[i].f, buf, count, &copied);
}

#endif
