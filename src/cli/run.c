/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ruse run: puts libruse.so into LD_PRELOAD, sets an environment variable (RUSE_*) for each option
 * given, which libruse.so reads, and executes the program. It does not start rused: libruse.so does
 * that when the program first uses RDMA.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static void run_help(void)
{
	puts("usage: ruse run [options] [--] CMD...\n"
	     "Runs CMD with libruse.so preloaded, so that it sees the RDMA devices of ruse.\n\n"
	     "  --no-cma         no cross-memory copies: copy large messages through the ring\n"
	     "  --no-direct      RDMA WRITE and READ are always executed by the responder\n"
	     "  --no-poll-wrap   polling a completion queue does not drive the engine\n"
	     "  --explain        tell the first failure of each kind, with its reason and the stack\n"
	     "  --link udp       use UDP port 4791 also to programs of this host\n"
	     "  --netdev LIST    rused makes its devices on these network interfaces: IF or NAME=IF,\n"
	     "                   separated by commas, or `all` (RUSE_NETDEV)\n"
	     "  --host NAME      run on this host of the fabric (`ruse fabric`), with its devices\n"
	     "  --dir DIR        use this run directory (RUSE_DIR); each is a host of its own\n"
	     "  --own            a rused for CMD and its descendants only; it ends with CMD\n"
	     "  -v, --verbose    log more: RUSE_LOG=info; twice: RUSE_LOG=debug\n"
	     "  -h, --help\n\n"
	     "The exit status is CMD's, or 127 if CMD or libruse.so is not found, 126 if CMD\n"
	     "cannot be executed, 125 if ruse itself fails.");
}

/*
 * Puts lib before the present value of LD_PRELOAD. In builds with RUSE_SANITIZE the sanitizer's
 * runtime comes before lib: it requires the first place. 0 or -errno.
 */
static int run_set_preload(const char *lib)
{
	const char *old = getenv("LD_PRELOAD");
	const char *first = RUSE_PRELOAD_FIRST;
	char *value;
	int rc;

	/* The loader splits LD_PRELOAD at spaces and colons; there is no quoting. */
	if (strpbrk(lib, " :")) {
		fprintf(stderr, "ruse: cannot preload '%s': its path contains a space or a colon\n",
			lib);
		return -EINVAL;
	}
	if (asprintf(&value, "%s%s%s%s%s", first, *first ? ":" : "", lib,
		     old && *old ? ":" : "", old ? old : "") < 0)
		return -ENOMEM;
	rc = setenv("LD_PRELOAD", value, 1) ? -errno : 0;
	free(value);
	return rc;
}

static void run_setenv(const char *name, const char *value)
{
	if (setenv(name, value, 1)) {
		fprintf(stderr, "ruse: %s: %s\n", name, strerror(errno));
		exit(EXIT_FAILED);
	}
}

/* rused reads RUSE_NETDEV when it starts: refuses another value while it runs. NULL: none is asked for. 0 or -EBUSY. */
static int run_check_netdev(const char *netdev)
{
	char *now = netdev ? cli_rused_netdevs() : NULL;
	int rc = now && strcmp(now, netdev) ? -EBUSY : 0;

	if (rc)
		fprintf(stderr, "ruse run: --netdev %s: rused is running %s%s; `ruse stop` ends it, "
			"or use a run directory of your own (--dir)\n", netdev,
			*now ? "with the interfaces " : "without this option", now);
	free(now);
	return rc;
}

/* Executes the program. Returns the exit status if that fails. */
static int run_program(char **argv)
{
	int err;

	execvp(argv[0], argv);
	err = errno;
	fprintf(stderr, "ruse: %s: %s\n", argv[0], strerror(err));
	return err == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}

enum {
	OPT_NO_CMA = 256, OPT_NO_DIRECT, OPT_NO_POLL_WRAP, OPT_EXPLAIN, OPT_LINK, OPT_HOST,
	OPT_DIR, OPT_NETDEV, OPT_OWN
};

static const struct option run_options[] = {
	{ "no-cma", no_argument, NULL, OPT_NO_CMA },
	{ "no-direct", no_argument, NULL, OPT_NO_DIRECT },
	{ "no-poll-wrap", no_argument, NULL, OPT_NO_POLL_WRAP },
	{ "explain", no_argument, NULL, OPT_EXPLAIN },
	{ "link", required_argument, NULL, OPT_LINK },
	{ "host", required_argument, NULL, OPT_HOST },
	{ "dir", required_argument, NULL, OPT_DIR },
	{ "netdev", required_argument, NULL, OPT_NETDEV },
	{ "own", no_argument, NULL, OPT_OWN },
	{ "verbose", no_argument, NULL, 'v' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 }
};

int cmd_run(int argc, char **argv)
{
	char lib[PATH_MAX];
	const char *netdev = NULL;
	bool own = false, dir = false;
	int verbose = 0;
	int opt;

	/* "+": stop at CMD, the first argument that is not an option. */
	argv[0] = (char *)"ruse run";	/* for getopt's messages */
	while ((opt = getopt_long(argc, argv, "+vh", run_options, NULL)) != -1) {
		switch (opt) {
		case OPT_NO_CMA:
			run_setenv("RUSE_NO_CMA", "1");
			break;
		case OPT_NO_DIRECT:
			run_setenv("RUSE_NO_DIRECT", "1");
			break;
		case OPT_NO_POLL_WRAP:
			run_setenv("RUSE_NO_POLL_WRAP", "1");
			break;
		case OPT_EXPLAIN:
			run_setenv("RUSE_EXPLAIN", "1");
			break;
		case OPT_LINK:
			if (strcmp(optarg, "udp")) {
				fprintf(stderr, "ruse run: --link %s: unknown link; use udp\n",
					optarg);
				return EXIT_FAILED;
			}
			run_setenv("RUSE_LINK", optarg);
			break;
		case OPT_HOST:
			run_setenv("RUSE_HOST", optarg);
			break;
		case OPT_DIR:
			run_setenv("RUSE_DIR", optarg);
			dir = true;
			break;
		case OPT_NETDEV:
			run_setenv("RUSE_NETDEV", optarg);
			netdev = optarg;
			break;
		case OPT_OWN:
			own = true;
			break;
		case 'v':
			run_setenv("RUSE_LOG", verbose++ ? "debug" : "info");
			break;
		case 'h':
			run_help();
			return 0;
		default:
			fputs("See `ruse run --help`.\n", stderr);
			return EXIT_FAILED;
		}
	}
	if (own && dir) {
		fputs("ruse run: --own and --dir exclude each other: --own makes a run directory of its own\n", stderr);
		return EXIT_FAILED;
	}
	if (optind == argc) {
		fputs("ruse run: missing command; see `ruse run --help`\n", stderr);
		return EXIT_FAILED;
	}
	if (cli_find_file_or_say("libruse.so", lib))
		return EXIT_NOT_FOUND;
	if (run_check_netdev(own ? NULL : netdev) || run_set_preload(lib))
		return EXIT_FAILED;
	return own ? cli_run_own(argv + optind, run_program) : run_program(argv + optind);
}
