/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bodies of messages about fabrics.
 *
 * IPC_FABRIC (from ruse): NUL-terminated words (daemon/fabric.h). Reply: JSON, like IPC_STATUS.
 * IPC_HOST, once per connection: the name of the process's host in the fabric. Reply: ipc_host.
 * -ENODEV: no such host; -ENOSPC: no room for its devices; -EBUSY: the process has a host.
 * IPC_PATH: the path from a port of that host to a LID. ipc_path both ways. -ENODEV: not a port of
 * this host; -ENOSPC: too many paths. IPC_MCAST: the first QP of the process was attached to a
 * group on a port, or the last one detached. -ENODEV: not a port of this host; -ENOSPC.
 * IPC_MEMBERS: the path to a multicast LID, like IPC_PATH, and the receivers of the group. Reply:
 * ipc_members followed by n ipc_member.
 */
#ifndef RUSE_IPC_FABRIC_MSG_H
#define RUSE_IPC_FABRIC_MSG_H

#include "ipc/ipc.h"

struct ipc_host {
	uint32_t host;		/* host_ib.host of its devices */
	char root[128];		/* directory with the host's sys/ and dev/ */
};

struct ipc_path {
	uint32_t dev_index;	/* of the source port */
	uint16_t slid, dlid, pkey;
	uint16_t mtu;		/* bytes, the largest payload of a packet */
	uint8_t sl;
	/* Set by the answer; 0 in the request. */
	uint8_t path_bits;	/* low bits of dlid below its port's LMC */
	uint16_t pad;
	uint32_t owner;		/* dev_index of the port that has dlid; 0: none */
	uint32_t id, back;	/* index into host_page.path_ok of this path and of the reverse path */
	uint8_t gid[16];	/* GID of the port that has dlid */
};

struct ipc_mcast {
	uint32_t dev_index;
	uint32_t join;		/* 1: attached, 0: detached */
	uint8_t mgid[16];
};

#define IPC_MEMBERS_MAX 256	/* further members receive nothing */

struct ipc_members {
	struct ipc_path way;	/* reply: only id is set, for counting the traffic to the group */
	uint8_t mgid[16];
	uint32_t n;		/* reply: number of ipc_member that follow */
};

struct ipc_member {
	uint32_t dev_index;	/* of the member's port */
	uint32_t block;		/* QP number block of a process with QPs in the group */
};

#endif
