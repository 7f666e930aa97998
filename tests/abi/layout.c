/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sizes and offsets of the ABI structs, checked at compile time against measured values, so that
 * other versions of the headers or padding cannot change what programs see.
 */
#include <stddef.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <rdma/rdma_user_rxe.h>

#define SIZE(t, n) _Static_assert(sizeof(struct t) == (n), #t)
#define AT(t, m, n) _Static_assert(offsetof(struct t, m) == (n), #t "." #m)
/* A command with a response starts with the response's address. */
#define CMD(t, n) SIZE(t, n); AT(t, response, 0)
/* Provider data follows the core struct without a gap. */
#define CMD_UDATA(t, n) CMD(t, n); AT(t, driver_data, n)
#define RESP_UDATA(t, n) SIZE(t, n); AT(t, driver_data, n)

SIZE(ib_uverbs_cmd_hdr, 8);
AT(ib_uverbs_cmd_hdr, in_words, 4);
AT(ib_uverbs_cmd_hdr, out_words, 6);
SIZE(ib_uverbs_ex_cmd_hdr, 16);
AT(ib_uverbs_ex_cmd_hdr, provider_in_words, 8);
AT(ib_uverbs_ex_cmd_hdr, provider_out_words, 10);
AT(ib_uverbs_ex_cmd_hdr, cmd_hdr_reserved, 12);

CMD_UDATA(ib_uverbs_get_context, 8);
RESP_UDATA(ib_uverbs_get_context_resp, 8);
CMD(ib_uverbs_query_device, 8);
SIZE(ib_uverbs_query_device_resp, 176);
AT(ib_uverbs_query_device_resp, node_guid, 8);
AT(ib_uverbs_query_device_resp, phys_port_cnt, 171);
CMD(ib_uverbs_query_port, 16);
SIZE(ib_uverbs_query_port_resp, 40);
AT(ib_uverbs_query_port_resp, link_layer, 37);
SIZE(ib_uverbs_query_port_resp_ex, 48);
CMD_UDATA(ib_uverbs_alloc_pd, 8);
RESP_UDATA(ib_uverbs_alloc_pd_resp, 4);
SIZE(ib_uverbs_dealloc_pd, 4);
SIZE(ib_uverbs_ah_attr, 32);
CMD_UDATA(ib_uverbs_create_ah, 56);
RESP_UDATA(ib_uverbs_create_ah_resp, 4);
SIZE(ib_uverbs_destroy_ah, 4);
CMD_UDATA(ib_uverbs_reg_mr, 40);
AT(ib_uverbs_reg_mr, access_flags, 36);
RESP_UDATA(ib_uverbs_reg_mr_resp, 12);
CMD(ib_uverbs_rereg_mr, 48);
SIZE(ib_uverbs_rereg_mr_resp, 8);
SIZE(ib_uverbs_dereg_mr, 4);
CMD(ib_uverbs_alloc_mw, 16);
SIZE(ib_uverbs_alloc_mw_resp, 8);
SIZE(ib_uverbs_dealloc_mw, 4);
CMD(ib_uverbs_create_comp_channel, 8);
SIZE(ib_uverbs_create_comp_channel_resp, 4);
CMD_UDATA(ib_uverbs_create_cq, 32);
AT(ib_uverbs_create_cq, comp_channel, 24);
RESP_UDATA(ib_uverbs_create_cq_resp, 8);
CMD(ib_uverbs_resize_cq, 16);
SIZE(ib_uverbs_resize_cq_resp, 8);
CMD(ib_uverbs_destroy_cq, 16);
SIZE(ib_uverbs_destroy_cq_resp, 8);
CMD(ib_uverbs_poll_cq, 16);
SIZE(ib_uverbs_req_notify_cq, 8);
CMD_UDATA(ib_uverbs_create_qp, 56);
AT(ib_uverbs_create_qp, qp_type, 53);
RESP_UDATA(ib_uverbs_create_qp_resp, 32);
CMD(ib_uverbs_query_qp, 16);
SIZE(ib_uverbs_query_qp_resp, 128);
SIZE(ib_uverbs_qp_dest, 32);
AT(ib_uverbs_qp_dest, sgid_index, 24);
AT(ib_uverbs_qp_dest, port_num, 31);
SIZE(ib_uverbs_modify_qp, 112);
AT(ib_uverbs_modify_qp, qp_handle, 64);
AT(ib_uverbs_modify_qp, qp_state, 96);
CMD(ib_uverbs_destroy_qp, 16);
SIZE(ib_uverbs_destroy_qp_resp, 4);
CMD(ib_uverbs_post_send, 24);
SIZE(ib_uverbs_post_send_resp, 4);
SIZE(ib_uverbs_send_wr, 56);
SIZE(ib_uverbs_sge, 16);
CMD(ib_uverbs_post_recv, 24);
SIZE(ib_uverbs_attach_mcast, 24);
SIZE(ib_uverbs_detach_mcast, 24);
CMD(ib_uverbs_create_srq, 32);
SIZE(ib_uverbs_create_srq_resp, 16);
SIZE(ib_uverbs_modify_srq, 16);
CMD(ib_uverbs_query_srq, 16);
CMD(ib_uverbs_destroy_srq, 16);
CMD(ib_uverbs_create_xsrq, 48);
CMD(ib_uverbs_open_xrcd, 16);
SIZE(ib_uverbs_close_xrcd, 4);
CMD(ib_uverbs_open_qp, 32);

SIZE(ib_uverbs_ex_query_device, 8);
SIZE(ib_uverbs_ex_query_device_resp, 304);
AT(ib_uverbs_ex_query_device_resp, response_length, 180);
SIZE(ib_uverbs_ex_create_cq, 32);
SIZE(ib_uverbs_ex_create_cq_resp, 16);
SIZE(ib_uverbs_ex_create_qp, 64);
AT(ib_uverbs_ex_create_qp, comp_mask, 48);
SIZE(ib_uverbs_ex_create_qp_resp, 40);
SIZE(ib_uverbs_ex_modify_qp, 120);
SIZE(ib_uverbs_ex_modify_qp_resp, 8);

SIZE(ib_uverbs_ioctl_hdr, 24);
AT(ib_uverbs_ioctl_hdr, driver_id, 16);
SIZE(ib_uverbs_attr, 16);
AT(ib_uverbs_attr, flags, 4);
AT(ib_uverbs_attr, attr_data, 6);
AT(ib_uverbs_attr, data, 8);
SIZE(ib_uverbs_gid_entry, 32);
SIZE(ib_uverbs_qp_cap, 20);
SIZE(ib_uverbs_async_event_desc, 16);
SIZE(ib_uverbs_comp_event_desc, 8);
_Static_assert(RDMA_VERBS_IOCTL == 0xc0181b01, "RDMA_VERBS_IOCTL");

SIZE(mminfo, 16);
SIZE(rxe_create_ah_resp, 8);
SIZE(rxe_create_cq_resp, 16);
SIZE(rxe_create_qp_resp, 32);
AT(rxe_create_qp_resp, sq_mi, 16);
SIZE(rxe_create_srq_resp, 24);
