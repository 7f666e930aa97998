/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The checks of ruse doctor: each looks at one thing and reports one line. */
#ifndef RUSE_CLI_DOCTOR_H
#define RUSE_CLI_DOCTOR_H

#include "base/util.h"

enum verdict {
	CHECK_OK,
	CHECK_WARN,	/* works, with less */
	CHECK_FAIL,	/* programs will not run */
};

struct finding {
	enum verdict verdict;
	char what[160];		/* what was found */
	const char *meaning;	/* what that means, and what to do about it */
};

/* Fills the finding; text by printf. */
void found(struct finding *f, enum verdict v, const char *meaning, const char *fmt, ...)
	__printf(4, 5);

/* doctor_machine.c: what the kernel and the administrator allow. */
void check_memfd(struct finding *f);
void check_cross_memory(struct finding *f);
void check_port(struct finding *f);
void check_namespaces(struct finding *f);
void check_slice(struct finding *f);
void check_cpus(struct finding *f);
void check_memlock(struct finding *f);

/* doctor_parts.c: what is installed and running. */
void check_library(struct finding *f);
void check_provider(struct finding *f);
void check_libibverbs(struct finding *f);
void check_kernel_devices(struct finding *f);
void check_rundir(struct finding *f);
void check_rused(struct finding *f);

#endif
