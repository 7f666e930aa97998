/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A peer that loads alternate paths. The CM answers such peers, and has no function that sends a LAP or an APR. */
#ifndef RUSE_TESTS_PROTO_CM_LAP_H
#define RUSE_TESTS_PROTO_CM_LAP_H

#include "cm/cm.h"

/* Private data up to 168 bytes. -EINVAL on RoCE, which has no alternate paths. */
int lap_send(struct cm_id *id, const struct cm_path *alt, const void *data, uint8_t len, ns_t now);
/* info up to 72 bytes, private data up to 148. */
int lap_send_apr(struct cm_id *id, enum ib_cm_apr_status status, const void *info, uint8_t info_len,
		 const void *data, uint8_t len, ns_t now);

#endif
