/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CRC-32 (polynomial 0x04c11db7, reflected, inverted before and after), with the
 * results of libdeflate_crc32(). Uses AVX-512 for long input (crc_wide.h), libdeflate
 * otherwise.
 */
#ifndef RUSE_WIRE_CRC_H
#define RUSE_WIRE_CRC_H

#include "base/util.h"

/* crc: 0, or the CRC of the preceding bytes. */
uint32_t crc32_add(uint32_t crc, const void *buf, size_t len);
#endif
