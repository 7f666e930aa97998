/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The same tests over the way for processors without guarded moves; these symbols win over the library's. */
#define UMEM_PORTABLE 1
#include "core/umem.c"
#include "core/umem_crc.c"
#undef PAGE
#include "core/test-umem.c"
