/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A transfer between two hosts, with all data checked, while a third process sends malformed packets.
 *
 *   malformed recv PORT		host b: an RC QP, a UD QP, and memory with guards
 *   malformed send PORT SERVER		host a: rounds of WRITE with immediate, READ and
 *					FETCH_ADD until SIGTERM
 *   malformed flood FROM TO RC-QPN UD-QPN PSN COUNT SEED RATE CORPUS
 *					sends COUNT datagrams, RATE per second, from the address
 *					FROM to TO; does not run under ruse
 *
 * When the transfer runs, recv prints "rc QPN ud QPN psn PSN", the values for flood. At the end it
 * prints "rounds N", if nothing was written outside of the area and the UD QP has received nothing.
 *
 * FROM is the address of host a. The datagrams go to the RC QP, to the UD QP and to random QP
 * numbers, many of them with a right ICRC. In RoCE a sender that knows QP number, PSN and key of a
 * connection can write its memory; so the flood avoids the PSNs that the transfer uses (12 million
 * from PSN on). CORPUS is a file of recorded datagrams, each after its length in two bytes.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "base/rand.h"
#include "verbs.h"
#include "wire/be.h"
#include "wire/hdr.h"
#include "wire/icrc.h"
#include "wire/ipudp.h"

#define AREA 65536u	/* bytes that the sender may change */
#define GUARD (1u << 20)	/* before and after the area */
#define ALL (AREA + 2 * GUARD)
#define CANARY 0xa5
#define USED_PSNS (12u << 20)
#define BATCH 32u
#define MAX_DATAGRAM 4160u

static struct vctx v;
static struct vdest mine, theirs;
static uint8_t *mem;
static struct ibv_mr *mr, *ud_mr;

static void region(void)
{
	mem = mmap(NULL, ALL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED)
		die("mmap: %m");
	memset(mem, CANARY, ALL);
	/*
	 * The guards are registered as well: a stray packet with the right key could write them.
	 */
	mr = ibv_reg_mr(v.pd, mem, ALL, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
	if (!mr)
		die("reg_mr: %m");
	mine.addr = (uintptr_t)mem;
	mine.rkey = mr->rkey;
}

static void guards(void)
{
	for (uint32_t i = 0; i < GUARD; i++)
		if (mem[i] != CANARY || mem[GUARD + AREA + i] != CANARY)
			die("a guard was written at %u", i);
}

/* A UD QP with receives and a Q_Key that the flood does not know. */
static struct ibv_qp *ud_qp(struct ibv_cq *cq)
{
	static uint8_t buf[16][4096 + 40];
	struct ibv_qp_init_attr ia = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = 1, .max_recv_wr = 16, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp *qp = ibv_create_qp(v.pd, &ia);

	ud_mr = ibv_reg_mr(v.pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);
	if (getrandom(&a.qkey, sizeof(a.qkey), 0) != sizeof(a.qkey) || !qp || !ud_mr)
		die("UD QP: %m");
	if (ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY))
		die("INIT: %m");
	for (int i = 0; i < 16; i++) {
		struct ibv_sge sge = { (uintptr_t)buf[i], sizeof(buf[i]), ud_mr->lkey };
		struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

		if (ibv_post_recv(qp, &wr, &bad))
			die("post_recv: %m");
	}
	a.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(qp, &a, IBV_QP_STATE))
		die("RTR: %m");
	return qp;
}

static void post_recv(void)
{
	struct ibv_recv_wr wr = { 0 }, *bad;

	if (ibv_post_recv(v.qp, &wr, &bad))
		die("post_recv: %m");
}

/* Bytes of this round: up to all of the area except the last eight, which hold the counter. */
static uint32_t round_len(uint32_t round)
{
	return 1 + round * 7919 % (AREA - 8);
}

/* An immediate tells the receiver that all bytes of a round have arrived; 0xffffffff ends the transfer. */
static void receiver(void)
{
	struct ibv_cq *ud_cq = ibv_create_cq(v.ctx, 32, NULL, NULL, 0);
	struct ibv_qp *ud = ud_qp(ud_cq);
	struct ibv_wc wc;
	uint64_t counter;
	uint32_t rounds = 0, n;

	memset(mem + GUARD + AREA - 8, 0, 8);
	for (int i = 0; i < 16; i++)
		post_recv();
	v_sync(v.sock);
	printf("rc %#x ud %#x psn %u\n", v.qp->qp_num, ud->qp_num, theirs.psn);
	fflush(stdout);
	for (;;) {
		if (v_wait(v.cq, &wc, 60))
			die("round %u: %s", rounds, ibv_wc_status_str(wc.status));
		n = ntohl(wc.imm_data);
		if (n == UINT32_MAX)
			break;
		if (wc.opcode != IBV_WC_RECV_RDMA_WITH_IMM || n != rounds)
			die("opcode %d, round %u instead of %u", wc.opcode, n, rounds);
		check(mem + GUARD, round_len(n), n, "round");
		memcpy(&counter, mem + GUARD + AREA - 8, 8);
		if (counter != n)
			die("round %u: the counter is %lu", n, (unsigned long)counter);
		if (rounds++ % 64 == 0)
			guards();
		post_recv();
		v_put(v.sock, &n, sizeof(n));
	}
	guards();
	if (ibv_poll_cq(ud_cq, 1, &wc))
		die("the UD QP has got something: %s", ibv_wc_status_str(wc.status));
	printf("rounds %u\n", rounds);
	if (ibv_destroy_qp(ud) || ibv_destroy_cq(ud_cq) || ibv_dereg_mr(ud_mr))
		die("destroy: %m");
}

static volatile sig_atomic_t over;

static void on_term(int sig)
{
	over = 1;
}

static void request(enum ibv_wr_opcode op, uint32_t at, uint32_t len, uint32_t imm)
{
	struct ibv_sge sge = { (uintptr_t)mem + GUARD + at, len, mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = len ? 1 : 0, .opcode = op, .imm_data = htonl(imm),
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { theirs.addr + GUARD + at, theirs.rkey },
	}, *bad;
	struct ibv_wc wc;

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = theirs.addr + GUARD + at;
		wr.wr.atomic.rkey = theirs.rkey;
		wr.wr.atomic.compare_add = 1;
	}
	if (ibv_post_send(v.qp, &wr, &bad))
		die("post_send: %m");
	if (v_wait(v.cq, &wc, 60))
		die("opcode %d: %s", op, ibv_wc_status_str(wc.status));
}

static void sender(void)
{
	uint32_t round, n, psns = 0;
	uint64_t old;

	signal(SIGTERM, on_term);
	v_sync(v.sock);
	for (round = 0; !over; round++) {
		uint32_t len = round_len(round);

		fill(mem + GUARD, len, round);
		request(IBV_WR_RDMA_WRITE_WITH_IMM, 0, len, round);
		/* Wait until the receiver has checked the round. */
		v_get(v.sock, &n, sizeof(n));
		if (n != round)
			die("acknowledged %u instead of %u", n, round);
		memset(mem + GUARD, 0, len);
		request(IBV_WR_RDMA_READ, 0, len, 0);
		check(mem + GUARD, len, round, "READ");
		request(IBV_WR_ATOMIC_FETCH_AND_ADD, AREA - 8, 8, 0);
		memcpy(&old, mem + GUARD + AREA - 8, 8);
		if (old != round)
			die("FETCH_ADD: %lu instead of %u", (unsigned long)old, round);
		psns += 2 * (len / 1024 + 1) + 1;
		if (psns > USED_PSNS - 256)
			die("too many PSNs: the flood is to end before");
	}
	request(IBV_WR_RDMA_WRITE_WITH_IMM, 0, 0, UINT32_MAX);
	printf("rounds %u\n", round);
}

/* Recorded datagrams. */
static struct {
	uint8_t *bytes;
	uint32_t *at, n;
} corpus;

static void load(const char *path)
{
	FILE *f = fopen(path, "rb");
	long size, o = 0;

	if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) < 2)
		die("%s: %m", path);
	rewind(f);
	corpus.bytes = malloc((size_t)size);
	corpus.at = malloc((size_t)size * sizeof(uint32_t));
	if (!corpus.bytes || !corpus.at || fread(corpus.bytes, 1, (size_t)size, f) != (size_t)size)
		die("%s: %m", path);
	fclose(f);
	for (; o + 2 <= size; o += 2 + get_be16(corpus.bytes + o))
		corpus.at[corpus.n++] = (uint32_t)o;
}

struct flood {
	struct prng rng;
	struct seg_net net;
	uint32_t rc, ud, psn;
	uint16_t sport;
	int fd;
	struct sockaddr_in to;
};

static uint32_t recorded(struct flood *f, uint8_t *p)
{
	const uint8_t *c = corpus.bytes + corpus.at[prng_below(&f->rng, corpus.n)];
	uint32_t len = get_be16(c);

	if (len > MAX_DATAGRAM)
		len = MAX_DATAGRAM;
	memcpy(p, c + 2, len);
	return len;
}

/* Creates a datagram, ICRC included; returns its length, 0 to MAX_DATAGRAM. */
static uint32_t make(struct flood *f, uint8_t *p)
{
	struct prng *r = &f->rng;
	uint32_t len;

	switch (prng_below(r, 4)) {
	case 0:	/* random bytes */
		len = prng_below(r, prng_below(r, 4) ? 100 : MAX_DATAGRAM);
		for (uint32_t i = 0; i < len; i++)
			p[i] = (uint8_t)prng_u64(r);
		return len;
	case 1:	/* truncated or extended */
		len = recorded(f, p);
		return prng_below(r, 4) ? prng_below(r, len + 1) :
					  (uint32_t)(len + prng_below(r, MAX_DATAGRAM - len + 1));
	case 2:	/* flipped bits, most of them in the headers */
		len = recorded(f, p);
		for (uint32_t n = 1 + prng_below(r, 8); n; n--)
			p[prng_below(r, prng_below(r, 3) && len > 28 ? 28 : len)] ^=
				(uint8_t)(1u << prng_below(r, 8));
		return len;
	default: /* unchanged */
		return recorded(f, p);
	}
}

/* Fills in a destination QP, a PSN that the transfer does not use, and an ICRC. */
static void address(struct flood *f, uint8_t *p, uint32_t len)
{
	struct prng *r = &f->rng;
	uint8_t hdr[IPUDP_MAX];
	uint32_t qpn, psn;
	size_t iplen;

	switch (prng_below(r, 4)) {
	case 0:
		qpn = f->ud;
		break;
	case 1:
		qpn = (uint32_t)prng_u64(r) & 0xffffff;
		break;
	default:
		qpn = f->rc;
	}
	psn = f->psn + USED_PSNS + prng_below(r, (1u << 24) - USED_PSNS);
	put_be24(p + 5, qpn);
	put_be24(p + 9, psn & 0xffffff);
	/* P_Key and version are usually right; otherwise the packet would be dropped early. */
	if (prng_below(r, 4)) {
		p[1] &= 0xf0;
		p[2] = p[3] = 0xff;
	}
	if (prng_below(r, 3) == 0)
		return;
	iplen = ipudp_put(hdr, &f->net, f->sport, ROCE_PORT, len, 0, IPUDP_DF);
	icrc_put(p + len - ICRC_LEN, ipudp_icrc(hdr, iplen, p, len - ICRC_LEN));
}

static void flood_open(struct flood *f, const char *from, const char *to)
{
	struct sockaddr_in me = { .sin_family = AF_INET };
	int pmtu = IP_PMTUDISC_DO;
	socklen_t n = sizeof(me);

	f->to = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(ROCE_PORT) };
	f->fd = socket(AF_INET, SOCK_DGRAM, 0);
	/* Unconnected and with DF set, so that the IP id is 0 and the ICRC can be right. */
	if (inet_pton(AF_INET, from, &me.sin_addr) != 1 ||
	    inet_pton(AF_INET, to, &f->to.sin_addr) != 1 || f->fd < 0 ||
	    setsockopt(f->fd, IPPROTO_IP, IP_MTU_DISCOVER, &pmtu, sizeof(pmtu)) ||
	    bind(f->fd, (struct sockaddr *)&me, sizeof(me)) ||
	    getsockname(f->fd, (struct sockaddr *)&me, &n))
		die("socket: %m");
	f->sport = ntohs(me.sin_port);
	f->net = (struct seg_net){ .hop_limit = 64 };
	f->net.sgid[10] = f->net.sgid[11] = f->net.dgid[10] = f->net.dgid[11] = 0xff;
	memcpy(f->net.sgid + 12, &me.sin_addr, 4);
	memcpy(f->net.dgid + 12, &f->to.sin_addr, 4);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void flood(char **arg)
{
	static uint8_t data[BATCH][MAX_DATAGRAM];
	static struct iovec iov[BATCH];
	static struct mmsghdr msg[BATCH];
	struct flood f = { .rc = (uint32_t)strtoul(arg[2], NULL, 0),
			   .ud = (uint32_t)strtoul(arg[3], NULL, 0),
			   .psn = (uint32_t)strtoul(arg[4], NULL, 0) };
	uint32_t count = (uint32_t)atoi(arg[5]), sent = 0;
	double rate = atof(arg[7]), start;

	prng_seed(&f.rng, strtoull(arg[6], NULL, 0));
	load(arg[8]);
	flood_open(&f, arg[0], arg[1]);
	for (start = seconds(); sent < count;) {
		uint32_t n = count - sent < BATCH ? count - sent : BATCH;

		for (uint32_t i = 0; i < n; i++) {
			uint32_t len = make(&f, data[i]);

			if (len >= BTH_LEN + ICRC_LEN)
				address(&f, data[i], len);
			iov[i] = (struct iovec){ data[i], len };
			msg[i].msg_hdr = (struct msghdr){
				.msg_name = &f.to, .msg_namelen = sizeof(f.to),
				.msg_iov = &iov[i], .msg_iovlen = 1,
			};
		}
		if (sendmmsg(f.fd, msg, n, 0) != (int)n)
			die("sendmmsg: %m");
		sent += n;
		while (sent / rate > seconds() - start)
			usleep(200);
	}
	printf("sent %u\n", sent);
}

int main(int argc, char **argv)
{
	struct vcfg cfg = vcfg_default;

	if (argc == 11 && !strcmp(argv[1], "flood")) {
		flood(argv + 2);
		return 0;
	}
	if (argc < 3 || (strcmp(argv[1], "recv") && strcmp(argv[1], "send")))
		die("usage: malformed recv PORT | send PORT SERVER | flood ...");
	v.sock = v_rendezvous(argv[2], argv[3]);
	srandom((unsigned int)time(NULL));
	v_open(&v, &cfg);
	region();
	v_connect(&v, &mine, &theirs);
	if (argc == 3)
		receiver();
	else
		sender();
	ibv_dereg_mr(mr);
	v_close(&v);
	return 0;
}
