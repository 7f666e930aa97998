/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <sys/mman.h>
#include "link/testing.h"

static struct link *loop_open(struct node *n)
{
	memset(n, 0, sizeof(*n));
	n->buf = malloc(NODE_BUF);
	return link_loopback_create(&t_host, n);
}

static void loop_close(struct node *n, struct link *l)
{
	link_put(l);
	free(n->buf);
}

static void test_fifo(void **state)
{
	struct node n;
	struct link *l = loop_open(&n);
	uint8_t big[4096], small[16];
	struct iovec bv = { big, sizeof(big) }, sv = { small, sizeof(small) };
	struct seg s;

	memset(big, 1, sizeof(big));
	memset(small, 2, sizeof(small));
	s = t_seg(SEG_SEND, &bv, 1, 1);
	assert_int_equal(l->ops->send(l, &s), 0);
	s = t_seg(SEG_WRITE, &sv, 1, 5);
	s.va = 77;
	assert_int_equal(l->ops->send(l, &s), 0);
	assert_int_equal(n.nseg, 0);
	assert_true(l->ops->peer_behind(l));
	/* Small payload was copied; large payload is referenced. */
	memset(big, 3, sizeof(big));
	memset(small, 4, sizeof(small));
	assert_int_equal(l->ops->poll(l, 1), 1);
	assert_int_equal(n.last.psn, 1);
	assert_int_equal(n.buf[0], 3);
	assert_int_equal(l->ops->poll(l, 8), 1);
	assert_int_equal(n.last.va, 77);
	assert_int_equal(n.buf[0], 2);
	assert_int_equal(l->ops->poll(l, 8), 0);
	assert_false(l->ops->peer_behind(l));
	loop_close(&n, l);
}

static void test_unreliable_is_copied(void **state)
{
	struct node n;
	struct link *l = loop_open(&n);
	uint8_t big[4096];
	struct iovec bv = { big, sizeof(big) };
	struct seg s = t_seg(SEG_SEND, &bv, 1, 1);

	s.service = SEG_UC;
	memset(big, 1, sizeof(big));
	assert_int_equal(l->ops->send(l, &s), 0);
	memset(big, 9, sizeof(big));
	assert_int_equal(l->ops->poll(l, 8), 1);
	assert_int_equal(n.buf[4095], 1);
	/* An undelivered segment must not leak. */
	assert_int_equal(l->ops->send(l, &s), 0);
	loop_close(&n, l);
}

static void test_bad_memory(void **state)
{
	struct node n;
	struct link *l = loop_open(&n);
	struct iovec bv = { (void *)8, 32 };
	struct seg s = t_seg(SEG_SEND, &bv, 1, 1);

	assert_int_equal(l->ops->send(l, &s), -EFAULT);
	assert_int_equal(l->ops->poll(l, 8), 0);
	loop_close(&n, l);
}

/* The memory goes away behind a reference: a NAK, and the message is copied when it is sent again. */
static void test_memory_goes(void **state)
{
	struct node n;
	struct link *l = loop_open(&n);
	uint8_t *big = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec bv = { big, 8192 };
	struct seg s = t_seg(SEG_SEND, &bv, 1, 7);

	s.sqpn = 0x30;
	s.dqpn = 0x31;
	assert_int_equal(l->ops->send(l, &s), 0);
	assert_int_equal(mprotect(big + 4096, 4096, PROT_NONE), 0);
	assert_int_equal(l->ops->poll(l, 8), 1);
	assert_int_equal(n.nseg, 2);
	assert_int_equal(n.last.type, SEG_ACK);
	assert_int_equal(n.last.syndrome, AETH_NAK_PSN_SEQ);
	assert_int_equal(n.last.psn, 7);
	assert_int_equal(n.last.dqpn, 0x30);
	assert_int_equal(l->ops->send(l, &s), -EFAULT);
	/* A response that cannot be read: the NAK goes to the QP that waits for it. */
	s.type = SEG_READ_RESP;
	assert_int_equal(l->ops->send(l, &s), 0);
	assert_int_equal(l->ops->poll(l, 8), 1);
	assert_int_equal(n.last.dqpn, 0x31);
	/* The memory is back: one message is copied, the next one is referenced. */
	assert_int_equal(mprotect(big + 4096, 4096, PROT_READ | PROT_WRITE), 0);
	for (int i = 0; i < 2; i++) {
		memset(big, 1, 8192);
		assert_int_equal(l->ops->send(l, &s), 0);
		memset(big, 2, 8192);
		assert_int_equal(l->ops->poll(l, 8), 1);
		assert_int_equal(n.last_rc, 0);
		assert_int_equal(n.buf[8191], i + 1);
	}
	munmap(big, 8192);
	loop_close(&n, l);
}

static void test_revoke(void **state)
{
	struct node n;
	struct link *l = loop_open(&n);
	uint8_t big[4096];
	struct iovec bv = { big, sizeof(big) };
	struct seg s = t_seg(SEG_SEND, &bv, 1, 1);

	memset(big, 1, sizeof(big));
	assert_int_equal(l->ops->send(l, &s), 0);
	s.sqpn = 3;
	s.psn = 9;
	assert_int_equal(l->ops->send(l, &s), 0);
	l->ops->revoke(l, 0x8012);
	assert_int_equal(l->ops->poll(l, 8), 1);
	assert_int_equal(n.last.psn, 9);
	loop_close(&n, l);
}

static void test_full(void **state)
{
	struct node n;
	struct link *l = loop_open(&n);
	struct seg s = t_seg(SEG_SEND, NULL, 0, 0);
	uint32_t sent = 0;

	while (l->ops->send(l, &s) == 0)
		s.psn = ++sent;
	assert_int_equal(l->ops->send(l, &s), -EAGAIN);
	assert_true(sent >= 64);
	while (l->ops->poll(l, 7))
		;
	assert_int_equal(n.nseg, sent);
	assert_int_equal(n.last.psn, sent - 1);
	assert_int_equal(n.nwritable, 1);
	assert_int_equal(l->ops->send(l, &s), 0);
	loop_close(&n, l);
}

static void answer(struct node *n, struct link *l, const struct seg *seg)
{
	struct seg s = t_seg(SEG_ACK, NULL, 0, seg->psn + 1);
	uint32_t before = n->nseg;

	if (seg->psn < 5)
		assert_int_equal(l->ops->send(l, &s), 0);
	assert_int_equal(l->ops->poll(l, 8), 0);
	assert_int_equal(n->nseg, before);
}

static void test_never_inline(void **state)
{
	struct node n;
	struct link *l = loop_open(&n);
	struct seg s = t_seg(SEG_SEND, NULL, 0, 0);

	n.on_input = answer;
	assert_int_equal(l->ops->send(l, &s), 0);
	while (l->ops->poll(l, 8))
		;
	assert_int_equal(n.nseg, 6);
	loop_close(&n, l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fifo),
		cmocka_unit_test(test_unreliable_is_copied),
		cmocka_unit_test(test_bad_memory),
		cmocka_unit_test(test_memory_goes),
		cmocka_unit_test(test_revoke),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_never_inline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
