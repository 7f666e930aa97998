/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Handles: numbering, kinds, lifetimes and references between objects, and the results of the
 * simple commands (MRs, AHs, CQs, GID tables, device queries).
 */
#include <rdma/ib_user_ioctl_verbs.h>
#include "fixture.h"

static void test_lowest_free(void **state)
{
	uint32_t a = mk_pd(), b = mk_pd(), c = mk_cq();

	assert_int_equal(a, 0);
	assert_int_equal(b, 1);
	assert_int_equal(c, 2);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DEALLOC_PD, a), 0);
	assert_int_equal(mk_cq(), 0);
	assert_int_equal(mk_pd(), 3);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DEALLOC_PD, b), 0);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DEALLOC_PD, b), -ENOENT);
	assert_int_equal(mk_pd(), 1);
}

/* A failed creation frees its id, and the id is not usable meanwhile. */
static void test_rollback(void **state)
{
	uint32_t pd = mk_pd();
	struct cmd c;

	sample(IB_USER_VERBS_CMD_REG_MR, false, &c);
	((struct ib_uverbs_reg_mr *)&c.req)->pd_handle = 1;	/* the id it allocates */
	assert_int_equal(run(BY_WRITE, &c), -ENOENT);
	((struct ib_uverbs_reg_mr *)&c.req)->pd_handle = pd;
	((struct ib_uverbs_reg_mr *)&c.req)->start = (uintptr_t)unmapped + 16;
	((struct ib_uverbs_reg_mr *)&c.req)->hca_va = 16;
	assert_int_equal(run(BY_WRITE, &c), -EFAULT);
	fx.td->ring_err = -ENOMEM;
	sample(IB_USER_VERBS_CMD_CREATE_CQ, false, &c);
	assert_int_equal(run(BY_WRITE, &c), -ENOMEM);
	fx.td->ring_err = 0;
	assert_int_equal(mk_cq(), 1);
}

static const struct {
	uint32_t nr;
	bool ex;
	size_t at;
	uint16_t kind;
} handles[] = {
#define H(cmd, type, field, k) \
	{ IB_USER_VERBS_CMD_##cmd, false, offsetof(struct type, field), UVERBS_OBJECT_##k }
#define HEX(cmd, type, field, k) \
	{ IB_USER_VERBS_EX_CMD_##cmd, true, offsetof(struct type, field), UVERBS_OBJECT_##k }
	H(DEALLOC_PD, ib_uverbs_dealloc_pd, pd_handle, PD),
	H(CREATE_AH, ib_uverbs_create_ah, pd_handle, PD),
	H(DESTROY_AH, ib_uverbs_destroy_ah, ah_handle, AH),
	H(REG_MR, ib_uverbs_reg_mr, pd_handle, PD),
	H(DEREG_MR, ib_uverbs_dereg_mr, mr_handle, MR),
	H(DESTROY_CQ, ib_uverbs_destroy_cq, cq_handle, CQ),
	H(RESIZE_CQ, ib_uverbs_resize_cq, cq_handle, CQ),
	H(REQ_NOTIFY_CQ, ib_uverbs_req_notify_cq, cq_handle, CQ),
	H(CREATE_QP, ib_uverbs_create_qp, pd_handle, PD),
	H(CREATE_QP, ib_uverbs_create_qp, send_cq_handle, CQ),
	H(CREATE_QP, ib_uverbs_create_qp, recv_cq_handle, CQ),
	H(QUERY_QP, ib_uverbs_query_qp, qp_handle, QP),
	H(MODIFY_QP, ib_uverbs_modify_qp, qp_handle, QP),
	H(DESTROY_QP, ib_uverbs_destroy_qp, qp_handle, QP),
	H(POST_SEND, ib_uverbs_post_send, qp_handle, QP),
	H(REREG_MR, ib_uverbs_rereg_mr, mr_handle, MR),
	H(ALLOC_MW, ib_uverbs_alloc_mw, pd_handle, PD),
	H(DEALLOC_MW, ib_uverbs_dealloc_mw, mw_handle, MW),
	H(CREATE_SRQ, ib_uverbs_create_srq, pd_handle, PD),
	H(CREATE_XSRQ, ib_uverbs_create_xsrq, pd_handle, PD),
	H(MODIFY_SRQ, ib_uverbs_modify_srq, srq_handle, SRQ),
	H(QUERY_SRQ, ib_uverbs_query_srq, srq_handle, SRQ),
	H(DESTROY_SRQ, ib_uverbs_destroy_srq, srq_handle, SRQ),
	H(ATTACH_MCAST, ib_uverbs_attach_mcast, qp_handle, QP),
	H(DETACH_MCAST, ib_uverbs_detach_mcast, qp_handle, QP),
	HEX(CREATE_QP, ib_uverbs_ex_create_qp, pd_handle, PD),
	HEX(CREATE_QP, ib_uverbs_ex_create_qp, send_cq_handle, CQ),
	HEX(CREATE_QP, ib_uverbs_ex_create_qp, recv_cq_handle, CQ),
	HEX(MODIFY_QP, ib_uverbs_ex_modify_qp, base.qp_handle, QP),
};

static void test_bad_handles(void **state)
{
	uint32_t dead = mk_pd();

	assert_int_equal(destroy(IB_USER_VERBS_CMD_DEALLOC_PD, dead), 0);
	for (size_t n = 0; n < ARRAY_SIZE(handles) * WAYS; n++) {
		enum way w = n % WAYS;
		size_t i = n / WAYS;
		uint32_t wrong = handles[i].kind == UVERBS_OBJECT_PD ? fx.cq : fx.pd;
		uint32_t count;
		struct cmd c;

		assert_true(sample(handles[i].nr, handles[i].ex, &c));
		count = fx.f->ids.count;
		memcpy(c.req.b + handles[i].at, &(uint32_t){ 0xfffffff0 }, 4);
		assert_int_equal(run(w, &c), -ENOENT);
		memcpy(c.req.b + handles[i].at, &(uint32_t){ 1000 }, 4);
		assert_int_equal(run(w, &c), -ENOENT);
		memcpy(c.req.b + handles[i].at, &wrong, 4);
		assert_int_equal(run(w, &c), -EINVAL);
		assert_int_equal(fx.f->ids.count, count);
	}
}

/* A destroyed handle is unknown until it is allocated again. */
static void test_destroyed(void **state)
{
	static const uint32_t nr[] = { IB_USER_VERBS_CMD_DEALLOC_PD, IB_USER_VERBS_CMD_DESTROY_CQ,
				       IB_USER_VERBS_CMD_DEREG_MR, IB_USER_VERBS_CMD_DESTROY_AH,
				       IB_USER_VERBS_CMD_DESTROY_QP, IB_USER_VERBS_CMD_DESTROY_SRQ,
				       IB_USER_VERBS_CMD_DEALLOC_MW };

	for (size_t n = 0; n < ARRAY_SIZE(nr); n++) {
		struct cmd c;

		assert_true(sample(nr[n], false, &c));
		assert_int_equal(run(BY_INVOKE, &c), 0);
		assert_int_equal(run(BY_INVOKE, &c), -ENOENT);
		assert_int_equal(run(BY_WRITE, &c), -ENOENT);
	}
}

static void test_busy(void **state)
{
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DEALLOC_PD, fx.pd), -EBUSY);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DESTROY_CQ, fx.cq), -EBUSY);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DESTROY_QP, fx.qp), 0);
	assert_int_equal(fx.destroying, 1);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DESTROY_CQ, fx.cq), 0);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DEALLOC_PD, fx.pd), -EBUSY);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DEREG_MR, fx.mr), 0);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DESTROY_AH, fx.ah), 0);
	assert_int_equal(destroy(IB_USER_VERBS_CMD_DEALLOC_PD, fx.pd), 0);
}

static void test_reg_mr_errors(void **state)
{
	struct ib_uverbs_reg_mr *m;
	struct cmd c;

	sample(IB_USER_VERBS_CMD_REG_MR, false, &c);
	m = (struct ib_uverbs_reg_mr *)&c.req;
	m->hca_va ^= 1;
	m->pd_handle = 1000;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
	m->hca_va ^= 1;
	m->access_flags = IB_UVERBS_ACCESS_REMOTE_WRITE;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
	m->access_flags = 0x200;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
	m->access_flags = IB_UVERBS_ACCESS_RELAXED_ORDERING;
	assert_int_equal(run(BY_WRITE, &c), -ENOENT);
	m->pd_handle = fx.pd;
	assert_int_equal(run(BY_WRITE, &c), 0);
	assert_int_equal(((struct ib_uverbs_reg_mr_resp *)(uintptr_t)c.resp)->rkey, 0);
	assert_int_not_equal(((struct ib_uverbs_reg_mr_resp *)(uintptr_t)c.resp)->lkey, 0);
}

static void test_query_mr(void **state)
{
	struct ioc i;
	uint64_t *len = arena_get(8), *iova = arena_get(8);
	uint32_t *keys = arena_get(8);

	ioc_init(&i, UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR);
	ioc_add(&i, UVERBS_ATTR_QUERY_MR_HANDLE, 0, fx.mr);
	ioc_add(&i, UVERBS_ATTR_QUERY_MR_RESP_LKEY, 4, (uintptr_t)keys);
	ioc_add(&i, UVERBS_ATTR_QUERY_MR_RESP_RKEY, 4, (uintptr_t)(keys + 1));
	ioc_add(&i, UVERBS_ATTR_QUERY_MR_RESP_LENGTH, 8, (uintptr_t)len);
	ioc_add(&i, UVERBS_ATTR_QUERY_MR_RESP_IOVA, 8, (uintptr_t)iova);
	assert_int_equal(ioc_run(&i), 0);
	assert_int_equal(*len, 4096);
	assert_int_equal(*iova, (uintptr_t)arena + 16);
	assert_int_equal(keys[0], keys[1]);
}

static void test_ah(void **state)
{
	struct ib_uverbs_create_ah *a;
	struct cmd c;
	uint32_t *resp;

	sample(IB_USER_VERBS_CMD_CREATE_AH, false, &c);
	a = (struct ib_uverbs_create_ah *)&c.req;
	resp = (uint32_t *)(uintptr_t)c.resp;
	resp[2] = 0xeeeeeeee;
	assert_int_equal(run(BY_INVOKE, &c), 0);
	assert_int_not_equal(resp[1], 0);
	assert_int_equal(resp[2], 0xeeeeeeee);	/* reserved: the kernel does not write it */
	c.drv_out = 0;
	resp[1] = 0xeeeeeeee;
	assert_int_equal(run(BY_INVOKE, &c), 0);
	assert_int_equal(resp[1], 0xeeeeeeee);
	a->attr.grh.sgid_index = 7;
	assert_int_equal(run(BY_INVOKE, &c), -ENODATA);
	a->attr.is_global = 0;
	assert_int_equal(run(BY_INVOKE, &c), -EINVAL);
	a->pd_handle = 1000;
	assert_int_equal(run(BY_INVOKE, &c), -ENOENT);
	a->attr.port_num = 2;
	assert_int_equal(run(BY_INVOKE, &c), -EINVAL);
}

static int info(uint16_t kind, uint32_t *list, uint16_t len, uint32_t *total)
{
	struct ioc i;

	ioc_init(&i, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INFO_HANDLES);
	ioc_add(&i, UVERBS_ATTR_INFO_OBJECT_ID, 8, kind);
	ioc_add(&i, UVERBS_ATTR_INFO_TOTAL_HANDLES, 4, (uintptr_t)total);
	ioc_add(&i, UVERBS_ATTR_INFO_HANDLES_LIST, len, (uintptr_t)list);
	return ioc_run(&i);
}

static void test_info_handles(void **state)
{
	uint32_t *list = arena_get(64), *total = arena_get(4), second = mk_pd();

	assert_int_equal(info(UVERBS_OBJECT_PD, list, 64, total), 0);
	assert_int_equal(*total, 2);
	assert_int_equal(list[0], second);
	assert_int_equal(list[1], fx.pd);
	assert_int_equal(info(UVERBS_OBJECT_PD, list, 4, total), 0);
	assert_int_equal(*total, 1);
	assert_int_equal(info(UVERBS_OBJECT_COMP_CHANNEL, list, 64, total), 0);
	assert_int_equal(*total, 1);
	assert_int_equal(info(UVERBS_OBJECT_XRCD, list, 64, total), -ENOENT);
	assert_int_equal(info(0xffff, list, 64, total), -ENOMSG);
	assert_int_equal(info(UVERBS_OBJECT_PD, list, 6, total), -EINVAL);
}

static int gid_table(void *out, uint16_t len, uint64_t entry, uint64_t *num)
{
	struct ioc i;

	ioc_init(&i, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE);
	ioc_add(&i, UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, 8, entry);
	ioc_add(&i, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, len, (uintptr_t)out);
	ioc_add(&i, UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, 8, (uintptr_t)num);
	return ioc_run(&i);
}

static void test_gid_table(void **state)
{
	uint64_t *num = arena_get(8);
	char *out = arena_get(256);
	struct ib_uverbs_gid_entry *e = (void *)out;

	assert_int_equal(gid_table(out, 128, 32, num), 0);
	assert_int_equal(*num, 2);
	assert_memory_equal(e[1].gid, fx.td->dev.gid[1].raw, 16);
	assert_int_equal(e[1].gid_index, 1);
	assert_int_equal(e[1].gid_type, 2);
	assert_int_equal(e[1].port_num, 1);
	memset(out, 0xee, 256);
	assert_int_equal(gid_table(out, 160, 40, num), 0);
	assert_int_equal(out[39], 0);
	assert_memory_equal(out + 40, fx.td->dev.gid[1].raw, 16);
	assert_int_equal((uint8_t)out[80], 0xee);
	assert_int_equal(gid_table(out, 32, 32, num), -EINVAL);
	assert_int_equal(gid_table(out, 33, 32, num), -EINVAL);
	assert_int_equal(gid_table(out, 32, 0, num), -EINVAL);
	assert_int_equal(gid_table(out, 0, 32, num), -EINVAL);
}

static void test_gid_entry(void **state)
{
	static const struct { uint64_t port, index, flags; int want; } t[] = {
		{ 1, 0, 0, 0 }, { 1, 5, 0, -ENODATA }, { 1, 1024, 0, -EINVAL },
		{ 2, 0, 0, -EINVAL }, { 1, 1ull << 32, 0, -EINVAL }, { 1, 0, 1, -EINVAL },
	};

	for (size_t n = 0; n < ARRAY_SIZE(t); n++) {
		struct ioc i;

		ioc_init(&i, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_ENTRY);
		ioc_add(&i, UVERBS_ATTR_QUERY_GID_ENTRY_PORT, 8, t[n].port);
		ioc_add(&i, UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, 8, t[n].index);
		ioc_add(&i, UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, 4, t[n].flags);
		ioc_add(&i, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, 32, (uintptr_t)arena_get(32));
		assert_int_equal(ioc_run(&i), t[n].want);
	}
}

/* Extended structs: short requests are zero-extended, response_length is the length written. */
static void test_extended(void **state)
{
	struct ib_uverbs_ex_query_device_resp *q;
	struct cmd c;

	sample(IB_USER_VERBS_EX_CMD_QUERY_DEVICE, true, &c);
	q = (void *)(uintptr_t)c.resp;
	assert_int_equal(run(BY_WRITE, &c), 0);
	assert_int_equal(q->response_length, 304);
	c.out = 184;
	memset(q, 0xee, 304);
	assert_int_equal(run(BY_WRITE, &c), 0);
	assert_int_equal(q->response_length, 184);
	assert_int_equal(((uint8_t *)q)[184], 0xee);
	c.in = 0;
	assert_int_equal(run(BY_WRITE, &c), 0);
	c.drv_out = 8;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
	c.drv_out = 0;
	((struct ib_uverbs_ex_query_device *)&c.req)->comp_mask = 1;
	c.in = 8;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
	/* A response pointer without length, and a length without response pointer. */
	assert_int_equal(frame_ex(1, &c.req, 8, 0, 0, 184, 0), -EINVAL);
	assert_int_equal(frame_ex(1, &c.req, 8, 0, c.resp, 0, 0), -EINVAL);
	assert_int_equal(frame_ex(1, &c.req, 8, 0, 0xffff800000000000ull, 184, 0), -EFAULT);
}

static void test_cq_errors(void **state)
{
	struct ib_uverbs_create_cq *q;
	struct ib_uverbs_create_cq_resp *resp;
	struct cmd c;

	sample(IB_USER_VERBS_CMD_CREATE_CQ, false, &c);
	q = (struct ib_uverbs_create_cq *)&c.req;
	resp = (void *)(uintptr_t)c.resp;
	assert_int_equal(run(BY_WRITE, &c), 0);
	assert_int_equal(resp->cqe, 15);
	assert_true(((struct mminfo *)resp->driver_data)->offset >= 1 << 30);
	assert_true(((struct mminfo *)resp->driver_data)->size >= 384 + 16 * 64);
	q->comp_channel = 5;
	assert_int_equal(run(BY_WRITE, &c), -EBADF);
	q->comp_channel = fx.async;
	assert_int_equal(run(BY_WRITE, &c), -EBADF);
	q->comp_vector = 2;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
	q->comp_vector = 0;
	q->comp_channel = -1;
	q->cqe = 0;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
	q->cqe = 1 << 22;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
	q->cqe = 32767;
	assert_int_equal(run(BY_WRITE, &c), 0);
	c.drv_out = 8;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
	sample(IB_USER_VERBS_EX_CMD_CREATE_CQ, true, &c);
	((struct ib_uverbs_ex_create_cq *)&c.req)->flags = 1;
	assert_int_equal(run(BY_WRITE, &c), -EOPNOTSUPP);
	((struct ib_uverbs_ex_create_cq *)&c.req)->comp_mask = 1;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
}

static void test_resize_cq(void **state)
{
	struct ib_uverbs_resize_cq_resp *resp;
	struct ib_uverbs_resize_cq *q;
	int rings = fx.td->rings;
	uint64_t room;
	struct cmd c;

	sample(IB_USER_VERBS_CMD_RESIZE_CQ, false, &c);
	q = (struct ib_uverbs_resize_cq *)&c.req;
	resp = (void *)(uintptr_t)c.resp;
	assert_int_equal(run(BY_WRITE, &c), 0);
	assert_int_equal(resp->cqe, 31);
	assert_true(((struct mminfo *)resp->driver_data)->size >= 384 + 32 * 64);
	assert_int_equal(fx.td->rings, rings);
	q->cqe = 0;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
	q->cqe = 1 << 22;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
	c.drv_out = 8;
	q->cqe = 20;
	assert_int_equal(run(BY_WRITE, &c), -EINVAL);
	c.drv_out = sizeof(struct rxe_resize_cq_resp);
	/* If the ring's mminfo cannot be written, the old ring stays. */
	room = q->response;
	q->response = (uintptr_t)readonly;
	c.resp = (uintptr_t)readonly;
	assert_int_equal(run(BY_WRITE, &c), -EFAULT);
	q->response = c.resp = room;
	assert_int_equal(fx.td->rings, rings);
}

/*
 * DESTROY_CQ as rdma-core 18 sends it: in_words says 16 bytes, not the 24 of header and struct.
 */
static void test_destroy_cq_old(void **state)
{
	struct ib_uverbs_destroy_cq d = { .response = (uintptr_t)arena_get(8),
					  .cq_handle = mk_cq() };
	struct ib_uverbs_cmd_hdr *hdr = arena_get(64);

	*hdr = (struct ib_uverbs_cmd_hdr){ IB_USER_VERBS_CMD_DESTROY_CQ, 4, 2 };
	memcpy(hdr + 1, &d, sizeof(d));
	assert_int_equal(uverbs_write(fx.f, hdr, 16), 16);
	assert_int_equal(uverbs_write(fx.f, hdr, 16), -ENOENT);
}

static void test_close_destroys_all(void **state)
{
	mk_qp(fx.pd, fx.cq);
	mk_mr(fx.pd);
	uverbs_close(fx.f);
	fx.f = NULL;
	assert_int_equal(fx.destroying, 2);
	assert_int_equal(fx.td->uctx.npd, 0);
}

int main(void)
{
#define T(fn, set) cmocka_unit_test_setup_teardown(fn, set, teardown)
	const struct CMUnitTest tests[] = {
		T(test_lowest_free, setup), T(test_rollback, setup),
		T(test_bad_handles, setup_objects), T(test_destroyed, setup_objects),
		T(test_busy, setup_objects), T(test_reg_mr_errors, setup_objects),
		T(test_query_mr, setup_objects), T(test_ah, setup_objects),
		T(test_info_handles, setup_objects), T(test_gid_table, setup),
		T(test_gid_entry, setup), T(test_extended, setup),
		T(test_cq_errors, setup_objects), T(test_resize_cq, setup_objects),
		T(test_destroy_cq_old, setup_objects),
		T(test_close_destroys_all, setup_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
