/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Traffic between two endpoints in two processes:
 *
 * 	test (proc 1) ===== shm ===== echo child (proc 2)
 *
 * The child returns every segment with its payload and fields, so each case runs in both
 * directions.
 */
#include "base/tuning.h"
#include "link/testing.h"
#include <sys/prctl.h>
#include "wire/psn.h"

struct pair {
	struct node me;
	struct link *l;
	pid_t child;
	int ctl;		/* commands to the child: see echo_child() */
	bool no_cma;
};

/* The child's buffers for echoes, used in turn, so that a buffer stays unchanged until the parent has read the echo. */
#define RING 16
static uint8_t *echo_buf[RING];
static uint32_t echo_next;
static bool child_waits;	/* until there is room for an echo; otherwise it is dropped */

static void echo(struct node *n, struct link *l, const struct seg *seg)
{
	uint8_t *b = echo_buf[echo_next++ % RING];
	struct iovec iov = { .iov_base = b, .iov_len = seg->len };
	struct seg s = *seg;

	/* Not echoed: a lost segment (-EIO), and the link's NAK that says that an echo was lost. */
	if (n->last_rc == -EIO || (seg->type == SEG_ACK && seg->syndrome == AETH_NAK_PSN_SEQ))
		return;
	memcpy(b, n->buf, seg->len);
	s.pull = NULL;
	s.iov = &iov;
	s.niov = seg->len != 0;
	s.dqpn = seg->sqpn;
	s.sqpn = seg->dqpn;
	while (l->ops->send(l, &s) == -EAGAIN && child_waits)
		usleep(100);
}

static int child_ms = 5;	/* longest sleep of the child */
static bool child_threadless;	/* the child acts as if its progress thread had not run yet */

static void leave_child_behind(void)
{
	if (!fork()) {
		sleep(2);
		_exit(0);
	}
}

/*
 * Commands: 's' sleep 100 ms without consuming, 'f' leave a forked child behind and die, 'x' exec,
 * 'e' leave a forked child behind and exec, 'd' become unreadable for other processes, 'q' quit.
 */
static void echo_child(int ctl, bool no_cma)
{
	static struct node n;
	char c;

	/* If a test fails and the parent exits, the kernel kills the child too. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	node_open(&n, 2, no_cma);
	if (!child_threadless)
		shm_ep_thread_start(n.ep);
	n.on_input = echo;
	for (int i = 0; i < RING; i++)
		echo_buf[i] = malloc(NODE_BUF);
	if (write(ctl, n.ep->hello.sock, SHM_SOCK_LEN) != SHM_SOCK_LEN)
		_exit(1);
	for (;;) {
		node_turn(&n, child_ms);
		if (recv(ctl, &c, 1, MSG_DONTWAIT) != 1)
			continue;
		if (c == 's')
			usleep(100000);
		if (c == 'f' || c == 'e')
			leave_child_behind();
		if (c == 'f')
			kill(getpid(), SIGKILL);
		if (c == 'x' || c == 'e')
			execl("/bin/sleep", "sleep", "2", NULL);
		if (c == 'd')
			prctl(PR_SET_DUMPABLE, 0);
		if (c == 'q')
			_exit(0);
	}
}

static void pair_open(struct pair *p, bool no_cma)
{
	char sock[SHM_SOCK_LEN];
	int sv[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
	p->child = fork();
	if (!p->child) {
		close(sv[0]);
		echo_child(sv[1], no_cma);
	}
	close(sv[1]);
	p->ctl = sv[0];
	p->no_cma = no_cma;
	assert_int_equal(recv(p->ctl, sock, sizeof(sock), MSG_WAITALL), sizeof(sock));
	node_open(&p->me, 1, no_cma);
	shm_ep_thread_start(p->me.ep);
	assert_int_equal(shm_connect(p->me.ep, 2, sock, p->child, NS_S, &p->l), 0);
}

static void pair_close(struct pair *p)
{
	int status;

	kill(p->child, SIGKILL);
	waitpid(p->child, &status, 0);
	NODE_UNTIL(&p->me, p->l->dead);
	link_put(p->l);
	node_close(&p->me);
	close(p->ctl);
}

static void command(struct pair *p, char c)
{
	assert_int_equal(write(p->ctl, &c, 1), 1);
}

static void round_trip(struct pair *p, const struct seg *s)
{
	uint32_t before = p->me.nseg;
	int rc;

	/* The child answers before it releases the slot of the ring, so the ring may be full. */
	while ((rc = p->l->ops->send(p->l, s)) == -EAGAIN)
		node_turn(&p->me, 1);
	assert_int_equal(rc, 0);
	NODE_UNTIL(&p->me, p->me.nseg != before);
	assert_int_equal(p->me.last_rc, 0);
	assert_int_equal(p->me.last.len, s->len);
	assert_int_equal(p->me.last.psn, s->psn);
	assert_int_equal(p->me.last.dqpn, s->sqpn);
}

static void check_sizes(bool no_cma)
{
	static const uint32_t sizes[] = { 0, 1, 7, 8, 9, 16, 17, 23, 24, 25, 63, 64, 65, 255, 256,
		1024, 4095, 4096, 8191, 8192, 8193,
		TUNE_PULL - 1, TUNE_PULL, 65536, 65537, 131072, 1000000, 1048576 };
	static const enum seg_type types[] = { SEG_SEND, SEG_SEND_IMM, SEG_WRITE, SEG_WRITE_IMM,
		SEG_READ_RESP };
	uint8_t *mem = malloc(NODE_BUF);
	struct pair p;
	struct prng r;
	uint32_t psn = 0;

	test_seed(&r);
	pair_open(&p, no_cma);
	for (uint32_t i = 0; i < NODE_BUF; i++)
		mem[i] = (uint8_t)prng_u64(&r);
	for (uint32_t t = 0; t < ARRAY_SIZE(types); t++)
		for (uint32_t k = 0; k < ARRAY_SIZE(sizes); k++) {
			struct iovec iov = { mem, sizes[k] };
			struct seg s = t_seg(types[t], &iov, 1, psn++);

			s.va = 0x1122334455667788;
			s.rkey = 0x99aabbcc;
			s.dma_len = sizes[k];
			s.imm = 0xfeed;
			round_trip(&p, &s);
			assert_memory_equal(p.me.buf, mem, sizes[k]);
			assert_int_equal(p.me.last.imm, 0xfeed);
			if (types[t] == SEG_WRITE || types[t] == SEG_WRITE_IMM) {
				assert_int_equal(p.me.last.va, s.va);
				assert_int_equal(p.me.last.rkey, s.rkey);
				assert_int_equal(p.me.last.dma_len, s.dma_len);
			}
			assert_int_equal(p.me.last_pull, sizes[k] >= TUNE_PULL && !no_cma &&
							 types[t] != SEG_READ_RESP);
		}
	pair_close(&p);
	free(mem);
}

static void test_sizes_cma(void **state)
{
	check_sizes(false);
}

static void test_sizes_copy(void **state)
{
	check_sizes(true);
}

static void check_lists(bool no_cma)
{
	uint8_t *mem = malloc(NODE_BUF), *flat = malloc(NODE_BUF);
	struct iovec iov[SEG_MAX_IOV];
	struct pair p;
	struct prng r;

	test_seed(&r);
	pair_open(&p, no_cma);
	for (uint32_t i = 0; i < NODE_BUF; i++)
		mem[i] = (uint8_t)prng_u64(&r);
	for (uint32_t round = 0; round < 300; round++) {
		int n = 1 + (int)prng_below(&r, SEG_MAX_IOV);
		uint32_t each = 1u << prng_below(&r, 15), len = 0;
		struct seg s;

		for (int i = 0; i < n; i++) {
			uint32_t at = prng_below(&r, NODE_BUF - each);

			iov[i] = (struct iovec){ mem + at, prng_below(&r, each + 1) };
			memcpy(flat + len, mem + at, iov[i].iov_len);
			len += (uint32_t)iov[i].iov_len;
		}
		s = t_seg(SEG_SEND, iov, n, round);
		round_trip(&p, &s);
		assert_memory_equal(p.me.buf, flat, len);
	}
	pair_close(&p);
	free(mem);
	free(flat);
}

static void test_lists_cma(void **state)
{
	check_lists(false);
}

static void test_lists_copy(void **state)
{
	check_lists(true);
}

static void test_fields(void **state)
{
	struct pair p;
	struct seg s, *g = &p.me.last;

	pair_open(&p, false);
	s = t_seg(SEG_ACK, NULL, 0, 0xffffff);
	s.syndrome = AETH_RNR_NAK | 12;
	s.msn = 0xabcdef;
	round_trip(&p, &s);
	assert_int_equal(g->syndrome, s.syndrome);
	assert_int_equal(g->msn, s.msn);
	s = t_seg(SEG_READ_REQ, NULL, 0, 5);
	s.npkts = 1000;
	s.va = 1;
	s.rkey = 2;
	s.dma_len = 3;
	round_trip(&p, &s);
	assert_int_equal(g->npkts, 1000);
	assert_int_equal(g->va + g->rkey + g->dma_len, 6);
	s = t_seg(SEG_CMP_SWP, NULL, 0, 6);
	s.swap_add = 0x0102030405060708;
	s.compare = 0x1112131415161718;
	round_trip(&p, &s);
	assert_int_equal(g->swap_add, s.swap_add);
	assert_int_equal(g->compare, s.compare);
	s = t_seg(SEG_ATOMIC_ACK, NULL, 0, 7);
	s.orig = 0xfffffffffffffff0;
	s.msn = 4;
	round_trip(&p, &s);
	assert_int_equal(g->orig, s.orig);
	assert_int_equal(g->msn, 4);
	s = t_seg(SEG_ATOMIC_WRITE, &(struct iovec){ (void *)"abcdefgh", 8 }, 1, 8);
	s.va = 0x1122334455667788;
	s.rkey = 0x99aabbcc;
	s.dma_len = 8;
	round_trip(&p, &s);
	assert_int_equal(g->va, s.va);
	assert_int_equal(g->rkey, s.rkey);
	assert_int_equal(g->dma_len, 8);
	assert_memory_equal(p.me.buf, "abcdefgh", 8);
	s = t_seg(SEG_FLUSH, NULL, 0, 9);
	s.va = 0x1122334455667788;
	s.rkey = 0x99aabbcc;
	s.dma_len = 4096;
	s.imm = SEG_FETH_GLOBAL | SEG_FETH_MR << SEG_FETH_SEL_SHIFT;
	round_trip(&p, &s);
	assert_int_equal(g->va, s.va);
	assert_int_equal(g->rkey, s.rkey);
	assert_int_equal(g->dma_len, 4096);
	assert_int_equal(g->imm, s.imm);
	pair_close(&p);
}

/* Datagrams carry their addresses: in the slot beside up to 24 bytes, or in the data area. */
static void test_datagram(void **state)
{
	static const uint32_t len[] = { 0, 1, 8, 24, 25, 64, 65, 1000, 4096 };
	uint8_t *mem = malloc(4096);
	struct seg_net net = { .flow_label = 0xabcde, .traffic_class = 3, .hop_limit = 64 };
	struct pair p;

	pair_open(&p, false);
	for (uint32_t i = 0; i < ARRAY_SIZE(len); i++) {
		struct iovec iov = { mem, len[i] };
		struct seg s = t_seg(SEG_SEND_IMM, &iov, len[i] != 0, i);

		memset(mem, (int)i + 1, 4096);
		memset(net.sgid, 0x10 + (int)i, 16);
		memset(net.dgid, 0x20 + (int)i, 16);
		s.service = SEG_UD;
		s.path_mtu = 4096;
		s.npkts = 1;
		s.qkey = 0x11111111;
		s.imm = 0x1234;
		s.flags |= SEG_F_SOLICITED;
		s.net = &net;
		round_trip(&p, &s);
		assert_int_equal(p.me.last.qkey, 0x11111111);
		assert_int_equal(p.me.last.imm, 0x1234);
		assert_int_equal(p.me.last.flags, s.flags);
		assert_int_equal(p.me.last.len, len[i]);
		assert_memory_equal(&p.me.net, &net, sizeof(net));
		assert_memory_equal(p.me.buf, mem, len[i]);
	}
	pair_close(&p);
	free(mem);
}

/* More than fits while the child sleeps: EAGAIN, then writable; nothing is lost or out of order. */
static void check_flow(uint32_t len)
{
	uint8_t *mem = calloc(1, NODE_BUF);
	struct iovec iov = { mem, len };
	struct pair p;
	uint32_t sent = 0, stalls = 0, writable;

	child_waits = true;
	pair_open(&p, true);
	child_waits = false;
	for (uint32_t i = 0; i < 600; i++) {
		struct seg s = t_seg(SEG_WRITE, &iov, 1, sent);

		if (i == 5)
			command(&p, 's');
		while (p.l->ops->send(p.l, &s) == -EAGAIN) {
			stalls++;
			writable = p.me.nwritable;
			NODE_UNTIL(&p.me, p.me.nwritable != writable);
		}
		sent++;
	}
	NODE_UNTIL(&p.me, p.me.nseg == sent);
	assert_int_equal(p.me.last.psn, sent - 1);
	assert_true(stalls > 0);
	NODE_UNTIL(&p.me, !p.l->ops->peer_behind(p.l));
	pair_close(&p);
	free(mem);
}

static void test_flow_slots(void **state)
{
	check_flow(8);
}

static void test_flow_data(void **state)
{
	check_flow(100000);
}

static void test_bad_memory(void **state)
{
	uint8_t *mem = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec iov = { mem, 65536 };
	struct pair p;
	struct seg s;

	pair_open(&p, true);
	munmap(mem + 32768, 4096);
	s = t_seg(SEG_SEND, &iov, 1, 1);
	assert_int_equal(p.l->ops->send(p.l, &s), -EFAULT);
	pair_close(&p);

	/* Sent by reference: the peer finds the hole, the requester gets a NAK. Sent again by copy: send() finds the hole. */
	pair_open(&p, false);
	assert_int_equal(p.l->ops->send(p.l, &s), 0);
	NODE_UNTIL(&p.me, p.me.nseg == 1);
	assert_int_equal(p.me.last.type, SEG_ACK);
	assert_int_equal(p.me.last.syndrome, AETH_NAK_PSN_SEQ);
	assert_int_equal(p.me.last.psn, 1);
	assert_int_equal(p.me.last.dqpn, s.sqpn);
	assert_int_equal(p.l->ops->send(p.l, &s), -EFAULT);
	/* After that the same QP can send from good memory, and so can another QP. */
	iov.iov_len = 16384;
	s = t_seg(SEG_SEND, &iov, 1, 2);
	round_trip(&p, &s);
	s.sqpn++;
	round_trip(&p, &s);
	pair_close(&p);
	munmap(mem, 65536);
}

static void test_revoke(void **state)
{
	uint8_t *mem = malloc(65536);
	struct iovec iov = { mem, 65536 }, small = { mem, 4 };
	struct pair p;
	struct seg s;
	int status;

	memset(mem, 7, 65536);
	pair_open(&p, false);
	/* Meanwhile the peer consumes nothing. */
	kill(p.child, SIGSTOP);
	assert_int_equal(waitpid(p.child, &status, WUNTRACED), p.child);
	s = t_seg(SEG_SEND, &iov, 1, 1);
	assert_int_equal(p.l->ops->send(p.l, &s), 0);
	s.sqpn++;
	s.psn = 2;
	assert_int_equal(p.l->ops->send(p.l, &s), 0);
	assert_true(p.l->ops->peer_behind(p.l));
	p.l->ops->revoke(p.l, 0x8012);
	s = t_seg(SEG_SEND, &small, 1, 3);
	assert_int_equal(p.l->ops->send(p.l, &s), 0);
	kill(p.child, SIGCONT);
	NODE_UNTIL(&p.me, p.me.nseg == 2);
	assert_int_equal(p.me.last.psn, 3);
	usleep(10000);
	assert_int_equal(node_turn(&p.me, 10), 0);
	pair_close(&p);
	free(mem);
}

/* However the peer ends, the link goes down once; later sends return 0 and their segments are lost. */
static void check_death(char how)
{
	struct pair p;
	struct seg s = t_seg(SEG_SEND, NULL, 0, 1);
	int status;

	pair_open(&p, false);
	round_trip(&p, &s);
	if (how == 'k')
		kill(p.child, SIGKILL);
	else
		command(&p, how);
	if (how == 'e')		/* pid and socket live on: only the robust futex shows the death */
		for (int i = 0; i < 500 && !p.l->dead; i++) {
			p.l->ops->peer_behind(p.l);
			node_turn(&p.me, 10);
		}
	NODE_UNTIL(&p.me, p.l->dead);
	assert_int_equal(p.me.ndown, 1);
	assert_int_equal(p.l->ops->send(p.l, &s), 0);
	assert_false(p.l->ops->peer_behind(p.l));
	assert_int_equal(p.l->refs, 1);
	link_put(p.l);
	kill(p.child, SIGKILL);
	waitpid(p.child, &status, 0);
	node_close(&p.me);
	close(p.ctl);
}

static void test_death(void **state)
{
	check_death('k');
	check_death('q');
	check_death('f');
	check_death('x');
	check_death('e');
}

/* Both ends sleep after every segment, so long that a lost wake-up fails the test. */
static void test_wakeups(void **state)
{
	struct pair p;

	child_ms = 20000;
	pair_open(&p, false);
	for (uint32_t i = 0; i < 3000; i++) {
		struct seg s = t_seg(SEG_SEND, NULL, 0, i);
		uint32_t before = p.me.nseg;

		assert_int_equal(p.l->ops->send(p.l, &s), 0);
		while (p.me.nseg == before)
			node_turn(&p.me, 20000);
	}
	assert_int_equal(p.me.ntimeouts, 0);
	child_ms = 5;
	pair_close(&p);
}

static void test_stopped_is_not_dead(void **state)
{
	struct pair p;
	struct seg s = t_seg(SEG_SEND, NULL, 0, 1);
	int status;

	pair_open(&p, false);
	kill(p.child, SIGSTOP);
	waitpid(p.child, &status, WUNTRACED);
	assert_int_equal(p.l->ops->send(p.l, &s), 0);
	for (int i = 0; i < 5; i++)
		node_turn(&p.me, 10);
	assert_true(p.l->ops->peer_behind(p.l));
	kill(p.child, SIGCONT);
	NODE_UNTIL(&p.me, p.me.nseg == 1);
	pair_close(&p);
}

/* A stopped child is not dead, even before its progress thread has run. When such a child dies, the link goes down. */
static void test_threadless_is_not_dead(void **state)
{
	struct pair p;

	child_threadless = true;
	test_stopped_is_not_dead(state);
	pair_open(&p, false);
	child_threadless = false;
	kill(p.child, SIGKILL);
	NODE_UNTIL(&p.me, p.l->dead);
	assert_false(p.l->ops->peer_behind(p.l));
	pair_close(&p);
}

static void denied_later(void)
{
	uint8_t *mem = malloc(65536);
	struct iovec iov = { mem, 65536 };
	struct seg s = t_seg(SEG_SEND, &iov, 1, 1);
	struct pair p;

	memset(mem, 5, 65536);
	/* Root may read every process. */
	if (!geteuid())
		assert_int_equal(setresgid(65534, 65534, 65534) |
				 setresuid(65534, 65534, 65534), 0);
	prctl(PR_SET_DUMPABLE, 1);
	pair_open(&p, false);
	round_trip(&p, &s);
	assert_true(p.me.last_pull);
	command(&p, 'd');
	usleep(50000);
	s.psn = 2;
	assert_int_equal(p.l->ops->send(p.l, &s), 0);
	NODE_UNTIL(&p.me, p.me.last.psn == 2);
	assert_int_equal(p.me.last_rc, -EIO);
	assert_false(((struct shm_link *)p.l)->can_pull);
	s.psn = 3;
	assert_int_equal(p.l->ops->send(p.l, &s), 0);
	NODE_UNTIL(&p.me, p.me.last.psn == 3);
	assert_int_equal(p.me.last_rc, 0);
	assert_false(p.me.last_pull);
	assert_memory_equal(p.me.buf, mem, 65536);
	assert_false(p.l->dead);
	pair_close(&p);
	free(mem);
}

/*
 * A peer becomes unreadable while the link is up: a lost reference is reported, later payload is
 * copied.
 */
static void test_denied_later(void **state)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		denied_later();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes_cma),
		cmocka_unit_test(test_sizes_copy),
		cmocka_unit_test(test_lists_cma),
		cmocka_unit_test(test_lists_copy),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_datagram),
		cmocka_unit_test(test_flow_slots),
		cmocka_unit_test(test_flow_data),
		cmocka_unit_test(test_bad_memory),
		cmocka_unit_test(test_denied_later),
		cmocka_unit_test(test_revoke),
		cmocka_unit_test(test_wakeups),
		cmocka_unit_test(test_death),
		cmocka_unit_test(test_stopped_is_not_dead),
		cmocka_unit_test(test_threadless_is_not_dead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
