/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A request of RDMA netlink while it is executed. */
#ifndef RUSE_ABI_NETLINK_CALL_INTERNAL_H
#define RUSE_ABI_NETLINK_CALL_INTERNAL_H

#include "abi/netlink/nldev_internal.h"

struct nldev_call {
	const struct nldev_ctx *h;
	const struct nlmsghdr *req;
	const struct nlattr *tb[NLDEV_TB];
	nldev_reply_fn reply;
	void *arg;
	union {
		struct nlmsghdr nlh;
		char buf[NLDEV_DGRAM_MAX];
	} out;
	size_t used;		/* bytes of complete messages in out */
};

/* Leaves the reason of a refusal and returns ret. */
#define nldev_refuse(c, ret, id, ...) \
	((c)->h->why ? (why_set((c)->h->why, id, __VA_ARGS__), (ret)) : (ret))

/* NL_MISSING: the attribute that a request lacks. */
enum nldev_missing { MISSING_DEV, MISSING_PORT, MISSING_NAME, MISSING_TYPE, MISSING_NETDEV,
		     MISSING_CHARDEV, MISSING_OBJECT, MISSING_STAT_RES, MISSING_SETTING };

/* NL_NOT_OFFERED: what ruse does not offer. */
enum nldev_not_offered { NOT_OFFERED_NETNS, NOT_OFFERED_DIM, NOT_OFFERED_SETTING, NOT_OFFERED_RAW };

/* netlink.c: starts a message after the complete ones. -EMSGSIZE: no room. */
int nldev_msg_begin(struct nldev_call *c, struct nldev_msg *m, uint16_t type, uint16_t flags);
void nldev_msg_end(struct nldev_call *c, const struct nldev_msg *m);
/* Sends the complete messages as a datagram. */
void nldev_flush(struct nldev_call *c);

/* nldev.c: runs a request. 0 or -errno: result for the NLMSG_ERROR; 1: a dump, which gets no NLMSG_ERROR. */
int nldev_run(struct nldev_call *c);

/*
 * Finds the device that the request's attribute DEV_INDEX selects. Returns its index in page->dev,
 * or -EINVAL if the attribute or the device is missing.
 */
int nldev_find_dev(const struct nldev_call *c);

/* Every device has one port, number 1. */
static inline int nldev_check_port(const struct nldev_call *c)
{
	uint32_t port = nldev_attr_u32(c->tb[RDMA_NLDEV_ATTR_PORT_INDEX]);

	return port == 1 ? 0 : nldev_refuse(c, -EINVAL, NL_PORT, port);
}

/*
 * nldev_obj.c: answers about one object, whose number is attribute id. A request with PORT_INDEX fails
 * if per_dev, else a request without.
 */
int nldev_doit_object(struct nldev_call *c, enum res_kind kind, uint16_t id, bool per_dev, int dev);
/* nldev_obj.c: lists all objects of a kind. */
int nldev_dump_objects(struct nldev_call *c, enum res_kind kind, int dev);

/* nldev_change.c: SYS_SET, STAT_SET and STAT_DEL. */
int nldev_doit_sys_set(struct nldev_call *c, int unused);
int nldev_doit_stat_set(struct nldev_call *c, int unused);
int nldev_doit_stat_del(struct nldev_call *c, int unused);

#endif
