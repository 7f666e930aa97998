/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The connected processes: what the parts of rused know of each. Their connections are in daemon/clients.h. */
#ifndef RUSE_DAEMON_STATE_PROCESS_H
#define RUSE_DAEMON_STATE_PROCESS_H

#include <sys/types.h>

#include "base/list.h"
#include "ipc/pages.h"

struct processes {
	struct list_head list;	/* struct process */
	uint32_t count;
	uint32_t next_proc, next_place;
};

struct process {
	struct list_head node;	/* processes.list */
	pid_t pid;		/* from SO_PEERCRED; 0 = the process is not in a PID namespace that rused sees */
	uid_t uid;
	uint32_t proc;		/* its number; 0 = ruse */
	ns_t since;		/* when it has connected */
	char comm[16], sock_name[32];
	int page_fd;		/* memfd of its process page (struct proc_page); -1: none */
	uint32_t place;		/* its number in resource ids (RES_ID), unrelated to struct place; 0: none yet */
	uint32_t nctx[HOST_MAX_DEVS];	/* how often it has opened each device */
	uint64_t run;		/* the `ruse run` that has started it (reports/runs.h); 0: none */
	uint32_t capture;	/* host_capture.id of its capture; 0: it has none */
	const struct fabric_client *fabric;	/* the host of a fabric on which it runs (fabrics/client.h) */
};

/* NULL: none. */
struct process *process_by_number(const struct processes *ps, uint32_t proc);
/* The process with this PID that uses RDMA; NULL: none. */
struct process *process_by_pid(const struct processes *ps, uint64_t pid);
/* Copies its process page. 0 or -errno. */
int process_page(const struct process *pr, struct proc_page *copy);
/* The state letter of a process, as of proc(5); '\0': it cannot be read. */
char process_state(pid_t pid);

#endif
