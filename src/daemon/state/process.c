/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/proc.h"
#include "daemon/state/process.h"
#include "ipc/ipc.h"

struct process *process_by_number(const struct processes *ps, uint32_t proc)
{
	struct process *pr;

	list_for_each_entry(pr, &ps->list, node)
		if (proc && pr->proc == proc)
			return pr;
	return NULL;
}

struct process *process_by_pid(const struct processes *ps, uint64_t pid)
{
	struct process *pr;

	list_for_each_entry(pr, &ps->list, node)
		if (pr->proc && pr->pid > 0 && (uint64_t)pr->pid == pid)
			return pr;
	return NULL;
}

/* Reads with pread() and does not map: a missing page is then an error instead of a SIGBUS. */
int process_page(const struct process *pr, struct proc_page *copy)
{
	if (pr->page_fd < 0)
		return -ENOENT;
	if (pread(pr->page_fd, copy, sizeof(*copy), 0) != (ssize_t)sizeof(*copy))
		return -EIO;
	return copy->magic == PROC_PAGE_MAGIC && copy->version == IPC_VERSION ? 0 : -EPROTO;
}

char process_state(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	return (char)max(pid > 0 ? proc_state(path) : 0, 0);
}
