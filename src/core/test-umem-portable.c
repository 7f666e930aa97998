/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * test-umem.c with the code for processors without guarded moves. The functions included
 * here take precedence over those of the library.
 */
#define UMEM_PORTABLE 1
#include "core/umem.c"
#include "core/umem_crc.c"
#undef PAGE
#include "core/test-umem.c"
