/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Run directories beside that of this rused, which killed instances of rused have left. */
#ifndef RUSE_DAEMON_LIFE_LEFTOVERS_H
#define RUSE_DAEMON_LIFE_LEFTOVERS_H

#include <stdbool.h>

/* Functions of the owner: what the other parts of rused keep in a run directory. */
struct leftovers_ops {
	const char *latest;	/* name of the file that a rused with clients writes last */
	/* True if a process may still use the directory, of which run is a descriptor. */
	bool (*used)(int run);
	/* Removes the files from it, except lock, log and socket. */
	void (*clear)(int run);
};

/* Removes the directories. rundir: that of this rused, which stays. */
void leftovers_remove(const struct leftovers_ops *ops, const char *rundir);

#endif
