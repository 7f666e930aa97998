/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The attribute policy of NLDEV and its check (lib/nlattr.c's rules).
 *
 * Old commands parse liberally: unknown attributes and bytes behind the last
 * one are ignored, integers may be longer than their type. GET_CHARDEV,
 * SYS_GET and the statistics are strict.
 */
#include <errno.h>
#include <string.h>

#include "abi/netlink/nldev_internal.h"

enum kind { UNSPEC, U8, U32, U64, STR, NEST, BIN };

#define EMPTY 1		/* RDMA_NLDEV_ATTR_EMPTY_STRING */

static const struct policy {
	uint8_t kind;		/* enum kind */
	uint8_t len;		/* strings: longest without the NUL, 0 = any; UNSPEC: shortest */
} policy[NLDEV_TB] = {
	[RDMA_NLDEV_ATTR_DEV_INDEX] = { U32 },
	[RDMA_NLDEV_ATTR_DEV_NAME] = { STR, 64 },
	[RDMA_NLDEV_ATTR_PORT_INDEX] = { U32 },
	[RDMA_NLDEV_ATTR_FW_VERSION] = { STR, EMPTY },
	[RDMA_NLDEV_ATTR_NODE_GUID] = { U64 },
	[RDMA_NLDEV_ATTR_SYS_IMAGE_GUID] = { U64 },
	[RDMA_NLDEV_ATTR_SUBNET_PREFIX] = { U64 },
	[RDMA_NLDEV_ATTR_LID] = { U32 },
	[RDMA_NLDEV_ATTR_SM_LID] = { U32 },
	[RDMA_NLDEV_ATTR_LMC] = { U8 },
	[RDMA_NLDEV_ATTR_PORT_STATE] = { U8 },
	[RDMA_NLDEV_ATTR_PORT_PHYS_STATE] = { U8 },
	[RDMA_NLDEV_ATTR_DEV_NODE_TYPE] = { U8 },
	[RDMA_NLDEV_ATTR_RES_SUMMARY] = { NEST },
	[RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY] = { NEST },
	[RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME] = { STR, EMPTY },
	[RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR] = { U64 },
	[RDMA_NLDEV_ATTR_RES_QP] = { NEST },
	[RDMA_NLDEV_ATTR_RES_QP_ENTRY] = { NEST },
	[RDMA_NLDEV_ATTR_RES_LQPN] = { U32 },
	[RDMA_NLDEV_ATTR_RES_RQPN] = { U32 },
	[RDMA_NLDEV_ATTR_RES_RQ_PSN] = { U32 },
	[RDMA_NLDEV_ATTR_RES_SQ_PSN] = { U32 },
	[RDMA_NLDEV_ATTR_RES_PATH_MIG_STATE] = { U8 },
	[RDMA_NLDEV_ATTR_RES_TYPE] = { U8 },
	[RDMA_NLDEV_ATTR_RES_STATE] = { U8 },
	[RDMA_NLDEV_ATTR_RES_PID] = { U32 },
	[RDMA_NLDEV_ATTR_RES_KERN_NAME] = { STR, EMPTY },
	[RDMA_NLDEV_ATTR_RES_CM_ID] = { NEST },
	[RDMA_NLDEV_ATTR_RES_CM_ID_ENTRY] = { NEST },
	[RDMA_NLDEV_ATTR_RES_PS] = { U32 },
	[RDMA_NLDEV_ATTR_RES_SRC_ADDR] = { UNSPEC, 128 },
	[RDMA_NLDEV_ATTR_RES_DST_ADDR] = { UNSPEC, 128 },
	[RDMA_NLDEV_ATTR_RES_CQ] = { NEST },
	[RDMA_NLDEV_ATTR_RES_CQ_ENTRY] = { NEST },
	[RDMA_NLDEV_ATTR_RES_CQE] = { U32 },
	[RDMA_NLDEV_ATTR_RES_USECNT] = { U64 },
	[RDMA_NLDEV_ATTR_RES_POLL_CTX] = { U8 },
	[RDMA_NLDEV_ATTR_RES_MR] = { NEST },
	[RDMA_NLDEV_ATTR_RES_MR_ENTRY] = { NEST },
	[RDMA_NLDEV_ATTR_RES_RKEY] = { U32 },
	[RDMA_NLDEV_ATTR_RES_LKEY] = { U32 },
	[RDMA_NLDEV_ATTR_RES_IOVA] = { U64 },
	[RDMA_NLDEV_ATTR_RES_MRLEN] = { U64 },
	[RDMA_NLDEV_ATTR_RES_PD] = { NEST },
	[RDMA_NLDEV_ATTR_RES_PD_ENTRY] = { NEST },
	[RDMA_NLDEV_ATTR_RES_LOCAL_DMA_LKEY] = { U32 },
	[RDMA_NLDEV_ATTR_RES_UNSAFE_GLOBAL_RKEY] = { U32 },
	[RDMA_NLDEV_ATTR_NDEV_INDEX] = { U32 },
	[RDMA_NLDEV_ATTR_NDEV_NAME] = { STR, IFNAMSIZ },
	[RDMA_NLDEV_ATTR_DRIVER] = { NEST },
	[RDMA_NLDEV_ATTR_DRIVER_ENTRY] = { NEST },
	[RDMA_NLDEV_ATTR_DRIVER_STRING] = { STR, EMPTY },
	[RDMA_NLDEV_ATTR_DRIVER_PRINT_TYPE] = { U8 },
	[RDMA_NLDEV_ATTR_DRIVER_S32] = { U32 },
	[RDMA_NLDEV_ATTR_DRIVER_U32] = { U32 },
	[RDMA_NLDEV_ATTR_DRIVER_S64] = { U64 },
	[RDMA_NLDEV_ATTR_DRIVER_U64] = { U64 },
	[RDMA_NLDEV_ATTR_RES_PDN] = { U32 },
	[RDMA_NLDEV_ATTR_RES_CQN] = { U32 },
	[RDMA_NLDEV_ATTR_RES_MRN] = { U32 },
	[RDMA_NLDEV_ATTR_RES_CM_IDN] = { U32 },
	[RDMA_NLDEV_ATTR_RES_CTXN] = { U32 },
	[RDMA_NLDEV_ATTR_LINK_TYPE] = { STR, IFNAMSIZ },
	[RDMA_NLDEV_SYS_ATTR_NETNS_MODE] = { U8 },
	[RDMA_NLDEV_ATTR_DEV_PROTOCOL] = { STR, EMPTY },
	[RDMA_NLDEV_NET_NS_FD] = { U32 },
	[RDMA_NLDEV_ATTR_CHARDEV_TYPE] = { STR, 32 },
	[RDMA_NLDEV_ATTR_CHARDEV_NAME] = { STR, EMPTY },
	[RDMA_NLDEV_ATTR_CHARDEV_ABI] = { U64 },
	[RDMA_NLDEV_ATTR_CHARDEV] = { U64 },
	[RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID] = { U32 },
	[RDMA_NLDEV_ATTR_STAT_MODE] = { U32 },
	[RDMA_NLDEV_ATTR_STAT_RES] = { U32 },
	[RDMA_NLDEV_ATTR_STAT_AUTO_MODE_MASK] = { U32 },
	[RDMA_NLDEV_ATTR_STAT_COUNTER] = { NEST },
	[RDMA_NLDEV_ATTR_STAT_COUNTER_ENTRY] = { NEST },
	[RDMA_NLDEV_ATTR_STAT_COUNTER_ID] = { U32 },
	[RDMA_NLDEV_ATTR_STAT_HWCOUNTERS] = { NEST },
	[RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY] = { NEST },
	[RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME] = { STR },
	[RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE] = { U64 },
	[RDMA_NLDEV_ATTR_DEV_DIM] = { U8 },
	[RDMA_NLDEV_ATTR_RES_RAW] = { BIN },
	[RDMA_NLDEV_ATTR_RES_CTX] = { NEST },
	[RDMA_NLDEV_ATTR_RES_CTX_ENTRY] = { NEST },
	[RDMA_NLDEV_ATTR_RES_SRQ] = { NEST },
	[RDMA_NLDEV_ATTR_RES_SRQ_ENTRY] = { NEST },
	[RDMA_NLDEV_ATTR_RES_SRQN] = { U32 },
	[RDMA_NLDEV_ATTR_MIN_RANGE] = { U32 },
	[RDMA_NLDEV_ATTR_MAX_RANGE] = { U32 },
	[RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK] = { U8 },
	[RDMA_NLDEV_ATTR_STAT_HWCOUNTER_INDEX] = { U32 },
	[RDMA_NLDEV_ATTR_STAT_HWCOUNTER_DYNAMIC] = { U8 },
	[NLDEV_ATTR_RES_SUBTYPE] = { STR, EMPTY },
	[NLDEV_SYS_ATTR_PRIVILEGED_QKEY_MODE] = { U8 },
	[NLDEV_ATTR_DRIVER_DETAILS] = { U8 },
};

static int check_int(size_t len, size_t want, bool strict)
{
	if (strict)
		return len == want ? 0 : -EINVAL;
	return len >= want ? 0 : -ERANGE;
}

static int check_str(const char *s, size_t len, size_t longest)
{
	size_t look = longest ? min(len, longest + 1) : len;

	if (!look || !memchr(s, 0, look))
		return -EINVAL;
	if (s[len - 1] == '\0')
		len--;
	return !longest || len <= longest ? 0 : -ERANGE;
}

static int check_attr(const struct nlattr *a, const struct policy *p, bool strict)
{
	size_t len = a->nla_len - NLA_HDRLEN;

	/* The kernel's order: nested flag first, then the type's own rule. */
	if (strict && (p->kind == NEST) != !!(a->nla_type & NLA_F_NESTED))
		return -EINVAL;
	switch ((enum kind)p->kind) {
	case UNSPEC:
		if (strict)
			return -EINVAL;
		return len >= p->len ? 0 : -ERANGE;
	case U8:
		return check_int(len, 1, strict);
	case U32:
		return check_int(len, 4, strict);
	case U64:
		return check_int(len, 8, strict);
	case STR:
		return check_str((const char *)a + NLA_HDRLEN, len, p->len);
	case NEST:
		return !len || len >= NLA_HDRLEN ? 0 : -ERANGE;
	case BIN:
		return 0;
	}
	return -EINVAL;
}

int nldev_parse(const struct nlmsghdr *nlh, const struct nlattr **tb, bool strict)
{
	const char *p = (const char *)nlh + NLMSG_HDRLEN;
	size_t left = nlh->nlmsg_len - NLMSG_HDRLEN;
	int rc;

	memset(tb, 0, NLDEV_TB * sizeof(*tb));
	while (left >= NLA_HDRLEN) {
		const struct nlattr *a = (const struct nlattr *)p;
		unsigned int type = a->nla_type & NLA_TYPE_MASK;
		size_t step;

		if (a->nla_len < NLA_HDRLEN || a->nla_len > left)
			break;
		if (type && type < NLDEV_TB) {
			rc = check_attr(a, &policy[type], strict);
			if (rc)
				return rc;
			tb[type] = a;
		} else if (strict) {
			return -EINVAL;
		}
		step = min((size_t)NLA_ALIGN(a->nla_len), left);
		p += step;
		left -= step;
	}
	return left && strict ? -EINVAL : 0;
}

uint32_t nldev_attr_u32(const struct nlattr *a)
{
	uint32_t v;

	memcpy(&v, (const char *)a + NLA_HDRLEN, sizeof(v));
	return v;
}
