/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Commands that fail: the reason that a check has left (rdev_refuse()) goes to the log of the process, with the name of
 * the libibverbs function and the errno.
 */
#include "abi/uverbs/handlers.h"

/* Names of libibverbs that are not those of the command. */
static const struct {
	const char *command, *function;
} refused_names[] = {
	{ "GET_CONTEXT", "ibv_open_device" },
	{ "PD_DESTROY", "ibv_dealloc_pd" },
	{ "CQ_CREATE", "ibv_create_cq" },
	{ "CQ_DESTROY", "ibv_destroy_cq" },
	{ "QP_CREATE", "ibv_create_qp" },
	{ "QP_DESTROY", "ibv_destroy_qp" },
	{ "SRQ_CREATE", "ibv_create_srq" },
	{ "SRQ_DESTROY", "ibv_destroy_srq" },
	{ "CREATE_XSRQ", "ibv_create_srq_ex" },
	{ "AH_DESTROY", "ibv_destroy_ah" },
	{ "MR_DESTROY", "ibv_dereg_mr" },
	{ "MW_DESTROY", "ibv_dealloc_mw" },
	{ "QUERY_GID_ENTRY", "ibv_query_gid_ex" },
};

/* "ibv_modify_qp" for MODIFY_QP and EX_MODIFY_QP. */
static void refused_name(const char *command, char *buf, size_t size)
{
	const char *function = NULL;
	size_t n = 4;

	for (size_t i = 0; i < ARRAY_SIZE(refused_names); i++)
		if (!strcmp(command, refused_names[i].command))
			function = refused_names[i].function;
	if (function || !*command) {
		strncpy(buf, function ? function : "uverbs command", size - 1);
		return;
	}
	memcpy(buf, "ibv_", n);
	for (command += strncmp(command, "EX_", 3) ? 0 : 3; *command && n + 1 < size; command++)
		buf[n++] = *command | (*command == '_' ? 0 : 0x20);
}

/*
 * An answer to a question, and no failure: it is not logged, because a log of failures would be full of such answers
 * of programs that work. libibverbs asks whether an ioctl is known (EPROTONOSUPPORT), whether INVOKE_WRITE is (it expects
 * ENOSPC of a QUERY_DEVICE without a buffer), and programs look for a GID in the whole table (ENODATA).
 */
static bool refused_is_answer(const char *command, int ret)
{
	if (ret == -EPROTONOSUPPORT)
		return true;
	if (ret == -ENOSPC)
		return !strcmp(command, "QUERY_DEVICE");
	return (ret == -ENODATA || ret == -EOPNOTSUPP) && !strncmp(command, "QUERY_", 6);
}

void uverbs_no_reason(struct uverbs_file *f)
{
	f->uctx->dev->fails.refused.id = WHY_NONE;
	f->uctx->dev->fails.refused_qpn = 0;
}

noinline __cold int uverbs_refused(struct uverbs_file *f, const char *name, int ret)
{
	struct rdev *dev = f->uctx->dev;
	struct why_rec rec = { .error = (uint16_t)-ret };

	rdev_refuse(dev, ret, COMMAND, (uint64_t)-ret);
	rec.why = dev->fails.refused;
	rec.qpn = dev->fails.refused_qpn;
	refused_name(name, rec.call, sizeof(rec.call));
	if (!refused_is_answer(name, ret))
		rdev_failed(dev, &rec);
	return ret;
}
