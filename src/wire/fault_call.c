/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The errnos of each call are those that Linux 6.1 or the providers of rdma-core give. Where they come from:
 *
 *	device	EIO of a device that is gone: ib_uverbs_write(), ib_uverbs_cmd_verbs() (core/uverbs_main.c, uverbs_ioctl.c)
 *	cgroup	EAGAIN of rdmacg_try_charge(), for each object that a limit counts (core/cgroup.c)
 *	busy	EBUSY of uverbs_try_lock_object() (core/rdma_core.c) and of the users of an object (ib_destroy_qp_user(),
 *		ib_destroy_cq_user(), ib_destroy_srq_user() in core/verbs.c, uverbs_free_pd() in core/uverbs_std_types.c)
 *	card	EIO, EINVAL, ENOMEM, EAGAIN of an adapter that refuses a command: cmd_status_to_err() (mlx5/core/cmd.c)
 *	neigh	ETIMEDOUT, EHOSTUNREACH, ENETUNREACH, ENODATA of a peer whose address is not resolved: core/addr.c
 *
 * and what each row names besides. rdma-core's manual pages say that a call gives "the value of errno", and no more.
 */
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "wire/fault.h"
#include "wire/fault_call.h"

#define QP_AND_SERVICE (FAULT_BY_QP | FAULT_BY_SERVICE)

static const struct fault_call_row fault_calls[FAULT_NCALLS] = {
	/* rdma-core: EINVAL of an opcode or state, ENOMEM of a full queue and of too much inline data or too many entries
	 * (mlx5 qp.c, irdma uverbs.c, bnxt_re verbs.c); device: POST_SEND of librxe. */
	[FAULT_POST_SEND] = { "post_send", NULL, NULL, QP_AND_SERVICE | FAULT_BY_OP,
			      { ENOMEM, EINVAL, EIO } },
	/* rdma-core: as post_send. */
	[FAULT_POST_RECV] = { "post_recv", NULL, NULL, QP_AND_SERVICE, { ENOMEM, EINVAL } },
	[FAULT_POST_SRQ_RECV] = { "post_srq_recv", NULL, NULL, 0, { ENOMEM, EINVAL } },
	/* device, cgroup; ib_init_ucontext(): EINVAL; ib_alloc_ucontext(): ENOMEM; ib_uverbs_open(): EPERM;
	 * mlx5_ib_alloc_ucontext(): EOPNOTSUPP; get_unused_fd_flags(): EMFILE. */
	[FAULT_OPEN_DEVICE] = { "open_device", "GET_CONTEXT", NULL, 0,
				{ EIO, ENOMEM, EAGAIN, EINVAL, EPERM, EOPNOTSUPP, EMFILE } },
	/* device; mlx5_ib_query_device(): EINVAL, ENOMEM. */
	[FAULT_QUERY_DEVICE] = { "query_device", "QUERY_DEVICE", NULL, 0, { EIO, EINVAL, ENOMEM } },
	/* device; ib_query_port(): EINVAL; mlx5_query_hca_port(): ENOMEM. */
	[FAULT_QUERY_PORT] = { "query_port", "QUERY_PORT", NULL, 0, { EIO, EINVAL, ENOMEM } },
	/* device; alloc_begin_fd_uobject(): EMFILE, ENOMEM. */
	[FAULT_CREATE_COMP_CHANNEL] = { "create_comp_channel", "CREATE_COMP_CHANNEL", NULL, 0,
					{ EIO, EMFILE, ENOMEM } },
	/* device, cgroup, card; ib_uverbs_alloc_pd(): ENOMEM; irdma_alloc_pd(): EFAULT. */
	[FAULT_ALLOC_PD] = { "alloc_pd", "ALLOC_PD", NULL, 0, { ENOMEM, EAGAIN, EINVAL, EIO, EFAULT } },
	[FAULT_DEALLOC_PD] = { "dealloc_pd", "DEALLOC_PD", "PD_DESTROY", 0, { EBUSY } },	/* busy */
	/* device, cgroup, card; ib_umem_get(): EPERM, ENOMEM, and EFAULT of pin_user_pages(); EOPNOTSUPP of access flags. */
	[FAULT_REG_MR] = { "reg_mr", "REG_MR", NULL, 0,
			   { ENOMEM, EAGAIN, EFAULT, EINVAL, EPERM, EOPNOTSUPP, EIO } },
	/* device, card; ib_uverbs_rereg_mr(): EINVAL, EOPNOTSUPP; ib_umem_get(): EFAULT, ENOMEM. */
	[FAULT_REREG_MR] = { "rereg_mr", "REREG_MR", NULL, 0,
			     { ENOMEM, EFAULT, EINVAL, EOPNOTSUPP, EIO } },
	/* busy; rxe_dereg_mr(): EINVAL while a window is bound; irdma_dereg_mr(): ENOMEM. */
	[FAULT_DEREG_MR] = { "dereg_mr", "DEREG_MR", "MR_DESTROY", 0, { EBUSY, EINVAL, ENOMEM } },
	/* device, cgroup, card; ib_uverbs_alloc_mw(): EINVAL, ENOMEM; mlx5_ib_alloc_mw(): EOPNOTSUPP. */
	[FAULT_ALLOC_MW] = { "alloc_mw", "ALLOC_MW", NULL, 0,
			     { ENOMEM, EAGAIN, EINVAL, EOPNOTSUPP, EIO } },
	[FAULT_DEALLOC_MW] = { "dealloc_mw", "DEALLOC_MW", "MW_DESTROY", 0, { EBUSY } },	/* busy */
	/* device, cgroup, card; create_cq(): EINVAL, ENOMEM; mlx5_ib_create_cq(): EFAULT, EOPNOTSUPP. */
	[FAULT_CREATE_CQ] = { "create_cq", "CREATE_CQ", "CQ_CREATE", 0,
			      { ENOMEM, EAGAIN, EINVAL, EOPNOTSUPP, EFAULT, EIO } },
	/* device, card; mlx5_ib_resize_cq(): ENOSYS; irdma_resize_cq(): EOPNOTSUPP. */
	[FAULT_RESIZE_CQ] = { "resize_cq", "RESIZE_CQ", NULL, 0,
			      { ENOMEM, EINVAL, ENOSYS, EOPNOTSUPP, EIO } },
	/* device; ib_uverbs_req_notify_cq(): EINVAL. */
	[FAULT_REQ_NOTIFY_CQ] = { "req_notify_cq", "REQ_NOTIFY_CQ", NULL, 0, { EINVAL, EIO } },
	[FAULT_DESTROY_CQ] = { "destroy_cq", "DESTROY_CQ", "CQ_DESTROY", 0, { EBUSY } },	/* busy */
	/* device, cgroup, card; __uverbs_create_xsrq(): EINVAL; mlx5_ib_create_srq(): EFAULT, EOPNOTSUPP. */
	[FAULT_CREATE_SRQ] = { "create_srq", "CREATE_SRQ", "SRQ_CREATE", 0,
			       { ENOMEM, EAGAIN, EINVAL, EOPNOTSUPP, EFAULT, EIO } },
	/* device, card; rxe_srq_chk_attr(): EINVAL. */
	[FAULT_MODIFY_SRQ] = { "modify_srq", "MODIFY_SRQ", NULL, 0, { EINVAL, ENOMEM, EIO } },
	/* device, card; mlx5_ib_query_srq(): ENOMEM; rxe_query_srq(): EINVAL. */
	[FAULT_QUERY_SRQ] = { "query_srq", "QUERY_SRQ", NULL, 0, { EINVAL, ENOMEM, EIO } },
	[FAULT_DESTROY_SRQ] = { "destroy_srq", "DESTROY_SRQ", "SRQ_DESTROY", 0, { EBUSY } },	/* busy */
	/* device, cgroup, card; create_qp() (uverbs_cmd.c): EPERM; rxe_qp_chk_init(): EOPNOTSUPP; ib_copy_from_udata(): EFAULT. */
	[FAULT_CREATE_QP] = { "create_qp", "CREATE_QP", "QP_CREATE", 0,
			      { ENOMEM, EAGAIN, EINVAL, EOPNOTSUPP, EPERM, EFAULT, EIO } },
	/* device, card, neigh; modify_qp(): EPERM; mlx5_ib_modify_qp(): EOPNOTSUPP. */
	[FAULT_MODIFY_QP] = { "modify_qp", "MODIFY_QP", NULL, QP_AND_SERVICE,
			      { EINVAL, ENOMEM, EAGAIN, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH,
				ENODATA, EPERM, EOPNOTSUPP,
				EIO } },
	/* device, card; bnxt_re_query_qp(): ENOMEM. */
	[FAULT_QUERY_QP] = { "query_qp", "QUERY_QP", NULL, QP_AND_SERVICE, { EINVAL, ENOMEM, EIO } },
	[FAULT_DESTROY_QP] = { "destroy_qp", "DESTROY_QP", "QP_DESTROY", QP_AND_SERVICE, { EBUSY } },	/* busy */
	/* device, cgroup, card, neigh; ib_uverbs_create_ah(): EINVAL; irdma_create_user_ah(): ENOMEM. */
	[FAULT_CREATE_AH] = { "create_ah", "CREATE_AH", NULL, 0,
			      { ENOMEM, EAGAIN, EINVAL, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH,
				ENODATA, EIO } },
	[FAULT_DESTROY_AH] = { "destroy_ah", "DESTROY_AH", "AH_DESTROY", 0, { EBUSY } },	/* busy */
	/* device, card; ib_attach_mcast(): EINVAL, EOPNOTSUPP; ib_uverbs_attach_mcast(): ENOMEM. */
	[FAULT_ATTACH_MCAST] = { "attach_mcast", "ATTACH_MCAST", NULL, FAULT_BY_QP,
				 { ENOMEM, EINVAL, EOPNOTSUPP, EIO } },
	/* device; ib_detach_mcast(): EINVAL. */
	[FAULT_DETACH_MCAST] = { "detach_mcast", "DETACH_MCAST", NULL, FAULT_BY_QP, { EINVAL, EIO } },
};

static const struct {
	const char *name;
	int error;
} fault_errnos[] = {
#define ROW(e) { #e, e }
	ROW(EAGAIN), ROW(EBUSY), ROW(EFAULT), ROW(EHOSTUNREACH), ROW(EINVAL), ROW(EIO), ROW(EMFILE),
	ROW(ENETUNREACH),
	ROW(ENODATA), ROW(ENOMEM), ROW(ENOSYS), ROW(EOPNOTSUPP), ROW(EPERM), ROW(ETIMEDOUT),
#undef ROW
};

const struct fault_call_row *fault_call_row(uint32_t call)
{
	return call < FAULT_NCALLS && fault_calls[call].name ? &fault_calls[call] : NULL;
}

enum fault_call fault_call_find(const char *name)
{
	if (!strncmp(name, "ibv_", 4))
		name += 4;
	for (uint32_t i = 1; i < FAULT_NCALLS; i++)
		if (!strcmp(fault_calls[i].name, name))
			return (enum fault_call)i;
	return FAULT_CALL_NONE;
}

enum fault_call fault_call_of(const char *command)
{
	if (!strncmp(command, "EX_", 3))
		command += 3;
	for (uint32_t i = 1; i < FAULT_NCALLS; i++) {
		const struct fault_call_row *row = &fault_calls[i];

		if ((row->command && !strcmp(row->command, command)) ||
		    (row->method && !strcmp(row->method, command)))
			return (enum fault_call)i;
	}
	/* ibv_create_srq_ex(). */
	return strcmp(command, "CREATE_XSRQ") ? FAULT_CALL_NONE : FAULT_CREATE_SRQ;
}

int fault_errno(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(fault_errnos); i++)
		if (!strcmp(fault_errnos[i].name, name))
			return fault_errnos[i].error;
	return 0;
}

const char *fault_errno_name(int error)
{
	for (size_t i = 0; i < ARRAY_SIZE(fault_errnos); i++)
		if (fault_errnos[i].error == error)
			return fault_errnos[i].name;
	return "?";
}
