/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ruse: the command line program. Its first argument names a subcommand, which parses the
 * other arguments itself.
 */
#include <stdio.h>
#include <stdlib.h>
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
	{ "shake", "look for what the specification permits and the program does not survive", cmd_shake },
	{ "explain", "say why something failed, and what to do", cmd_explain },
	{ "report", "write a page of what runs now", cmd_report },
	{ "doctor", "check what this machine allows", cmd_doctor },
	{ "fault", "lose, delay and corrupt packets by rules", cmd_fault },
	{ "fabric", "simulate an InfiniBand fabric", cmd_fabric },
	{ "like", "show the adapters that devices can be like", cmd_like },
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

/* `ruse help COMMAND`, `ruse --help COMMAND` */
static int cli_help(char *name)
{
	const struct subcommand *c = cli_find(name);
	char *args[] = { name, (char *)"--help", NULL };

	return c ? c->fn(2, args) : cli_unknown(name);
}

static bool cli_is_help(const char *word)
{
	return !strcmp(word, "help") || !strcmp(word, "--help") || !strcmp(word, "-h");
}

static int cli_run(int argc, char **argv)
{
	const struct subcommand *c = argc > 1 ? cli_find(argv[1]) : NULL;
	bool help = argc > 1 && cli_is_help(argv[1]);
	bool version = argc > 1 && (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"));
	int most = help ? 3 : 2;	/* arguments */

	if (c)
		return cli_dir_absolute() ? c->fn(argc - 1, argv + 1) : 1;
	if (argc < 2) {
		cli_usage(stderr);
		return EXIT_USAGE;
	}
	if ((help || version) && argc > most) {
		fprintf(stderr, "ruse: unexpected argument '%s'\n", argv[most]);
		return EXIT_USAGE;
	}
	if (help && argc > 2 && !cli_is_help(argv[2]))
		return cli_help(argv[2]);
	if (help)
		cli_usage(stdout);
	else if (version)
		puts("ruse " RUSE_VERSION);
	else
		return cli_unknown(argv[1]);
	return 0;
}

int main(int argc, char **argv)
{
	cli_out_begin();
	return cli_out_end(cli_run(argc, argv));
}
