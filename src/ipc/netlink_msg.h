/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What rused adds to an NLMSG_ERROR of RDMA netlink: the reason, which libruse.so takes out again. */
#ifndef RUSE_IPC_NETLINK_MSG_H
#define RUSE_IPC_NETLINK_MSG_H

/* Last attribute of the message, after NLMSGERR_ATTR_MSG: a struct why. No type of enum nlmsgerr_attrs. */
#define IPC_NLMSGERR_WHY 0x3ffe

#endif
