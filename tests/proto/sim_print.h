/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RUSE_TESTS_PROTO_SIM_PRINT_H
#define RUSE_TESTS_PROTO_SIM_PRINT_H

#include <stddef.h>
#include "wire/seg.h"

/* Text of a segment, as "RC SEND start end psn 5+3 qp 0x11<-0x12 len 2600 ackreq", cut to the room. */
void sim_print(const struct seg *seg, char *buf, size_t size);

#endif
