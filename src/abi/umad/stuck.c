/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/umad/stuck.h"
#include "abi/umad/umad_internal.h"

void umad_file_stuck(const struct umad_file *f, mad_stuck_fn fn, void *arg)
{
	for (int i = 0; i < UMAD_MAX_AGENTS; i++)
		if (f->agents[i].agent)
			mad_agent_stuck(f->agents[i].agent, fn, arg);
}
