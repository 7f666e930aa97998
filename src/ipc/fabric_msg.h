/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bodies of messages about fabrics.
 *
 * IPC_FABRIC, ruse: words, each with a NUL behind it (daemon/fabric.h); reply JSON, as for IPC_STATUS.
 * IPC_HOST, once a connection: the name of the fabric's host that the process is on; reply
 * ipc_host. -ENODEV: there is none; -ENOSPC: no place for its devices; -EBUSY: it has one.
 * IPC_PATH: the way from one of its ports to a LID, ipc_path both ways. -ENODEV: not its port;
 * -ENOSPC: too many ways.
 * IPC_MCAST: its first QP is attached to a group on a port, or its last is not any more. -ENODEV: not its
 * port; -ENOSPC.
 * IPC_MEMBERS: the way to a multicast LID, as IPC_PATH, and who gets what is sent to a group: reply
 * ipc_members and n of ipc_member.
 */
#ifndef RUSE_IPC_FABRIC_MSG_H
#define RUSE_IPC_FABRIC_MSG_H

#include "ipc/ipc.h"

struct ipc_host {
	uint32_t host;		/* host_ib.host of its devices */
	char root[128];		/* directory with its sys/ and dev/ */
};

struct ipc_path {
	uint32_t dev_index;	/* of the source port */
	uint16_t slid, dlid, pkey;
	uint16_t mtu;		/* payload bytes of the longest packet */
	uint8_t sl;
	/* The answer's; 0 in the request. */
	uint8_t path_bits;	/* of dlid at its port */
	uint16_t pad;
	uint32_t owner;		/* dev_index of the port that has the LID; 0: nobody */
	uint32_t id, back;	/* of host_page.path_ok: there, and the way back */
	uint8_t gid[16];	/* of the port that has the LID */
};

struct ipc_mcast {
	uint32_t dev_index;
	uint32_t join;		/* or leave */
	uint8_t mgid[16];
};

#define IPC_MEMBERS_MAX 256	/* more of a group get nothing */

struct ipc_members {
	struct ipc_path way;	/* id alone is answered: what is sent is counted by it */
	uint8_t mgid[16];
	uint32_t n;		/* reply */
};

struct ipc_member {
	uint32_t dev_index;	/* of a port */
	uint32_t block;		/* of QP numbers, there, of a process with QPs in the group */
};

#endif
