/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The commands of RDMA netlink. The table cmds[] has one row per command. netlink.c has the framing and
 * says what dump and doit are.
 */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <string.h>

#include "abi/netlink/call_internal.h"
#include "base/log.h"

enum flags {
	ADMIN = 1,		/* needs CAP_NET_ADMIN */
	STRICT = 2,		/* strict attribute policy */
	NEED_PORT = 4,
	NEED_DEV = 8,
	OBJECTS = 32,		/* answers about objects (QPs, MRs, ...), which the processes report */
	DUMP_DEV = 64,		/* a dump lists one device only and requires DEV_INDEX */
	OWN = 128,		/* no meaning; a command with no other flag has it, because flags 0 means no such command */
	DUMP_STATS = 512,	/* a dump lists counters of objects, which STAT_RES selects */
	PER_DEV = 256,		/* with OBJECTS: a doit with PORT_INDEX fails; without PER_DEV a doit needs PORT_INDEX */
};

typedef int (*doit_fn)(struct nldev_call *c, int dev);

static int doit_chardev(struct nldev_call *c, int dev);
static int doit_sys(struct nldev_call *c, int dev);
static int doit_stat(struct nldev_call *c, int dev);
static int doit_set(struct nldev_call *c, int dev);
static int doit_newlink(struct nldev_call *c, int dev);
static int doit_dellink(struct nldev_call *c, int dev);

#define DUMPED(answers_as, how, fn) \
	{ .flags = (how), .reply_op = RDMA_NLDEV_CMD_##answers_as, .fill = (fn), .dump = (fn) }
#define CHANGED(fn) { .flags = ADMIN | STRICT, .doit = (fn) }
#define LISTED(how, key, where) \
	{ .flags = (how) | NEED_DEV | OBJECTS | DUMP_DEV, .id = RDMA_NLDEV_ATTR_RES_##key, \
	  .kind = (where) }

static const struct cmd {
	uint16_t flags;		/* enum flags; 0: no such command */
	uint8_t reply_op;	/* command in the reply to a doit; for PORT_GET the kernel puts GET there */
	nldev_fill_fn fill, dump;
	doit_fn doit;		/* runs a doit request; NULL: the reply is made by fill */
	uint16_t id;		/* if flags has OBJECTS: attribute that selects one object */
	uint8_t kind;		/* if flags has OBJECTS: enum res_kind */
} cmds[RDMA_NLDEV_NUM_OPS] = {
	[RDMA_NLDEV_CMD_GET] = DUMPED(GET, NEED_DEV, nldev_fill_dev),
	/*
	 * The kernel requires CAP_NET_ADMIN for SET, NEWLINK and DELLINK. Here they do not need it,
	 * because the devices belong to the user who runs rused.
	 */
	[RDMA_NLDEV_CMD_SET] = { .flags = NEED_DEV, .doit = doit_set },
	[RDMA_NLDEV_CMD_NEWLINK] = { .flags = OWN, .doit = doit_newlink },
	[RDMA_NLDEV_CMD_DELLINK] = { .flags = NEED_DEV, .doit = doit_dellink },
	[RDMA_NLDEV_CMD_PORT_GET] = DUMPED(GET, NEED_DEV | NEED_PORT | DUMP_DEV,
					   nldev_fill_port),
	[RDMA_NLDEV_CMD_SYS_GET] = { .flags = STRICT, .doit = doit_sys,
				     .reply_op = RDMA_NLDEV_CMD_SYS_GET },
	[RDMA_NLDEV_CMD_SYS_SET] = CHANGED(nldev_doit_sys_set),
	[RDMA_NLDEV_CMD_RES_GET] = DUMPED(RES_GET, NEED_DEV, nldev_fill_res),
	[RDMA_NLDEV_CMD_RES_QP_GET] = LISTED(0, LQPN, RES_QP),
	[RDMA_NLDEV_CMD_RES_CM_ID_GET] = LISTED(0, CM_IDN, RES_CM_ID),
	[RDMA_NLDEV_CMD_RES_CQ_GET] = LISTED(PER_DEV, CQN, RES_CQ),
	[RDMA_NLDEV_CMD_RES_MR_GET] = LISTED(PER_DEV, MRN, RES_MR),
	[RDMA_NLDEV_CMD_RES_PD_GET] = LISTED(PER_DEV, PDN, RES_PD),
	[RDMA_NLDEV_CMD_GET_CHARDEV] = { .flags = STRICT, .doit = doit_chardev,
					 .reply_op = RDMA_NLDEV_CMD_GET_CHARDEV },
	[RDMA_NLDEV_CMD_STAT_SET] = CHANGED(nldev_doit_stat_set),
	[RDMA_NLDEV_CMD_STAT_GET] = { .flags = STRICT | DUMP_STATS, .doit = doit_stat,
				      .reply_op = RDMA_NLDEV_CMD_STAT_GET },
	[RDMA_NLDEV_CMD_STAT_DEL] = CHANGED(nldev_doit_stat_del),
	[RDMA_NLDEV_CMD_RES_QP_GET_RAW] = LISTED(ADMIN, LQPN, RES_QP),
	[RDMA_NLDEV_CMD_RES_CQ_GET_RAW] = LISTED(ADMIN | PER_DEV, CQN, RES_CQ),
	[RDMA_NLDEV_CMD_RES_MR_GET_RAW] = LISTED(ADMIN | PER_DEV, MRN, RES_MR),
	[RDMA_NLDEV_CMD_RES_CTX_GET] = LISTED(PER_DEV, CTXN, RES_CTX),
	[RDMA_NLDEV_CMD_RES_SRQ_GET] = LISTED(PER_DEV, SRQN, RES_SRQ),
	[RDMA_NLDEV_CMD_STAT_GET_STATUS] = { .flags = STRICT | NEED_DEV | NEED_PORT,
					     .reply_op = RDMA_NLDEV_CMD_STAT_GET_STATUS,
					     .fill = nldev_fill_stat_status },
};

static uint16_t op_type(unsigned int op)
{
	return RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, op);
}

int nldev_find_dev(const struct nldev_call *c)
{
	const struct nlattr *a = c->tb[RDMA_NLDEV_ATTR_DEV_INDEX];
	int i;

	if (!a)
		return nldev_refuse(c, -EINVAL, NL_MISSING, MISSING_DEV);
	for (i = 0; i < HOST_MAX_DEVS; i++) {
		const struct host_dev *d = &c->h->page->dev[i];

		if (nldev_sees(c->h, d) && d->index == nldev_attr_u32(a))
			return i;
	}
	return nldev_refuse(c, -EINVAL, NL_NO_DEV, nldev_attr_u32(a));
}

static int reply_one(struct nldev_call *c, const struct cmd *cmd, nldev_fill_fn fill, int dev)
{
	struct nldev_msg m;
	int rc;

	rc = nldev_msg_begin(c, &m, op_type(cmd->reply_op), 0);
	if (!rc)
		rc = fill(&m, c->h, dev);
	if (rc)
		return rc;
	nldev_msg_end(c, &m);
	nldev_flush(c);
	return 0;
}

static int fill_sys(struct nldev_msg *m, const struct nldev_ctx *h, int dev)
{
	return nldev_fill_sys(m);
}

static int doit_sys(struct nldev_call *c, int dev)
{
	return reply_one(c, &cmds[RDMA_NLDEV_CMD_SYS_GET], fill_sys, 0);
}

static int fill_rdma_cm(struct nldev_msg *m, const struct nldev_ctx *h, int unused)
{
	return nldev_fill_rdma_cm(m);
}

/*
 * GET_CHARDEV: finds a character device by its type. "uverbs" requires DEV_INDEX and "umad" PORT_INDEX, too; "rdma_cm" must have
 * none, since all RDMA devices share one character device. In all other cases the answer is -EOPNOTSUPP, as from a kernel in
 * which the module of this type is not loaded, and as the kernel's for "issm".
 */
static int doit_chardev(struct nldev_call *c, int unused)
{
	const struct nlattr *type = c->tb[RDMA_NLDEV_ATTR_CHARDEV_TYPE];
	bool port = c->tb[RDMA_NLDEV_ATTR_PORT_INDEX], umad;
	int dev = -1;

	if (!type)
		return nldev_refuse(c, -EINVAL, NL_MISSING, MISSING_CHARDEV);
	if (c->tb[RDMA_NLDEV_ATTR_DEV_INDEX]) {
		dev = nldev_find_dev(c);
		if (dev < 0)
			return dev;
		if (port && nldev_check_port(c))
			return -EINVAL;
	} else if (port) {
		return -EINVAL;
	}
	if (dev < 0 && !strcmp((const char *)type + NLA_HDRLEN, "rdma_cm"))
		return reply_one(c, &cmds[RDMA_NLDEV_CMD_GET_CHARDEV], fill_rdma_cm, 0);
	umad = !strcmp((const char *)type + NLA_HDRLEN, "umad") && nldev_umad(c->h, dev) >= 0;
	if (dev < 0 || (!umad && strcmp((const char *)type + NLA_HDRLEN, "uverbs")))
		return -EOPNOTSUPP;
	if (port != umad)	/* uverbs exists per device, umad per port */
		return -EINVAL;
	return reply_one(c, &cmds[RDMA_NLDEV_CMD_GET_CHARDEV],
			 umad ? nldev_fill_umad : nldev_fill_uverbs, dev);
}

/* A string attribute. The parser has checked its NUL. */
static const char *attr_text(const struct nldev_call *c, uint16_t type)
{
	return c->tb[type] ? (const char *)c->tb[type] + NLA_HDRLEN : NULL;
}

static int doit_newlink(struct nldev_call *c, int unused)
{
	const char *name = attr_text(c, RDMA_NLDEV_ATTR_DEV_NAME);
	const char *type = attr_text(c, RDMA_NLDEV_ATTR_LINK_TYPE);
	const char *ndev = attr_text(c, RDMA_NLDEV_ATTR_NDEV_NAME);

	if (!name)
		return nldev_refuse(c, -EINVAL, NL_MISSING, MISSING_NAME);
	if (!type)
		return nldev_refuse(c, -EINVAL, NL_MISSING, MISSING_TYPE);
	if (!ndev)
		return nldev_refuse(c, -EINVAL, NL_MISSING, MISSING_NETDEV);
	return c->h->newlink ? c->h->newlink(c->h->arg, name, type, ndev) : -EOPNOTSUPP;
}

static int doit_dellink(struct nldev_call *c, int dev)
{
	return c->h->dellink ? c->h->dellink(c->h->arg, dev) : -EOPNOTSUPP;
}

/*
 * SET: renames a device. Two other changes fail with -EOPNOTSUPP: moving the device to another network
 * namespace, which the kernel also refuses for rxe, and DIM (adaptive completion moderation), which is off.
 */
static int doit_set(struct nldev_call *c, int dev)
{
	const char *name = attr_text(c, RDMA_NLDEV_ATTR_DEV_NAME);
	const struct nlattr *dim = c->tb[RDMA_NLDEV_ATTR_DEV_DIM];

	if (name)
		return c->h->rename ? c->h->rename(c->h->arg, dev, name) : -EOPNOTSUPP;
	if (c->tb[RDMA_NLDEV_NET_NS_FD])
		return nldev_refuse(c, -EOPNOTSUPP, NL_NOT_OFFERED, NOT_OFFERED_NETNS);
	if (!dim || !mnl_attr_get_u8(dim))
		return 0;
	if (mnl_attr_get_u8(dim) > 1)
		return nldev_refuse(c, -EINVAL, NL_ATTR, RDMA_NLDEV_ATTR_DEV_DIM, 1);
	return nldev_refuse(c, -EOPNOTSUPP, NL_NOT_OFFERED, NOT_OFFERED_DIM);
}

static int refuse_stat_res(const struct nldev_call *c, uint32_t res)
{
	return nldev_refuse(c, -EINVAL, NL_STAT_RES, res, RDMA_NLDEV_ATTR_RES_QP,
			    RDMA_NLDEV_ATTR_RES_MR);
}

/*
 * STAT_GET: counters of the device's port, or with STAT_RES those of objects. As with kernel rxe no counter is bound to a
 * QP: their mode is NONE, and none has an ID. An MR has no counters, and its entry only its number.
 */
static int doit_stat(struct nldev_call *c, int unused)
{
	const struct nlattr *res = c->tb[RDMA_NLDEV_ATTR_STAT_RES];
	const struct cmd *cmd = &cmds[RDMA_NLDEV_CMD_STAT_GET];
	int dev;

	if (res && nldev_attr_u32(res) == RDMA_NLDEV_ATTR_RES_MR) {
		if (!c->tb[RDMA_NLDEV_ATTR_RES_MRN])
			return nldev_refuse(c, -EINVAL, NL_MISSING, MISSING_OBJECT);
		dev = nldev_find_dev(c);
		return dev < 0 ? dev :
				 nldev_doit_object(c, RES_MR, RDMA_NLDEV_ATTR_RES_MRN, true, dev);
	}
	if (res && nldev_attr_u32(res) != RDMA_NLDEV_ATTR_RES_QP)
		return refuse_stat_res(c, nldev_attr_u32(res));
	if (res && !c->tb[RDMA_NLDEV_ATTR_STAT_MODE] && !c->tb[RDMA_NLDEV_ATTR_STAT_COUNTER_ID])
		return nldev_refuse(c, -EINVAL, NL_MISSING, MISSING_OBJECT);
	if (!c->tb[RDMA_NLDEV_ATTR_PORT_INDEX])
		return nldev_refuse(c, -EINVAL, NL_MISSING, MISSING_PORT);
	dev = nldev_find_dev(c);
	if (dev < 0)
		return dev;
	if (nldev_check_port(c))
		return -EINVAL;
	if (res && c->tb[RDMA_NLDEV_ATTR_STAT_COUNTER_ID])
		return -ENOENT;
	return reply_one(c, cmd, res ? nldev_fill_stat_mode : nldev_fill_stat, dev);
}

static int dump_stats(struct nldev_call *c)
{
	int rc = nldev_parse(c->req, c->tb, true), dev;
	uint32_t res;

	if (rc)
		return -EINVAL;
	if (!c->tb[RDMA_NLDEV_ATTR_STAT_RES])
		return nldev_refuse(c, -EINVAL, NL_MISSING, MISSING_STAT_RES);
	res = nldev_attr_u32(c->tb[RDMA_NLDEV_ATTR_STAT_RES]);
	if (res != RDMA_NLDEV_ATTR_RES_QP && res != RDMA_NLDEV_ATTR_RES_MR)
		return refuse_stat_res(c, res);
	dev = nldev_find_dev(c);
	if (dev < 0)
		return dev;
	if (c->tb[RDMA_NLDEV_ATTR_PORT_INDEX] && nldev_check_port(c))
		return -EINVAL;
	return res == RDMA_NLDEV_ATTR_RES_MR ? nldev_dump_objects(c, RES_MR, dev) : 0;
}

static int run_doit(struct nldev_call *c, const struct cmd *cmd)
{
	int dev = 0, rc;

	rc = nldev_parse(c->req, c->tb, cmd->flags & STRICT);
	if (rc) {	/* SYS_GET returns the parser's error, the other commands -EINVAL */
		if (c->tb[0])
			nldev_refuse(c, 0, NL_ATTR, c->tb[0]->nla_type & NLA_TYPE_MASK,
				     c->tb[0]->nla_len - NLA_HDRLEN);
		return cmd->doit == doit_sys ? rc : -EINVAL;
	}
	if (cmd->flags & NEED_DEV) {
		if ((cmd->flags & NEED_PORT) && !c->tb[RDMA_NLDEV_ATTR_PORT_INDEX])
			return nldev_refuse(c, -EINVAL, NL_MISSING, MISSING_PORT);
		if ((cmd->flags & OBJECTS) && !c->tb[cmd->id])
			return nldev_refuse(c, -EINVAL, NL_MISSING, MISSING_OBJECT);
		dev = nldev_find_dev(c);
		if (dev < 0)
			return dev;
		if ((cmd->flags & NEED_PORT) && nldev_check_port(c))
			return -EINVAL;
	}
	if (cmd->flags & OBJECTS)
		return nldev_doit_object(c, cmd->kind, cmd->id, cmd->flags & PER_DEV, dev);
	if (cmd->doit)
		return cmd->doit(c, dev);
	return reply_one(c, cmd, cmd->fill, dev);
}

static int dump_one(struct nldev_call *c, const struct cmd *cmd, uint16_t type, int dev)
{
	struct nldev_msg m;
	int rc, tries;

	for (tries = 0; tries < 2; tries++) {
		rc = nldev_msg_begin(c, &m, type, NLM_F_MULTI);
		if (!rc)
			rc = cmd->dump(&m, c->h, dev);
		if (!rc) {
			nldev_msg_end(c, &m);
			return 0;
		}
		nldev_flush(c);	/* full: try again in the next datagram */
	}
	return rc;
}

static int run_dump_devs(struct nldev_call *c, const struct cmd *cmd, uint16_t type)
{
	int i, rc = 0;

	if (cmd->flags & DUMP_STATS)
		return dump_stats(c);
	if (cmd->flags & DUMP_DEV) {
		rc = nldev_parse(c->req, c->tb, false);
		i = rc ? -EINVAL : nldev_find_dev(c);
		if (i < 0)
			return i;
		if (!(cmd->flags & OBJECTS))
			return dump_one(c, cmd, type, i);
		if (c->tb[RDMA_NLDEV_ATTR_PORT_INDEX] && nldev_check_port(c))
			return -EINVAL;
		return nldev_dump_objects(c, cmd->kind, i);
	}
	for (i = 0; i < HOST_MAX_DEVS && !rc; i++)
		if (nldev_sees(c->h, &c->h->page->dev[i]))
			rc = dump_one(c, cmd, type, i);
	return rc;
}

static void run_dump(struct nldev_call *c, const struct cmd *cmd)
{
	int32_t rc = run_dump_devs(c, cmd, c->req->nlmsg_type);
	struct nldev_msg m;

	nldev_flush(c);
	if (BUG_ON(nldev_msg_begin(c, &m, NLMSG_DONE, NLM_F_MULTI)))
		return;
	memcpy(mnl_nlmsg_put_extra_header(m.nlh, sizeof(rc)), &rc, sizeof(rc));
	nldev_msg_end(c, &m);
	nldev_flush(c);
}

static bool has_dump(const struct cmd *cmd)
{
	return cmd->dump || (cmd->flags & (OBJECTS | DUMP_STATS));
}

int nldev_run(struct nldev_call *c)
{
	unsigned int client = RDMA_NL_GET_CLIENT(c->req->nlmsg_type);
	unsigned int op = RDMA_NL_GET_OP(c->req->nlmsg_type);
	const struct cmd *cmd;

	/* The iWARP port mapper and the SA local service do not exist here. */
	if (client != RDMA_NL_NLDEV || op >= RDMA_NLDEV_NUM_OPS)
		return nldev_refuse(c, -EINVAL, NL_COMMAND, client, op);
	cmd = &cmds[op];
	if (!cmd->flags)
		return nldev_refuse(c, -EINVAL, NL_COMMAND, client, op);
	if ((cmd->flags & ADMIN) && !c->h->admin)
		return nldev_refuse(c, -EPERM, NL_ADMIN, op);
	if (c->req->nlmsg_flags & NLM_F_DUMP) {
		if (!has_dump(cmd))
			return nldev_refuse(c, -EINVAL, NL_NO_DUMP, op);
		run_dump(c, cmd);
		return 1;
	}
	return run_doit(c, cmd);
}
