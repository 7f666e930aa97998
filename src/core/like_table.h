/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The members of struct like (core/like.h). A value of a file is taken from the lowest to the highest, which is what ruse
 * can do, or what the ABI can say.
 */
#ifndef RUSE_CORE_LIKE_TABLE_H
#define RUSE_CORE_LIKE_TABLE_H

#include "core/limits.h"

#define LIKE_U8 0xffu
#define LIKE_U16 0xffffu
#define LIKE_U31 0x7fffffffu
#define LIKE_U32 0xffffffffu
#define LIKE_CAP_FLAGS 0x01223c76u	/* of kernel rxe 6.1: BAD_PKEY_CNTR is the lowest, MEM_WINDOW_TYPE_2B the highest */
#define LIKE_CAP_FLAGS_EX (7ull << 38)	/* FLUSH_GLOBAL, FLUSH_PERSISTENT, ATOMIC_WRITE (kernel 6.12) */

/* X(member, name in the section `fields` of a file, default, lowest, highest, kind) */
#define LIKE_FIELDS(X)                                                                             \
	X(max_mr_size, "max_mr_size", UINT64_MAX, 4096, UINT64_MAX, LIMIT)                         \
	X(page_size_cap, "page_size_cap", 0xfffff000, 0, UINT64_MAX, FACT)                         \
	X(max_qp, "max_qp", 1048560, 1, LIKE_U31, LIMIT)                                           \
	X(max_qp_wr, "max_qp_wr", DEV_MAX_QP_WR, 1, DEV_MAX_QP_WR, LIMIT)                          \
	X(device_cap_flags, "device_cap_flags", LIKE_CAP_FLAGS, 0, LIKE_U32, FACT)                 \
	X(max_sge, "max_sge", DEV_MAX_SGE, 1, DEV_MAX_SGE, LIMIT)                                  \
	X(max_sge_rd, "max_sge_rd", DEV_MAX_SGE, 1, DEV_MAX_SGE, LIMIT)                            \
	X(max_cq, "max_cq", 1 << 20, 1, LIKE_U31, LIMIT)                                           \
	X(max_cqe, "max_cqe", DEV_MAX_CQE, 1, LIKE_U31, LIMIT)                                     \
	X(max_mr, "max_mr", DEV_MAX_KEY_INDEX, 1, LIKE_U31, LIMIT)                                 \
	X(max_pd, "max_pd", 1 << 20, 1, LIKE_U31, LIMIT)                                           \
	X(max_qp_rd_atom, "max_qp_rd_atom", DEV_MAX_RD_ATOMIC, 0, DEV_MAX_RD_ATOMIC, LIMIT)        \
	X(max_res_rd_atom, "max_res_rd_atom", 0x3f000, 0, LIKE_U31, LIMIT)                         \
	X(max_qp_init_rd_atom, "max_qp_init_rd_atom", DEV_MAX_RD_ATOMIC, 0, LIKE_U8, LIMIT)        \
	X(atomic_cap, "atomic_cap", 1, 0, 2, FACT)                                                 \
	X(max_ee_rd_atom, "max_ee_rd_atom", 0, 0, LIKE_U31, FACT)                                  \
	X(max_ee_init_rd_atom, "max_ee_init_rd_atom", 0, 0, LIKE_U31, FACT)                        \
	X(max_ee, "max_ee", 0, 0, LIKE_U31, FACT)                                                  \
	X(max_rdd, "max_rdd", 0, 0, LIKE_U31, FACT)                                                \
	X(max_mw, "max_mw", DEV_MAX_KEY_INDEX, 0, LIKE_U31, LIMIT)                                 \
	X(max_raw_ipv6_qp, "max_raw_ipv6_qp", 0, 0, LIKE_U31, FACT)                                \
	X(max_raw_ethy_qp, "max_raw_ethy_qp", 0, 0, LIKE_U31, FACT)                                \
	X(max_mcast_grp, "max_mcast_grp", 8192, 0, LIKE_U31, LIMIT)                                \
	X(max_mcast_qp_attach, "max_mcast_qp_attach", 56, 0, LIKE_U31, LIMIT)                      \
	X(max_total_mcast_qp_attach, "max_total_mcast_qp_attach", 8192 * 56, 0, LIKE_U31, LIMIT)   \
	X(max_ah, "max_ah", 32767, 1, LIKE_U31, LIMIT)                                             \
	X(max_srq, "max_srq", (1 << 20) - 0x20001, 0, LIKE_U31, LIMIT)                             \
	X(max_srq_wr, "max_srq_wr", DEV_MAX_SRQ_WR, 0, DEV_MAX_SRQ_WR, LIMIT)                      \
	X(max_srq_sge, "max_srq_sge", DEV_MAX_SRQ_SGE, 0, DEV_MAX_SGE, LIMIT)                      \
	X(max_pkeys, "max_pkeys", 64, 1, LIKE_U16, FACT)                                           \
	X(local_ca_ack_delay, "local_ca_ack_delay", 15, 0, 31, FACT)                               \
	X(odp_general, "odp_caps.general_caps", 3, 0, UINT64_MAX, FACT)                            \
	X(odp_rc, "odp_caps.per_transport_caps.rc_odp_caps", 0xff, 0, LIKE_U32, FACT)              \
	X(odp_uc, "odp_caps.per_transport_caps.uc_odp_caps", 0x27, 0, LIKE_U32, FACT)              \
	X(odp_ud, "odp_caps.per_transport_caps.ud_odp_caps", 0x23, 0, LIKE_U32, FACT)              \
	X(odp_xrc, "xrc_odp_caps", 0, 0, LIKE_U32, FACT)                                           \
	X(timestamp_mask, "timestamp_mask", 0, 0, UINT64_MAX, FACT)                                \
	X(hca_core_clock, "hca_core_clock", 0, 0, UINT64_MAX, FACT)                                \
	X(device_cap_flags_ex, "device_cap_flags_ex", LIKE_CAP_FLAGS | LIKE_CAP_FLAGS_EX, 0,       \
	  UINT64_MAX, FACT)                                                                        \
	X(rss_qpts, "rss_caps.supported_qpts", 0, 0, LIKE_U32, FACT)                               \
	X(rss_tables, "rss_caps.max_rwq_indirection_tables", 0, 0, LIKE_U32, FACT)                 \
	X(rss_size, "rss_caps.max_rwq_indirection_table_size", 0, 0, LIKE_U32, FACT)               \
	X(max_wq_type_rq, "max_wq_type_rq", 0, 0, LIKE_U32, FACT)                                  \
	X(raw_packet_caps, "raw_packet_caps", 0, 0, LIKE_U32, FACT)                                \
	X(tm_hdr, "tm_caps.max_rndv_hdr_size", 0, 0, LIKE_U32, FACT)                               \
	X(tm_tags, "tm_caps.max_num_tags", 0, 0, LIKE_U32, FACT)                                   \
	X(tm_flags, "tm_caps.flags", 0, 0, LIKE_U32, FACT)                                         \
	X(tm_ops, "tm_caps.max_ops", 0, 0, LIKE_U32, FACT)                                         \
	X(tm_sge, "tm_caps.max_sge", 0, 0, LIKE_U32, FACT)                                         \
	X(moderation_count, "cq_moderation_caps.max_cq_moderation_count", 0, 0, LIKE_U16, FACT)    \
	X(moderation_period, "cq_moderation_caps.max_cq_moderation_period", 0, 0, LIKE_U16, FACT)  \
	X(max_dm_size, "max_dm_size", 0, 0, UINT64_MAX, FACT)                                      \
	X(port_cap_flags, "port_cap_flags", 0x10000, 0, LIKE_U32, FACT)                            \
	X(max_msg_sz, "max_msg_sz", DEV_MAX_MSG, 4096, DEV_MAX_MSG, FACT)                          \
	X(gid_tbl_len, "gid_tbl_len", DEV_GID_TBL, 2, DEV_GID_TBL, FACT)                           \
	X(lid, "lid", 0, 0, LIKE_U16, FACT)                                                        \
	X(lmc, "lmc", 0, 0, 7, FACT)                                                               \
	X(sm_lid, "sm_lid", 0, 0, LIKE_U16, FACT)                                                  \
	X(sm_sl, "sm_sl", 0, 0, 15, FACT)                                                          \
	X(max_vl_num, "max_vl_num", 1, 0, LIKE_U8, FACT)                                           \
	X(subnet_timeout, "subnet_timeout", 0, 0, 31, FACT)                                        \
	X(init_type_reply, "init_type_reply", 0, 0, LIKE_U8, FACT)                                 \
	X(active_width, "active_width", 0, 0, LIKE_U8, FACT) /* 0: that of the interface */        \
	X(active_speed, "active_speed", 0, 0, LIKE_U8, FACT) /* 0: that of the interface */

/* The same of the section `identity`, as numbers. They are used with `,identity` only. */
#define LIKE_IDENTITY(X)                                                                           \
	X(vendor_id, "vendor_id", 0xffffff, 0, 0xffffff, FACT)                                     \
	X(vendor_part_id, "vendor_part_id", 0, 0, LIKE_U32, FACT)                                  \
	X(hw_ver, "hw_ver", 0, 0, LIKE_U32, FACT)

/* The same of the section `create`. The numbers of a driver's queues are used if the device rounds as that driver. */
#define LIKE_CREATE(X)                                                                             \
	X(max_inline_rc, "max_inline_rc", DEV_MAX_INLINE, 0, LIKE_MAX_INLINE, LIMIT)               \
	X(max_inline_ud, "max_inline_ud", DEV_MAX_INLINE, 0, LIKE_MAX_INLINE, LIMIT)               \
	X(sq_overhead_rc, "sq_overhead_rc", 0, 0, 1024, FACT)                                      \
	X(sq_overhead_uc, "sq_overhead_uc", 0, 0, 1024, FACT)                                      \
	X(sq_overhead_ud, "sq_overhead_ud", 0, 0, 1024, FACT)                                      \
	X(sq_wqe_max, "sq_wqe_max", 1024, 64, 1024, FACT)                                          \
	X(sq_wqe_unit, "sq_wqe_unit", 64, 16, 1024, FACT)                                          \
	X(sq_units_max, "sq_units_max", 32768, 64, DEV_MAX_QP_WR, FACT)                            \
	X(rq_wqe_max, "rq_wqe_max", 512, 16, 16 * DEV_MAX_SGE, FACT)                               \
	X(sq_quanta_max, "sq_quanta_max", 32768, 1024, DEV_MAX_QP_WR, FACT)                        \
	X(rq_quanta_max, "rq_quanta_max", 32768, 1024, DEV_MAX_QP_WR, FACT)                        \
	X(sq_reserved, "sq_reserved", 258, 0, 1000, FACT)                                          \
	X(rq_reserved, "rq_reserved", 1, 0, 1000, FACT)                                            \
	X(wq_min, "wq_min", 8, 1, 1000, FACT)

/* X(member, name in the section `refused`, default): the errno of an excess. Negative: the call returns a negative number. */
#define LIKE_REFUSED(X)                                                                            \
	X(e_qp_send_wr, "create_qp.max_send_wr", EINVAL)                                           \
	X(e_qp_recv_wr, "create_qp.max_recv_wr", EINVAL)                                           \
	X(e_qp_send_sge, "create_qp.max_send_sge", EINVAL)                                         \
	X(e_qp_recv_sge, "create_qp.max_recv_sge", EINVAL)                                         \
	X(e_qp_inline, "create_qp.max_inline_data", EINVAL)                                        \
	X(e_qp_type, "create_qp.qp_type", EOPNOTSUPP)                                              \
	X(e_qps, "create_qp.max_qp", EINVAL)                                                       \
	X(e_cqe, "create_cq.cqe", EINVAL)                                                          \
	X(e_cqs, "create_cq.max_cq", EINVAL)                                                       \
	X(e_resize_cq, "resize_cq.cqe", EINVAL)                                                    \
	X(e_srq_wr, "create_srq.max_wr", EINVAL)                                                   \
	X(e_srq_sge, "create_srq.max_sge", EINVAL)                                                 \
	X(e_srqs, "create_srq.max_srq", EINVAL)                                                    \
	X(e_pds, "alloc_pd.max_pd", EINVAL)                                                        \
	X(e_ahs, "create_ah.max_ah", EINVAL)                                                       \
	X(e_mr_size, "reg_mr.max_mr_size", EINVAL)                                                 \
	X(e_mrs, "reg_mr.max_mr", ENOMEM)                                                          \
	X(e_mws, "alloc_mw.max_mw", ENOMEM)                                                        \
	X(e_mcast, "attach_mcast.max_mcast_grp", ENOMEM)                                           \
	X(e_rd_atomic, "modify_qp.max_rd_atomic", EINVAL)                                          \
	X(e_dest_rd_atomic, "modify_qp.max_dest_rd_atomic", EINVAL)                                \
	X(e_send_full, "post_send.queue_full", ENOMEM)                                             \
	X(e_send_sge, "post_send.num_sge", EINVAL)                                                 \
	X(e_send_inline, "post_send.inline", EINVAL)                                               \
	X(e_send_opcode, "post_send.opcode", EINVAL)                                               \
	X(e_send_atomic, "post_send.atomic", EINVAL)                                               \
	X(e_recv_full, "post_recv.queue_full", ENOMEM)                                             \
	X(e_recv_sge, "post_recv.num_sge", EINVAL)                                                 \
	X(e_srq_recv_full, "post_srq_recv.queue_full", ENOMEM)                                     \
	X(e_srq_recv_sge, "post_srq_recv.num_sge", EINVAL)

#endif
