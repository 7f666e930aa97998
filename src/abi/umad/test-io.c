/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests of write(), read() and poll() on umadN, with a file on each port of the simulated network
 * (testing.h). Packets are delivered by net_step() and net_run() in virtual time.
 */
#include <poll.h>
#include "abi/umad/testing.h"

#define HDR sizeof(struct ib_user_mad_hdr)
#define DATA (MAD_LEN - SA_HDR_LEN)

static bool drop_all(struct net *n, const struct net_mad *m, uint32_t nth)
{
	return true;
}

/* A request and its response. The header names the sender by GID (RoCE) or LID. */
static void exchange(bool roce)
{
	const struct ib_user_mad_hdr *h = (const void *)buf;
	uint8_t gid[16];
	uint64_t tid;

	setup_ports(roce);
	assert_int_equal(reg2(0, MAD_CLASS_PERF, 1, 0, 0), 0);
	assert_int_equal(reg2(1, MAD_CLASS_PERF, 1, 0, 0), 0);
	packet(0, 1, MAD_CLASS_PERF, 1, MAD_GET, 7);
	((struct ib_user_mad_hdr *)buf)->timeout_ms = 100;
	((struct ib_user_mad_hdr *)buf)->sl = 3;
	((struct ib_user_mad_hdr *)buf)->pkey_index = 2;
	((struct ib_user_mad_hdr *)buf)->hop_limit = 64;
	((struct ib_user_mad_hdr *)buf)->traffic_class = 5;
	put_be32(&((struct ib_user_mad_hdr *)buf)->flow_label, 0x12345);
	assert_int_equal(write_packet(0, MAD_LEN), HDR + MAD_LEN);
	assert_int_equal(t[0].addr.sl, 3);
	assert_int_equal(t[0].addr.pkey_index, 2);
	assert_int_equal(t[0].addr.grh, roce);
	assert_int_equal(t[0].addr.hop_limit, roce ? 64 : 0);
	assert_int_equal(t[0].addr.tclass, roce ? 5 : 0);
	assert_int_equal(t[0].addr.flow, roce ? 0x12345 : 0);
	assert_true(net_step(&net));
	assert_int_equal(t[1].queued, 1);
	assert_int_equal(t[1].f->npackets, 1);
	assert_int_equal(umad_next_len(t[1].f), HDR + MAD_LEN);
	assert_int_equal(read_packet(1, HDR + MAD_LEN), HDR + MAD_LEN);
	assert_int_equal(copied, HDR + MAD_LEN);
	assert_int_equal(h->id, 0);
	assert_int_equal(h->status, 0);
	assert_int_equal(h->length, HDR + MAD_LEN);
	assert_int_equal(get_be32(&h->qpn), 1);
	assert_int_equal(h->grh_present, roce);
	assert_int_equal(get_be16(&h->lid), roce ? 0 : 1);
	net_gid(0, gid);
	if (roce)
		assert_memory_equal(h->gid, gid, 16);
	/* Transaction ID: the low half is the program's, the high half the agent's. */
	tid = mad_tid(buf + HDR);
	assert_int_equal((uint32_t)tid, 7);
	assert_int_equal(tid >> 32, mad_agent_hi_tid(t[0].f->agents[0].agent));
	/* Port 1 sends the response, with the header that it has read. */
	buf[HDR + MAD_O_METHOD] |= MAD_RESP;
	assert_int_equal(write_packet(1, MAD_LEN), HDR + MAD_LEN);
	net_run(&net, NS_S);
	assert_int_equal(read_packet(0, sizeof(buf)), HDR + MAD_LEN);
	assert_int_equal(mad_tid(buf + HDR), tid);	/* the TID of a response is not changed */
	assert_int_equal(h->status, 0);
	assert_int_equal(read_packet(0, sizeof(buf)), -EAGAIN);
	assert_int_equal(umad_next_len(t[0].f), 0);
	teardown_ports();
}

static void test_exchange(void **state)
{
	exchange(false);
	exchange(true);
}

/*
 * A send without an answer comes back with status ETIMEDOUT: the header as it was written, and the
 * first 24 bytes of the MAD with the TID that was sent.
 */
static void test_timeout(void **state)
{
	const struct ib_user_mad_hdr *h = (const void *)buf;

	setup_ports(false);
	net.drop = drop_all;
	assert_int_equal(reg2(0, 0, 0, 0, 0), 0);
	packet(0, 1, MAD_CLASS_PERF, 1, MAD_GET, 7);
	((struct ib_user_mad_hdr *)buf)->timeout_ms = 100;
	((struct ib_user_mad_hdr *)buf)->retries = 2;
	((struct ib_user_mad_hdr *)buf)->length = 4711;
	write_packet(0, MAD_LEN);
	net_run(&net, 299 * NS_MS);
	assert_int_equal(read_packet(0, sizeof(buf)), -EAGAIN);
	net_run(&net, 300 * NS_MS);
	assert_int_equal(net.head, 3);
	assert_int_equal(t[0].queued, 1);
	assert_int_equal(read_packet(0, HDR + 23), -EINVAL);
	assert_int_equal(read_packet(0, HDR + 24), HDR + 24);
	assert_int_equal(h->id, 0);
	assert_int_equal(h->status, ETIMEDOUT);
	assert_int_equal(h->timeout_ms, 100);
	assert_int_equal(h->retries, 2);
	assert_int_equal(h->length, 4711);
	assert_int_equal(get_be16(&h->lid), 2);
	assert_int_equal(buf[HDR + MAD_O_METHOD], MAD_GET);
	assert_int_equal((uint32_t)mad_tid(buf + HDR), 7);
	assert_int_equal(mad_tid(buf + HDR) >> 32, mad_agent_hi_tid(t[0].f->agents[0].agent));
	teardown_ports();
}

/*
 * A send without timeout returns no packet, and neither does one whose agent has been unregistered.
 */
static void test_nothing_back(void **state)
{
	uint32_t id = 1;

	setup_ports(false);
	net.drop = drop_all;
	assert_int_equal(reg2(0, 0, 0, 0, 0), 0);
	assert_int_equal(reg2(0, 0, 0, 0, 0), 1);
	packet(0, 1, MAD_CLASS_PERF, 1, MAD_GET, 7);
	assert_int_equal(write_packet(0, MAD_LEN), HDR + MAD_LEN);
	packet(1, 1, MAD_CLASS_PERF, 1, MAD_GET, 7);
	((struct ib_user_mad_hdr *)buf)->timeout_ms = 100;
	assert_int_equal(write_packet(0, MAD_LEN), HDR + MAD_LEN);
	assert_int_equal(umad_ioctl(t[0].f, IB_USER_MAD_UNREGISTER_AGENT, &id, 0).rc, 0);
	net_run(&net, NS_S);
	assert_int_equal(t[0].queued, 0);
	teardown_ports();
}

static void test_write_errors(void **state)
{
	setup_ports(false);
	assert_int_equal(reg2(0, MAD_CLASS_PERF, 1, 0, 0), 0);
	packet(0, 1, MAD_CLASS_PERF, 1, MAD_GET, 7);
	assert_int_equal(write_packet(0, 35), -EINVAL);
	assert_int_equal(umad_write(t[0].f, buf, 0, 0), -EINVAL);
	assert_int_equal(write_packet(0, MAD_LEN + 1), -EINVAL);
	assert_int_equal(write_packet(0, 36), HDR + 36);
	((struct ib_user_mad_hdr *)buf)->id = 32;
	assert_int_equal(write_packet(0, MAD_LEN), -EINVAL);
	((struct ib_user_mad_hdr *)buf)->id = 31;
	assert_int_equal(write_packet(0, MAD_LEN), -EIO);
	((struct ib_user_mad_hdr *)buf)->id = 0;
	t[0].addr_rc = -EINVAL;
	assert_int_equal(write_packet(0, MAD_LEN), -EINVAL);
	t[0].addr_rc = 0;
	net.send_rc = -ENETDOWN;
	assert_int_equal(write_packet(0, MAD_LEN), -ENETDOWN);
	net.send_rc = 0;
	packet(0, 1, MAD_CLASS_SUBN_ADM, 2, MAD_GET, 7);	/* 56 bytes of MAD headers */
	assert_int_equal(write_packet(0, 55), -EINVAL);
	assert_int_equal(write_packet(0, 56), HDR + 56);
	assert_int_equal(t[0].f->npackets, 0);
	teardown_ports();
}

/*
 * A request is refused while an earlier request with the same TID and class has not ended, whatever
 * its destination. A response is refused only if the destination is the same, too.
 */
static void test_duplicates(void **state)
{
	setup_ports(false);
	net.drop = drop_all;
	assert_int_equal(reg2(0, 0, 0, 0, 0), 0);
	packet(0, 1, MAD_CLASS_PERF, 1, MAD_GET, 7);
	((struct ib_user_mad_hdr *)buf)->timeout_ms = 100;
	assert_int_equal(write_packet(0, MAD_LEN), HDR + MAD_LEN);
	assert_int_equal(write_packet(0, MAD_LEN), -EINVAL);
	put_be16(&((struct ib_user_mad_hdr *)buf)->lid, 9);
	assert_int_equal(write_packet(0, MAD_LEN), -EINVAL);
	buf[HDR + MAD_O_CLASS] = MAD_CLASS_BM;
	assert_int_equal(write_packet(0, MAD_LEN), HDR + MAD_LEN);
	put_be64(buf + HDR + MAD_O_TID, 8);
	assert_int_equal(write_packet(0, MAD_LEN), HDR + MAD_LEN);
	/* A response that itself expects a response (timeout_ms is not 0). */
	buf[HDR + MAD_O_METHOD] |= MAD_RESP;
	put_be64(buf + HDR + MAD_O_TID, 1);
	assert_int_equal(write_packet(0, MAD_LEN), HDR + MAD_LEN);
	assert_int_equal(write_packet(0, MAD_LEN), -EINVAL);
	put_be16(&((struct ib_user_mad_hdr *)buf)->lid, 10);
	assert_int_equal(write_packet(0, MAD_LEN), HDR + MAD_LEN);
	/* The TID is free after the first request has ended. */
	net_run(&net, NS_S);
	packet(0, 1, MAD_CLASS_PERF, 1, MAD_GET, 7);
	assert_int_equal(write_packet(0, MAD_LEN), HDR + MAD_LEN);
	teardown_ports();
}

static void fill(uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		buf[HDR + SA_HDR_LEN + i] = (uint8_t)(i * 5 + i / 256);
}

/*
 * A long message: ENOSPC with header and first segment, and the packet stays; then the whole
 * message.
 */
static void test_rmpp(void **state)
{
	const struct ib_user_mad_hdr *h = (const void *)buf;
	const uint32_t len = 3 * DATA + 11, all = HDR + SA_HDR_LEN + len;

	setup_ports(true);
	assert_int_equal(reg2(0, MAD_CLASS_SUBN_ADM, 2, 1, 0), 0);
	assert_int_equal(reg2(1, MAD_CLASS_SUBN_ADM, 2, 1, 0), 0);
	packet(0, 1, MAD_CLASS_SUBN_ADM, 2, MAD_REPORT, 7)[RMPP_O_RTIME_FLAGS] = RMPP_F_ACTIVE;
	fill(len);
	assert_int_equal(write_packet(0, SA_HDR_LEN + len), all);
	net_run(&net, 0);
	assert_int_equal(umad_next_len(t[1].f), all);
	assert_int_equal(read_packet(1, HDR - 1), -EINVAL);
	assert_int_equal(copied, 0);
	assert_int_equal(read_packet(1, HDR + MAD_LEN - 1), -EINVAL);
	assert_int_equal(copied, 0);
	for (size_t n = HDR + MAD_LEN; n < all; n += 97) {
		assert_int_equal(read_packet(1, n), -ENOSPC);
		assert_int_equal(copied, HDR + MAD_LEN);
		assert_int_equal(h->length, all);
		assert_int_equal(buf[HDR + RMPP_O_TYPE], RMPP_DATA);
		assert_int_equal(get_be32(buf + HDR + RMPP_O_LEN_WIN), 4 * 220 - (DATA - 11));
		assert_int_equal(t[1].f->npackets, 1);
	}
	assert_int_equal(read_packet(1, all), all);
	assert_int_equal(h->length, all);
	for (uint32_t i = 0; i < len; i++)
		assert_int_equal(buf[HDR + SA_HDR_LEN + i], (uint8_t)(i * 5 + i / 256));
	assert_int_equal(read_packet(1, all), -EAGAIN);
	/* Without RMPP_F_ACTIVE the message is a single MAD, which must not be longer than MAD_LEN. */
	packet(0, 1, MAD_CLASS_SUBN_ADM, 2, MAD_REPORT, 7);
	assert_int_equal(write_packet(0, MAD_LEN + 1), -EINVAL);
	assert_int_equal(write_packet(0, MAD_LEN), HDR + MAD_LEN);
	net_run(&net, 0);
	assert_int_equal(read_packet(1, all), HDR + MAD_LEN);
	/* An RMPP message of one segment arrives with the length that was written, not padded to MAD_LEN. */
	packet(0, 1, MAD_CLASS_SUBN_ADM, 2, MAD_REPORT, 8)[RMPP_O_RTIME_FLAGS] = RMPP_F_ACTIVE;
	assert_int_equal(write_packet(0, SA_HDR_LEN + 10), HDR + SA_HDR_LEN + 10);
	net_run(&net, 0);
	assert_int_equal(read_packet(1, HDR + SA_HDR_LEN + 9), -EINVAL);
	assert_int_equal(read_packet(1, all), HDR + SA_HDR_LEN + 10);
	teardown_ports();
}

/* umad_unread(), called if the program's buffer is not writable, puts the packet back: the next read() returns it again. */
static void test_unread(void **state)
{
	setup_ports(false);
	assert_int_equal(reg2(0, MAD_CLASS_PERF, 1, 0, 0), 0);
	umad_unread(t[0].f);
	for (uint32_t tid = 1; tid <= 2; tid++) {
		packet(0, 0, MAD_CLASS_PERF, 1, MAD_SEND, tid);
		assert_int_equal(write_packet(0, MAD_LEN), HDR + MAD_LEN);
	}
	net_run(&net, 0);
	assert_int_equal(read_packet(0, sizeof(buf)), HDR + MAD_LEN);
	umad_unread(t[0].f);
	umad_unread(t[0].f);
	assert_int_equal(t[0].f->npackets, 2);
	for (uint32_t tid = 1; tid <= 2; tid++) {
		assert_int_equal(read_packet(0, sizeof(buf)), HDR + MAD_LEN);
		assert_int_equal((uint32_t)mad_tid(buf + HDR), tid);
	}
	assert_int_equal(t[0].f->npackets, 0);
	teardown_ports();
}

/*
 * If an agent has the flag USER_RMPP or no RMPP version, the program itself does RMPP. Then segments
 * pass unchanged, and several of them may have the same TID.
 */
static void test_user_rmpp(void **state)
{
	setup_ports(false);
	assert_int_equal(reg2(0, 0x32, 1, 1, IB_USER_MAD_USER_RMPP), 0);
	assert_int_equal(reg2(1, 0x32, 1, 0, 0), 0);
	packet(0, 1, 0x32, 1, MAD_SEND, 7)[RMPP_O_RTIME_FLAGS] = RMPP_F_ACTIVE;
	put_be32(buf + HDR + RMPP_O_SEG, 5);
	((struct ib_user_mad_hdr *)buf)->timeout_ms = 100;
	assert_int_equal(write_packet(0, MAD_LEN), HDR + MAD_LEN);
	assert_int_equal(write_packet(0, MAD_LEN), HDR + MAD_LEN);
	assert_int_equal(write_packet(0, MAD_LEN + 1), -EINVAL);
	net_run(&net, 0);
	assert_int_equal(t[1].f->npackets, 2);
	assert_int_equal(read_packet(1, sizeof(buf)), HDR + MAD_LEN);
	assert_int_equal(get_be32(buf + HDR + RMPP_O_SEG), 5);
	buf[HDR + MAD_O_METHOD] |= MAD_RESP;
	assert_int_equal(write_packet(1, MAD_LEN), HDR + MAD_LEN);
	assert_int_equal(write_packet(1, MAD_LEN), HDR + MAD_LEN);
	net_run(&net, 0);
	assert_int_equal(t[0].f->npackets, 2);
	teardown_ports();
}

/* A header of 56 bytes without P_Key index, until ENABLE_PKEY or REGISTER_AGENT2. */
static void test_old_header(void **state)
{
	struct ib_user_mad_reg_req r = { .qpn = 1, .mgmt_class = MAD_CLASS_PERF,
					 .mgmt_class_version = 1, .method_mask = { ~0ul, ~0ul } };
	const size_t old = sizeof(struct ib_user_mad_hdr_old);
	const struct ib_user_mad_hdr *h = (const void *)buf;
	uint8_t mad[MAD_LEN];

	setup_ports(false);
	assert_int_equal(umad_ioctl(t[0].f, IB_USER_MAD_REGISTER_AGENT, &r, 0).rc, 0);
	assert_int_equal(reg2(1, MAD_CLASS_PERF, 1, 0, 0), 0);
	memcpy(mad, packet(0, 1, MAD_CLASS_PERF, 1, MAD_SEND, 7), MAD_LEN);
	memcpy(buf + old, mad, MAD_LEN);
	assert_int_equal(umad_write(t[0].f, buf, old + 35, 0), -EINVAL);
	assert_int_equal(umad_write(t[0].f, buf, old + MAD_LEN, 0), old + MAD_LEN);
	assert_int_equal(t[0].addr.pkey_index, 0);
	net_run(&net, 0);
	assert_int_equal(read_packet(1, sizeof(buf)), HDR + MAD_LEN);
	assert_int_equal(write_packet(1, MAD_LEN), HDR + MAD_LEN);
	net_run(&net, 0);
	assert_int_equal(read_packet(0, old - 1), -EINVAL);
	assert_int_equal(read_packet(0, old + MAD_LEN), old + MAD_LEN);
	assert_int_equal(h->length, old + MAD_LEN);
	assert_int_equal(buf[old + MAD_O_CLASS], MAD_CLASS_PERF);
	teardown_ports();
}

/*
 * The device is removed while a file has unread packets and unanswered requests. Afterwards read() and
 * write() return EIO, and ioctl() and open() fail.
 */
static void test_removed(void **state)
{
	struct ib_user_mad_reg_req2 r = { .qpn = 1 };
	struct umad_file *f;
	uint32_t id = 0;

	setup_ports(false);
	assert_int_equal(reg2(0, MAD_CLASS_PERF, 1, 0, 0), 0);
	packet(0, 0, MAD_CLASS_PERF, 1, MAD_SEND, 7);
	write_packet(0, MAD_LEN);
	((struct ib_user_mad_hdr *)buf)->timeout_ms = 100;
	net_run(&net, 0);
	put_be64(buf + HDR + MAD_O_TID, 8);
	write_packet(0, MAD_LEN);
	umad_port_remove(&t[0].port, net.now);
	assert_int_equal(t[0].dead, 1);
	assert_int_equal(read_packet(0, sizeof(buf)), -EIO);
	assert_int_equal(read_packet(0, 0), -EINVAL);
	packet(0, 0, MAD_CLASS_PERF, 1, MAD_SEND, 7);
	assert_int_equal(write_packet(0, MAD_LEN), -EIO);
	assert_int_equal(umad_ioctl(t[0].f, IB_USER_MAD_REGISTER_AGENT2, &r, 0).rc, -EPIPE);
	assert_int_equal(umad_ioctl(t[0].f, IB_USER_MAD_REGISTER_AGENT, &r, 0).rc, -EPIPE);
	assert_int_equal(umad_ioctl(t[0].f, IB_USER_MAD_UNREGISTER_AGENT, &id, 0).rc, -EINVAL);
	assert_int_equal(umad_open(&t[0].port, &file_ops, &t[0], &f), -ENXIO);
	teardown_ports();
}

/*
 * A file keeps UMAD_MAX_RECVS + 1 unread packets, as in the kernel; further ones are dropped. Closing
 * the file frees them all.
 */
static void test_flood(void **state)
{
	struct mad_addr from;

	setup_ports(false);
	assert_int_equal(reg2(0, MAD_CLASS_PERF, 1, 0, 0), 0);
	from = net_addr(&net, 1, 1);
	packet(0, 0, MAD_CLASS_PERF, 1, MAD_SEND, 7);
	for (uint32_t i = 0; i < UMAD_MAX_RECVS + 10; i++)
		mad_input(&net.ports[0].port, &from, buf + HDR, MAD_LEN, 0);
	assert_int_equal(t[0].f->npackets, UMAD_MAX_RECVS + 1);
	assert_int_equal(t[0].queued, UMAD_MAX_RECVS + 1);
	teardown_ports();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exchange),   cmocka_unit_test(test_timeout),
		cmocka_unit_test(test_nothing_back), cmocka_unit_test(test_write_errors),
		cmocka_unit_test(test_duplicates), cmocka_unit_test(test_rmpp),
		cmocka_unit_test(test_user_rmpp),  cmocka_unit_test(test_old_header),
		cmocka_unit_test(test_removed),
		cmocka_unit_test(test_flood),	   cmocka_unit_test(test_unread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
