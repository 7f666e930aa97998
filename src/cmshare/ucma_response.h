/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where the response of an rdma_cm command goes, and how long it is: for both ends of a command. */
#ifndef RUSE_CMSHARE_UCMA_RESPONSE_H
#define RUSE_CMSHARE_UCMA_RESPONSE_H

#include <stddef.h>
#include <stdint.h>

/*
 * cmd: the bytes of a write(), header included, any alignment. Returns the address in the program's memory that the
 * response is written to, and sets *room: the response has at most so many bytes, and no more than the header allows.
 * 0 and a *room of 0: the command has no response, is unknown, or is too short to have the address.
 */
uint64_t cmshare_response(const void *cmd, size_t len, size_t *room);

#endif
