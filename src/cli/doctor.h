/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The checks of ruse doctor. Each fills one finding. */
#ifndef RUSE_CLI_DOCTOR_H
#define RUSE_CLI_DOCTOR_H

#include <sys/types.h>

#include "base/util.h"

enum verdict {
	CHECK_OK,
	CHECK_WARN,	/* programs work, but slower or without a feature */
	CHECK_FAIL,	/* programs do not work */
};

struct finding {
	enum verdict verdict;
	char what[512];		/* what was found */
	const char *meaning;	/* what the finding means for programs, and a remedy if there is one; not freed */
};

/* Fills *f. fmt and the arguments after it give f->what. */
void doctor_found(struct finding *f, enum verdict v, const char *meaning, const char *fmt, ...)
	__printf(4, 5);

/* doctor_machine.c: kernel features and system settings. */
void doctor_memfd(struct finding *f);
void doctor_cross_memory(struct finding *f);
void doctor_port(struct finding *f);
void doctor_namespaces(struct finding *f);
void doctor_slice(struct finding *f);
void doctor_cpus(struct finding *f);
void doctor_memlock(struct finding *f);

/*
 * Runs fn(pid, arg) in a child process, on another child process pid that permits access as libruse.so does. The
 * result of fn: 0 or -errno.
 */
int doctor_siblings(int (*fn)(pid_t pid, const void *arg), const void *arg);
/* Reads the byte at p of another process by process_vm_readv(). 0 or -errno. */
int doctor_read_other(pid_t pid, const void *p);

/* doctor_memory.c: memory that peers may map. */
void doctor_mapped(struct finding *f);
void doctor_memory(struct finding *f);
void doctor_memory_limits(struct finding *f);
void doctor_hugepages(struct finding *f);
void doctor_allocator(struct finding *f);

/* doctor_parts.c: installed files and rused. */
void doctor_library(struct finding *f);
void doctor_provider(struct finding *f);
void doctor_libibverbs(struct finding *f);
void doctor_kernel_devices(struct finding *f);
void doctor_rundir(struct finding *f);
void doctor_rused(struct finding *f);
/* Call after doctor_rused(), which reads the status of rused. */
void doctor_netdev(struct finding *f);

#endif
