/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The transport's state of a QP: requester (with completer) and responder.
 * Owned by xport/; here because struct qp embeds it.
 */
#ifndef RUSE_CORE_QP_XPORT_H
#define RUSE_CORE_QP_XPORT_H

#include "base/util.h"

struct link;

struct qp_req {
	uint32_t psn;		/* next new PSN */
	ns_t wake;
};

struct qp_resp {
	ns_t wake;
};

#endif
