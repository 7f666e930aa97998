/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Handlers of the command tables. do_*: write() commands; io_*: ioctl methods. Each returns 0
 * or -errno. doc/abi/uverbs-write.md and uverbs-ioctl.md list the errors in order.
 */
#ifndef RUSE_ABI_UVERBS_HANDLERS_H
#define RUSE_ABI_UVERBS_HANDLERS_H

#include "abi/uverbs/uverbs_internal.h"

int do_get_context(struct uverbs_req *r);
int do_query_device(struct uverbs_req *r);
int do_ex_query_device(struct uverbs_req *r);
int do_query_port(struct uverbs_req *r);
int io_invoke_write(struct uverbs_req *r);
int io_info_handles(struct uverbs_req *r);
int io_query_port(struct uverbs_req *r);
int io_get_context(struct uverbs_req *r);
int io_query_context(struct uverbs_req *r);
int io_query_gid_table(struct uverbs_req *r);
int io_query_gid_entry(struct uverbs_req *r);

int do_alloc_pd(struct uverbs_req *r);
int do_dealloc_pd(struct uverbs_req *r);

int do_reg_mr(struct uverbs_req *r);
int do_rereg_mr(struct uverbs_req *r);
int io_advise_mr(struct uverbs_req *r);
int do_dereg_mr(struct uverbs_req *r);
int io_query_mr(struct uverbs_req *r);
/* For methods that the kernel parses although rxe does not implement them: -EOPNOTSUPP. */
int io_not_provided(struct uverbs_req *r);

int do_create_ah(struct uverbs_req *r);
int do_destroy_ah(struct uverbs_req *r);

int do_create_comp_channel(struct uverbs_req *r);
int io_async_event_alloc(struct uverbs_req *r);

int do_create_cq(struct uverbs_req *r);
int do_ex_create_cq(struct uverbs_req *r);
int do_destroy_cq(struct uverbs_req *r);
int do_req_notify_cq(struct uverbs_req *r);
int do_resize_cq(struct uverbs_req *r);
int io_cq_create(struct uverbs_req *r);
int io_cq_destroy(struct uverbs_req *r);

int do_create_qp(struct uverbs_req *r);
int do_ex_create_qp(struct uverbs_req *r);
int do_destroy_qp(struct uverbs_req *r);
int io_qp_create(struct uverbs_req *r);
int io_qp_destroy(struct uverbs_req *r);
int do_modify_qp(struct uverbs_req *r);
int do_ex_modify_qp(struct uverbs_req *r);
int do_query_qp(struct uverbs_req *r);
int do_post_send(struct uverbs_req *r);

int do_create_srq(struct uverbs_req *r);
int do_create_xsrq(struct uverbs_req *r);
int do_modify_srq(struct uverbs_req *r);
int do_query_srq(struct uverbs_req *r);
int do_destroy_srq(struct uverbs_req *r);
int io_srq_create(struct uverbs_req *r);
int io_srq_destroy(struct uverbs_req *r);

int do_alloc_mw(struct uverbs_req *r);
int do_dealloc_mw(struct uverbs_req *r);
int do_attach_mcast(struct uverbs_req *r);
int do_detach_mcast(struct uverbs_req *r);

/* refused.c: logs that a command has failed with -errno ret, with the reason that its checks have left. Returns ret. */
int uverbs_refused(struct uverbs_file *f, const char *name, int ret);
/* Forgets the reason that an earlier command has left. Call before a command. */
void uverbs_no_reason(struct uverbs_file *f);

/* fault.c: asks the host whether the command is to fail. Call before it has an effect. 0 or -errno. */
int uverbs_fault(struct uverbs_req *r, const char *name);

bool port_valid(uint32_t port);
/* True if the program has CAP_NET_RAW. */
bool capable_net_raw(void);
/* -EPERM: the program lacks it. what: value 0 of the reason. */
int uverbs_refuse_net_raw(const struct uverbs_req *r, uint64_t what);

#endif
