/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Runs a command under a seccomp filter:
 *
 *   seccomp WHAT ERRNO CMD...
 *
 * WHAT names a row of the table below, which stands for a system call. This call then fails with
 * the error number ERRNO: if the row has bits, only when its argument number `arg` has one of the
 * bits set; otherwise always. "flags" selects all rows of the group VARIANT with bits, "calls" all
 * of them without bits. "container" selects clone3 (ENOSYS) and the calls that ruse or its
 * tools make and Docker's default profile refuses to a container without capabilities.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/memfd.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "verbs.h"

#define NAMESPACES                                                                           \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |       \
	 CLONE_NEWPID | CLONE_NEWNET)

static const struct row {
	const char *name;
	unsigned int nr, arg, bits;
	enum { VARIANT, CONTAINER, ALONE } group; /* ALONE: only by its name */
} rows[] = {
	{ "eventfd2", SYS_eventfd2, 1, EFD_CLOEXEC | EFD_NONBLOCK, VARIANT },
	{ "memfd_create", SYS_memfd_create, 1, MFD_CLOEXEC, VARIANT },
	{ "memfd", SYS_memfd_create, 0, 0, ALONE },
	{ "accept4", SYS_accept4, 3, SOCK_CLOEXEC | SOCK_NONBLOCK, VARIANT },
	{ "socketpair", SYS_socketpair, 1, SOCK_CLOEXEC | SOCK_NONBLOCK, VARIANT },
	{ "pidfd_open", SYS_pidfd_open, 0, 0, VARIANT },
	{ "epoll_pwait2", SYS_epoll_pwait2, 0, 0, VARIANT },
	{ "clone3", SYS_clone3, 0, 0, CONTAINER },
	{ "clone", SYS_clone, 0, NAMESPACES, CONTAINER },
	{ "unshare", SYS_unshare, 0, 0, CONTAINER },
	{ "setns", SYS_setns, 0, 0, CONTAINER },
	{ "mount", SYS_mount, 0, 0, CONTAINER },
	{ "bpf", SYS_bpf, 0, 0, CONTAINER },
	{ "perf_event_open", SYS_perf_event_open, 0, 0, CONTAINER },
	{ "userfaultfd", SYS_userfaultfd, 0, 0, CONTAINER },
	{ "kcmp", SYS_kcmp, 0, 0, CONTAINER },
	{ "pidfd_getfd", SYS_pidfd_getfd, 0, 0, CONTAINER },
	{ "process_madvise", SYS_process_madvise, 0, 0, CONTAINER },
	{ "process_vm_readv", SYS_process_vm_readv, 0, 0, CONTAINER },
	{ "process_vm_writev", SYS_process_vm_writev, 0, 0, CONTAINER },
	{ "mbind", SYS_mbind, 0, 0, CONTAINER },
	{ "get_mempolicy", SYS_get_mempolicy, 0, 0, CONTAINER },
	{ "set_mempolicy", SYS_set_mempolicy, 0, 0, CONTAINER },
};

#define ROWS (sizeof(rows) / sizeof(*rows))

static void install(size_t i, unsigned int error)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, rows[i].nr, 0, 3),
		/* The low half of the argument, little-endian. */
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 (unsigned int)offsetof(struct seccomp_data, args) + 8 * rows[i].arg),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, rows[i].bits, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(f) / sizeof(*f), f };

	if (!rows[i].bits)
		f[3] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog)) {
		fprintf(stderr, "no seccomp filter here: %m\n");
		exit(77);
	}
}

static bool selected(const struct row *r, const char *what)
{
	if (!strcmp(what, "container"))
		return r->group == CONTAINER;
	return !strcmp(what, r->name) ||
	       (r->group == VARIANT && !strcmp(what, r->bits ? "flags" : "calls"));
}

int main(int argc, char **argv)
{
	size_t n = 0;

	if (argc < 4)
		die("usage: seccomp WHAT ERRNO CMD...");
	for (size_t i = 0; i < ROWS; i++) {
		bool missing = rows[i].nr == SYS_clone3 && !strcmp(argv[1], "container");

		if (!selected(&rows[i], argv[1]))
			continue;
		install(i, missing ? ENOSYS : (unsigned int)atoi(argv[2]));
		n++;
	}
	if (!n)
		die("%s?", argv[1]);
	execvp(argv[3], argv + 3);
	die("%s: %m", argv[3]);
}
