/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests of the udp link through real sockets on lo: datagrams of foreign senders, and delayed ACKs
 * in virtual time.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/pool.h"
#include "base/tuning.h"
#include "link/testing.h"
#include "link/udp_int.h"
#include "wire/icrc.h"
#include "wire/ipudp.h"
#include "wire/packet.h"

#define DQPN 0x4001u

struct peer {
	struct node n;
	struct udp_ep *ep;
	struct udp_stats stats;
	struct sockaddr_in6 to;
	int epfd, out;		/* out: socket of the foreign sender */
	uint16_t sport;
	struct seg_net net;
};

static bool mine(struct udp_ep *ep, uint32_t dqpn)
{
	return dqpn == DQPN;
}

/* Virtual time. */
static ns_t clock_ns = NS_S;

static ns_t now(void)
{
	return clock_ns;
}

static void parse(struct seg_net *net, struct sockaddr_in6 *sa, const char *addr)
{
	*sa = (struct sockaddr_in6){ .sin6_family = AF_INET6 };
	assert_int_equal(inet_pton(AF_INET6, addr, &sa->sin6_addr), 1);
	*net = (struct seg_net){ .hop_limit = 64 };
	memcpy(net->sgid, &sa->sin6_addr, 16);
	memcpy(net->dgid, &sa->sin6_addr, 16);
}

static bool wait_writable(int fd, ns_t ns)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, (int)(ns / NS_MS)) > 0;
}

/*
 * Open an endpoint on addr, and a socket that sends to it from addr. False: there is no such
 * address.
 */
static bool peer_open(struct peer *p, const char *addr)
{
	struct udp_cfg cfg = { .stats = &p->stats, .host = &t_host, .host_arg = &p->n,
			       .mine = mine, .now = now, .wait_writable = wait_writable };
	int in = socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK, 0), off = 0;
	struct sockaddr_in6 from;
	socklen_t len = sizeof(from);

	memset(p, 0, sizeof(*p));
	p->out = socket(AF_INET6, SOCK_DGRAM, 0);
	if (in < 0 || p->out < 0)
		return false;
	setsockopt(in, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	setsockopt(p->out, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	parse(&p->net, &p->to, addr);
	if (bind(in, (struct sockaddr *)&p->to, sizeof(p->to)) ||
	    bind(p->out, (struct sockaddr *)&p->to, sizeof(p->to))) {
		close(in);
		close(p->out);
		return false;
	}
	assert_int_equal(getsockname(in, (struct sockaddr *)&p->to, &len), 0);
	assert_int_equal(getsockname(p->out, (struct sockaddr *)&from, &len), 0);
	p->sport = ntohs(from.sin6_port);
	p->n.buf = malloc(NODE_BUF);
	p->epfd = cfg.epfd = epoll_create1(0);
	cfg.port = ntohs(p->to.sin6_port);
	assert_int_equal(udp_ep_prepare_socket(in), 0);
	assert_int_equal(udp_ep_create(&cfg, &p->ep), 0);
	assert_int_equal(udp_ep_add_socket(p->ep, in), 0);
	return true;
}

/* A process keeps its endpoint until it ends. */
static void ep_destroy(struct udp_ep *ep)
{
	struct udp_rx *rx, *t;

	assert_true(list_empty(&ep->links));
	list_for_each_entry_safe(rx, t, &ep->rx, entry) {
		close(rx->fd);
		pool_free(rx, sizeof(*rx));
	}
	udp_rxbuf_destroy(ep);
	pool_free(ep, sizeof(*ep));
}

static void peer_close(struct peer *p)
{
	ep_destroy(p->ep);
	close(p->epfd);
	close(p->out);
	free(p->n.buf);
}

/* Send a SEND whose ICRC covers this IP id. */
static void foreign_send(struct peer *p, uint16_t id, uint32_t damage)
{
	uint8_t payload[100], packet[PACKET_MAX + ICRC_LEN], hdr[IPUDP_MAX];
	struct iovec iov = { payload, sizeof(payload) };
	struct seg seg = t_seg(SEG_SEND, &iov, 1, 7);
	size_t iplen, all;
	int len;

	memset(payload, 0x42, sizeof(payload));
	seg.dqpn = DQPN;
	len = packet_build(&seg, 0, packet, sizeof(packet), NULL);
	assert_true(len > 0);
	all = (size_t)len + ICRC_LEN;
	iplen = ipudp_put(hdr, &p->net, p->sport, ntohs(p->to.sin6_port), all, id, IPUDP_DF);
	icrc_put(packet + len, ipudp_icrc(hdr, iplen, packet, (size_t)len) ^ damage);
	assert_int_equal(
		sendto(p->out, packet, all, 0, (struct sockaddr *)&p->to, sizeof(p->to)), all);
}

/* The kernel's rxe sends IPv6 without UDP checksum too. */
static void test_v6_without_checksum(void **state)
{
	struct peer p;
	int on = 1;

	if (!peer_open(&p, "::1"))
		skip();
	assert_int_equal(setsockopt(p.out, SOL_UDP, UDP_NO_CHECK6_TX, &on, sizeof(on)), 0);
	foreign_send(&p, 0, 0);
	assert_int_equal(udp_poll(p.ep, 8), 1);
	assert_int_equal(p.n.nseg, 1);
	assert_int_equal(p.n.buf[0], 0x42);
	foreign_send(&p, 0, 1u << 20);
	assert_int_equal(udp_poll(p.ep, 8), 0);
	assert_int_equal(p.stats.bad_icrc, 1);
	peer_close(&p);
}

/* The kernel's rxe counts its IPv4 ids, which the ICRC covers and a socket does not show. */
static void test_v4_any_id(void **state)
{
	struct peer p;

	if (!peer_open(&p, "::ffff:127.0.0.1"))
		skip();
	for (uint32_t id = 0; id < 0x10000; id += 4711) {
		foreign_send(&p, (uint16_t)id, 0);
		assert_int_equal(udp_poll(p.ep, 8), 1);
	}
	assert_int_equal(p.stats.bad_icrc, 0);
	assert_int_equal(p.stats.rx_packets, 14);
	assert_int_equal(p.stats.other_id, 13);
	peer_close(&p);
}

/* The packets that arrived, in order, one letter each: 's' SEND, 'a' ACK, 'n' NAK. */
static char came[512];

static void note(struct node *n, struct link *l, const struct seg *seg)
{
	size_t len = strlen(came);

	assert_true(len + 1 < sizeof(came));
	came[len] = seg->type == SEG_SEND ? 's' : seg->syndrome == AETH_ACK_UNLIMITED ? 'a' : 'n';
	came[len + 1] = 0;
}

static const char *arrived(struct peer *p)
{
	came[0] = 0;
	while (udp_poll(p->ep, 8))
		;
	return came;
}

static void say(struct link *l, enum seg_type type, uint8_t syndrome, uint32_t psn)
{
	static uint8_t payload[2];
	struct iovec iov = { payload, sizeof(payload) };
	struct seg seg = t_seg(type, &iov, type == SEG_SEND, psn);

	seg.dqpn = DQPN;
	seg.syndrome = syndrome;
	assert_int_equal(l->ops->send(l, &seg), 0);
}

/*
 * Sends a message right after each ACK, until the link has learned to hold the next ACK for a
 * message.
 */
static void answer_at_once(struct peer *p, struct link *l)
{
	for (int i = 0; i < 100; i++) {
		say(l, SEG_ACK, AETH_ACK_UNLIMITED, 1);
		clock_ns += NS_US;
		say(l, SEG_SEND, 0, 1);
	}
	arrived(p);
}

static struct link *to_itself(struct peer *p, const char *addr)
{
	struct udp_path path = { .block = DQPN >> 14 };
	struct link *l;

	if (!peer_open(p, addr))
		skip();
	p->n.on_input = note;
	path.net = p->net;
	path.ifindex = if_nametoindex("lo");
	assert_int_equal(udp_link(p->ep, &path, &l), 0);
	return l;
}

static void held_ack_with_message(const char *addr)
{
	struct peer p;
	struct link *l = to_itself(&p, addr);

	/*
	 * An ACK is not held for the program's next message without udp_hold(), nor before the program has answered
	 * at once.
	 */
	say(l, SEG_ACK, AETH_ACK_UNLIMITED, 1);
	udp_hold(p.ep, true);
	say(l, SEG_ACK, AETH_ACK_UNLIMITED, 1);
	assert_string_equal(arrived(&p), "aa");
	udp_hold(p.ep, false);
	answer_at_once(&p, l);
	udp_hold(p.ep, true);
	/* The newest ACK is held. A message is sent before the held ACK, a NAK after it. */
	say(l, SEG_ACK, AETH_ACK_UNLIMITED, 2);
	say(l, SEG_ACK, AETH_ACK_UNLIMITED, 3);
	say(l, SEG_ACK, AETH_ACK_UNLIMITED, 1);
	assert_string_equal(arrived(&p), "");
	assert_true(udp_holds(p.ep));
	say(l, SEG_SEND, 0, 2);
	assert_string_equal(arrived(&p), "sa");
	assert_int_equal(p.n.last.psn, 3);
	say(l, SEG_ACK, AETH_ACK_UNLIMITED, 4);
	say(l, SEG_ACK, AETH_NAK_PSN_SEQ, 5);
	assert_string_equal(arrived(&p), "an");
	assert_int_equal(p.stats.bad_icrc + p.stats.other_id + p.stats.malformed, 0);
	link_put(l);
	peer_close(&p);
}

/* An ACK is sent together with a message that follows at once. */
static void test_ack_with_message(void **state)
{
	held_ack_with_message("::ffff:127.0.0.1");
	held_ack_with_message("::1");
}

/*
 * An ACK held for the program's next message is sent alone if no message follows in time, and the next ACK is not
 * held.
 */
static void test_ack_missed(void **state)
{
	struct peer p;
	struct link *l = to_itself(&p, "::ffff:127.0.0.1");

	answer_at_once(&p, l);
	udp_hold(p.ep, true);
	say(l, SEG_ACK, AETH_ACK_UNLIMITED, 2);
	assert_true(udp_flush_old(p.ep, clock_ns) > clock_ns);
	assert_string_equal(arrived(&p), "");
	clock_ns += 100 * NS_US;
	assert_int_equal(udp_flush_old(p.ep, clock_ns), NS_NEVER);
	assert_string_equal(arrived(&p), "a");
	say(l, SEG_ACK, AETH_ACK_UNLIMITED, 3);
	assert_string_equal(arrived(&p), "a");
	answer_at_once(&p, l);
	say(l, SEG_ACK, AETH_ACK_UNLIMITED, 4);
	udp_flush(p.ep);
	assert_false(udp_holds(p.ep));
	assert_string_equal(arrived(&p), "a");
	/* A message that comes later is not an answer. */
	answer_at_once(&p, l);
	say(l, SEG_ACK, AETH_ACK_UNLIMITED, 5);
	assert_true(udp_holds(p.ep));
	clock_ns += NS_MS;
	say(l, SEG_SEND, 0, 5);
	say(l, SEG_ACK, AETH_ACK_UNLIMITED, 6);
	assert_string_equal(arrived(&p), "saa");
	/* An ACK that is held for the program's next message is sent when its link is destroyed. */
	answer_at_once(&p, l);
	say(l, SEG_ACK, AETH_ACK_UNLIMITED, 7);
	assert_true(udp_holds(p.ep));
	link_put(l);
	assert_false(udp_holds(p.ep));
	assert_string_equal(arrived(&p), "a");
	peer_close(&p);
}

/*
 * Answers ACKs at once until the link holds one. Sends that held ACK without an answer, so that it
 * counts as a miss. Returns the number of ACKs that were answered.
 */
static int answers_wanted(struct peer *p, struct link *l)
{
	int n = 0;

	for (;;) {
		say(l, SEG_ACK, AETH_ACK_UNLIMITED, 1);
		if (udp_holds(p->ep))
			break;
		clock_ns += NS_US;
		say(l, SEG_SEND, 0, 1);
		n++;
	}
	udp_flush(p->ep);
	arrived(p);
	return n;
}

/*
 * A held ACK that no message follows is a miss. Before the first held ACK and after each miss, TUNE_HABIT answered ACKs
 * are needed.
 */
static void test_ack_missed_often(void **state)
{
	struct peer p;
	struct link *l = to_itself(&p, "::ffff:127.0.0.1");

	udp_hold(p.ep, true);
	assert_int_equal(answers_wanted(&p, l), TUNE_HABIT);
	answer_at_once(&p, l);
	say(l, SEG_ACK, AETH_ACK_UNLIMITED, 1);
	assert_true(udp_holds(p.ep));
	udp_flush(p.ep);
	assert_int_equal(answers_wanted(&p, l), TUNE_HABIT);
	for (int i = 0; i < 20; i++)
		assert_int_equal(answers_wanted(&p, l), TUNE_HABIT);
	link_put(l);
	peer_close(&p);
}

/* Sends 1000 ACKs, each followed by a message except every k-th one. Returns how many of the latter were held. */
static int missed_of(struct peer *p, struct link *l, int k)
{
	int missed = 0;

	for (int i = 1; i <= 1000; i++) {
		say(l, SEG_ACK, AETH_ACK_UNLIMITED, 1);
		clock_ns += i % k ? NS_US : NS_MS;
		if (udp_holds(p->ep) && i % k == 0)
			missed++;
		udp_flush_old(p->ep, clock_ns);
		if (i % k)
			say(l, SEG_SEND, 0, 1);
		arrived(p);
	}
	return missed;
}

static void test_ack_pattern(void **state)
{
	struct peer p;
	struct link *l = to_itself(&p, "::ffff:127.0.0.1");

	udp_hold(p.ep, true);
	assert_int_equal(missed_of(&p, l, 2), 0);
	assert_int_equal(missed_of(&p, l, TUNE_HABIT), 0);
	assert_int_equal(missed_of(&p, l, 50), 20);
	link_put(l);
	peer_close(&p);
}

/* An ACK is held for exactly TUNE_SOON. */
static void test_hold_time(void **state)
{
	const ns_t want = TUNE_SOON;
	struct peer p;
	struct link *l = to_itself(&p, "::ffff:127.0.0.1");
	ns_t since;

	answer_at_once(&p, l);
	udp_hold(p.ep, true);
	say(l, SEG_ACK, AETH_ACK_UNLIMITED, 2);
	since = clock_ns;
	assert_true(udp_holds(p.ep));
	assert_int_equal(udp_flush_old(p.ep, since), since + want);
	assert_int_equal(udp_flush_old(p.ep, since + want - 1), since + want);
	assert_string_equal(arrived(&p), "");
	clock_ns = since + want;
	assert_int_equal(udp_flush_old(p.ep, clock_ns), NS_NEVER);
	assert_string_equal(arrived(&p), "a");
	link_put(l);
	peer_close(&p);
}

/* Mark the sockets as full, as after a send that the kernel refused, although they have room. */
static void refuse(struct peer *p)
{
	struct udp_tx *tx;

	list_for_each_entry(tx, &p->ep->tx, entry)
		udp_tx_full(tx);
}

/* udp_settle() and the end of a link send a held ACK even if the socket was full. */
static void test_ack_settled(void **state)
{
	struct peer p;
	struct link *l = to_itself(&p, "::ffff:127.0.0.1");

	answer_at_once(&p, l);
	udp_hold(p.ep, true);
	say(l, SEG_ACK, AETH_ACK_UNLIMITED, 2);
	refuse(&p);
	udp_flush(p.ep);
	assert_true(udp_holds(p.ep));
	assert_string_equal(arrived(&p), "");
	udp_settle(p.ep);
	assert_false(udp_holds(p.ep));
	assert_string_equal(arrived(&p), "a");
	answer_at_once(&p, l);
	say(l, SEG_ACK, AETH_ACK_UNLIMITED, 3);
	refuse(&p);
	link_put(l);
	assert_string_equal(arrived(&p), "a");
	peer_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_v6_without_checksum),
		cmocka_unit_test(test_v4_any_id),
		cmocka_unit_test(test_ack_with_message),
		cmocka_unit_test(test_ack_missed),
		cmocka_unit_test(test_ack_missed_often),
		cmocka_unit_test(test_ack_pattern),
		cmocka_unit_test(test_ack_settled),
		cmocka_unit_test(test_hold_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
