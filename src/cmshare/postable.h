/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which commands a program may send to rused without waiting for the answer (IPC_UCMA_POST). Both ends use this table:
 * the program to decide, rused to refuse anything else.
 */
#ifndef RUSE_CMSHARE_POSTABLE_H
#define RUSE_CMSHARE_POSTABLE_H

#include "base/util.h"

/*
 * Returns the flag (CMSHARE_CAN_*, cmshare/ucma_shm.h) that the record of the command's id must have, so that the command will
 * succeed; *id is the id. 0: the command must wait for its answer, which is also where its errors are found.
 */
uint32_t cmshare_postable(const void *cmd, size_t len, uint32_t *id);

#endif
