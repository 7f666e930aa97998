/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ruse: the command line program. Its first argument names a subcommand, which parses the
 * other arguments itself.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

#ifndef RUSE_VERSION
#error "CMake defines RUSE_VERSION"
#endif

static const struct subcommand {
	const char *name;
	const char *help;
	int (*fn)(int argc, char **argv);
} subcommands[] = {
	{ "run", "run a program with RDMA", cmd_run },
	{ "status", "list devices, processes, objects and links", cmd_status },
	{ "capture", "print packets of running programs, or write them for Wireshark", cmd_capture },
	{ "explain", "say why something failed, and what to do", cmd_explain },
	{ "doctor", "check what this machine allows", cmd_doctor },
	{ "fault", "lose, delay and corrupt packets by rules", cmd_fault },
	{ "fabric", "simulate an InfiniBand fabric", cmd_fabric },
	{ "stop", "ask rused to exit", cmd_stop },
};

static void cli_usage(FILE *f)
{
	size_t i;

	fputs("usage: ruse COMMAND [options]\n"
	      "RDMA (InfiniBand verbs) for unmodified programs, on any Linux machine.\n\n", f);
	for (i = 0; i < ARRAY_SIZE(subcommands); i++)
		fprintf(f, "  %-8s %s\n", subcommands[i].name, subcommands[i].help);
	fputs("\n  --help, --version\n\n"
	      "`ruse COMMAND --help` lists the options of a command. See also ruse(1) and ruse(7).\n", f);
}

int main(int argc, char **argv)
{
	size_t i;

	if (argc < 2) {
		cli_usage(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		cli_usage(stdout);
		return 0;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("ruse " RUSE_VERSION);
		return 0;
	}
	for (i = 0; i < ARRAY_SIZE(subcommands); i++)
		if (!strcmp(argv[1], subcommands[i].name))
			return subcommands[i].fn(argc - 1, argv + 1);
	fprintf(stderr, "ruse: unknown command '%s'; see `ruse --help`\n", argv[1]);
	return EXIT_USAGE;
}
