/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests of direct placement: a requester executes a WRITE or READ in the peer's memory itself. The requester and its
 * target (the owner of the memory) are two endpoints of one process, so the tests can read and write the shared
 * records of all memory keys (struct key_card) and QPs (struct qp_card). A thread serves the target. Tests of a
 * requester's death fork a process for the requester.
 */
#include <rdma/ib_user_ioctl_verbs.h>
#include <sys/prctl.h>
#include "base/tuning.h"
#include "link/shm_parts.h"
#include "link/testing.h"

#define BLOCK 5u
#define DQPN (BLOCK << 14 | 17)
#define SQPN 0x8012u
#define KEY (9u << 8 | 0x5a)
#define PD 3u
#define LEN 100000u
#define ACCESS (IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_READ)

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	struct qp_card card;
	struct key_card key;

	r->mem = mmap(NULL, LEN + 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(r->mem, 0, LEN + 8192);	/* resident */
	r->src = malloc(LEN);
	memset(r->src, 0x11, LEN);
	card = (struct qp_card){
		.qpn = DQPN, .state = 3, .epsn = 0xfffffe, .msn = 7, .pd = PD, .access = ACCESS,
		.dest_qpn = SQPN, .path_mtu = 1024,
	};
	key = (struct key_card){
		.key = KEY, .pd = PD, .start = (uintptr_t)r->mem, .iova = 0x10000, .length = LEN,
		.access = ACCESS | IB_UVERBS_ACCESS_LOCAL_WRITE,
	};
	rig_open(r, &card, &key);
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	rig_close(r);
	munmap(r->mem, LEN + 8192);
	free(r->src);
	free(r);
	return 0;
}

static struct direct_op t_op(struct iovec *iov, bool read, uint64_t va, uint32_t len, uint32_t psn)
{
	return (struct direct_op){
		.read = read, .dqpn = DQPN, .sqpn = SQPN, .psn = psn,
		.npkts = seg_pkts(len, 1024), .va = va, .rkey = KEY, .len = len,
		.iov = iov, .niov = 1,
	};
}

static void test_write_read(void **state)
{
	struct rig *r = *state;
	struct iovec iov = { r->src, 3000 };
	struct direct_op op = t_op(&iov, false, 0x10010, 3000, 0xfffffe);

	assert_true(r->l->caps & LINK_CAP_DIRECT);
	assert_int_equal(r->l->ops->direct(r->l, &op), DIRECT_DONE);
	assert_int_equal(r->mem[15], 0);
	assert_memory_equal(r->mem + 16, r->src, 3000);
	assert_int_equal(r->mem[3016], 0);
	assert_int_equal(r->card->epsn, 1);
	assert_int_equal(r->card->msn, 8);
	assert_int_equal(r->card->lock, 0);

	memset(r->mem, 0x77, LEN);
	iov = (struct iovec){ r->src, LEN };
	op = t_op(&iov, true, 0x10000, LEN, 1);
	assert_int_equal(r->l->ops->direct(r->l, &op), DIRECT_DONE);
	assert_memory_equal(r->src, r->mem, LEN);
	assert_int_equal(r->card->epsn, 1 + seg_pkts(LEN, 1024));

	/* Zero length: the key is not checked (IBA 9.7.5.2.4). */
	op = t_op(&iov, false, 0, 0, r->card->epsn);
	op.rkey = 0xdeadbeef;
	assert_int_equal(r->l->ops->direct(r->l, &op), DIRECT_DONE);
	assert_int_equal(r->card->msn, 10);
}

/* Keys and QPs far behind the first ones, which neither side has looked at before; and none. */
static void test_far(void **state)
{
	struct rig *r = *state;
	struct iovec iov = { r->src, 8 };
	struct direct_op op = t_op(&iov, false, 0x10000, 8, 0xfffffe);
	uint32_t index = 9000, key = index << 8 | 1;
	struct qp_card *card = NULL;

	op.rkey = key;
	assert_int_equal(r->l->ops->direct(r->l, &op), DIRECT_NO);
	op.rkey = 16384u << 8;
	assert_int_equal(r->l->ops->direct(r->l, &op), DIRECT_NO);
	assert_in_range(shm_ep_key_room(r->b.ep, index), index + 1, 16384);
	assert_int_equal(shm_ep_key_room(r->b.ep, 16384), 16384);
	shm_ep_keys(r->b.ep)[index] = *r->key;
	shm_ep_keys(r->b.ep)[index].key = op.rkey = key;
	for (uint32_t b = 0; b < 20; b++)
		card = shm_ep_add_block(r->b.ep, BLOCK + 1 + b);
	card[20] = *r->card;
	card[20].qpn = op.dqpn = (BLOCK + 20) << 14 | 20;
	assert_int_equal(r->l->ops->direct(r->l, &op), DIRECT_DONE);
	assert_memory_equal(r->mem, r->src, 8);
	op.dqpn += 21;
	assert_int_equal(r->l->ops->direct(r->l, &op), DIRECT_NO);
}

/* A row of operations: the QP stays locked and announced until the last one, or until direct_end(). */
static void test_row(void **state)
{
	struct rig *r = *state;
	struct shm_link *l = (struct shm_link *)r->l;
	struct iovec iov = { r->src, 8 };
	struct direct_op op = t_op(&iov, false, 0x10000, 8, 0xfffffe);

	op.more = true;
	assert_int_equal(r->l->ops->direct(r->l, &op), DIRECT_DONE);
	assert_int_equal(r->card->lock, 1);
	assert_int_equal(l->tx.h->placing, 18);
	assert_int_equal(r->card->epsn, 0xffffff);
	op.psn++;
	op.more = false;
	assert_int_equal(r->l->ops->direct(r->l, &op), DIRECT_DONE);
	assert_int_equal(r->card->lock, 0);
	assert_int_equal(l->tx.h->placing, 0);
	for (int i = 0; i < 3; i++) {
		op.more = true;
		op.psn = r->card->epsn;
		assert_int_equal(r->l->ops->direct(r->l, &op), DIRECT_DONE);
		assert_int_equal(r->card->lock, 1);
		op.psn += i ? 1 : 2;
		op.free_only = i == 1;
		if (i < 2)
			assert_int_equal(r->l->ops->direct(r->l, &op), DIRECT_NO);
		op.free_only = false;
		r->l->ops->direct_end(r->l);
		r->l->ops->direct_end(r->l);
		assert_int_equal(r->card->lock, 0);
		assert_int_equal(l->tx.h->placing, 0);
	}
}

static void test_lists(void **state)
{
	struct rig *r = *state;
	struct iovec iov[32];
	struct direct_op op = t_op(iov, false, 0x10000, 32 * 1000, 0xfffffe);

	for (int i = 0; i < 32; i++) {
		memset(r->src + i * 1000, i + 1, 1000);
		iov[31 - i] = (struct iovec){ r->src + i * 1000, 1000 };
	}
	op.niov = 32;
	assert_int_equal(r->l->ops->direct(r->l, &op), DIRECT_DONE);
	for (int i = 0; i < 32; i++)
		assert_memory_equal(r->mem + (31 - i) * 1000, r->src + i * 1000, 1000);
}

/*
 * In each of these cases the requester changes nothing and leaves the operation to the responder.
 */
static void test_not_now(void **state)
{
	struct rig *r = *state;
	struct iovec iov = { r->src, 3000 };
	struct direct_op op = t_op(&iov, false, 0x10000, 3000, 0xfffffe), bad;
	const struct qp_card good = *r->card;
	struct qp_card c[8];

	for (int i = 0; i < 8; i++)
		c[i] = good;
	c[0].lock = 2;
	c[1].qpn ^= 1;
	c[2].dest_qpn ^= 1;
	c[3].state = 1;
	c[4].state = 6;
	c[5].busy = 1;
	c[6].epsn++;
	c[7].path_mtu = 2048;
	for (int i = 0; i < 8; i++) {
		*r->card = c[i];
		assert_int_equal(r->l->ops->direct(r->l, &op), DIRECT_NO);
		assert_memory_equal(r->card, &c[i], sizeof(good));
	}
	*r->card = good;
	bad = op;
	bad.dqpn = (BLOCK + 1) << 14 | 17;
	assert_int_equal(r->l->ops->direct(r->l, &bad), DIRECT_NO);
	bad.dqpn = BLOCK << 14 | 16383;
	assert_int_equal(r->l->ops->direct(r->l, &bad), DIRECT_NO);
	r->key->lock.word = 1;
	assert_int_equal(r->l->ops->direct(r->l, &op), DIRECT_NO);
	r->key->lock.word = 2;
	assert_int_equal(r->mem[0], 0);
	assert_int_equal(r->card->lock, 0);
	for (uint32_t s = 2; s <= 4; s++) {
		*r->card = good;
		r->card->state = s;
		assert_int_equal(r->l->ops->direct(r->l, &op), DIRECT_DONE);
	}
}

/* A check of the responder fails: nothing is done, and the responder gets the request as packets. */
static void refused(struct rig *r, struct direct_op *op)
{
	assert_int_equal(r->l->ops->direct(r->l, op), DIRECT_NO);
	assert_int_equal(r->card->lock, 0);
	assert_int_equal(r->card->epsn, 0xfffffe);
	assert_int_equal(r->mem[0], 0);
}

static void test_refused(void **state)
{
	struct rig *r = *state;
	struct iovec iov = { r->src, 3000 };
	struct direct_op op = t_op(&iov, false, 0x10000, 3000, 0xfffffe), bad;

	r->card->access = IB_UVERBS_ACCESS_REMOTE_READ;
	refused(r, &op);
	r->card->access |= IB_UVERBS_ACCESS_REMOTE_WRITE;
	bad = op;
	bad.rkey ^= 1;
	refused(r, &bad);
	bad.rkey = 0xffffff00;
	refused(r, &bad);
	bad = op;
	bad.va = 0x10000 + LEN - 2999;
	refused(r, &bad);
	bad.va = 0xffff;
	refused(r, &bad);
	r->card->pd = PD + 1;
	refused(r, &op);
	r->card->pd = PD;
	r->key->access = IB_UVERBS_ACCESS_REMOTE_READ;
	refused(r, &op);
	bad = op;
	bad.read = true;
	r->key->access = IB_UVERBS_ACCESS_REMOTE_WRITE;
	refused(r, &bad);
	assert_int_equal(r->l->ops->direct(r->l, &op), DIRECT_DONE);
}

static void test_bad_memory(void **state)
{
	struct rig *r = *state;
	uint8_t *hole = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec iov = { hole, 8192 };
	struct direct_op op = t_op(&iov, false, 0x10000, 8192, 0xfffffe);

	munmap(hole + 4096, 4096);
	assert_int_equal(r->l->ops->direct(r->l, &op), DIRECT_LOCAL);
	op.read = true;
	assert_int_equal(r->l->ops->direct(r->l, &op), DIRECT_LOCAL);
	assert_int_equal(r->card->epsn, 0xfffffe);
	/*
	 * The target has unmapped its MR: the operation is left to its responder, which finds the
	 * error.
	 */
	r->key->start = (uintptr_t)hole;
	iov.iov_base = r->src;
	assert_int_equal(r->l->ops->direct(r->l, &op), DIRECT_NO);
	op.read = false;
	assert_int_equal(r->l->ops->direct(r->l, &op), DIRECT_NO);
	munmap(hole, 4096);
}

/*
 * The link refuses direct placement (DIRECT_NO) in memory that is not resident, so that the target's
 * responder handles the request. It also notices when memory is not resident any more.
 */
static void test_not_resident(void **state)
{
	struct rig *r = *state;
	struct iovec iov = { r->src, LEN };
	struct direct_op op = t_op(&iov, false, 0x10000, LEN, 0xfffffe);
	uint8_t *last = (uint8_t *)((uintptr_t)(r->mem + LEN - 1) & ~4095ul);
	int done = 0;

	if (((struct shm_link *)r->l)->pagemap < 0) {
		print_message("SKIP: /proc/self/pagemap cannot be opened\n");
		skip();
	}
	assert_int_equal(madvise(last, 4096, MADV_DONTNEED), 0);
	assert_int_equal(r->l->ops->direct(r->l, &op), DIRECT_NO);
	op.read = true;
	assert_int_equal(r->l->ops->direct(r->l, &op), DIRECT_NO);
	assert_int_equal(r->card->epsn, 0xfffffe);
	*last = 1;
	assert_int_equal(r->l->ops->direct(r->l, &op), DIRECT_DONE);
	/*
	 * The link remembers a resident range for some operations. These succeed although the page is
	 * not resident, and make it resident again. Then the link asks the kernel again and refuses.
	 */
	do {
		assert_int_equal(madvise(last, 4096, MADV_DONTNEED), 0);
		op.psn = r->card->epsn;
		assert_true(++done < 1000);
	} while (r->l->ops->direct(r->l, &op) == DIRECT_DONE);
	assert_int_equal(done, TUNE_RARELY + 1);
	/* A system call for each copy would cost more than the copy. */
	assert_in_range(done, 10, 1000);
}

static void test_capability(void **state)
{
	struct rig *r = *state;
	struct iovec iov = { r->src, 8 };
	struct direct_op op = t_op(&iov, false, 0x10000, 8, 0xfffffe);

	r->l->caps = 0;
	assert_int_equal(r->l->ops->direct(r->l, &op), DIRECT_NO);
	r->l->caps = LINK_CAP_DIRECT;
	assert_int_equal(r->l->ops->direct(r->l, &op), DIRECT_DONE);
}

/* A requester that dies with the target's QP card (struct qp_card) locked. */
static void dying_requester(const char *sock, int fd)
{
	struct node n;
	struct shm_link *l;
	struct link *link;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	node_open(&n, 3, false);
	shm_ep_thread_start(n.ep);
	if (shm_connect(n.ep, 2, sock, getpid(), NS_S, &link))
		_exit(1);
	l = (struct shm_link *)link;
	smp_store_mb(&l->tx.h->placing, 18);
	if (!shm_link_block_open(l, 0) || !card_trylock(&l->exp->card[17], 3) ||
	    write(fd, "x", 1) != 1)
		_exit(2);
	pause();
}

static void check_lock_broken(struct rig *r, bool by_waiting)
{
	pid_t pid;
	int fd[2], status;
	char c;

	assert_int_equal(pipe(fd), 0);
	pid = fork();
	if (!pid)
		dying_requester(shm_ep_sock(r->b.ep), fd[1]);
	assert_int_equal(read(fd[0], &c, 1), 1);
	assert_int_equal(READ_ONCE(r->card->lock), 3);
	if (by_waiting)
		node_stop(&r->b);	/* no thread serves the target, so no event tells it of the death */
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	/* The lock gives up after a while, in which no other thread may have had a processor. */
	for (int i = 0; !card_lock(r->card, 2); i++)
		assert_in_range(i, 0, 1000);
	assert_int_equal(r->card->lock, 2);
	card_unlock(r->card);
	if (by_waiting)
		node_start(&r->b);
	close(fd[0]);
	close(fd[1]);
}

static void test_lock_broken(void **state)
{
	check_lock_broken(*state, true);
}

static void test_lock_freed_at_death(void **state)
{
	struct rig *r = *state;

	card_set_breaker(NULL, NULL);
	check_lock_broken(r, false);
}

/* A look does not wait. A peer that was seen without an announcement uses the keys no more, whatever it announces then. */
static void test_quiet(void **state)
{
	struct rig *r = *state;
	uint32_t *placing = &((struct shm_link *)r->l)->tx.h->placing;
	uint64_t first, second;

	node_stop(&r->b);
	smp_store_mb(placing, 18);
	first = shm_withdrawn(r->b.ep);
	assert_int_not_equal(first, 0);
	assert_false(shm_quiet(r->b.ep, first));
	second = shm_withdrawn(r->b.ep);
	assert_true(second > first);
	smp_store_mb(placing, 0);
	assert_true(shm_quiet(r->b.ep, first));
	smp_store_mb(placing, 18);
	assert_true(shm_quiet(r->b.ep, first));
	assert_true(shm_quiet(r->b.ep, second));
	first = shm_withdrawn(r->b.ep);
	assert_false(shm_quiet(r->b.ep, first));
	assert_true(shm_quiet(r->b.ep, second));
	smp_store_mb(placing, 0);
	assert_true(shm_quiet(r->b.ep, first));
	node_start(&r->b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_write_read, setup, teardown),
		cmocka_unit_test_setup_teardown(test_far, setup, teardown),
		cmocka_unit_test_setup_teardown(test_row, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lists, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_now, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_resident, setup, teardown),
		cmocka_unit_test_setup_teardown(test_capability, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lock_broken, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lock_freed_at_death, setup, teardown),
		cmocka_unit_test_setup_teardown(test_quiet, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
