/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bodies of messages about fabrics.
 *
 * IPC_FABRIC: a command of `ruse fabric`. Body: its words, each NUL-terminated (fabrics/fabrics.h). Reply: JSON, in the
 * form of IPC_STATUS.
 *
 * IPC_HOST: a process selects its host in the fabric, once per connection. Body: the name of the host. Reply:
 * ipc_fabric_host. -ENODEV: no such host. -ENOSPC: host_page.dev has no room for the host's devices. -EBUSY: the process has
 * a host.
 *
 * IPC_PATH: asks for the path from a port of the process's host to a LID. Body and reply: ipc_path. -ENODEV: dev_index is
 * not a port of this host. -ENOSPC: HOST_MAX_PATHS paths are in use.
 *
 * IPC_MCAST: the process has attached its first QP to a multicast group on a port, or has detached its last one.
 * Body: ipc_mcast. -ENODEV: dev_index is not a port of this host. -ENOSPC: the process has joined too many multicast
 * groups.
 *
 * IPC_MEMBERS: asks for the path to a multicast LID, and for the processes that receive what is sent to the group. Body:
 * ipc_members. Reply: ipc_members followed by n ipc_member. Errors as for IPC_PATH.
 */
#ifndef RUSE_IPC_FABRIC_MSG_H
#define RUSE_IPC_FABRIC_MSG_H

#include "ipc/ipc.h"

struct ipc_fabric_host {
	uint32_t host;		/* host_ib.host of its devices */
	char root[128];		/* directory with the host's sys/ and dev/ */
};

struct ipc_path {
	uint32_t dev_index;	/* of the source port */
	uint16_t slid, dlid, pkey;
	uint16_t mtu;		/* bytes, the largest payload of a packet */
	uint8_t sl;
	/* The following members are set in the reply and 0 in the request. */
	uint8_t path_bits;	/* dlid minus the base LID of the port that has dlid */
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
	struct ipc_path way;	/* reply: way.id: path number under which the sender counts its packets to the multicast group */
	uint8_t mgid[16];
	uint32_t n;		/* reply: number of ipc_member that follow */
};

struct ipc_member {
	uint32_t dev_index;	/* of the member's port */
	uint32_t block;		/* block of QP numbers that identifies a process with QPs in the multicast group */
};

/* Below the run directory: log and state of the subnet manager that `ruse fabric up --sm` starts. */
#define FABRIC_SM_DIR "opensm"

#endif
