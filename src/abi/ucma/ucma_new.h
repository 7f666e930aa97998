/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Commands and events of rdma_cm that the headers of Linux 6.1 lack. */
#ifndef RUSE_ABI_UCMA_NEW_H
#define RUSE_ABI_UCMA_NEW_H

#include <rdma/rdma_user_cm.h>
#include <stdint.h>

#define UCMA_CMD_RESOLVE_IB_SERVICE 23
#define UCMA_CMD_WRITE_CM_EVENT 24
#define UCMA_EVENT_USER 18
#define UCMA_EVENT_INTERNAL 19

struct ucma_write_cm_event {
	uint32_t id, reserved, event, status;
	union {
		struct rdma_ucm_conn_param conn;
		struct rdma_ucm_ud_param ud;
		uint64_t arg;
	} param;
};

#endif
