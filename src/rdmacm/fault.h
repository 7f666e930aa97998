/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef RUSE_RDMACM_FAULT_H
#define RUSE_RDMACM_FAULT_H

#include "wire/fault.h"

/*
 * Does a rule of `ruse fault` make this step of connecting fail? Returns its number; 0: none does. peer: the destination
 * address as a GID; port: its port number; dev: index of the id's device, 0: none yet.
 */
typedef uint32_t rdmacm_fault_fn(void *ctx, enum fault_step step, const uint8_t peer[16],
				 uint32_t port, uint32_t dev);

struct rdmacm;
/* fn NULL: no rules are asked for, as after rdmacm_create(). */
void rdmacm_set_faults(struct rdmacm *rm, rdmacm_fault_fn *fn, void *ctx);

#endif
