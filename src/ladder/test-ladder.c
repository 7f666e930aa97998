/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Charts of packets that are made here, beside those in golden/. With RUSE_UPDATE=DIR in the environment the charts are
 * written to DIR instead, which is src/ladder/golden.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/testing.h"
#include "ladder/ladder.h"
#include "wire/be.h"
#include "wire/cm_msg.h"
#include "wire/frame.h"
#include "wire/mad.h"

#define START 1764000000123456000ull
#define KEEP 100u

static struct ladder *ladder;
static FILE *out;
static char *text;
static size_t text_len;
static struct ladder_style style;
static uint64_t now;
static uint32_t snap; /* bytes that are captured of each frame */
static const char *note, *comm;
static int pid;
static bool live; /* the sender's QP number is known */
static bool hidden;

static int setup(void **state)
{
	setenv("TZ", "UTC0", 1);
	ladder = ladder_new(KEEP);
	out = open_memstream(&text, &text_len);
	style = (struct ladder_style){ .columns = 80 };
	now = START;
	snap = FRAME_MAX;
	note = comm = "";
	pid = 0;
	live = hidden = false;
	return !ladder || !out;
}

static int teardown(void **state)
{
	if (out)
		fclose(out);
	free(text);
	ladder_free(ladder);
	return 0;
}

/* Host n is 10.0.0.n; from 10 on fe80::n. */
static struct seg_net net_of(uint32_t from, uint32_t to)
{
	struct seg_net net = { .hop_limit = 64 };
	uint32_t host[] = { from, to };

	for (int i = 0; i < 2; i++) {
		uint8_t *gid = i ? net.dgid : net.sgid;

		if (host[i] < 10) {
			memset(gid + 10, 0xff, 2);
			gid[12] = 10;
		} else {
			gid[0] = 0xfe;
			gid[1] = 0x80;
		}
		gid[15] = (uint8_t)host[i];
	}
	return net;
}

/* Adds all packets of a segment, which is of zeroes, 10 us apart. */
static int send_all(uint32_t from, uint32_t to, struct seg s)
{
	static uint8_t zeroes[65536], frame[FRAME_MAX];
	struct seg_net net = net_of(from, to);
	struct iovec iov = { zeroes, s.len };
	int rc = 0;

	s.path_mtu = s.path_mtu ? s.path_mtu : 1024;
	s.npkts = s.npkts ? s.npkts : seg_pkts(s.len, s.path_mtu);
	s.pkey = 0xffff;
	s.flags |= SEG_F_START | SEG_F_END;
	s.net = &net;
	if (!s.iov) {
		s.iov = &iov;
		s.niov = 1;
	}
	for (uint32_t i = 0; i < packet_count(&s); i++) {
		int n = packet_build(&s, i, frame + frame_head(&net), PACKET_MAX, NULL);
		struct ladder_packet p = { .ns = now,
					   .frame = frame,
					   .note = note,
					   .pid = pid,
					   .comm = comm,
					   .sqpn = live ? s.sqpn : 0,
					   .hidden = hidden };

		assert_true(n > 0);
		p.len = (uint32_t)frame_wrap(frame, &net, frame_sport(0, s.sqpn, s.dqpn),
					     (size_t)n);
		p.caplen = min(p.len, snap);
		rc = ladder_add(ladder, &p, out, &style);
		assert_int_equal(rc, 0);
		now += 10 * NS_US;
	}
	return rc;
}

static void request(uint32_t psn, enum seg_type type, uint32_t len)
{
	struct seg s = { .type = (uint8_t)type, .sqpn = 0x11, .dqpn = 0x22,
			 .psn = psn, .len = len };

	if (type == SEG_READ_REQ) {
		s.dma_len = len;
		s.npkts = seg_pkts(len, 1024);
		s.len = 0;
	}
	send_all(1, 2, s);
}

static void answer(uint32_t psn, enum seg_type type, uint8_t syndrome, uint32_t len)
{
	send_all(2, 1,
		 (struct seg){ .type = (uint8_t)type,
			       .sqpn = 0x22,
			       .dqpn = 0x11,
			       .psn = psn,
			       .len = len,
			       .syndrome = syndrome,
			       .msn = psn & 15 });
}

static void same(const char *name, const char *is)
{
	const char *dir = getenv("RUSE_UPDATE");
	static char want[1 << 20];
	char path[4096];
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", dir ? dir : RUSE_GOLDEN, name);
	f = fopen(path, dir ? "we" : "re");
	assert_non_null(f);
	if (dir) {
		fputs(is, f);
		fclose(f);
		return;
	}
	n = fread(want, 1, sizeof(want) - 1, f);
	want[n] = '\0';
	fclose(f);
	assert_string_equal(is, want);
}

/* The text printed so far is golden/NAME.txt, the drawing golden/NAME.svg. */
static void golden(const char *name)
{
	char file[64], *svg = NULL;
	size_t len;
	FILE *f = open_memstream(&svg, &len);

	fflush(out);
	snprintf(file, sizeof(file), "%s.txt", name);
	same(file, text);
	assert_non_null(f);
	ladder_svg(ladder, f, name, true);
	fclose(f);
	snprintf(file, sizeof(file), "%s.svg", name);
	same(file, svg);
	free(svg);
}

/* A message that is lost, its NAK of the sequence, and the same once more; a READ; the peer's own requests. */
static void test_rc(void **state)
{
	request(0xfffffe, SEG_SEND, 64);
	answer(0xfffffe, SEG_ACK, AETH_ACK_UNLIMITED, 0);
	request(0xffffff, SEG_WRITE, 2500);
	answer(1, SEG_ACK, AETH_ACK_UNLIMITED, 0);
	note = "fault: dropped";
	request(2, SEG_SEND, 10);
	note = "";
	request(3, SEG_SEND_IMM, 10);
	answer(2, SEG_ACK, AETH_NAK_PSN_SEQ, 0);
	request(2, SEG_SEND, 10);
	request(3, SEG_SEND_IMM, 10);
	answer(3, SEG_ACK, AETH_ACK_UNLIMITED, 0);
	request(4, SEG_READ_REQ, 3000);
	answer(4, SEG_READ_RESP, AETH_ACK_UNLIMITED, 3000);
	request(7, SEG_FETCH_ADD, 0);
	answer(7, SEG_ATOMIC_ACK, AETH_ACK_UNLIMITED, 0);
	request(8, SEG_SEND, 0);
	answer(8, SEG_ACK, AETH_RNR_NAK | 14, 0);
	now += NS_MS;
	request(8, SEG_SEND, 0);
	answer(8, SEG_ACK, AETH_ACK_UNLIMITED, 0);
	answer(500, SEG_SEND, 0, 32);
	request(500, SEG_ACK, 0);
	request(9, SEG_WRITE, 8);
	note = "RX-013 KEY_PD";
	answer(9, SEG_ACK, AETH_NAK_REM_ACC, 0);
	golden("rc");
}

/* Packets that a filter hides: no gap is where they are, and answers come from the right. */
static void test_hidden(void **state)
{
	hidden = true;
	for (uint32_t psn = 100; psn < 110; psn++)
		request(psn, SEG_SEND, 64);
	hidden = false;
	answer(109, SEG_ACK, AETH_ACK_UNLIMITED, 0);
	request(110, SEG_WRITE, 8);
	request(112, SEG_WRITE, 8);
	golden("hidden");
}

/* A packet is lost, and comes again at once; another is captured at both ends. */
static void test_twice(void **state)
{
	note = "fault: dropped";
	request(1, SEG_SEND, 10);
	note = "";
	request(1, SEG_SEND, 10);
	request(2, SEG_SEND, 10);
	request(2, SEG_SEND, 10);
	golden("twice");
}

/* What is not in the capture, and an answer of which the beginning is repeated. */
static void test_gaps(void **state)
{
	request(10, SEG_SEND, 1);
	request(14, SEG_SEND, 1);
	request(15, SEG_READ_REQ, 4096);
	answer(15, SEG_READ_RESP, AETH_ACK_UNLIMITED, 2048);
	request(19, SEG_SEND, 1);
	request(22, SEG_SEND, 1);
	answer(15, SEG_READ_RESP, AETH_ACK_UNLIMITED, 2048);
	send_all(2, 1,
		 (struct seg){ .type = SEG_READ_RESP,
			       .sqpn = 0x22,
			       .dqpn = 0x11,
			       .psn = 20,
			       .len = 4096 });
	/* A new connection of the same QP. */
	request(0x500000, SEG_SEND, 1);
	request(0x500001, SEG_SEND, 1);
	golden("gaps");
}

/* A live capture: names, two connections in turn, long remarks, colours, a wide terminal. */
static void test_live(void **state)
{
	struct seg s = { .type = SEG_SEND, .len = 100 };

	live = true;
	style.columns = 120;
	style.colour = true;
	for (uint32_t i = 0; i < 4; i++) {
		s.sqpn = 0x100 + (i & 1);
		s.dqpn = 0x200 + (i & 1);
		s.psn = i >> 1;
		pid = 1000 + (int)(i & 1);
		comm = i & 1 ? "evil\033[2J<b>" : "ib_send_lat";
		send_all(10, 11, s);
		s.type = SEG_ACK;
		s.syndrome = i == 3 ? AETH_NAK_REM_OP : AETH_ACK_UNLIMITED;
		s.len = 0;
		s.sqpn = 0x200 + (i & 1);
		s.dqpn = 0x100 + (i & 1);
		pid = 2000;
		comm = "server";
		note = i == 3 ?
			       "RX-041 a remark that does not fit behind the arrow of its row <b>" :
			       "";
		send_all(11, 10, s);
		note = "";
		s.type = SEG_SEND;
		s.len = 100;
	}
	golden("live");
}

/* CM messages between two hosts, and within one, where both ends have the same address and QP number. */
static void cm(uint32_t from, uint32_t to, enum cm_attr attr, uint32_t id, uint32_t psn)
{
	uint8_t mad[CM_MAD_LEN];
	struct iovec iov = { mad, sizeof(mad) };

	cm_msg_init(mad, &(struct cm_hdr){ .tid = 7, .attr = (uint16_t)attr });
	put_be32(mad + CM_HDR_LEN, id);
	send_all(from, to,
		 (struct seg){ .service = SEG_UD,
			       .type = SEG_SEND,
			       .sqpn = 1,
			       .dqpn = 1,
			       .psn = psn,
			       .len = sizeof(mad),
			       .iov = &iov,
			       .niov = 1 });
}

static void test_cm(void **state)
{
	cm(1, 2, CM_ATTR_REQ, 5, 0);
	cm(2, 1, CM_ATTR_REP, 6, 0);
	cm(1, 2, CM_ATTR_RTU, 5, 1);
	cm(3, 3, CM_ATTR_REQ, 8, 0);
	cm(3, 3, CM_ATTR_REP, 9, 1);
	cm(3, 3, CM_ATTR_RTU, 8, 2);
	cm(3, 3, CM_ATTR_DREQ, 9, 3);
	cm(3, 3, CM_ATTR_DREP, 8, 4);
	snap = 100;
	cm(2, 1, CM_ATTR_DREQ, 6, 2);
	golden("cm");
}

/* Frames that were cut have the length that they had on the wire. */
static void test_cut(void **state)
{
	snap = 80;
	request(1, SEG_WRITE, 3000);
	answer(3, SEG_ACK, AETH_ACK_UNLIMITED, 0);
	request(4, SEG_READ_REQ, 100000);
	golden("cut");
}

/* The last KEEP packets are drawn, all are printed. */
static void test_keep(void **state)
{
	char *svg = NULL;
	size_t len, n = 0;
	FILE *f = open_memstream(&svg, &len);

	for (uint32_t i = 0; i < KEEP + 5; i++)
		request(i, SEG_SEND, 1);
	assert_non_null(f);
	ladder_svg(ladder, f, "keep", false);
	fclose(f);
	assert_non_null(strstr(svg, "the last 100 of 105 packets"));
	for (char *s = svg; (s = strstr(s, "SEND_ONLY")); s++)
		n++;
	assert_int_equal(n, KEEP);
	free(svg);
	fflush(out);
	n = 0;
	for (char *s = text; (s = strstr(s, "SEND_ONLY")); s++)
		n++;
	assert_int_equal(n, KEEP + 5);
}

/* More QPs than are known at a time, and bytes that are no packets. */
static void test_many(void **state)
{
	uint8_t frame[128];
	struct ladder_packet p = { .frame = frame, .note = "", .comm = "" };

	live = true;
	for (uint32_t i = 2; i < 10000; i++)
		send_all(1, 2,
			 (struct seg){ .type = SEG_SEND,
				       .sqpn = i,
				       .dqpn = 100000 + i,
				       .psn = i,
				       .len = 1 });
	for (uint32_t i = 2; i < 10000; i += 1000)
		send_all(2, 1,
			 (struct seg){ .type = SEG_ACK, .sqpn = 100000 + i, .dqpn = i, .psn = i });
	memset(frame, 0xa5, sizeof(frame));
	for (p.caplen = 0; p.caplen <= sizeof(frame); p.caplen++) {
		p.len = p.caplen;
		assert_int_equal(ladder_add(ladder, &p, out, &style), -ENOMSG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rc, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hidden, setup, teardown),
		cmocka_unit_test_setup_teardown(test_twice, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gaps, setup, teardown),
		cmocka_unit_test_setup_teardown(test_live, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cm, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cut, setup, teardown),
		cmocka_unit_test_setup_teardown(test_keep, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
