/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * At exit the engine sends what it still holds back for its peers, such as delayed ACKs. A vfork
 * child runs on its parent's memory and sends nothing.
 */
#include <stdlib.h>
#include <unistd.h>
#include "engine/engine.h"
#include "preload/preload.h"
#include "preload/provider.h"

static void exit_engine(void)
{
	if (preload_attached() && preload_owns_tables())
		engine_ending();
}

__attribute__((destructor)) static void preload_unload(void)
{
	/* Not in _exit(), which a signal handler may call: the loader's lock is taken. */
	if (preload_attached() && preload_owns_tables())
		provider_check();
	exit_engine();
}

HOOK void _exit(int status)
{
	exit_engine();
	REAL(_exit)(status);
	__builtin_unreachable();
}

HOOK void _Exit(int status)
{
	_exit(status);
}
