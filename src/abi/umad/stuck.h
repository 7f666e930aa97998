/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The requests of a file that wait for a response, for `ruse explain --stuck`. */
#ifndef RUSE_ABI_UMAD_STUCK_H
#define RUSE_ABI_UMAD_STUCK_H

#include "mad/stuck.h"

struct umad_file;

void umad_file_stuck(const struct umad_file *f, mad_stuck_fn fn, void *arg);

#endif
