/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Calls that a rule of `ruse fault` can make fail, and the errnos that each may give. */
#ifndef RUSE_WIRE_FAULT_CALL_H
#define RUSE_WIRE_FAULT_CALL_H

#include <stddef.h>
#include <stdint.h>

/* fault_rule.call. Messages between a program and rused of one version have them: new ones may be anywhere. */
enum fault_call {
	FAULT_CALL_NONE,
	FAULT_POST_SEND, FAULT_POST_RECV, FAULT_POST_SRQ_RECV,
	FAULT_OPEN_DEVICE, FAULT_QUERY_DEVICE, FAULT_QUERY_PORT, FAULT_CREATE_COMP_CHANNEL,
	FAULT_ALLOC_PD, FAULT_DEALLOC_PD,
	FAULT_REG_MR, FAULT_REREG_MR, FAULT_DEREG_MR,
	FAULT_ALLOC_MW, FAULT_DEALLOC_MW,
	FAULT_CREATE_CQ, FAULT_RESIZE_CQ, FAULT_REQ_NOTIFY_CQ, FAULT_DESTROY_CQ,
	FAULT_CREATE_SRQ, FAULT_MODIFY_SRQ, FAULT_QUERY_SRQ, FAULT_DESTROY_SRQ,
	FAULT_CREATE_QP, FAULT_MODIFY_QP, FAULT_QUERY_QP, FAULT_DESTROY_QP,
	FAULT_CREATE_AH, FAULT_DESTROY_AH,
	FAULT_ATTACH_MCAST, FAULT_DETACH_MCAST,
	FAULT_NCALLS
};

#define FAULT_CALL_ERRNOS 10

struct fault_call_row {
	const char *name;	/* of the function of libibverbs, without ibv_ */
	/* Of the command of the ABI, a row of its write() commands, without EX_; and of the ioctl that does the same. */
	const char *command, *method;
	uint32_t by;		/* FAULT_BY_* that select among these calls, besides the device and the process */
	uint8_t error[FAULT_CALL_ERRNOS];	/* positive errnos; ends with 0 */
};

/* The row of a call; NULL: there is no such call. */
const struct fault_call_row *fault_call_row(uint32_t call);
/* The call with this name, also with ibv_ before it; FAULT_CALL_NONE: there is none. */
enum fault_call fault_call_find(const char *name);
/* The call that a command or ioctl method of the ABI executes: "MODIFY_QP", "EX_MODIFY_QP", "QP_CREATE". */
enum fault_call fault_call_of(const char *command);

/* The number of an errno: "ENOMEM"; 0: it is none of those in the rows. And its name; "?": none of them. */
int fault_errno(const char *name);
const char *fault_errno_name(int error);

#endif
