/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ruse doctor: runs all checks and prints two lines for each: finding and meaning. */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/doctor.h"

static const struct check {
	const char *name;
	void (*fn)(struct finding *f);
} checks[] = {
	{ "libruse.so, rused", doctor_library },
	{ "libibverbs", doctor_libibverbs },
	{ "rxe provider", doctor_provider },
	{ "run directory", doctor_rundir },
	{ "rused", doctor_rused },
	{ "network interface", doctor_netdev },
	{ "sealed memory files", doctor_memfd },
	{ "cross-memory attach", doctor_cross_memory },
	{ "processors", doctor_cpus },
	{ "time slice", doctor_slice },
	{ "locked memory", doctor_memlock },
	{ "UDP port 4791", doctor_port },
	{ "namespaces", doctor_namespaces },
	{ "kernel RDMA devices", doctor_kernel_devices },
};

static const struct {
	const char *text, *colour;
} verdicts[] = {
	[CHECK_OK] = { "OK  ", "\033[32m" },
	[CHECK_WARN] = { "WARN", "\033[33m" },
	[CHECK_FAIL] = { "FAIL", "\033[31m" },
};

_Static_assert(ARRAY_SIZE(verdicts) == CHECK_FAIL + 1, "a word for each verdict");

void doctor_found(struct finding *f, enum verdict v, const char *meaning, const char *fmt, ...)
{
	va_list ap;

	f->verdict = v;
	f->meaning = meaning;
	va_start(ap, fmt);
	vsnprintf(f->what, sizeof(f->what), fmt, ap);
	va_end(ap);
}

int cmd_doctor(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	bool colour = isatty(STDOUT_FILENO);
	int opt, count[CHECK_FAIL + 1] = { 0 };
	size_t i;

	argv[0] = (char *)"ruse doctor";	/* for getopt's messages */
	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (opt != 'h')
			return EXIT_USAGE;
		puts("usage: ruse doctor\n"
		     "Checks what ruse needs and what it can use on this machine.\n"
		     "The exit status is 1 if something that ruse needs is missing.");
		return 0;
	}
	for (i = 0; i < ARRAY_SIZE(checks); i++) {
		struct finding f = { .meaning = "" };

		checks[i].fn(&f);
		count[f.verdict]++;
		printf("%s%s%s  %-20s %s\n      %-20s %s\n",
		       colour ? verdicts[f.verdict].colour : "", verdicts[f.verdict].text,
		       colour ? "\033[0m" : "", checks[i].name, f.what, "", f.meaning);
	}
	printf("\n%d ok, %d warnings, %d failures\n", count[CHECK_OK], count[CHECK_WARN],
	       count[CHECK_FAIL]);
	return count[CHECK_FAIL] ? 1 : 0;
}
