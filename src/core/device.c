/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The device: its tables of keys, QPs and address handles, the names of its counters, and the
 * responses of QUERY_DEVICE and QUERY_PORT, from struct like; an InfiniBand port reports its PortInfo.
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
#include "wire/pkey.h"

#define DEV_MAX_AH 32767
#define IB_LINK_LAYER_INFINIBAND 1
#define IB_LINK_LAYER_ETHERNET 2

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
	dev->nkeys = ops->key_room ? 0 : DEV_MAX_KEY_INDEX + 1;
	if (!dev->like)
		dev->like = &like_default;
	if (!like_valid(dev->like))
		return -EINVAL;
	dev->credits_poll = dev->like->credits_poll;
	dev->blocks = NULL;
	dev->nblocks = 0;
	dev->gone = false;
	dev->pkey[DEV_PKEY_V1] = PKEY_ROCE_V1;
	memset(dev->own_counter, 0, sizeof(dev->own_counter));
	dev->counter = dev->own_counter;
	list_init(&dev->contexts);
	idtable_init(&dev->ahs, DEV_MAX_AH + 1);
	idtable_init(&dev->mrs, DEV_MAX_KEY_INDEX + 1);
	idtable_init(&dev->mws, DEV_MAX_KEY_INDEX + 1);
	list_init(&dev->mcgs);
	list_init(&dev->ended);

	/* Allocate the table when the device is opened, to keep that time out of REG_MR. */
	dev->mrs.next = 1 + (rand_u32() & KEY_START_MASK);
	id = idtable_alloc_cyclic(&dev->mrs, 1, dev);
	if (id < 0)
		return (int)id;
	idtable_remove(&dev->mrs, (uint32_t)id);
	mr_warm();
	return 0;
}

int rdev_full(struct ucontext *uctx, enum rdev_object what, uint64_t max, uint64_t errno_of)
{
	const uint32_t counts[] = { [RDEV_QP] = uctx->nqp, [RDEV_CQ] = uctx->ncq,
				    [RDEV_SRQ] = uctx->nsrq, [RDEV_PD] = uctx->npd,
				    [RDEV_AH] = uctx->nah, [RDEV_MW] = uctx->nmw,
				    [RDEV_MR] = uctx->nmr };
	uint32_t n = counts[what];

	return n < max ? 0 :
			 rdev_refuse(uctx->dev, like_errno(errno_of), DEV_FULL, what, n, max);
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
	const struct like *l = dev->like;

	*resp = (struct ib_uverbs_query_device_resp){
		.max_mr_size = l->max_mr_size,
		.page_size_cap = l->page_size_cap,
		.fw_ver = l->fw_ver,
		.vendor_id = (uint32_t)l->vendor_id,
		.vendor_part_id = (uint32_t)l->vendor_part_id,
		.hw_ver = (uint32_t)l->hw_ver,
		.max_qp = (uint32_t)l->max_qp,
		.max_qp_wr = (uint32_t)l->max_qp_wr,
		.device_cap_flags = (uint32_t)l->device_cap_flags,
		.max_sge = (uint32_t)l->max_sge,
		.max_sge_rd = (uint32_t)l->max_sge_rd,
		.max_cq = (uint32_t)l->max_cq,
		.max_cqe = (uint32_t)l->max_cqe,
		.max_mr = (uint32_t)l->max_mr,
		.max_pd = (uint32_t)l->max_pd,
		.max_qp_rd_atom = (uint32_t)l->max_qp_rd_atom,
		.max_ee_rd_atom = (uint32_t)l->max_ee_rd_atom,
		.max_res_rd_atom = (uint32_t)l->max_res_rd_atom,
		.max_qp_init_rd_atom = (uint32_t)l->max_qp_init_rd_atom,
		.max_ee_init_rd_atom = (uint32_t)l->max_ee_init_rd_atom,
		.atomic_cap = (uint32_t)l->atomic_cap,
		.max_ee = (uint32_t)l->max_ee,
		.max_rdd = (uint32_t)l->max_rdd,
		.max_mw = (uint32_t)l->max_mw,
		.max_raw_ipv6_qp = (uint32_t)l->max_raw_ipv6_qp,
		.max_raw_ethy_qp = (uint32_t)l->max_raw_ethy_qp,
		.max_mcast_grp = (uint32_t)l->max_mcast_grp,
		.max_mcast_qp_attach = (uint32_t)l->max_mcast_qp_attach,
		.max_total_mcast_qp_attach = (uint32_t)l->max_total_mcast_qp_attach,
		.max_ah = (uint32_t)l->max_ah,
		.max_srq = (uint32_t)l->max_srq,
		.max_srq_wr = (uint32_t)l->max_srq_wr,
		.max_srq_sge = (uint32_t)l->max_srq_sge,
		.max_pkeys = (uint16_t)l->max_pkeys,
		.local_ca_ack_delay = (uint8_t)l->local_ca_ack_delay,
		.phys_port_cnt = 1,
	};
	memcpy(&resp->node_guid, dev->node_guid, 8);
	memcpy(&resp->sys_image_guid, dev->port.ib ? dev->sys_image_guid : dev->node_guid, 8);
	if (dev->port.ib)
		resp->max_pkeys = dev->npkeys;
}

void rdev_query_ex(const struct rdev *dev, struct ib_uverbs_ex_query_device_resp *resp)
{
	const struct like *l = dev->like;

	*resp = (struct ib_uverbs_ex_query_device_resp){
		.response_length = sizeof(*resp),
		.device_cap_flags_ex = l->device_cap_flags_ex,
		.odp_caps = { .general_caps = l->odp_general,
			      .per_transport_caps = { (uint32_t)l->odp_rc, (uint32_t)l->odp_uc,
						      (uint32_t)l->odp_ud } },
		.xrc_odp_caps = (uint32_t)l->odp_xrc,
		.timestamp_mask = l->timestamp_mask,
		.hca_core_clock = l->hca_core_clock,
		.rss_caps = { .supported_qpts = (uint32_t)l->rss_qpts,
			      .max_rwq_indirection_tables = (uint32_t)l->rss_tables,
			      .max_rwq_indirection_table_size = (uint32_t)l->rss_size },
		.max_wq_type_rq = (uint32_t)l->max_wq_type_rq,
		.raw_packet_caps = (uint32_t)l->raw_packet_caps,
		.tm_caps = { .max_rndv_hdr_size = (uint32_t)l->tm_hdr,
			     .max_num_tags = (uint32_t)l->tm_tags, .flags = (uint32_t)l->tm_flags,
			     .max_ops = (uint32_t)l->tm_ops, .max_sge = (uint32_t)l->tm_sge },
		.cq_moderation_caps = { .max_cq_moderation_count = (uint16_t)l->moderation_count,
					.max_cq_moderation_period =
						(uint16_t)l->moderation_period },
		.max_dm_size = l->max_dm_size,
	};
	rdev_query(dev, &resp->base);
}

/* Attributes of an InfiniBand port, mostly from PortInfo. */
static void rdev_query_ib(const struct rdev *dev, struct ib_uverbs_query_port_resp_ex *resp)
{
	const struct port_attr *p = &dev->port;
	struct ib_uverbs_query_port_resp *r = &resp->legacy_resp;

	resp->port_cap_flags2 = p->cap_flags2;
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
	const struct like *l = dev->like;

	*resp = (struct ib_uverbs_query_port_resp_ex){
		.legacy_resp = {
			.port_cap_flags = dev->port.cap_mask,
			.max_msg_sz = (uint32_t)l->max_msg_sz,
			.gid_tbl_len = rdev_gid_len(dev),
			.bad_pkey_cntr = dev->bad_pkeys,
			.qkey_viol_cntr = dev->bad_qkeys,
			.pkey_tbl_len = 1,
			.state = dev->port.state,
			.max_mtu = IB_MTU_4096,
			.active_mtu = dev->port.active_mtu,
			.lid = (uint16_t)l->lid,
			.lmc = (uint8_t)l->lmc,
			.sm_lid = (uint16_t)l->sm_lid,
			.sm_sl = (uint8_t)l->sm_sl,
			.subnet_timeout = (uint8_t)l->subnet_timeout,
			.init_type_reply = (uint8_t)l->init_type_reply,
			.max_vl_num = (uint8_t)l->max_vl_num,
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
