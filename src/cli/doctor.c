/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ruse doctor: runs all checks and prints two lines for each: finding and meaning. With a PROGRAM it tells whether that will
 * see ruse's devices (doctor_program.c) and checks nothing else.
 */
#include <getopt.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/doctor.h"
#include "cli/doctor_program.h"

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
	{ "mapped memory", doctor_mapped },
	{ "RUSE_MEMORY", doctor_memory },
	{ "memory limits", doctor_memory_limits },
	{ "huge pages", doctor_hugepages },
	{ "allocator", doctor_allocator },
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

static int doctor_help(bool asked)
{
	if (asked)
		puts("usage: ruse doctor [--json] [PROGRAM [ARG...]]\n"
		     "Checks what ruse needs and what it can use on this machine; with PROGRAM, whether\n"
		     "that program will see ruse's devices. PROGRAM is not run; it may be a library, too.\n"
		     "The exit status is 1 if something that ruse needs is missing, or PROGRAM will not\n"
		     "see the devices.\n\n"
		     "  --json     print JSON\n"
		     "  -h, --help");
	return asked ? 0 : EXIT_USAGE;
}

static void doctor_print(const char *name, const struct finding *f)
{
	bool colour = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");

	printf("%s%s%s  %-20s %s\n      %-20s %s\n", colour ? verdicts[f->verdict].colour : "",
	       verdicts[f->verdict].text, colour ? "\033[0m" : "", name, f->what, "", f->meaning);
}

static void doctor_add(struct json_object *all, const char *name, const struct finding *f)
{
	static const char *const names[] = { [CHECK_OK] = "ok", [CHECK_WARN] = "warn",
					     [CHECK_FAIL] = "fail" };
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "name", json_object_new_string(name));
	json_object_object_add(o, "verdict", json_object_new_string(names[f->verdict]));
	json_object_object_add(o, "what", json_object_new_string(f->what));
	json_object_object_add(o, "meaning", json_object_new_string(f->meaning));
	json_object_array_add(all, o);
}

/* Prints the findings. Takes the reference to them. */
static void doctor_put(struct json_object *all)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "checks", all);
	cli_put_json(o);
	json_object_put(o);
}

/* Where findings go. */
struct doctor_out {
	struct json_object *all;	/* NULL: to be printed as text */
	int count[CHECK_FAIL + 1];
};

static void doctor_tell(struct doctor_out *out, const char *name, const struct finding *f)
{
	out->count[f->verdict]++;
	if (out->all)
		doctor_add(out->all, name, f);
	else
		doctor_print(name, f);
}

static void doctor_tell_judged(struct judge *j, const char *name, const struct finding *f)
{
	doctor_tell(j->arg, name, f);
}

int cmd_doctor(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	struct doctor_out out = { 0 };
	struct judge judge = { .tell = doctor_tell_judged, .arg = &out };
	bool json = false;
	int opt;

	argv[0] = (char *)"ruse doctor";	/* for getopt's messages */
	while ((opt = getopt_long(argc, argv, "+h", options, NULL)) != -1) {
		if (opt != 'j')
			return doctor_help(opt == 'h');
		json = true;
	}
	out.all = json ? json_object_new_array() : NULL;
	if (optind < argc)
		doctor_program(&judge, argv + optind);
	for (size_t i = 0; optind == argc && i < ARRAY_SIZE(checks); i++) {
		struct finding f = { .meaning = "" };

		checks[i].fn(&f);
		doctor_tell(&out, checks[i].name, &f);
	}
	if (out.all)
		doctor_put(out.all);
	else
		printf("\n%d ok, %d warnings, %d failures\n", out.count[CHECK_OK], out.count[CHECK_WARN],
		       out.count[CHECK_FAIL]);
	return out.count[CHECK_FAIL] ? 1 : 0;
}
