/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Findings of `ruse run --check` that the user does not want to see. The caller has the engine lock. */
#ifndef RUSE_ENGINE_SUPPRESS_H
#define RUSE_ENGINE_SUPPRESS_H

#include "engine/explain.h"

/* Reads the file, up to 16 KiB of it. Warns of lines that are none. */
void suppress_read(const char *path);
/* Is a finding with this id and stack suppressed? NULL: the stack is not known. */
bool suppress_matches(uint32_t id, const struct explain_frames *s);

#endif
