/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Failures of RDMA netlink. rused appends to an NLMSG_ERROR the text of the reason, as the kernel does for sockets with
 * NETLINK_EXT_ACK, and the reason itself. The reason goes to the log of the process and is cut off, and so is the text,
 * unless the program has asked for it.
 */
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <string.h>
#include "engine/explain.h"
#include "ipc/netlink_msg.h"
#include "preload/netlink.h"

static const char *const commands[RDMA_NLDEV_NUM_OPS] = {
	[RDMA_NLDEV_CMD_GET] = "GET", [RDMA_NLDEV_CMD_SET] = "SET",
	[RDMA_NLDEV_CMD_NEWLINK] = "NEWLINK", [RDMA_NLDEV_CMD_DELLINK] = "DELLINK",
	[RDMA_NLDEV_CMD_PORT_GET] = "PORT_GET", [RDMA_NLDEV_CMD_SYS_GET] = "SYS_GET",
	[RDMA_NLDEV_CMD_SYS_SET] = "SYS_SET", [RDMA_NLDEV_CMD_RES_GET] = "RES_GET",
	[RDMA_NLDEV_CMD_RES_QP_GET] = "RES_QP_GET",
	[RDMA_NLDEV_CMD_RES_CM_ID_GET] = "RES_CM_ID_GET",
	[RDMA_NLDEV_CMD_RES_CQ_GET] = "RES_CQ_GET", [RDMA_NLDEV_CMD_RES_MR_GET] = "RES_MR_GET",
	[RDMA_NLDEV_CMD_RES_PD_GET] = "RES_PD_GET", [RDMA_NLDEV_CMD_STAT_SET] = "STAT_SET",
	[RDMA_NLDEV_CMD_STAT_GET] = "STAT_GET", [RDMA_NLDEV_CMD_STAT_DEL] = "STAT_DEL",
};

static void netlink_log(const struct nlmsgerr *e, const struct why *why)
{
	unsigned int op = RDMA_NL_GET_OP(e->msg.nlmsg_type);
	struct why_rec r = { .why = *why, .error = (uint16_t)-e->error, .call = "netlink " };

	if (!why_row(why->id))
		return;
	if (RDMA_NL_GET_CLIENT(e->msg.nlmsg_type) == RDMA_NL_NLDEV && op < RDMA_NLDEV_NUM_OPS &&
	    commands[op])
		strncat(r.call, commands[op], sizeof(r.call) - 9);
	else
		strcpy(r.call, "netlink");
	explain_failed(NULL, &r);
}

/* The offset of the attributes in an NLMSG_ERROR of len bytes; 0: it has none. */
static size_t netlink_tlvs(const struct nlmsghdr *h, size_t len)
{
	const struct nlmsgerr *e = (const void *)(h + 1);
	size_t at = sizeof(*h) + sizeof(*e);

	if (len < at || h->nlmsg_len != len || h->nlmsg_type != NLMSG_ERROR ||
	    !(h->nlmsg_flags & NLM_F_ACK_TLVS))
		return 0;
	if (!(h->nlmsg_flags & NLM_F_CAPPED) && e->msg.nlmsg_len > sizeof(e->msg))
		at += e->msg.nlmsg_len - sizeof(e->msg);
	at = NLMSG_ALIGN(at);
	return at < len ? at : 0;
}

/* The offset of an attribute in the message, from at on; len: there is none. */
static size_t netlink_attr(const char *msg, size_t at, size_t len, uint16_t type)
{
	struct nlattr a;

	while (at < len && len - at >= sizeof(a)) {
		memcpy(&a, msg + at, sizeof(a));
		if (a.nla_type == type)
			return at;
		if (a.nla_len < sizeof(a))
			return len;
		at += NLA_ALIGN(a.nla_len);
	}
	return len;
}

size_t netlink_explain(const struct vfile *vf, void *msg, size_t len, bool peek)
{
	struct nlmsghdr *h = msg;
	size_t tlvs = len < sizeof(*h) ? 0 : netlink_tlvs(h, len), at;
	struct why why;

	at = tlvs ? netlink_attr(msg, tlvs, len, IPC_NLMSGERR_WHY) : len;
	if (at >= len || len - at < sizeof(struct nlattr) + sizeof(why))
		return len;
	memcpy(&why, (const char *)msg + at + sizeof(struct nlattr), sizeof(why));
	if (!peek)
		netlink_log((const struct nlmsgerr *)(h + 1), &why);
	if (!(READ_ONCE(vf->nl.options) >> NETLINK_EXT_ACK & 1)) {
		h->nlmsg_flags &= (uint16_t)~NLM_F_ACK_TLVS;
		at = tlvs;
	}
	h->nlmsg_len = (uint32_t)at;
	return at;
}
