/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The attribute policy of NLDEV and its check, with the rules of the kernel's lib/nlattr.c.
 *
 * There are two checks. The liberal one ignores attributes above the last known type and trailing
 * bytes, and accepts integers that are longer than their type. The strict one refuses them. cmds[] in
 * nldev.c marks the commands that are parsed strictly: GET_CHARDEV, SYS_* and STAT_*. Dumps are always
 * parsed liberally.
 */
#include <errno.h>
#include <string.h>

#include "abi/netlink/nldev_internal.h"

enum kind { UNSPEC, U8, U32, U64, STR, NEST, BIN };

#define EMPTY 1		/* RDMA_NLDEV_ATTR_EMPTY_STRING */

static const struct policy {
	uint8_t kind;		/* enum kind */
	uint8_t len;		/* STR: maximum length without NUL, 0: no maximum; UNSPEC: minimum length */
} policy[NLDEV_TB] = {
	[RDMA_NLDEV_ATTR_DEV_INDEX] = { .kind = U32 },
	[RDMA_NLDEV_ATTR_DEV_NAME] = { STR, 64 },
	[RDMA_NLDEV_ATTR_PORT_INDEX] = { .kind = U32 },
	[RDMA_NLDEV_ATTR_FW_VERSION] = { STR, EMPTY },
	[RDMA_NLDEV_ATTR_NODE_GUID] = { .kind = U64 },
	[RDMA_NLDEV_ATTR_SYS_IMAGE_GUID] = { .kind = U64 },
	[RDMA_NLDEV_ATTR_SUBNET_PREFIX] = { .kind = U64 },
	[RDMA_NLDEV_ATTR_LID] = { .kind = U32 },
	[RDMA_NLDEV_ATTR_SM_LID] = { .kind = U32 },
	[RDMA_NLDEV_ATTR_LMC] = { .kind = U8 },
	[RDMA_NLDEV_ATTR_PORT_STATE] = { .kind = U8 },
	[RDMA_NLDEV_ATTR_PORT_PHYS_STATE] = { .kind = U8 },
	[RDMA_NLDEV_ATTR_DEV_NODE_TYPE] = { .kind = U8 },
	[RDMA_NLDEV_ATTR_RES_SUMMARY] = { .kind = NEST },
	[RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY] = { .kind = NEST },
	[RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME] = { STR, EMPTY },
	[RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR] = { .kind = U64 },
	[RDMA_NLDEV_ATTR_RES_QP] = { .kind = NEST },
	[RDMA_NLDEV_ATTR_RES_QP_ENTRY] = { .kind = NEST },
	[RDMA_NLDEV_ATTR_RES_LQPN] = { .kind = U32 },
	[RDMA_NLDEV_ATTR_RES_RQPN] = { .kind = U32 },
	[RDMA_NLDEV_ATTR_RES_RQ_PSN] = { .kind = U32 },
	[RDMA_NLDEV_ATTR_RES_SQ_PSN] = { .kind = U32 },
	[RDMA_NLDEV_ATTR_RES_PATH_MIG_STATE] = { .kind = U8 },
	[RDMA_NLDEV_ATTR_RES_TYPE] = { .kind = U8 },
	[RDMA_NLDEV_ATTR_RES_STATE] = { .kind = U8 },
	[RDMA_NLDEV_ATTR_RES_PID] = { .kind = U32 },
	[RDMA_NLDEV_ATTR_RES_KERN_NAME] = { STR, EMPTY },
	[RDMA_NLDEV_ATTR_RES_CM_ID] = { .kind = NEST },
	[RDMA_NLDEV_ATTR_RES_CM_ID_ENTRY] = { .kind = NEST },
	[RDMA_NLDEV_ATTR_RES_PS] = { .kind = U32 },
	[RDMA_NLDEV_ATTR_RES_SRC_ADDR] = { UNSPEC, 128 },
	[RDMA_NLDEV_ATTR_RES_DST_ADDR] = { UNSPEC, 128 },
	[RDMA_NLDEV_ATTR_RES_CQ] = { .kind = NEST },
	[RDMA_NLDEV_ATTR_RES_CQ_ENTRY] = { .kind = NEST },
	[RDMA_NLDEV_ATTR_RES_CQE] = { .kind = U32 },
	[RDMA_NLDEV_ATTR_RES_USECNT] = { .kind = U64 },
	[RDMA_NLDEV_ATTR_RES_POLL_CTX] = { .kind = U8 },
	[RDMA_NLDEV_ATTR_RES_MR] = { .kind = NEST },
	[RDMA_NLDEV_ATTR_RES_MR_ENTRY] = { .kind = NEST },
	[RDMA_NLDEV_ATTR_RES_RKEY] = { .kind = U32 },
	[RDMA_NLDEV_ATTR_RES_LKEY] = { .kind = U32 },
	[RDMA_NLDEV_ATTR_RES_IOVA] = { .kind = U64 },
	[RDMA_NLDEV_ATTR_RES_MRLEN] = { .kind = U64 },
	[RDMA_NLDEV_ATTR_RES_PD] = { .kind = NEST },
	[RDMA_NLDEV_ATTR_RES_PD_ENTRY] = { .kind = NEST },
	[RDMA_NLDEV_ATTR_RES_LOCAL_DMA_LKEY] = { .kind = U32 },
	[RDMA_NLDEV_ATTR_RES_UNSAFE_GLOBAL_RKEY] = { .kind = U32 },
	[RDMA_NLDEV_ATTR_NDEV_INDEX] = { .kind = U32 },
	[RDMA_NLDEV_ATTR_NDEV_NAME] = { STR, IFNAMSIZ },
	[RDMA_NLDEV_ATTR_DRIVER] = { .kind = NEST },
	[RDMA_NLDEV_ATTR_DRIVER_ENTRY] = { .kind = NEST },
	[RDMA_NLDEV_ATTR_DRIVER_STRING] = { STR, EMPTY },
	[RDMA_NLDEV_ATTR_DRIVER_PRINT_TYPE] = { .kind = U8 },
	[RDMA_NLDEV_ATTR_DRIVER_S32] = { .kind = U32 },
	[RDMA_NLDEV_ATTR_DRIVER_U32] = { .kind = U32 },
	[RDMA_NLDEV_ATTR_DRIVER_S64] = { .kind = U64 },
	[RDMA_NLDEV_ATTR_DRIVER_U64] = { .kind = U64 },
	[RDMA_NLDEV_ATTR_RES_PDN] = { .kind = U32 },
	[RDMA_NLDEV_ATTR_RES_CQN] = { .kind = U32 },
	[RDMA_NLDEV_ATTR_RES_MRN] = { .kind = U32 },
	[RDMA_NLDEV_ATTR_RES_CM_IDN] = { .kind = U32 },
	[RDMA_NLDEV_ATTR_RES_CTXN] = { .kind = U32 },
	[RDMA_NLDEV_ATTR_LINK_TYPE] = { STR, IFNAMSIZ },
	[RDMA_NLDEV_SYS_ATTR_NETNS_MODE] = { .kind = U8 },
	[RDMA_NLDEV_ATTR_DEV_PROTOCOL] = { STR, EMPTY },
	[RDMA_NLDEV_NET_NS_FD] = { .kind = U32 },
	[RDMA_NLDEV_ATTR_CHARDEV_TYPE] = { STR, 32 },
	[RDMA_NLDEV_ATTR_CHARDEV_NAME] = { STR, EMPTY },
	[RDMA_NLDEV_ATTR_CHARDEV_ABI] = { .kind = U64 },
	[RDMA_NLDEV_ATTR_CHARDEV] = { .kind = U64 },
	[RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID] = { .kind = U32 },
	[RDMA_NLDEV_ATTR_STAT_MODE] = { .kind = U32 },
	[RDMA_NLDEV_ATTR_STAT_RES] = { .kind = U32 },
	[RDMA_NLDEV_ATTR_STAT_AUTO_MODE_MASK] = { .kind = U32 },
	[RDMA_NLDEV_ATTR_STAT_COUNTER] = { .kind = NEST },
	[RDMA_NLDEV_ATTR_STAT_COUNTER_ENTRY] = { .kind = NEST },
	[RDMA_NLDEV_ATTR_STAT_COUNTER_ID] = { .kind = U32 },
	[RDMA_NLDEV_ATTR_STAT_HWCOUNTERS] = { .kind = NEST },
	[RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY] = { .kind = NEST },
	[RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME] = { .kind = STR },
	[RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE] = { .kind = U64 },
	[RDMA_NLDEV_ATTR_DEV_DIM] = { .kind = U8 },
	[RDMA_NLDEV_ATTR_RES_RAW] = { .kind = BIN },
	[RDMA_NLDEV_ATTR_RES_CTX] = { .kind = NEST },
	[RDMA_NLDEV_ATTR_RES_CTX_ENTRY] = { .kind = NEST },
	[RDMA_NLDEV_ATTR_RES_SRQ] = { .kind = NEST },
	[RDMA_NLDEV_ATTR_RES_SRQ_ENTRY] = { .kind = NEST },
	[RDMA_NLDEV_ATTR_RES_SRQN] = { .kind = U32 },
	[RDMA_NLDEV_ATTR_MIN_RANGE] = { .kind = U32 },
	[RDMA_NLDEV_ATTR_MAX_RANGE] = { .kind = U32 },
	[RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK] = { .kind = U8 },
	[RDMA_NLDEV_ATTR_STAT_HWCOUNTER_INDEX] = { .kind = U32 },
	[RDMA_NLDEV_ATTR_STAT_HWCOUNTER_DYNAMIC] = { .kind = U8 },
	[NLDEV_ATTR_RES_SUBTYPE] = { STR, EMPTY },
	[NLDEV_SYS_ATTR_PRIVILEGED_QKEY_MODE] = { .kind = U8 },
	[NLDEV_ATTR_DRIVER_DETAILS] = { .kind = U8 },
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

	/* As in the kernel, NLA_F_NESTED is checked before the length: it decides which errno is returned. */
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
			if (rc) {
				tb[0] = a;
				return rc;
			}
			tb[type] = a;
		} else if (strict) {
			tb[0] = a;
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
