/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a process asks of fabrics: a host to run on, paths, and multicast groups. */
#ifndef RUSE_FABRICS_CLIENT_H
#define RUSE_FABRICS_CLIENT_H

#include <stddef.h>
#include "base/list.h"

struct fabric_group;
struct fabric_host;
struct fabrics;
struct ipc_fabric_host;
struct ipc_mcast;
struct ipc_member;
struct ipc_members;
struct ipc_path;
struct proc_path;
struct umad_view;

/* A process, as fabrics know it. */
struct fabric_client {
	struct fabrics *fs;
	struct list_head node;		/* fabrics.clients, if it was ever assigned to a host */
	uint32_t proc;			/* number of the process; set by the owner, as page_fd */
	int page_fd;			/* process page, -1 = none */
	struct fabric_host *host;	/* NULL: none, or it was removed */
	uint32_t number;		/* of its host, as in host_ib.host; 0: it was never assigned to one */
	struct fabric_group *groups;	/* multicast groups that its QPs are attached to */
	uint32_t ngroups;
	struct proc_path *paths;	/* path counters of its page already added to the InfiniBand ports' counters; NULL: none */
};

void fabric_client_init(struct fabric_client *c, struct fabrics *fs);
/* IPC_HOST: assigns the client to a host. 0; -ENODEV: no such host; -EBUSY: the client has a host; -ENOSPC: no free device. */
int fabric_client_host(struct fabric_client *c, const char *name, size_t len,
		       struct ipc_fabric_host *rep);
void fabric_client_gone(struct fabric_client *c);
/* The umad devices that it sees; NULL: those of the machine. */
struct umad_view *fabric_client_view(const struct fabric_client *c);

/* path.c. IPC_PATH (ipc/fabric_msg.h): finds or adds a path. 0, -ENODEV, -ENOSPC, -ENOMEM. */
int fabrics_path(struct fabric_client *c, const struct ipc_path *q, struct ipc_path *rep);

/* mcast.c. IPC_MCAST: adds the client to the receivers of a multicast group, or removes it. 0, -ENODEV, -ENOSPC, -ENOMEM. */
int fabrics_mcast(struct fabric_client *c, const struct ipc_mcast *q);
/*
 * IPC_MEMBERS: writes the rep->n receivers of a multicast group to `to` (room for IPC_MEMBERS_MAX).
 * 0, -EINVAL, or -errno of fabrics_path().
 */
int fabrics_members(struct fabric_client *c, const struct ipc_members *q, struct ipc_members *rep,
		    struct ipc_member *to);

#endif
