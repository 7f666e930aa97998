/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The device: its tables of keys, QPs and address handles, the names of its counters, and the
 * responses of QUERY_DEVICE and QUERY_PORT. The values reported are those of kernel rxe 6.1,
 * with the exceptions in doc/deviations.md; an InfiniBand port reports its PortInfo.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "base/rand.h"
#include "core/core_internal.h"
#include "core/objects.h"
#include "core/qp.h"
#include "wire/mtu.h"

/* device_cap_flags of kernel rxe 6.1: twelve flags, of which BAD_PKEY_CNTR is the lowest, MEM_WINDOW_TYPE_2B the highest. */
#define DEV_CAP_FLAGS 0x01223c76u
/* FLUSH_GLOBAL, FLUSH_PERSISTENT, ATOMIC_WRITE (kernel 6.12). */
#define DEV_CAP_FLAGS_EX (7ull << 38)
#define DEV_MAX_OBJ (1 << 20)
#define DEV_MAX_AH 32767
#define DEV_MIN_QPN 16
#define DEV_MIN_SRQN 0x20001
#define IB_ATOMIC_HCA 1
#define IB_LINK_LAYER_INFINIBAND 1
#define IB_LINK_LAYER_ETHERNET 2

/* enum ib_odp_general_cap_bits and ib_odp_transport_cap_bits */
#define ODP_SUPPORT 1u
#define ODP_IMPLICIT 2u
#define ODP_SEND 1u
#define ODP_RECV 2u
#define ODP_WRITE 4u
#define ODP_ALL 0xffu	/* SEND, RECV, WRITE, READ, ATOMIC, SRQ_RECV, FLUSH, ATOMIC_WRITE */
#define ODP_SRQ_RECV 0x20u

/*
 * The first key index is random, so that a key of an earlier process is probably invalid. It
 * is below 2^14, so that the table starts small.
 */
#define KEY_START_MASK 0x3fffu

static const char *const counter_names[CNT_COUNT] = {
	[CNT_SENT_PKTS] = "sent_pkts",
	[CNT_RCVD_PKTS] = "rcvd_pkts",
	[CNT_DUP_REQ] = "duplicate_request",
	[CNT_OUT_OF_SEQ_REQ] = "out_of_seq_request",
	[CNT_RCV_RNR] = "rcvd_rnr_err",
	[CNT_SND_RNR] = "send_rnr_err",
	[CNT_RCV_SEQ_ERR] = "rcvd_seq_err",
	[CNT_ACK_DEFERRED] = "ack_deferred",
	[CNT_RETRY_EXCEEDED] = "retry_exceeded_err",
	[CNT_RNR_RETRY_EXCEEDED] = "retry_rnr_exceeded_err",
	[CNT_COMP_RETRY] = "completer_retry_err",
	[CNT_SEND_ERR] = "send_err",
	[CNT_LINK_DOWNED] = "link_downed",
	[CNT_RDMA_SENDS] = "rdma_sends",
	[CNT_RDMA_RECVS] = "rdma_recvs",
};

_Static_assert((int)CNT_COUNT <= (int)ARRAY_SIZE(((struct rdev *)0)->own_counter),
	       "a counter has no room");

const char *rdev_counter_name(enum rdev_counter c)
{
	return (unsigned int)c < CNT_COUNT ? counter_names[c] : "?";
}

int rdev_init(struct rdev *dev, const struct rdev_ops *ops, void *host, struct key_card *keys)
{
	int64_t id;

	dev->ops = ops;
	dev->host = host;
	dev->keys = keys;
	dev->blocks = NULL;
	dev->nblocks = 0;
	dev->gone = false;
	memset(dev->own_counter, 0, sizeof(dev->own_counter));
	dev->counter = dev->own_counter;
	list_init(&dev->contexts);
	idtable_init(&dev->ahs, DEV_MAX_AH + 1);
	idtable_init(&dev->mrs, DEV_MAX_KEY_INDEX + 1);
	idtable_init(&dev->mws, DEV_MAX_KEY_INDEX + 1);
	list_init(&dev->mcgs);

	/* Allocate the table when the device is opened, to keep that time out of REG_MR. */
	dev->mrs.next = 1 + (rand_u32() & KEY_START_MASK);
	id = idtable_alloc_cyclic(&dev->mrs, 1, dev);
	if (id < 0)
		return (int)id;
	idtable_remove(&dev->mrs, (uint32_t)id);
	mr_warm();
	return 0;
}

void rdev_fini(struct rdev *dev)
{
	uint32_t i;

	BUG_ON(!list_empty(&dev->contexts));
	for (i = 0; i < dev->nblocks; i++)
		idtable_fini(&dev->blocks[i].qps);
	free(dev->blocks);
	dev->blocks = NULL;
	dev->nblocks = 0;
	idtable_fini(&dev->mrs);
	idtable_fini(&dev->mws);
	idtable_fini(&dev->ahs);
}

struct qp *rdev_find_qp(const struct rdev *dev, uint32_t qpn)
{
	uint32_t i;

	for (i = 0; i < dev->nblocks; i++)
		if (dev->blocks[i].block == qpn >> QPN_INDEX_BITS)
			return idtable_find(&dev->blocks[i].qps, qpn & (QPN_PER_BLOCK - 1));
	return NULL;
}

void rdev_query(const struct rdev *dev, struct ib_uverbs_query_device_resp *resp)
{
	*resp = (struct ib_uverbs_query_device_resp){
		.max_mr_size = UINT64_MAX,
		.page_size_cap = 0xfffff000,
		.vendor_id = 0xffffff,
		.max_qp = DEV_MAX_OBJ - DEV_MIN_QPN,
		.max_qp_wr = DEV_MAX_QP_WR,
		.device_cap_flags = DEV_CAP_FLAGS,
		.max_sge = DEV_MAX_SGE,
		.max_sge_rd = DEV_MAX_SGE,
		.max_cq = DEV_MAX_OBJ,
		.max_cqe = DEV_MAX_CQE,
		.max_mr = DEV_MAX_KEY_INDEX,
		.max_pd = DEV_MAX_OBJ,
		.max_qp_rd_atom = DEV_MAX_RD_ATOMIC,
		.max_res_rd_atom = 0x3f000,
		.max_qp_init_rd_atom = DEV_MAX_RD_ATOMIC,
		.atomic_cap = IB_ATOMIC_HCA,
		.max_mw = DEV_MAX_KEY_INDEX,
		.max_mcast_grp = 8192,
		.max_mcast_qp_attach = 56,
		.max_total_mcast_qp_attach = 8192 * 56,
		.max_ah = DEV_MAX_AH,
		.max_srq = DEV_MAX_OBJ - DEV_MIN_SRQN,
		.max_srq_wr = DEV_MAX_QP_WR,
		.max_srq_sge = 27,
		.max_pkeys = 64,
		.local_ca_ack_delay = 15,
		.phys_port_cnt = 1,
	};
	memcpy(&resp->node_guid, dev->node_guid, 8);
	memcpy(&resp->sys_image_guid, dev->port.ib ? dev->sys_image_guid : dev->node_guid, 8);
	if (dev->port.ib)
		resp->max_pkeys = dev->npkeys;
}

void rdev_query_ex(const struct rdev *dev, struct ib_uverbs_ex_query_device_resp *resp)
{
	*resp = (struct ib_uverbs_ex_query_device_resp){
		.response_length = sizeof(*resp),
		.device_cap_flags_ex = DEV_CAP_FLAGS | DEV_CAP_FLAGS_EX,
		/* No memory is pinned, so on-demand paging is supported for every operation. */
		.odp_caps = {
			.general_caps = ODP_SUPPORT | ODP_IMPLICIT,
			.per_transport_caps = {
				.rc_odp_caps = ODP_ALL,
				.uc_odp_caps = ODP_SEND | ODP_RECV | ODP_WRITE | ODP_SRQ_RECV,
				.ud_odp_caps = ODP_SEND | ODP_RECV | ODP_SRQ_RECV,
			},
		},
	};
	rdev_query(dev, &resp->base);
}

/* Attributes of an InfiniBand port, mostly from PortInfo. */
static void rdev_query_ib(const struct rdev *dev, struct ib_uverbs_query_port_resp_ex *resp)
{
	const struct port_attr *p = &dev->port;
	struct ib_uverbs_query_port_resp *r = &resp->legacy_resp;

	resp->port_cap_flags2 = p->cap_flags2;
	r->gid_tbl_len = DEV_IB_GID_TBL;
	r->pkey_tbl_len = dev->npkeys;
	r->lid = p->lid;
	r->sm_lid = p->sm_lid;
	r->lmc = p->lmc;
	r->sm_sl = p->sm_sl;
	r->max_mtu = p->max_mtu;
	r->max_vl_num = p->max_vl;
	r->init_type_reply = p->init_reply;
	r->subnet_timeout = p->subnet_timeout;
	r->link_layer = IB_LINK_LAYER_INFINIBAND;
}

void rdev_query_port(const struct rdev *dev, struct ib_uverbs_query_port_resp_ex *resp)
{
	*resp = (struct ib_uverbs_query_port_resp_ex){
		.legacy_resp = {
			.port_cap_flags = dev->port.cap_mask,
			.max_msg_sz = DEV_MAX_MSG,
			.gid_tbl_len = DEV_GID_TBL,
			.bad_pkey_cntr = dev->bad_pkeys,
			.qkey_viol_cntr = dev->bad_qkeys,
			.pkey_tbl_len = 1,
			.state = dev->port.state,
			.max_mtu = IB_MTU_4096,
			.active_mtu = dev->port.active_mtu,
			.max_vl_num = 1,
			.active_width = dev->port.active_width,
			.active_speed = dev->port.active_speed,
			.phys_state = dev->port.phys_state,
			.link_layer = IB_LINK_LAYER_ETHERNET,
		},
	};
	if (dev->port.ib)
		rdev_query_ib(dev, resp);
}

int rdev_find_gid(const struct rdev *dev, const uint8_t raw[16])
{
	int i;

	for (i = 0; i < DEV_GID_TBL; i++)
		if (!gid_is_zero(&dev->gid[i]) && !memcmp(dev->gid[i].raw, raw, 16))
			return i;
	return -ENOENT;
}

ns_t rdev_now(const struct rdev *dev)
{
	return dev->ops->now ? dev->ops->now() : 0;
}

void rdev_failed(struct rdev *dev, const struct why_rec *r)
{
	if (dev->ops->failed)
		dev->ops->failed(dev, r);
}

noinline __cold void rdev_refuse_why(struct rdev *dev, enum why_id id,
				     const uint64_t arg[WHY_ARGS])
{
	if (dev->fails.refused.id == WHY_NONE)
		why_make(&dev->fails.refused, id, arg);
}
