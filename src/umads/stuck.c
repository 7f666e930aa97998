/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "umads/umads_internal.h"

struct stuck_fd {
	umad_wait_fn fn;
	void *arg;
	const char *dev;
};

static void stuck_fd_wait(void *arg, const struct why *why, ns_t since)
{
	const struct stuck_fd *s = arg;

	s->fn(s->arg, why, since, s->dev);
}

void umads_stuck(const struct umads *us, int pid, umad_wait_fn fn, void *arg)
{
	const struct umad_fd *u;

	for (uint32_t i = 0; (u = idtable_next(&us->ids, &i)); i++) {
		struct stuck_fd s = { fn, arg, u->of->ibdev };

		if (u->file && u->pid == pid)
			umad_file_stuck(u->file, stuck_fd_wait, &s);
	}
}
