/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ruse stop: asks rused to exit as soon as it has no client, or with --now at once. It does not
 * wait until rused has exited.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static void stop_help(void)
{
	puts("usage: ruse stop [--now]\n"
	     "Asks the rused of this user and network namespace to exit when its last client has\n"
	     "disconnected. The next program that uses RDMA starts a new rused.\n\n"
	     "  --now      exit at once: established connections continue, commands fail until\n"
	     "             a new rused has taken over\n"
	     "  -h, --help");
}

int cmd_stop(int argc, char **argv)
{
	static const struct option options[] = {
		{ "now", no_argument, NULL, 'n' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	struct ipc_shutdown req = { 0 };
	struct ipc_conn c;
	uint32_t pid;
	int opt, rc;

	argv[0] = (char *)"ruse stop";	/* for getopt's messages */
	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (opt) {
		case 'n':
			req.now = 1;
			break;
		case 'h':
			stop_help();
			return 0;
		default:
			return EXIT_USAGE;
		}
	}
	if (optind != argc) {
		fprintf(stderr, "ruse stop: unexpected argument '%s'\n", argv[optind]);
		return EXIT_USAGE;
	}
	rc = cli_rused_connect(&c, &pid);
	if (cli_rused_absent(rc)) {
		puts("no rused is running here");
		return 0;
	}
	if (!rc)
		rc = ipc_call(&c, IPC_SHUTDOWN, &req, sizeof(req), NULL, 0, NULL, NULL, NULL, NULL);
	/* With --now rused may exit before it answers. */
	if (rc && !(req.now && rc == -EPIPE))
		return cli_rused_complain("stop", rc);
	ipc_close(&c);
	printf("rused (pid %u) exits%s\n", pid,
	       req.now ? "" : " when its last client has disconnected");
	return 0;
}
