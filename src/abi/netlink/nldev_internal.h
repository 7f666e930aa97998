/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared between the files of src/abi/netlink: the attribute parser and the functions that fill replies. */
#ifndef RUSE_ABI_NETLINK_INTERNAL_H
#define RUSE_ABI_NETLINK_INTERNAL_H

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include "abi/netlink/nldev.h"

/* Part of the ABI, but missing in the headers of a Debian 12 without its updates. */
#define NLDEV_SYS_ATTR_PRIVILEGED_QKEY_MODE 96
#define NLDEV_ATTR_DRIVER_DETAILS 97
#define NLDEV_ATTR_RES_SUBTYPE 98
#define NLDEV_TB 99

/*
 * Check the attributes of a message, and point tb[type] (NLDEV_TB entries) to the attribute of each
 * type; NULL: absent. strict: check like the kernel's nla_parse(), else like
 * nlmsg_parse_deprecated(); policy.c tells the difference. 0, -EINVAL or -ERANGE (wrong length). After
 * an error tb[0] is the attribute that was refused, if it was one.
 */
int nldev_parse(const struct nlmsghdr *nlh, const struct nlattr **tb, bool strict);
/* The value of a U32 attribute that nldev_parse() accepted. */
uint32_t nldev_attr_u32(const struct nlattr *a);

/* True if the requesting program sees the device. */
static inline bool nldev_sees(const struct nldev_ctx *h, const struct host_dev *d)
{
	return d->in_use && d->ib.host == h->host;
}

/* A message under construction, in a buffer of NLDEV_DGRAM_MAX bytes. */
struct nldev_msg {
	struct nlmsghdr *nlh;
	size_t room;	/* bytes from nlh to the end of the buffer */
};

/* Append an attribute. 0, or -EMSGSIZE: no room. */
int nldev_put_u8(struct nldev_msg *m, uint16_t type, uint8_t v);
int nldev_put_u32(struct nldev_msg *m, uint16_t type, uint32_t v);
int nldev_put_u64(struct nldev_msg *m, uint16_t type, uint64_t v);
int nldev_put_str(struct nldev_msg *m, uint16_t type, const char *s);
/* Append DEV_INDEX and DEV_NAME. 0 or -EMSGSIZE. */
int nldev_put_handle(struct nldev_msg *m, const struct host_dev *d);
/* Begin a nested attribute. NULL: no room. */
struct nlattr *nldev_nest(struct nldev_msg *m, uint16_t type);

/* Fills the body of a message about one device: dev is an index into h->page->dev. 0 or -EMSGSIZE. */
typedef int (*nldev_fill_fn)(struct nldev_msg *m, const struct nldev_ctx *h, int dev);

int nldev_fill_dev(struct nldev_msg *m, const struct nldev_ctx *h, int dev);
int nldev_fill_port(struct nldev_msg *m, const struct nldev_ctx *h, int dev);
int nldev_fill_res(struct nldev_msg *m, const struct nldev_ctx *h, int dev);
int nldev_fill_stat(struct nldev_msg *m, const struct nldev_ctx *h, int dev);
/* The mode of the counters of QPs. */
int nldev_fill_stat_mode(struct nldev_msg *m, const struct nldev_ctx *h, int dev);
/* The names of the port's counters. None is optional, so none can be off. */
int nldev_fill_stat_status(struct nldev_msg *m, const struct nldev_ctx *h, int dev);
/* The body of an entry for one object. 0 or -EMSGSIZE. */
int nldev_fill_obj(struct nldev_msg *m, const struct nldev_ctx *h, const struct nldev_res *r);
/*
 * A dump of objects has a nested attribute, the table, that contains a nested attribute per object,
 * the entry. These are the types of both for objects of this kind.
 */
uint16_t nldev_obj_table(enum res_kind kind);
uint16_t nldev_obj_entry(enum res_kind kind);
/* The number that selects the object in a request: LQPN, CQN and so on. */
uint32_t nldev_obj_id(const struct nldev_res *r);
int nldev_fill_uverbs(struct nldev_msg *m, const struct nldev_ctx *h, int dev);
/* nldev_umad(): the number of its umadN; negative: none. Only a device with a number is filled in. */
int nldev_fill_umad(struct nldev_msg *m, const struct nldev_ctx *h, int dev);
int nldev_umad(const struct nldev_ctx *h, int dev);
int nldev_fill_rdma_cm(struct nldev_msg *m);
int nldev_fill_sys(struct nldev_msg *m);

#endif
