/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Direct placement: an operation that the requester executes in its peer's memory itself (link_ops.direct). */
#ifndef RUSE_LINK_DIRECT_H
#define RUSE_LINK_DIRECT_H

#include <sys/uio.h>
#include "base/util.h"

/* A WRITE without immediate, a READ or an atomic that the requester executes itself (direct placement). */
struct direct_op {
	bool read;
	uint8_t atomic;		/* SEG_CMP_SWP or SEG_FETCH_ADD, with compare and swap_add; 0: WRITE or READ */
	uint32_t dqpn, sqpn, psn, npkts;
	uint64_t va;		/* at the peer */
	uint32_t rkey;
	uint32_t len;
	bool free_only;		/* only if it costs no system call: the peer's memory is mapped */
	bool more;		/* another operation of this QP follows at once, or link_ops.direct_end() */
	const struct iovec *iov;	/* local memory */
	int niov;
	uint64_t compare, swap_add;
	uint64_t orig;		/* set by an atomic that is done: the value before */
};

enum direct_result {
	DIRECT_DONE,	/* done; the peer's expected PSN and MSN have advanced */
	DIRECT_NO,	/* not possible, or a check of the responder failed: the caller must send the whole request as segments */
	DIRECT_LOCAL,	/* local memory is bad: LOC_PROT_ERR */
};

#endif
