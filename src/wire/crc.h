/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CRC-32 (polynomial 0x04c11db7, reflected, inverted before and after), as
 * libdeflate_crc32() gives it, and by it but for what a packet's payload is long
 * enough to gain from.
 */
#ifndef RUSE_WIRE_CRC_H
#define RUSE_WIRE_CRC_H

#include "base/util.h"

/* crc: 0, or that of what comes before. */
uint32_t crc32_add(uint32_t crc, const void *buf, size_t len);
/*
 * Looks whether libdeflate or a table is the quicker one here: where the processor is emulated,
 * a carry-less multiplication may be a loop. now: a clock. The sums are the same.
 */
void crc32_tune(ns_t (*now)(void));

#endif
