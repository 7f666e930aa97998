/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queue pairs: creation and its errors, the checks of MODIFY_QP in the kernel's order, QUERY_QP,
 * the doorbell (POST_SEND), and creation by ioctl.
 */
#include <linux/capability.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "fixture.h"

#define RESP(c, type) ((struct type *)(uintptr_t)(c).resp)

static void test_create(void **state)
{
	struct ib_uverbs_create_qp_resp *resp;
	struct rxe_create_qp_resp *drv;
	struct cmd c;

	for (enum way w = 0; w < WAYS; w++) {
		sample(IB_USER_VERBS_CMD_CREATE_QP, false, &c);
		((struct ib_uverbs_create_qp *)&c.req)->max_inline_data = 100;
		assert_int_equal(run(w, &c), 0);
		resp = RESP(c, ib_uverbs_create_qp_resp);
		drv = (void *)resp->driver_data;
		assert_int_equal(resp->qpn, fx.last_qp->qpn);
		assert_int_equal(resp->max_send_wr, 10);
		assert_int_equal(resp->max_recv_wr, 10);
		assert_int_equal(resp->max_inline_data, fx.last_qp->max_inline);
		assert_true(resp->max_inline_data >= 100);
		assert_true(resp->max_send_sge >= 100 / 16);
		assert_int_equal(drv->sq_mi.offset, fx.last_qp->sq.offset);
		assert_int_equal(drv->rq_mi.size, fx.last_qp->rq.buf_size);
		assert_int_equal(fx.last_qp->async.user_handle, 0x9999);
		assert_ptr_equal(fx.last_qp->async.file, fx.fds[fx.async - FD_BASE]);
	}
}

static int create_with(uint8_t type, uint32_t wr, uint8_t is_srq)
{
	struct ib_uverbs_create_qp *q;
	struct cmd c;

	sample(IB_USER_VERBS_CMD_CREATE_QP, false, &c);
	q = (struct ib_uverbs_create_qp *)&c.req;
	q->qp_type = type;
	q->max_send_wr = wr;
	q->is_srq = is_srq;
	return run(BY_WRITE, &c);
}

static void test_create_errors(void **state)
{
	uint32_t count = fx.f->ids.count;
	struct ib_uverbs_ex_create_qp *q;
	struct cmd c;

	assert_int_equal(create_with(7, 10, 0), -EINVAL);
	assert_int_equal(create_with(IB_UVERBS_QPT_XRC_INI, 10, 0), -EOPNOTSUPP);
	assert_int_equal(create_with(IB_UVERBS_QPT_XRC_TGT, 10, 0), -EINVAL);
	assert_int_equal(create_with(IB_UVERBS_QPT_DRIVER, 10, 0), -EOPNOTSUPP);
	assert_int_equal(create_with(IB_UVERBS_QPT_RC, 1 << 21, 0), -EINVAL);
	assert_int_equal(create_with(IB_UVERBS_QPT_RC, 10, 1), -EINVAL);
	sample(IB_USER_VERBS_CMD_CREATE_QP, false, &c);
	c.drv_out = 16;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
	c.drv_out = 32;
	c.drv_in = 8;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
	c.drv_in = 0;
	fx.created_err = -ENOMEM;
	assert_int_equal(run(BY_WRITE, &c), -ENOMEM);
	fx.created_err = 0;
	sample(IB_USER_VERBS_EX_CMD_CREATE_QP, true, &c);
	q = (struct ib_uverbs_ex_create_qp *)&c.req;
	q->create_flags = 1 << 1;
	assert_int_equal(run(BY_WRITE, &c), -EOPNOTSUPP);
	q->create_flags = 1;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
	q->create_flags = 0;
	q->comp_mask = 1;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
	q->comp_mask = 2;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
	assert_int_equal(fx.f->ids.count, count);
	assert_int_equal(fx.td->uctx.nqp, 1);
}

/* If the driver's mminfo cannot be written, the QP is destroyed again. */
static void test_create_fault(void **state)
{
	int destroying = fx.destroying;
	struct cmd c;
	char *two;

	two = mmap(NULL, 0x2000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(two != MAP_FAILED);
	mprotect(two + 0x1000, 0x1000, PROT_NONE);
	sample(IB_USER_VERBS_CMD_CREATE_QP, false, &c);
	c.resp = (uintptr_t)two + 0x1000 - c.out - 8;
	assert_int_equal(run(BY_WRITE, &c), -EFAULT);
	assert_int_equal(fx.destroying, destroying + 1);
	assert_int_equal(fx.td->uctx.nqp, 1);
	munmap(two, 0x2000);
}

static void test_walk(void **state)
{
	struct ib_uverbs_query_qp_resp *r;
	struct cmd c;

	assert_int_equal(to_state(fx.qp, QPS_INIT), 0);
	assert_int_equal(fx.last_old, QPS_RESET);
	assert_int_equal(to_state(fx.qp, QPS_RTR), 0);
	assert_int_equal(fx.td->connects, 1);
	assert_int_equal(to_state(fx.qp, QPS_RTS), 0);
	assert_int_equal(fx.modified, 3);
	assert_int_equal(fx.last_old, QPS_RTR);
	assert_int_equal(fx.last_qp->attr.rq_psn, 5);
	sample(IB_USER_VERBS_CMD_QUERY_QP, false, &c);
	assert_int_equal(run(BY_WRITE, &c), 0);
	r = RESP(c, ib_uverbs_query_qp_resp);
	assert_int_equal(r->qp_state, QPS_RTS);
	assert_int_equal(r->cur_qp_state, QPS_RTS);
	assert_int_equal(r->rq_psn, 0x111);
	assert_int_equal(r->sq_psn, 0x222);
	assert_int_equal(r->max_send_wr, 15);
	assert_int_equal(r->max_recv_wr, 15);
	assert_int_equal(r->path_mtu, 3);
	assert_int_equal(r->max_dest_rd_atomic, 4);
	assert_int_equal(r->dest_qp_num, 0x1234);
	assert_int_equal(r->dest.is_global, 1);
	assert_int_equal(r->dest.sgid_index, 1);
	assert_int_equal(r->dest.sl, 3);
	assert_memory_equal(r->dest.dgid, fx.td->dev.gid[1].raw, 16);
	assert_int_equal(r->timeout, 14);
	assert_int_equal(r->retry_cnt, 7);
	assert_int_equal(r->rnr_retry, 6);
	assert_int_equal(r->min_rnr_timer, 12);
	assert_int_equal(r->port_num, 1);
	assert_int_equal(to_state(fx.qp, QPS_ERR), 0);
	assert_int_equal(to_state(fx.qp, QPS_RTS), -EINVAL);
	assert_int_equal(to_state(fx.qp, QPS_RESET), 0);
	assert_int_equal(fx.modified, 5);
}

/*
 * One wrong value at a time, in the order of the kernel's checks: each error hides the later
 * ones.
 */
static void test_modify_order(void **state)
{
	struct ib_uverbs_modify_qp *m;
	struct cmd c;

	assert_int_equal(to_state(fx.qp, QPS_INIT), 0);
	m = modify_request(&c, 1000, QPS_RTR);
	m->attr_mask |= 1 << 21;
	assert_int_equal(run(BY_WRITE, &c), -EOPNOTSUPP);
	m->attr_mask &= ~(1u << 21);
	assert_int_equal(run(BY_WRITE, &c), -ENOENT);
	m->qp_handle = fx.qp;
	/* A device port that differs from the QP's is found before an unknown GID index. */
	m->dest.port_num = 2;
	m->dest.sgid_index = 9;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
	m->dest.port_num = 1;
	m->path_mtu = 9;
	assert_int_equal(run(BY_WRITE, &c), -ENODATA);
	m->dest.sgid_index = 1;
	m->dest.is_global = 0;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
	m->dest.is_global = 1;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
	m->path_mtu = 0;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
	m->path_mtu = 5;
	m->qp_state = 7;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
	m->qp_state = QPS_RTR;
	m->max_dest_rd_atomic = 129;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
	m->max_dest_rd_atomic = 1;
	fx.td->connect_err = -ENETUNREACH;
	assert_int_equal(run(BY_WRITE, &c), -ENETUNREACH);
	fx.td->connect_err = 0;
	assert_int_equal(fx.modified, 1);
	assert_int_equal(run(BY_WRITE, &c), 0);
	assert_int_equal(fx.modified, 2);
	assert_int_equal(fx.last_qp->attr.path_mtu, 4096);
}

static void test_modify_missing(void **state)
{
	struct ib_uverbs_modify_qp *m;
	struct cmd c;

	assert_int_equal(to_state(fx.qp, QPS_RTR), -EINVAL);
	assert_int_equal(to_state(fx.qp, QPS_RTS), -EINVAL);
	m = modify_request(&c, fx.qp, QPS_INIT);
	m->attr_mask &= ~IB_QP_PORT;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
	m = modify_request(&c, fx.qp, QPS_INIT);
	m->port_num = 2;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
	assert_int_equal(to_state(fx.qp, QPS_INIT), 0);
	m = modify_request(&c, fx.qp, QPS_RTR);
	m->attr_mask |= IB_QP_ALT_PATH;
	m->alt_port_num = m->alt_dest.port_num = 1;
	m->alt_dest.is_global = 1;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
	m->alt_dest.sgid_index = 9;
	assert_int_equal(run(BY_WRITE, &c), -ENODATA);
}

static void test_modify_ex(void **state)
{
	struct ib_uverbs_ex_modify_qp_resp *resp;
	struct ib_uverbs_modify_qp *m;
	struct cmd c;

	sample(IB_USER_VERBS_EX_CMD_MODIFY_QP, true, &c);
	m = (struct ib_uverbs_modify_qp *)&c.req;
	m->attr_mask |= 1u << 25;
	assert_int_equal(run(BY_WRITE, &c), -EOPNOTSUPP);
	m->attr_mask = (m->attr_mask & ~(1u << 25)) | 1u << 22;
	assert_int_equal(run(BY_WRITE, &c), -EOPNOTSUPP);
	m->attr_mask &= ~(1u << 22);
	assert_int_equal(run(BY_WRITE, &c), 0);
	resp = RESP(c, ib_uverbs_ex_modify_qp_resp);
	assert_int_equal(resp->response_length, 8);
}

/* A privileged Q_Key needs CAP_NET_RAW; this is checked before the transition. */
static void test_qkey(void **state)
{
	struct __user_cap_header_struct hdr = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct now[2], less[2];
	struct ib_uverbs_modify_qp *m;
	struct cmd c;

	m = modify_request(&c, fx.qp, QPS_RESET);
	m->attr_mask |= IB_QP_QKEY;
	m->qkey = 0x80000001;
	assert_int_equal(syscall(SYS_capget, &hdr, now), 0);
	memcpy(less, now, sizeof(now));
	less[CAP_NET_RAW / 32].effective &= ~(1u << CAP_NET_RAW % 32);
	assert_int_equal(syscall(SYS_capset, &hdr, less), 0);
	assert_int_equal(run(BY_WRITE, &c), -EPERM);
	assert_int_equal(create_with(IB_UVERBS_QPT_RAW_PACKET, 10, 0), -EPERM);
	if (now[CAP_NET_RAW / 32].effective & 1u << CAP_NET_RAW % 32) {
		assert_int_equal(syscall(SYS_capset, &hdr, now), 0);
		assert_int_equal(run(BY_WRITE, &c), -EINVAL);
		assert_int_equal(create_with(IB_UVERBS_QPT_RAW_PACKET, 10, 0), -EOPNOTSUPP);
	}
}

struct bell {
	struct ib_uverbs_cmd_hdr hdr;
	struct ib_uverbs_post_send cmd;
};

static struct bell *bell(uint32_t *resp)
{
	struct bell *b = arena_get(sizeof(*b));

	b->hdr = (struct ib_uverbs_cmd_hdr){ IB_USER_VERBS_CMD_POST_SEND, 8, 1 };
	b->cmd = (struct ib_uverbs_post_send){ (uintptr_t)resp, fx.qp, 0, 0, 128 };
	return b;
}

static void test_doorbell(void **state)
{
	uint32_t *resp = arena_get(4);
	struct bell *b = bell(resp);

	test_fault_handler();
	*resp = 0xeeeeeeee;
	assert_int_equal(uverbs_write(fx.f, b, sizeof(*b)), 32);
	assert_int_equal(fx.doorbells, 1);
	assert_int_equal(*resp, 0);
	fx.doorbell_ret = -EINVAL;
	assert_int_equal(uverbs_write(fx.f, b, sizeof(*b)), -EINVAL);
	b->cmd.response = (uintptr_t)unmapped;
	assert_int_equal(uverbs_write(fx.f, b, sizeof(*b)), -EFAULT);
	assert_int_equal(fx.doorbells, 3);
	b = bell(resp);
	b->cmd.wqe_size = 55;
	assert_int_equal(uverbs_write(fx.f, b, sizeof(*b)), -EINVAL);
	b = bell(resp);
	b->cmd.wr_count = 1;
	assert_int_equal(uverbs_write(fx.f, b, sizeof(*b)), -ENOSPC);
	b = bell(resp);
	b->cmd.qp_handle = fx.cq;
	assert_int_equal(uverbs_write(fx.f, b, sizeof(*b)), -EINVAL);
	b->cmd.qp_handle = 1000;
	assert_int_equal(uverbs_write(fx.f, b, sizeof(*b)), -ENOENT);
	b = bell(resp);
	b->hdr.out_words = 0;
	assert_int_equal(uverbs_write(fx.f, b, sizeof(*b)), -ENOSPC);
	b->hdr.in_words = 9;
	assert_int_equal(uverbs_write(fx.f, b, sizeof(*b)), -EINVAL);
	assert_int_equal(uverbs_write(fx.f, unmapped, sizeof(*b)), -EFAULT);
	assert_int_equal(fx.doorbells, 3);
}

/* Work requests in the command are checked and then ignored, as rxe does for programs. */
static void test_post_wrs(void **state)
{
	struct {
		struct ib_uverbs_post_send cmd;
		struct ib_uverbs_send_wr wr[2];
		struct ib_uverbs_sge sge[2];
	} p = { .cmd = { (uintptr_t)arena_get(8), fx.qp, 2, 2, sizeof(p.wr[0]) } };

	p.wr[0].opcode = IB_UVERBS_WR_RDMA_READ;
	p.wr[0].num_sge = p.wr[1].num_sge = 1;
	p.wr[1].opcode = IB_UVERBS_WR_SEND;
	assert_int_equal(frame(28, &p, sizeof(p), 4), 8 + sizeof(p));
	assert_int_equal(fx.doorbells, 1);
	p.wr[1].num_sge = 2;
	assert_int_equal(frame(28, &p, sizeof(p), 4), -EINVAL);
	p.wr[1].num_sge = 1;
	p.wr[1].opcode = IB_UVERBS_WR_BIND_MW;
	assert_int_equal(frame(28, &p, sizeof(p), 4), -EINVAL);
	p.cmd.wr_count = 3;
	assert_int_equal(frame(28, &p, sizeof(p), 4), -ENOSPC);
	p.cmd.wr_count = 0xffffffff;
	p.cmd.wqe_size = 0xffffffff;
	assert_int_equal(frame(28, &p, sizeof(p), 4), -ENOSPC);
	p.cmd.wr_count = 2;
	p.cmd.wqe_size = sizeof(p.wr[0]);
	p.cmd.sge_count = 1;
	p.sge[1].addr = 1;
	assert_int_equal(frame(28, &p, sizeof(p), 4), -EOPNOTSUPP);
	assert_int_equal(fx.doorbells, 1);
}

static void test_ioctl_create(void **state)
{
	const struct method_spec *m;
	struct ib_uverbs_qp_cap *cap;
	const uint32_t *qpn;
	struct ioc i;
	int expect;

	for (uint32_t n = 0; (m = method_row(n)); n++)
		if (m->object == UVERBS_OBJECT_QP && m->method == UVERBS_METHOD_QP_CREATE)
			break;
	ioc_sample(m, &i, &expect);
	assert_int_equal(ioc_run(&i), 0);
	assert_int_equal(ioc_find(&i, UVERBS_ATTR_CREATE_QP_HANDLE)->data, fx.f->ids.count - 1);
	assert_true(fx.last_qp->sq_sig_all);
	qpn = (void *)(uintptr_t)ioc_find(&i, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM)->data;
	assert_int_equal(*qpn, fx.last_qp->qpn);
	cap = (void *)(uintptr_t)ioc_find(&i, UVERBS_ATTR_CREATE_QP_RESP_CAP)->data;
	assert_int_equal(cap->max_send_wr, 10);
	ioc_find(&i, UVERBS_ATTR_CREATE_QP_FLAGS)->data = IB_UVERBS_QP_CREATE_SCATTER_FCS;
	assert_int_equal(ioc_run(&i), -EINVAL);
	ioc_find(&i, UVERBS_ATTR_CREATE_QP_FLAGS)->data = 1;
	assert_int_equal(ioc_run(&i), -EINVAL);
	ioc_remove(&i, UVERBS_ATTR_CREATE_QP_FLAGS);
	ioc_find(&i, UVERBS_ATTR_CREATE_QP_TYPE)->data = IB_UVERBS_QPT_XRC_TGT;
	assert_int_equal(ioc_run(&i), -EINVAL);
	ioc_find(&i, UVERBS_ATTR_CREATE_QP_TYPE)->data = IB_UVERBS_QPT_RC;
	ioc_add(&i, UVERBS_ATTR_CREATE_QP_SOURCE_QPN, 4, 1);
	assert_int_equal(ioc_run(&i), -EOPNOTSUPP);
	ioc_remove(&i, UVERBS_ATTR_CREATE_QP_SOURCE_QPN);
	ioc_remove(&i, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE);
	assert_int_equal(ioc_run(&i), -ENOENT);
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup_objects, teardown)
	const struct CMUnitTest tests[] = {
		T(test_create), T(test_create_errors), T(test_create_fault), T(test_walk),
		T(test_modify_order), T(test_modify_missing), T(test_modify_ex), T(test_qkey),
		T(test_doorbell), T(test_post_wrs), T(test_ioctl_create),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
