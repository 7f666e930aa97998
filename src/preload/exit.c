/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * At exit the engine sends what it still holds back for its peers, such as delayed ACKs. A vfork
 * child runs on its parent's memory and sends nothing.
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
