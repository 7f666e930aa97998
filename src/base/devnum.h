/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers of the character devices. */
#ifndef RUSE_BASE_DEVNUM_H
#define RUSE_BASE_DEVNUM_H

/* The kernel's uverbs devices (drivers/infiniband/core/uverbs_main.c). */
#define UVERBS_MAJOR 231
#define UVERBS_BASE_MINOR 192
/* Same major; minor of umadN: N, of issmN: 64 + N (drivers/infiniband/core/user_mad.c). */
#define ISSM_BASE_MINOR 64
#define UMAD_END_MINOR 128
/* rdma_cm is a misc device with a dynamic minor; Linux 6.1 usually assigns this one. */
#define RDMA_CM_MAJOR 10
#define RDMA_CM_MINOR 124

#endif
