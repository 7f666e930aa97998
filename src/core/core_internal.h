/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RUSE_CORE_INTERNAL_H
#define RUSE_CORE_INTERNAL_H

/* Asks the kernel about mappings once, at open, so that the first REG_MR does not pay for building /proc/self. */
void mr_warm(void);

#endif
