/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* MADs from the wire: packets that are not valid for QP1 of a device of this host are dropped. */
#include "base/testing.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gsi/fault.h"
#include "loop/loop.h"
#include "umads/umads.h"
#include "wire/be.h"
#include "wire/frame.h"
#include "wire/hdr.h"
#include "wire/icrc.h"
#include "wire/ipudp.h"

#define HDRS (BTH_LEN + DETH_LEN)
#define PACKET (HDRS + CM_MAD_LEN)
#define WHOLE (PACKET + ICRC_LEN)

static struct loop loop;
static struct umads umads;
static struct host_page *page;
static struct gsi gsi;
static int rx, tx;		/* UDP sockets: rx in place of rused's socket on port 4791, and the sender's */
static struct sockaddr_in to;
static uint16_t sport;
static struct seg_net net;
static uint8_t packet[WHOLE + 1];
static struct bth bth;
static struct deth deth;

static int udp(struct sockaddr_in *a)
{
	socklen_t len = sizeof(*a);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	*a = (struct sockaddr_in){ .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	return fd < 0 || bind(fd, (struct sockaddr *)a, sizeof(*a)) ||
			       getsockname(fd, (struct sockaddr *)a, &len) ?
		       -1 : fd;
}

static int setup(void **state)
{
	static const uint8_t gid[16] = { [10] = 0xff, 0xff, 127, [15] = 1 };
	struct sockaddr_in from;

	memset(&loop, 0, sizeof(loop));
	memset(&gsi, 0, sizeof(gsi));
	page = calloc(1, sizeof(*page));
	if (!page || loop_init(&loop) || gsi_init(&gsi, &loop, page, &umads))
		return -1;
	page->dev[0] = (struct host_dev){ .in_use = 1, .index = 1, .name = "rxe_0", .state = 4,
					    .ngids = 1 };
	memcpy(page->dev[0].gid[0].raw, gid, 16);
	memcpy(net.sgid, gid, 16);
	memcpy(net.dgid, gid, 16);
	rx = udp(&to);
	tx = udp(&from);
	sport = get_be16(&from.sin_port);
	return rx < 0 || tx < 0 || gsi_wire_prepare(rx) || gsi_device_added(&gsi, 0, NULL) ? -1 : 0;
}

static int teardown(void **state)
{
	gsi_fini(&gsi);
	loop_fini(&loop);
	free(page);
	close(rx);
	close(tx);
	return 0;
}

/* Makes a DREQ for an unknown connection: the CM only counts it. */
static void good(void)
{
	static const struct cm_hdr dreq = { .tid = 7, .attr = CM_ATTR_DREQ };

	bth = (struct bth){ .opcode = opcode_of(SEG_UD, SEG_SEND, true, true), .pkey = 0xffff,
			    .migreq = true, .dqpn = GSI_QPN };
	deth = (struct deth){ .qkey = GSI_QKEY, .sqpn = GSI_QPN };
	cm_msg_init(packet + HDRS, &dreq);
}

/* Writes headers and ICRC to the packet. */
static void finish(void)
{
	uint8_t hdr[IPUDP_MAX];
	size_t len;

	bth_put(packet, &bth);
	deth_put(packet + BTH_LEN, &deth);
	len = ipudp_put(hdr, &net, sport, ROCE_PORT, WHOLE, 0, IPUDP_DF);
	icrc_put(packet + PACKET, ipudp_icrc(hdr, len, packet, PACKET));
}

/* Sends the packet. True if it reached the CM. */
static bool arrives(size_t len)
{
	uint64_t *n = &gsi.port[0].cdev.counters[CM_RECV][CM_ATTR_DREQ - CM_ATTR_REQ];
	uint64_t before = *n;

	assert_int_equal(sendto(tx, packet, len, 0, (struct sockaddr *)&to, sizeof(to)), len);
	gsi_wire_input(&gsi, rx);
	return *n == before + 1;
}

static void test_good(void **state)
{
	good();
	finish();
	assert_true(arrives(WHOLE));
	bth.pkey = 0x7fff;	/* limited membership */
	finish();
	assert_true(arrives(WHOLE));
}

static void test_length(void **state)
{
	good();
	finish();
	assert_false(arrives(0));
	assert_false(arrives(1));
	assert_false(arrives(HDRS));
	assert_false(arrives(WHOLE - 1));
	assert_false(arrives(WHOLE + 1));
	assert_true(arrives(WHOLE));
}

static void test_icrc(void **state)
{
	/* Flip one bit of each byte. Byte 4 (FECN and BECN) is not covered by the ICRC. */
	for (size_t at = 0; at < WHOLE; at++) {
		good();
		finish();
		packet[at] ^= 1;
		if (at != 4)
			assert_false(arrives(WHOLE));
	}
}

static void test_headers(void **state)
{
	static const struct {
		struct bth bth;
		struct deth deth;
	} bad[] = {
		{ .bth.opcode = 0x64 ^ 0x04 }, { .bth.tver = 1 }, { .bth.pad = 1 },
		{ .bth.dqpn = 2 }, { .bth.pkey = 1 }, { .deth.qkey = 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		good();
		bth.opcode ^= bad[i].bth.opcode;
		bth.tver = bad[i].bth.tver;
		bth.pad = bad[i].bth.pad;
		bth.dqpn ^= bad[i].bth.dqpn;
		bth.pkey ^= bad[i].bth.pkey;
		deth.qkey ^= bad[i].deth.qkey;
		finish();
		assert_false(arrives(WHOLE));
	}
	good();
	packet[HDRS + 1] ^= 1;	/* a class without an agent */
	finish();
	assert_false(arrives(WHOLE));
}

/*
 * The destination address belongs to this host but is in no device's GID table: the packet is
 * dropped.
 */
static void test_nobodys(void **state)
{
	good();
	finish();
	page->dev[0].gid[0].raw[15] = 2;
	assert_false(arrives(WHOLE));
	page->dev[0].gid[0].raw[15] = 1;
	assert_true(arrives(WHOLE));
}

/* Makes it the only rule of `ruse fault`. */
static void only_rule(struct fault_rule r)
{
	static uint32_t id;

	r.id = ++id;
	page->fault.rule[0] = r;
	page->fault.version = id;
}

/* Rules about messages of the CM that arrive. */
static void test_fault(void **state)
{
	uint64_t *n = &gsi.port[0].cdev.counters[CM_RECV][CM_ATTR_DREQ - CM_ATTR_REQ], before;
	struct fault_rule r = { .action = FAULT_CM_DROP };

	good();
	finish();
	only_rule(r);
	assert_false(arrives(WHOLE));
	assert_int_equal(gsi.faults.count[0].acted, 1);
	r.by = FAULT_BY_OP;
	r.ops = 1 << (CM_ATTR_DREQ - CM_ATTR_REQ);
	only_rule(r);
	assert_false(arrives(WHOLE));
	r.dir = FAULT_IN;
	only_rule(r);
	assert_false(arrives(WHOLE));
	r.dir = FAULT_OUT;
	only_rule(r);
	assert_true(arrives(WHOLE));
	r.dir = FAULT_BOTH;
	r.ops <<= 1;
	only_rule(r);
	assert_true(arrives(WHOLE));
	r = (struct fault_rule){ .action = FAULT_CM_DROP, .by = FAULT_BY_PEER };
	only_rule(r);
	assert_true(arrives(WHOLE));
	memcpy(r.peer, net.sgid, 16);
	only_rule(r);
	assert_false(arrives(WHOLE));
	r = (struct fault_rule){ .action = FAULT_CM_DROP, .by = FAULT_BY_PORT, .port = 7 };
	only_rule(r);
	assert_true(arrives(WHOLE));
	/* Only the DREQ: the CM answers it with a DREP. */
	r = (struct fault_rule){ .action = FAULT_CM_DELAY, .delay = NS_S, .by = FAULT_BY_OP };
	r.ops = 1 << (CM_ATTR_DREQ - CM_ATTR_REQ);
	only_rule(r);
	assert_false(arrives(WHOLE));
	before = *n;
	timer_run(&loop.timers, loop.now + NS_S / 2);
	assert_int_equal(*n, before);
	timer_run(&loop.timers, loop.now + NS_S);
	assert_int_equal(*n, before + 1);
	assert_int_equal(gsi.nheld, 0);
	/* A message that is held at the end is freed. */
	assert_false(arrives(WHOLE));
	assert_int_equal(gsi.nheld, 1);
}

/* `ruse run --shake` lets the next message of the CM be late, or come twice. */
static void test_late(void **state)
{
	uint64_t *n = &gsi.port[0].cdev.counters[CM_RECV][CM_ATTR_DREQ - CM_ATTR_REQ], before = *n;
	struct mad_addr a = { .qp = GSI_QPN, .qpn = GSI_QPN, .grh = true };
	uint8_t mad[CM_MAD_LEN];
	uint32_t held = gsi.nheld;

	good();
	memcpy(mad, packet + HDRS, sizeof(mad));
	memcpy(a.gid, net.dgid, 16);
	for (int twice = 0; twice < 2; twice++) {
		gsi.late = (struct gsi_late){ NS_S, twice };
		assert_int_equal(gsi_is_late(&gsi.port[0], &a, mad), !twice);
		assert_int_equal(gsi.late.wait, 0);
		assert_int_equal(gsi.nheld, held + 1);
		timer_run(&loop.timers, loop.now + NS_S - 1);
		assert_int_equal(gsi.nheld, held + 1);
		timer_run(&loop.timers, loop.now + NS_S);
		assert_int_equal(gsi.nheld, held);
		timer_run(&loop.timers, loop.now + NS_S);
		before++;
		assert_int_equal(*n, before);
	}
}

/* What write() to a umad file says of an address; the port has an IPv4 GID only. */
static void test_umad_address(void **state)
{
	struct mad_addr a = { .grh = true };
	const struct why *why = &gsi.mad.why;

	memcpy(a.gid, net.sgid, 16);
	assert_int_equal(gsi_umad_ops.check_addr(&gsi.port[0], &a), 0);
	a.gid[10] = 0;
	assert_int_equal(gsi_umad_ops.check_addr(&gsi.port[0], &a), -EINVAL);
	assert_int_equal(why->id, WHY_DEST_NO_FAMILY);
	assert_int_equal(why->arg[4], 0);
	memset(a.gid, 0, 16);
	assert_int_equal(gsi_umad_ops.check_addr(&gsi.port[0], &a), -EINVAL);
	assert_int_equal(why->id, WHY_DEST_UNSET);
	a.gid[10] = a.gid[11] = 0xff;
	assert_int_equal(gsi_umad_ops.check_addr(&gsi.port[0], &a), -ENODEV);
	assert_int_equal(why->id, WHY_DEST_UNSET);
	a.gid[0] = 0xff;
	assert_int_equal(gsi_umad_ops.check_addr(&gsi.port[0], &a), 0);
	a.sgid_index = 1;
	assert_int_equal(gsi_umad_ops.check_addr(&gsi.port[0], &a), -ENODATA);
	a.grh = false;
	assert_int_equal(gsi_umad_ops.check_addr(&gsi.port[0], &a), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good), cmocka_unit_test(test_length),
		cmocka_unit_test(test_icrc), cmocka_unit_test(test_headers),
		cmocka_unit_test(test_nobodys), cmocka_unit_test(test_late),
		cmocka_unit_test(test_fault), cmocka_unit_test(test_umad_address),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
