/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "core/testing.h"
#include "verbs/fake/testing.h"
#include "verbs/verbs.h"

#define OURS 77		/* cmd_fd of a context of ruse */
#define REAL 78		/* of a real device */
#define QPN 0x1234u

static struct verbs_ops poll_next, explain_next;
static uint32_t polls, posts, inner_posts;	/* calls of users */

static bool fd_is_ours(int fd)
{
	return fd == OURS;
}

static int user_poll_cq(struct ibv_cq *cq, int num, struct ibv_wc *wc)
{
	polls++;
	return poll_next.poll_cq(cq, num, wc);
}

static int user_start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	polls++;
	return poll_next.start_poll(cq, attr);
}

static int user_inner_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	assert_int_equal(posts, inner_posts + 1);	/* the outer user is first */
	inner_posts++;
	return poll_next.post_send(qp, wr, bad);
}

static int user_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	posts++;
	return explain_next.post_send(qp, wr, bad);
}

static int user_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	posts++;
	return explain_next.post_recv(qp, wr, bad);
}

static int user_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	posts++;
	return explain_next.post_srq_recv(srq, wr, bad);
}

static int user_wr_complete(struct ibv_qp_ex *qp)
{
	posts++;
	return explain_next.wr_complete(qp);
}

static const struct verbs_ops poll_ops = {
	.poll_cq = user_poll_cq, .start_poll = user_start_poll,
};
static const struct verbs_ops explain_ops = {
	.post_send = user_post_send, .post_recv = user_post_recv,
	.post_srq_recv = user_post_srq_recv, .wr_complete = user_wr_complete,
};
static const struct verbs_ops inner_ops = { .post_send = user_inner_post_send };

static int another_calls;
static int (*another_next)(struct ibv_cq *cq, int num, struct ibv_wc *wc);

/* A library that replaces pointers, too. */
static int another_poll_cq(struct ibv_cq *cq, int num, struct ibv_wc *wc)
{
	another_calls++;
	return another_next ? another_next(cq, num, wc) : 0;
}

/* The objects of a program, as librxe has just made them. */
struct program {
	struct ibv_context ctx;
	struct ibv_cq_ex cq;
	struct ibv_qp_ex qp;
};

static void program_init(struct program *p, int cmd_fd, bool plain)
{
	fake_context_init(&p->ctx, cmd_fd);
	fake_cq_init(&p->cq, &p->ctx, plain);
	fake_qp_init(&p->qp, &p->cq, QPN, plain);
}

static void program_wrap(struct program *p)
{
	verbs_wrap_qp((uintptr_t)&p->qp, QPN, fd_is_ours);
}

static struct verbs_ops late_next;
static uint32_t late_posts;

static int user_late_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	late_posts++;
	return late_next.post_send(qp, wr, bad);
}

static const struct verbs_ops late_ops = { .post_send = user_late_post_send };

/* The users are those of the caller: others are removed. */
static void users(const struct verbs_ops *poll, const struct verbs_ops *explain)
{
	verbs_use(VERBS_SETTERS, NULL, NULL);
	verbs_use(VERBS_POLL, poll, &poll_next);
	verbs_use(VERBS_EXPLAIN, explain, &explain_next);
	polls = posts = inner_posts = 0;
	fake_ret = 0;
}

static int setup(void **state)
{
	users(&poll_ops, &explain_ops);
	return 0;
}

static void assert_untouched(const struct program *p, const struct program *before)
{
	assert_memory_equal(p, before, sizeof(*p));
}

/* Runs first: no function of librxe has been seen yet. */
static void test_replaced_before(void **state)
{
	struct program p, after;

	program_init(&p, OURS, false);
	p.ctx.ops.poll_cq = another_poll_cq;
	program_wrap(&p);
	assert_ptr_equal(p.ctx.ops.poll_cq, another_poll_cq);
	assert_null(poll_next.poll_cq);
	assert_ptr_equal(p.ctx.ops.post_send, user_post_send);
	/* That of another library is no original, so a context without it is wrapped. */
	program_init(&after, OURS, false);
	program_wrap(&after);
	assert_ptr_equal(after.ctx.ops.poll_cq, user_poll_cq);
	assert_ptr_not_equal(poll_next.poll_cq, another_poll_cq);
	program_wrap(&p);
	assert_ptr_equal(p.ctx.ops.poll_cq, another_poll_cq);
}

static void assert_called(const char *op, const void *object, uint64_t a, uint64_t b)
{
	assert_string_equal(fake_call.op, op);
	assert_int_equal(fake_call.args[0], (uintptr_t)object);
	assert_int_equal(fake_call.args[1], a);
	assert_int_equal(fake_call.args[2], b);
}

static void test_arguments(void **state)
{
	struct ibv_poll_cq_attr attr = { 0 };
	struct ibv_send_wr send, *bad_send;
	struct ibv_recv_wr recv, *bad_recv;
	struct ibv_srq srq;
	struct ibv_wc wc[3];
	struct program p;
	struct ibv_cq *cq = ibv_cq_ex_to_cq(&p.cq);
	struct ibv_qp *qp = &p.qp.qp_base;

	program_init(&p, OURS, false);
	program_wrap(&p);
	fake_ret = 5;
	assert_int_equal(p.ctx.ops.poll_cq(cq, 3, wc), 5);
	assert_called("poll_cq", cq, 3, (uintptr_t)wc);
	assert_int_equal(p.cq.start_poll(&p.cq, &attr), 5);
	assert_called("start_poll", &p.cq, (uintptr_t)&attr, 0);
	assert_int_equal(polls, 2);
	assert_int_equal(p.ctx.ops.post_send(qp, &send, &bad_send), 5);
	assert_called("post_send", qp, (uintptr_t)&send, (uintptr_t)&bad_send);
	assert_int_equal(p.ctx.ops.post_recv(qp, &recv, &bad_recv), 5);
	assert_called("post_recv", qp, (uintptr_t)&recv, (uintptr_t)&bad_recv);
	assert_int_equal(p.ctx.ops.post_srq_recv(&srq, &recv, &bad_recv), 5);
	assert_called("post_srq_recv", &srq, (uintptr_t)&recv, (uintptr_t)&bad_recv);
	assert_int_equal(p.qp.wr_complete(&p.qp), 5);
	assert_called("wr_complete", &p.qp, 0, 0);
	assert_int_equal(posts, 4);
}

static void test_unwanted(void **state)
{
	struct program p, before, old;

	program_init(&old, OURS, false);
	program_wrap(&old);
	users(NULL, NULL);
	program_init(&p, OURS, false);
	before = p;
	program_wrap(&p);
	assert_untouched(&p, &before);
	/* One user: its operations only. */
	users(&poll_ops, NULL);
	program_wrap(&p);
	before.ctx.ops.poll_cq = user_poll_cq;
	before.cq.start_poll = user_start_poll;
	assert_untouched(&p, &before);
	users(NULL, &explain_ops);
	program_init(&p, OURS, false);
	before = p;
	program_wrap(&p);
	before.ctx.ops.post_send = user_post_send;
	before.ctx.ops.post_recv = user_post_recv;
	before.ctx.ops.post_srq_recv = user_post_srq_recv;
	before.qp.wr_complete = user_wr_complete;
	assert_untouched(&p, &before);
	/* What was wrapped for a user that has left still works. */
	assert_int_equal(old.ctx.ops.poll_cq(ibv_cq_ex_to_cq(&old.cq), 1, NULL), 0);
	assert_int_equal(polls, 1);
	assert_called("poll_cq", &old.cq, 1, 0);
}

static void test_two_users(void **state)
{
	struct program p;
	uint32_t calls;

	users(&inner_ops, &explain_ops);
	program_init(&p, OURS, false);
	program_wrap(&p);
	calls = fake_call.calls;
	p.ctx.ops.post_send(&p.qp.qp_base, NULL, NULL);
	assert_int_equal(posts, 1);
	assert_int_equal(inner_posts, 1);
	assert_int_equal(fake_call.calls, calls + 1);
	assert_string_equal(fake_call.op, "post_send");
	/* Without the inner user the outer one calls librxe. */
	users(NULL, &explain_ops);
	p.ctx.ops.post_send(&p.qp.qp_base, NULL, NULL);
	assert_int_equal(inner_posts, 0);
	assert_int_equal(fake_call.calls, calls + 2);
}

/* A user that registers when objects are wrapped gets in front of the one that was the last, once. */
static void test_late_user(void **state)
{
	struct program p;

	program_init(&p, OURS, false);
	program_wrap(&p);
	assert_ptr_equal(p.ctx.ops.post_send, user_post_send);
	verbs_use(VERBS_FAULTS, &late_ops, &late_next);
	assert_ptr_equal(p.ctx.ops.post_send, user_post_send);
	program_wrap(&p);
	program_wrap(&p);
	assert_ptr_equal(p.ctx.ops.post_send, user_late_post_send);
	p.ctx.ops.post_send(&p.qp.qp_base, NULL, NULL);
	assert_int_equal(late_posts, 1);
	assert_int_equal(posts, 1);
	verbs_use(VERBS_FAULTS, NULL, NULL);
}

static void test_replaced_later(void **state)
{
	struct program p;

	program_init(&p, OURS, false);
	program_wrap(&p);
	another_next = p.ctx.ops.poll_cq;
	another_calls = 0;
	p.ctx.ops.poll_cq = another_poll_cq;
	program_wrap(&p);
	assert_ptr_equal(p.ctx.ops.poll_cq, another_poll_cq);
	p.ctx.ops.poll_cq(ibv_cq_ex_to_cq(&p.cq), 1, NULL);
	assert_int_equal(another_calls, 1);
	assert_int_equal(polls, 1);
	assert_called("poll_cq", &p.cq, 1, 0);
	another_next = NULL;
}

static void test_second_librxe(void **state)
{
	struct program p;

	program_init(&p, OURS, false);
	p.ctx.ops.poll_cq = fake_poll_cq_copy;
	program_wrap(&p);
	assert_ptr_equal(p.ctx.ops.poll_cq, fake_poll_cq_copy);
	assert_ptr_equal(p.ctx.ops.post_send, user_post_send);
}

static void test_contexts(void **state)
{
	struct program ours[2], real, before;

	program_init(&ours[0], OURS, false);
	program_init(&ours[1], OURS, false);
	program_init(&real, REAL, false);
	before = real;
	program_wrap(&ours[0]);
	program_wrap(&real);
	program_wrap(&ours[1]);
	assert_untouched(&real, &before);
	for (int i = 0; i < 2; i++) {
		assert_ptr_equal(ours[i].ctx.ops.poll_cq, user_poll_cq);
		ours[i].ctx.ops.poll_cq(ibv_cq_ex_to_cq(&ours[i].cq), 1, NULL);
		assert_called("poll_cq", &ours[i].cq, 1, 0);
	}
}

static void test_two_cqs(void **state)
{
	struct ibv_cq_ex recv_cq;
	struct program p;

	program_init(&p, OURS, false);
	fake_cq_init(&recv_cq, &p.ctx, false);
	p.qp.qp_base.recv_cq = ibv_cq_ex_to_cq(&recv_cq);
	program_wrap(&p);
	assert_ptr_equal(p.cq.start_poll, user_start_poll);
	assert_ptr_equal(recv_cq.start_poll, user_start_poll);
}

static void test_plain(void **state)
{
	struct program p, before;

	program_init(&p, OURS, true);
	before = p;
	program_wrap(&p);
	before.ctx = p.ctx;
	assert_untouched(&p, &before);
	assert_ptr_equal(p.ctx.ops.poll_cq, user_poll_cq);
}

/* The provider frees a context, and makes another at the same address. */
static void test_closed(void **state)
{
	struct program p;

	for (int i = 0; i < 3; i++) {
		program_init(&p, OURS, false);
		program_wrap(&p);
		assert_ptr_equal(p.ctx.ops.poll_cq, user_poll_cq);
		p.ctx.ops.poll_cq(ibv_cq_ex_to_cq(&p.cq), i, NULL);
		assert_called("poll_cq", &p.cq, (uint64_t)i, 0);
		program_wrap(&p);
		assert_ptr_equal(p.ctx.ops.poll_cq, user_poll_cq);
	}
	assert_int_equal(polls, 3);
}

/* A QP with send_ops_flags is told by its functions, which are librxe's. */
static void test_extended(void **state)
{
	struct program p, *gone = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	test_fault_handler();
	assert_ptr_not_equal(gone, MAP_FAILED);
	program_init(&p, OURS, true);
	assert_false(verbs_is_extended((uintptr_t)&p.qp));
	program_init(&p, OURS, false);
	assert_true(verbs_is_extended((uintptr_t)&p.qp));
	memset(&p.qp, 0x5a, sizeof(p.qp));
	assert_false(verbs_is_extended((uintptr_t)&p.qp));
	assert_false(verbs_is_extended(0));
	assert_false(verbs_is_extended((uintptr_t)&gone->qp));
	assert_int_equal(munmap(gone, PAGE), 0);
}

/* Polls by a function of the program, or of a plain CQ. */
static void test_polls_wrapped(void **state)
{
	struct program p;

	for (int plain = 0; plain < 2; plain++) {
		program_init(&p, OURS, plain);
		assert_false(verbs_polls_wrapped((uintptr_t)&p.qp));
		program_wrap(&p);
		assert_true(verbs_polls_wrapped((uintptr_t)&p.qp));
		p.ctx.ops.poll_cq = another_poll_cq;
		assert_false(verbs_polls_wrapped((uintptr_t)&p.qp));
	}
	assert_false(verbs_polls_wrapped(0));
}

static void test_bad_handle(void **state)
{
	struct program p, before, *gone = mmap(NULL, PAGE, PROT_NONE,
					       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	test_fault_handler();
	assert_ptr_not_equal(gone, MAP_FAILED);
	program_init(&p, OURS, false);
	before = p;
	verbs_wrap_qp(0, QPN, fd_is_ours);
	verbs_wrap_qp((uintptr_t)gone, QPN, fd_is_ours);
	verbs_wrap_qp((uintptr_t)&p.qp, QPN + 1, fd_is_ours);
	assert_untouched(&p, &before);
	p.qp.qp_base.context = &gone->ctx;
	before = p;
	program_wrap(&p);
	assert_untouched(&p, &before);
	/* The context is complete, a CQ is not. */
	program_init(&p, OURS, false);
	p.qp.qp_base.recv_cq = (void *)gone;
	program_wrap(&p);
	assert_ptr_equal(p.cq.start_poll, user_start_poll);
	assert_int_equal(munmap(gone, PAGE), 0);
}

static void test_read_only(void **state)
{
	size_t size = ALIGN_UP(sizeof(struct program), PAGE);
	struct program before, *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	test_fault_handler();
	assert_ptr_not_equal(p, MAP_FAILED);
	program_init(p, OURS, false);
	before = *p;
	assert_int_equal(mprotect(p, size, PROT_READ), 0);
	program_wrap(p);
	assert_untouched(p, &before);
	assert_int_equal(munmap(p, size), 0);
}

static int child(struct program *p)
{
	struct program fresh;

	p->ctx.ops.poll_cq(ibv_cq_ex_to_cq(&p->cq), 1, NULL);
	if (polls != 1 || fake_call.args[0] != (uintptr_t)&p->cq)
		return 1;
	users(NULL, NULL);	/* RUSE_NO_POLL_WRAP=1 was set for the child */
	program_init(&fresh, OURS, false);
	program_wrap(&fresh);
	if (fresh.ctx.ops.poll_cq == user_poll_cq)
		return 2;
	p->ctx.ops.poll_cq(ibv_cq_ex_to_cq(&p->cq), 1, NULL);
	return polls == 1 ? 0 : 3;
}

static void test_fork(void **state)
{
	struct program p;
	int status;
	pid_t pid;

	program_init(&p, OURS, false);
	program_wrap(&p);
	pid = fork();
	if (!pid)
		_exit(child(&p));
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_ptr_equal(p.ctx.ops.poll_cq, user_poll_cq);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_replaced_before, setup),
		cmocka_unit_test_setup(test_arguments, setup),
		cmocka_unit_test_setup(test_unwanted, setup),
		cmocka_unit_test_setup(test_two_users, setup),
		cmocka_unit_test_setup(test_late_user, setup),
		cmocka_unit_test_setup(test_replaced_later, setup),
		cmocka_unit_test_setup(test_second_librxe, setup),
		cmocka_unit_test_setup(test_contexts, setup),
		cmocka_unit_test_setup(test_two_cqs, setup),
		cmocka_unit_test_setup(test_plain, setup),
		cmocka_unit_test_setup(test_closed, setup),
		cmocka_unit_test_setup(test_extended, setup),
		cmocka_unit_test_setup(test_polls_wrapped, setup),
		cmocka_unit_test_setup(test_bad_handle, setup),
		cmocka_unit_test_setup(test_read_only, setup),
		cmocka_unit_test_setup(test_fork, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
