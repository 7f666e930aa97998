/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For tests only: single rounds of the event loop. */
#ifndef RUSE_LOOP_TESTING_H
#define RUSE_LOOP_TESTING_H

#include "base/testing.h"
#include "loop/loop.h"

/* Runs one round, which must have an event within some seconds. Then calls settle(), if it is not NULL, and frees l->dead. */
void loop_round(struct loop *l, void (*settle)(struct loop *l));
/* Frees the objects in l->dead, which begin with their node. */
void loop_free_dead(struct loop *l);

#endif
