/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A program may end on its last completion: what the engine still holds back
 * for its peers goes out. A vfork child ends on its parent's memory and has
 * nothing of its own.
 */
#include <stdlib.h>
#include <unistd.h>
#include "engine/engine.h"
#include "preload/preload.h"

static void ending(void)
{
	if (process_owns_tables())
		engine_ending();
}

__attribute__((destructor)) static void unload(void)
{
	ending();
}

HOOK void _exit(int status)
{
	ending();
	REAL(_exit)(status);
	__builtin_unreachable();
}

HOOK void _Exit(int status)
{
	_exit(status);
}
