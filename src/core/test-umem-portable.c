/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Runs test-umem.c on the variant UMEM_PORTABLE of core/umem.c: that for processors to which umem_arch.h gives no
 * guarded instructions, so that it copies by process_vm_writev(). The .c files included here define the functions of
 * umem.h once more; these take precedence over those of the library.
 */
#define UMEM_PORTABLE 1
#include "core/umem.c"
#include "core/umem_crc.c"
#include "core/test-umem.c"
