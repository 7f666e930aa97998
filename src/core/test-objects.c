/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Devices (counter names, query responses), PDs, address handles, and creation and
 * destruction of QPs: limits, ring sizes, reference counts, and QP numbers.
 */
#include <unistd.h>
#include "base/testing.h"
#include "core/testing.h"

static void counters(void **state)
{
	assert_string_equal(rdev_counter_name(CNT_SENT_PKTS), "sent_pkts");
	assert_string_equal(rdev_counter_name(CNT_RDMA_RECVS), "rdma_recvs");
	for (int i = 0; i < CNT_COUNT; i++)
		assert_non_null(rdev_counter_name((enum rdev_counter)i));
	assert_string_equal(rdev_counter_name(CNT_COUNT), "?");
}

static void queries(void **state)
{
	struct test_dev *td = test_dev_create();
	struct ib_uverbs_ex_query_device_resp ex;
	struct ib_uverbs_query_port_resp_ex port;

	rdev_query_ex(&td->dev, &ex);
	assert_int_equal(ex.response_length, 304);
	/* Includes FLUSH and ATOMIC_WRITE. */
	assert_int_equal(ex.odp_caps.per_transport_caps.rc_odp_caps, 0xff);
	assert_int_equal(ex.device_cap_flags_ex, 0x1c001223c76);
	assert_int_equal(ex.base.device_cap_flags, 0x01223c76);
	assert_memory_equal(&ex.base.node_guid, td->dev.node_guid, 8);
	assert_memory_equal(&ex.base.sys_image_guid, td->dev.node_guid, 8);
	assert_int_equal(ex.base.max_qp, 1048560);
	assert_int_equal(ex.base.max_qp_wr, 1048576);
	assert_int_equal(ex.base.max_cqe, 4194303);
	assert_int_equal(ex.base.max_mr, 524287);
	assert_int_equal(ex.base.max_res_rd_atom, 258048);
	assert_int_equal(ex.base.max_total_mcast_qp_attach, 458752);
	assert_int_equal(ex.base.max_srq, 917503);
	assert_int_equal(ex.base.phys_port_cnt, 1);
	rdev_query_port(&td->dev, &port);
	assert_int_equal(port.legacy_resp.state, 4);
	assert_int_equal(port.legacy_resp.max_mtu, 5);
	assert_int_equal(port.legacy_resp.active_mtu, 3);
	assert_int_equal(port.legacy_resp.max_msg_sz, 0x80000000);
	assert_int_equal(port.legacy_resp.port_cap_flags, 0x10000);
	assert_int_equal(port.legacy_resp.gid_tbl_len, 1024);
	assert_int_equal(port.legacy_resp.link_layer, 2);
	assert_int_equal(rdev_find_gid(&td->dev, td->dev.gid[1].raw), 1);
	assert_int_equal(rdev_find_gid(&td->dev, td->dev.gid[2].raw), -ENOENT);
	test_dev_destroy(td);
}

/* The source GIDs of the device: index 0 a link-local address, 1 an IPv4 address. */
static void ah_destinations(void **state)
{
	static const uint8_t unset4[16] = { [10] = 0xff, 0xff };
	struct ib_uverbs_ah_attr attr = { .port_num = 1, .is_global = 1, .grh.sgid_index = 1 };
	struct test_dev *td = test_dev_create();
	struct pd *pd;
	struct ah *ah;

	assert_int_equal(pd_create(&td->uctx, &pd), 0);
	assert_int_equal(ah_create(pd, &attr, &ah), -EINVAL);
	assert_int_equal(td->dev.fails.refused.id, WHY_DEST_UNSET);
	memcpy(attr.grh.dgid, unset4, 16);
	assert_int_equal(ah_create(pd, &attr, &ah), -ENODEV);
	memcpy(attr.grh.dgid, td->dev.gid[0].raw, 16);
	td->dev.fails.refused.id = 0;
	assert_int_equal(ah_create(pd, &attr, &ah), -EINVAL);
	assert_int_equal(td->dev.fails.refused.id, WHY_DEST_FAMILY);
	assert_memory_equal(&td->dev.fails.refused.arg[0], td->dev.gid[0].raw, 16);
	assert_memory_equal(&td->dev.fails.refused.arg[2], td->dev.gid[1].raw, 16);
	assert_int_equal(td->dev.fails.refused.arg[4], 1);
	assert_int_equal(td->dev.fails.refused.arg[5], 0);
	attr.grh.sgid_index = 0;
	assert_int_equal(ah_create(pd, &attr, &ah), 0);
	ah_destroy(ah);
	memcpy(attr.grh.dgid, td->dev.gid[1].raw, 16);
	assert_int_equal(ah_create(pd, &attr, &ah), -EINVAL);
	memset(attr.grh.dgid, 0, 16);
	assert_int_equal(ah_create(pd, &attr, &ah), -ENETUNREACH);
	/* InfiniBand: ib_core does not look at it. */
	td->dev.port.ib = true;
	assert_int_equal(ah_create(pd, &attr, &ah), 0);
	ah_destroy(ah);
	assert_int_equal(pd_destroy(pd), 0);
	test_dev_destroy(td);
}

static void pds_and_ahs(void **state)
{
	struct ib_uverbs_ah_attr attr = { .port_num = 1, .is_global = 1, .grh = {
		.dgid = { [10] = 0xff, 0xff, 10, 0, 0, 2 }, .sgid_index = 1 } };
	struct test_dev *td = test_dev_create();
	struct pd *a, *b;
	struct ah *ah, *ah2;
	uint32_t id;

	assert_int_equal(pd_create(&td->uctx, &a), 0);
	assert_int_equal(pd_create(&td->uctx, &b), 0);
	assert_int_not_equal(a->id, b->id);
	assert_true(a->id && b->id);
	assert_int_equal(td->uctx.npd, 2);
	id = b->id;
	assert_int_equal(pd_destroy(b), 0);
	assert_int_equal(pd_create(&td->uctx, &b), 0);
	assert_int_not_equal(b->id, id);

	assert_int_equal(ah_create(a, &attr, &ah), 0);
	assert_int_equal(ah_create(a, &attr, &ah2), 0);
	assert_true(ah->num && ah2->num && ah->num != ah2->num);
	assert_ptr_equal(idtable_find(&td->dev.ahs, ah->num), ah);
	assert_int_equal(td->uctx.nah, 2);
	assert_int_equal(pd_destroy(a), -EBUSY);
	assert_int_equal(ah_destroy(ah), 0);
	assert_int_equal(pd_destroy(a), -EBUSY);
	assert_int_equal(ah_destroy(ah2), 0);
	attr.port_num = 2;
	assert_int_equal(ah_create(a, &attr, &ah), -EINVAL);
	attr.port_num = 0;
	assert_int_equal(ah_create(a, &attr, &ah), -EINVAL);
	attr.port_num = 1;
	attr.is_global = 0;
	assert_int_equal(ah_create(a, &attr, &ah), -EINVAL);
	attr.is_global = 1;
	attr.grh.sgid_index = 2;
	assert_int_equal(ah_create(a, &attr, &ah), -ENODATA);
	assert_int_equal(td->uctx.nah, 0);
	assert_int_equal(pd_destroy(a), 0);
	assert_int_equal(pd_destroy(b), 0);
	test_dev_destroy(td);
}

struct fixture {
	struct test_dev *td;
	struct pd *pd;
	struct cq *scq, *rcq;
	struct qp_init_attr init;
};

static void fixture_open(struct fixture *f)
{
	f->td = test_dev_create();
	assert_int_equal(pd_create(&f->td->uctx, &f->pd), 0);
	assert_int_equal(cq_create(&f->td->uctx, 10, 0, NULL, NULL, 0, &f->scq), 0);
	assert_int_equal(cq_create(&f->td->uctx, 10, 0, NULL, NULL, 0, &f->rcq), 0);
	f->init = (struct qp_init_attr){
		.send_cq = f->scq, .recv_cq = f->rcq, .type = QPT_RC, .max_send_wr = 10,
		.max_recv_wr = 7, .max_send_sge = 1, .max_recv_sge = 2, .max_inline = 20 };
}

static void fixture_close(struct fixture *f)
{
	uint32_t a, b;

	assert_int_equal(cq_destroy(f->scq, &a, &b), 0);
	assert_int_equal(cq_destroy(f->rcq, &a, &b), 0);
	assert_int_equal(pd_destroy(f->pd), 0);
	assert_int_equal(f->td->rings, 0);
	assert_int_equal(f->td->uctx.nqp, 0);
	test_dev_destroy(f->td);
}

static int try_create(struct fixture *f, struct qp_init_attr init)
{
	uint32_t reported;
	struct qp *qp;
	int err = qp_create(f->pd, &init, &qp);

	return err ? err : qp_destroy(qp, &reported);
}

#define WITH(field, value)                                                     \
	({                                                                     \
		struct qp_init_attr _i = f.init;                               \
		_i.field = (value);                                            \
		try_create(&f, _i);                                            \
	})

static void qp_limits(void **state)
{
	struct fixture f;
	int type;

	fixture_open(&f);
	for (type = 0; type < 256; type++)
		assert_int_equal(WITH(type, (uint8_t)type),
				 type >= QPT_RC && type <= QPT_UD ? 0 : -EOPNOTSUPP);
	assert_int_equal(WITH(send_cq, NULL), -EINVAL);
	assert_int_equal(WITH(recv_cq, NULL), -EINVAL);
	assert_int_equal(WITH(max_send_wr, DEV_MAX_QP_WR + 1), -EINVAL);
	assert_int_equal(WITH(max_recv_wr, UINT32_MAX), -EINVAL);
	assert_int_equal(WITH(max_send_sge, 33), -EINVAL);
	assert_int_equal(WITH(max_recv_sge, 33), -EINVAL);
	assert_int_equal(WITH(max_inline, 513), -EINVAL);
	assert_int_equal(WITH(max_inline, 512), 0);
	assert_int_equal(WITH(max_send_sge, 32), 0);
	assert_int_equal(WITH(max_recv_wr, 0), 0);
	assert_int_equal(WITH(max_send_wr, 0), 0);
	f.td->ring_err = -ENOMEM;
	assert_int_equal(WITH(type, QPT_RC), -ENOMEM);
	f.td->ring_err = 0;
	fixture_close(&f);
}

static void qp_sizes(void **state)
{
	struct fixture f;
	uint32_t reported;
	struct qp *qp;

	fixture_open(&f);
	assert_int_equal(qp_create(f.pd, &f.init, &qp), 0);
	/* 20 bytes of inline data need more room than one SGE (16 bytes). The queue depths are returned as requested. */
	assert_int_equal(f.init.max_inline, 20);
	assert_int_equal(f.init.max_send_sge, 1);
	assert_int_equal(f.init.max_send_wr, 10);
	assert_int_equal(f.init.max_recv_wr, 7);
	assert_int_equal(ring_capacity(&qp->sq), 15);
	assert_int_equal(ring_capacity(&qp->rq), 7);
	assert_int_equal(qp->sq.log2_elem, 8);
	assert_int_equal(qp->rq.log2_elem, 7);
	assert_int_equal(qp->attr.path_mtu, 256);
	assert_int_equal(qp->state, QPS_RESET);
	assert_int_equal(qp_destroy(qp, &reported), 0);
	f.init.max_send_sge = 4;
	f.init.max_inline = 0;
	assert_int_equal(qp_create(f.pd, &f.init, &qp), 0);
	assert_int_equal(f.init.max_inline, 64);
	assert_int_equal(f.init.max_send_sge, 4);
	assert_int_equal(qp->sq.log2_elem, 9);
	assert_int_equal(qp_destroy(qp, &reported), 0);
	fixture_close(&f);
}

static void qp_busy(void **state)
{
	struct event_file *async = test_event_file(true);
	struct ib_uverbs_async_event_desc r;
	struct fixture f;
	uint32_t reported = 9, c, a;
	struct qp *qp;

	fixture_open(&f);
	f.init.async = async;
	f.init.user_handle = 0x77;
	assert_int_equal(qp_create(f.pd, &f.init, &qp), 0);
	assert_int_equal(pd_destroy(f.pd), -EBUSY);
	assert_int_equal(cq_destroy(f.scq, &c, &a), -EBUSY);
	assert_int_equal(cq_destroy(f.rcq, &c, &a), -EBUSY);
	assert_ptr_equal(rdev_find_qp(&f.td->dev, qp->qpn), qp);
	assert_null(rdev_find_qp(&f.td->dev, qp->qpn ^ 1));
	assert_null(rdev_find_qp(&f.td->dev, qp->qpn ^ QPN_PER_BLOCK));
	assert_null(rdev_find_qp(&f.td->dev, UINT32_MAX));
	assert_int_equal(qp->card->qpn, qp->qpn);
	assert_int_equal(qp->card->pd, f.pd->id);
	assert_int_equal(qp->card->lock, 0);
	event_raise(&qp->async, IB_EVENT_QP_FATAL);
	event_raise(&qp->async, IB_EVENT_QP_FATAL);
	assert_int_equal(event_read(async, &r, 16), 16);
	assert_int_equal(r.element, 0x77);
	struct qp_card *card = qp->card;
	assert_int_equal(qp_destroy(qp, &reported), 0);
	assert_int_equal(reported, 1);
	assert_int_equal(card->qpn, 0);
	assert_int_equal(card->lock, 0);
	assert_int_equal(async->fd, 1);	/* qp_destroy() has subtracted the unread event; nothing subtracts the one read */
	event_file_put(async);
	fixture_close(&f);
}

/* A peer is stopped with the lock of a QP's card. QPs of this number come and go, and never use the card. */
static void qp_stopped_peer(void **state)
{
	struct fixture f;
	struct qp *qp;
	struct qp_card *card;
	uint64_t withdrawals;
	uint32_t n;

	alarm(60);
	fixture_open(&f);
	assert_int_equal(qp_create(f.pd, &f.init, &qp), 0);
	card = qp->card;
	n = qp->qpn;
	card->lock = 7;
	withdrawals = f.td->withdrawals;
	assert_int_equal(qp_destroy(qp, &(uint32_t){ 0 }), 0);
	assert_int_equal(f.td->withdrawals, withdrawals + 1);
	assert_int_equal(card->qpn, 0);
	assert_int_equal(card->lock, 7);
	for (uint32_t i = 0; i < QPN_PER_BLOCK; i++) {
		assert_int_equal(qp_create(f.pd, &f.init, &qp), 0);
		if (qp->qpn == n) {
			assert_ptr_not_equal(qp->card, card);
			assert_int_equal(qp->card->qpn, n);
			assert_int_equal(qp->card->lock, 0);
		}
		assert_int_equal(qp_destroy(qp, &(uint32_t){ 0 }), 0);
	}
	assert_int_equal(card->qpn, 0);
	assert_int_equal(card->lock, 7);
	card->lock = 0;
	alarm(0);
	fixture_close(&f);
}

/* QP numbers: block number and index, allocated cyclically. When a block is full, a second one is leased. */
static void qp_numbers(void **state)
{
	static struct qp *qps[QPN_PER_BLOCK + 1];
	struct fixture f;
	uint32_t i, last, reported;
	struct qp *qp;

	fixture_open(&f);
	f.init.max_send_wr = f.init.max_recv_wr = 1;
	f.td->lease_err = -EIO;
	assert_int_equal(qp_create(f.pd, &f.init, &qp), -EIO);
	assert_int_equal(f.td->rings, 2);
	f.td->lease_err = 0;
	assert_int_equal(qp_create(f.pd, &f.init, &qp), 0);
	last = qp->qpn;
	assert_int_equal(last >> QPN_INDEX_BITS, 1);
	assert_int_equal(qp_destroy(qp, &reported), 0);
	for (i = 0; i <= QPN_PER_BLOCK; i++) {
		assert_int_equal(qp_create(f.pd, &f.init, &qps[i]), 0);
		if (i < QPN_PER_BLOCK)
			assert_int_equal(qps[i]->qpn & (QPN_PER_BLOCK - 1),
					 (last + 1 + i) & (QPN_PER_BLOCK - 1));
	}
	assert_int_equal(f.td->nblocks, 2);
	assert_int_equal(qps[QPN_PER_BLOCK]->qpn >> QPN_INDEX_BITS, 2);
	assert_ptr_equal(rdev_find_qp(&f.td->dev, qps[QPN_PER_BLOCK]->qpn), qps[QPN_PER_BLOCK]);
	assert_ptr_equal(rdev_find_qp(&f.td->dev, qps[77]->qpn), qps[77]);
	for (i = 0; i <= QPN_PER_BLOCK; i++)
		assert_int_equal(qp_destroy(qps[i], &reported), 0);
	fixture_close(&f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters),
		cmocka_unit_test(queries),
		cmocka_unit_test(pds_and_ahs),
		cmocka_unit_test(ah_destinations),
		cmocka_unit_test(qp_limits),
		cmocka_unit_test(qp_sizes),
		cmocka_unit_test(qp_busy),
		cmocka_unit_test(qp_stopped_peer),
		cmocka_unit_test(qp_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
