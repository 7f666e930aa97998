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
	      "`ruse help COMMAND` lists the options of a command. See also ruse(1) and ruse(7).\n", f);
}

static int cli_unknown(const char *word)
{
	const char *names[ARRAY_SIZE(subcommands) + 1] = { NULL };

	for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++)
		names[i] = subcommands[i].name;
	cli_check_word("ruse", names, word);
	return EXIT_USAGE;
}

static const struct subcommand *cli_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++)
		if (!strcmp(name, subcommands[i].name))
			return &subcommands[i];
	return NULL;
}

/* `ruse help COMMAND` */
static int cli_help(char *name)
{
	const struct subcommand *c = cli_find(name);
	char *args[] = { name, (char *)"--help", NULL };

	return c ? c->fn(2, args) : cli_unknown(name);
}

int main(int argc, char **argv)
{
	const struct subcommand *c;

	if (argc < 2) {
		cli_usage(stderr);
		return EXIT_USAGE;
	}
	if (argc > 2 && !strcmp(argv[1], "help") && strcmp(argv[2], "help"))
		return cli_help(argv[2]);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		cli_usage(stdout);
		return 0;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("ruse " RUSE_VERSION);
		return 0;
	}
	c = cli_find(argv[1]);
	return c ? c->fn(argc - 1, argv + 1) : cli_unknown(argv[1]);
}
