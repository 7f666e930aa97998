/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The layout of rings and work requests is an ABI shared with all compiled providers.
 * These offsets and sizes, taken from rdma-core's librxe, turn an incompatible kernel
 * header into a compile error.
 */
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_rxe.h>
#include <stddef.h>

#define AT(type, member, off) \
	_Static_assert(offsetof(struct type, member) == (off), #type "." #member)
#define SIZE(type, size) _Static_assert(sizeof(struct type) == (size), #type)

AT(rxe_queue_buf, log2_elem_size, 0);
AT(rxe_queue_buf, index_mask, 4);
AT(rxe_queue_buf, producer_index, 128);
AT(rxe_queue_buf, consumer_index, 256);
AT(rxe_queue_buf, data, 384);
SIZE(rxe_queue_buf, 384);

SIZE(mminfo, 16);
AT(mminfo, offset, 0);
AT(mminfo, size, 8);

SIZE(rxe_sge, 16);
AT(rxe_sge, addr, 0);
AT(rxe_sge, length, 8);
AT(rxe_sge, lkey, 12);

SIZE(rxe_dma_info, 24);
AT(rxe_dma_info, length, 0);
AT(rxe_dma_info, resid, 4);
AT(rxe_dma_info, cur_sge, 8);
AT(rxe_dma_info, num_sge, 12);
AT(rxe_dma_info, sge_offset, 16);
AT(rxe_dma_info, sge, 24);
AT(rxe_dma_info, inline_data, 24);

SIZE(rxe_av, 88);
AT(rxe_av, port_num, 0);
AT(rxe_av, network_type, 1);
AT(rxe_av, dmac, 2);
AT(rxe_av, grh, 8);
AT(rxe_av, sgid_addr, 32);
AT(rxe_av, dgid_addr, 60);

SIZE(rxe_send_wr, 144);
AT(rxe_send_wr, wr_id, 0);
AT(rxe_send_wr, opcode, 12);
AT(rxe_send_wr, send_flags, 16);
AT(rxe_send_wr, ex.imm_data, 20);
AT(rxe_send_wr, ex.invalidate_rkey, 20);
AT(rxe_send_wr, wr.rdma.remote_addr, 24);
AT(rxe_send_wr, wr.rdma.rkey, 32);
AT(rxe_send_wr, wr.atomic.remote_addr, 24);
AT(rxe_send_wr, wr.atomic.compare_add, 32);
AT(rxe_send_wr, wr.atomic.swap, 40);
AT(rxe_send_wr, wr.atomic.rkey, 48);
AT(rxe_send_wr, wr.ud.remote_qpn, 24);
AT(rxe_send_wr, wr.ud.remote_qkey, 28);
AT(rxe_send_wr, wr.ud.pkey_index, 32);
AT(rxe_send_wr, wr.ud.ah_num, 36);
AT(rxe_send_wr, wr.ud.av, 56);
AT(rxe_send_wr, wr.mw.addr, 24);
AT(rxe_send_wr, wr.mw.length, 32);
AT(rxe_send_wr, wr.mw.mr_lkey, 40);
AT(rxe_send_wr, wr.mw.mw_rkey, 44);
AT(rxe_send_wr, wr.mw.rkey, 48);
AT(rxe_send_wr, wr.mw.access, 52);

SIZE(rxe_send_wqe, 208);
AT(rxe_send_wqe, wr, 0);
AT(rxe_send_wqe, status, 144);
AT(rxe_send_wqe, state, 148);
AT(rxe_send_wqe, iova, 152);
AT(rxe_send_wqe, mask, 160);
AT(rxe_send_wqe, first_psn, 164);
AT(rxe_send_wqe, last_psn, 168);
AT(rxe_send_wqe, ack_length, 172);
AT(rxe_send_wqe, ssn, 176);
AT(rxe_send_wqe, has_rd_atomic, 180);
AT(rxe_send_wqe, dma, 184);
AT(rxe_send_wqe, dma.sge, 208);
AT(rxe_send_wqe, dma.inline_data, 208);

SIZE(rxe_recv_wqe, 40);
AT(rxe_recv_wqe, wr_id, 0);
AT(rxe_recv_wqe, dma, 16);
AT(rxe_recv_wqe, dma.sge, 40);

SIZE(ib_uverbs_wc, 48);
AT(ib_uverbs_wc, wr_id, 0);
AT(ib_uverbs_wc, status, 8);
AT(ib_uverbs_wc, opcode, 12);
AT(ib_uverbs_wc, vendor_err, 16);
AT(ib_uverbs_wc, byte_len, 20);
AT(ib_uverbs_wc, ex.imm_data, 24);
AT(ib_uverbs_wc, ex.invalidate_rkey, 24);
AT(ib_uverbs_wc, qp_num, 28);
AT(ib_uverbs_wc, src_qp, 32);
AT(ib_uverbs_wc, wc_flags, 36);
AT(ib_uverbs_wc, pkey_index, 40);
AT(ib_uverbs_wc, slid, 42);
AT(ib_uverbs_wc, sl, 44);
AT(ib_uverbs_wc, dlid_path_bits, 45);
AT(ib_uverbs_wc, port_num, 46);
