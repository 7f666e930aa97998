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

#include "cli/child.h"
#include "cli/cli.h"
#include "cli/doctor_program.h"
#include "cli/gate.h"
#include "base/printable.h"
#include "like/load.h"

static void run_help(void)
{
	puts("usage: ruse run [options] [--] CMD...\n"
	     "Runs CMD with libruse.so preloaded, so that it sees the RDMA devices of ruse.\n\n"
	     "  --no-cma         no cross-memory copies: copy large messages through the ring\n"
	     "  --no-direct      RDMA WRITE and READ are always executed by the responder\n"
	     "  --no-poll-wrap   polling a completion queue does not drive the engine\n"
	     "  --explain        tell the first failure of each kind, with its reason and the stack\n"
	     "  --check          look for misuse of verbs; exit status 98 if errors were found\n"
	     "  --check=WORDS    the same; words, separated by commas: hints, poison,\n"
	     "                   locate, log=FILE, suppressions=FILE\n"
	     "  --shake          take decisions that the specification permits and a desk never shows\n"
	     "  --shake=SEED     the same ones again\n"
	     "  --shake-kinds LIST  only decisions of these kinds; `help` lists them\n"
	     "  --shake-only LIST   only the decisions at these points, or `none`\n"
	     "  --link udp       use UDP port 4791 also to programs of this host\n"
	     "  --netdev LIST    rused makes its devices on these network interfaces: IF or NAME=IF,\n"
	     "                   separated by commas, or `all` (RUSE_NETDEV)\n"
	     "  --like NAME      the devices have the limits of an adapter (`ruse like list`, RUSE_LIKE)\n"
	     "  --host NAME      run on this host of the fabric (`ruse fabric`), with its devices\n"
	     "  --dir DIR        use this run directory (RUSE_DIR); each is a host of its own\n"
	     "  --own            a rused for CMD and its descendants only; it ends with CMD\n"
	     "  --expect LIST    conditions for CMD and its descendants, separated by commas: rdma,\n"
	     "                   bytes>=N, ops>=N, processes>=N, connections>=N, no-errors,\n"
	     "                   no-retries, no-leaks; N may end with K, M or G\n"
	     "  --strict         the same as --expect rdma,no-errors,no-leaks\n"
	     "  --fail-status N  exit status if CMD succeeds and a condition fails (99) or --check has\n"
	     "                   found errors (98)\n"
	     "  --summary        tell what CMD and its descendants have done by RDMA, on stderr\n"
	     "  --summary=FILE   the same as JSON in FILE\n"
	     "  --junit FILE     JUnit XML with a test case for each condition\n"
	     "  --report FILE    an HTML page with what was done, what failed and why, the last packets\n"
	     "                   and what hung\n"
	     "  --timeout TIME   tell what hangs after TIME (90, 1.5s, 5m, 1h) and end CMD: SIGTERM, after\n"
	     "                   5 s SIGKILL; the exit status is 124\n"
	     "  -v, --verbose    log more: RUSE_LOG=info; twice: RUSE_LOG=debug\n"
	     "  -h, --help\n\n"
	     "The exit status is CMD's, or 127 if CMD or libruse.so is not found, 126 if CMD\n"
	     "cannot be executed, 125 if ruse itself fails, 124 after --timeout, 99 if a condition\n"
	     "fails, 98 if --check has found errors.");
}

static void run_setenv(const char *name, const char *value)
{
	if (setenv(name, value, 1)) {
		fprintf(stderr, "ruse: %s: %s\n", name, strerror(errno));
		exit(EXIT_FAILED);
	}
}

/*
 * rused reads RUSE_NETDEV and RUSE_LIKE when it starts: refuses another value while it runs. value NULL: none is asked for.
 * 0 or -EBUSY.
 */
static int run_check_choice(const char *option, const char *member, const char *with,
			    const char *value)
{
	char *now = value ? cli_rused_choice(member) : NULL;
	int rc = now && strcmp(now, value) ? -EBUSY : 0;

	if (rc)
		fprintf(stderr, "ruse run: --%s %s: rused is running %s%s; `ruse stop` ends it, "
			"or use a run directory of your own (--dir)\n", option, value,
			*now ? with : "without this option", now);
	free(now);
	return rc;
}

/*
 * RUSE_LIKE, with an absolute path if it is that of a file: rused has another working directory. NULL: not set, or it has
 * told what is wrong.
 */
static const char *run_like(bool *ok)
{
	const char *spec = getenv("RUSE_LIKE");
	int len = spec ? (int)strcspn(spec, ",") : 0;
	char real[PATH_MAX], *file = NULL, *all;

	*ok = true;
	if (spec && memchr(spec, '/', (size_t)len) && asprintf(&file, "%.*s", len, spec) > 0 &&
	    realpath(file, real) && asprintf(&all, "%s%s", real, spec + len) > 0) {
		*ok = !strchr(real, ',');
		if (!*ok)
			fprintf(stderr, "ruse run: %s: the path of a file about an adapter has no comma\n", real);
		run_setenv("RUSE_LIKE", all);
		free(all);
	}
	free(file);
	return *ok ? getenv("RUSE_LIKE") : NULL;
}

/* Refuses a name before the program runs, which would only tell that rused does not start. */
static bool run_check_like(const char *spec)
{
	char failure[300] = "";
	struct like like;

	if (!like_load(spec, &like, NULL, failure, sizeof(failure)))
		return true;
	fprintf(stderr, "ruse run: --like %s: %s\n", spec, failure);
	return false;
}

/* What a file said when rused started is what its devices are like. 0 or -EBUSY. */
static int run_check_file(const char *like)
{
	char *changed = strchr(like, '/') ? cli_rused_choice("like_changed") : NULL;
	int rc = changed && *changed ? -EBUSY : 0;

	if (rc)
		fprintf(stderr, "ruse run: --like %s: the file has changed since rused has read it; `ruse stop` ends it\n", like);
	free(changed);
	return rc;
}

/*
 * Creates the run directory that --dir names and says so; not the directories above it, so that a wrong path is an error
 * here and not in the program's log. 0 or -errno.
 */
static int run_make_dir(const char *dir)
{
	char path[IPC_RUNDIR_MAX];
	bool there = ipc_rundir_there(path, sizeof(path)) != -ENOENT;
	int rc = ipc_rundir(path, sizeof(path));

	if (!rc && !there)
		fprintf(stderr, "ruse run: --dir %s: created\n", dir);
	if (rc)
		fprintf(stderr, "ruse run: --dir %s: %s\n", dir,
			rc == -EPERM ? "it belongs to another user, or others may use it: its mode must be 0700" :
				       strerror(-rc));
	return rc;
}

/* An empty argument is a mistake, mostly a variable that is not set; for libruse.so an empty variable is none. */
static void run_setenv_option(const char *option, const char *name)
{
	if (!*optarg) {
		fprintf(stderr, "ruse run: --%s: the argument is empty\n", option);
		exit(EXIT_FAILED);
	}
	run_setenv(name, optarg);
}

static void run_warn_found(struct judge *j, const char *name, const struct finding *f)
{
	const char **program = j->arg;
	char *copy;

	(void)name;
	if (f->verdict == CHECK_FAIL && *program) {
		copy = printable_copy(*program);
		fprintf(stderr, "ruse run: warning: %s will not see the devices: %s; %s\n", copy ? copy : "it", f->what,
			f->meaning);
		free(copy);
		*program = NULL;
	}
}

/* Tells in one line why a program will not see ruse's devices. It is started all the same. */
static void run_warn(char **argv)
{
	const char *program = argv[0];
	struct judge judge = { .tell = run_warn_found, .arg = &program, .brief = true };

	doctor_program(&judge, argv);
}

enum {
	OPT_NO_CMA = 256, OPT_NO_DIRECT, OPT_NO_POLL_WRAP, OPT_EXPLAIN, OPT_CHECK, OPT_LINK,
	OPT_HOST, OPT_DIR, OPT_NETDEV, OPT_LIKE, OPT_OWN, OPT_EXPECT, OPT_STRICT, OPT_FAIL_STATUS,
	OPT_SUMMARY, OPT_JUNIT, OPT_REPORT, OPT_TIMEOUT, OPT_SHAKE, OPT_SHAKE_KINDS,
	OPT_SHAKE_ONLY
};

/* The variables of the options that are flags, from OPT_NO_CMA on. */
static const char *const run_flags[] = {
	"RUSE_NO_CMA", "RUSE_NO_DIRECT", "RUSE_NO_POLL_WRAP", "RUSE_EXPLAIN",
};

static const struct option run_options[] = {
	{ "no-cma", no_argument, NULL, OPT_NO_CMA },
	{ "no-direct", no_argument, NULL, OPT_NO_DIRECT },
	{ "no-poll-wrap", no_argument, NULL, OPT_NO_POLL_WRAP },
	{ "explain", no_argument, NULL, OPT_EXPLAIN },
	{ "check", optional_argument, NULL, OPT_CHECK },
	{ "shake", optional_argument, NULL, OPT_SHAKE },
	{ "shake-kinds", required_argument, NULL, OPT_SHAKE_KINDS },
	{ "shake-only", required_argument, NULL, OPT_SHAKE_ONLY },
	{ "link", required_argument, NULL, OPT_LINK },
	{ "host", required_argument, NULL, OPT_HOST },
	{ "dir", required_argument, NULL, OPT_DIR },
	{ "netdev", required_argument, NULL, OPT_NETDEV },
	{ "like", required_argument, NULL, OPT_LIKE },
	{ "own", no_argument, NULL, OPT_OWN },
	{ "expect", required_argument, NULL, OPT_EXPECT },
	{ "strict", no_argument, NULL, OPT_STRICT },
	{ "fail-status", required_argument, NULL, OPT_FAIL_STATUS },
	{ "summary", optional_argument, NULL, OPT_SUMMARY },
	{ "junit", required_argument, NULL, OPT_JUNIT },
	{ "report", required_argument, NULL, OPT_REPORT },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "verbose", no_argument, NULL, 'v' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 }
};

static bool run_is_shake(int opt)
{
	return opt == OPT_SHAKE || opt == OPT_SHAKE_KINDS || opt == OPT_SHAKE_ONLY;
}

/* An option of shake. False: it has told what is wrong. */
static bool run_shake_option(struct gate *g, int opt)
{
	int rc;

	g->wanted = true;
	if (opt != OPT_SHAKE_KINDS)
		return !(opt == OPT_SHAKE ? gate_shake_seed : gate_shake_only)(&g->shake, optarg);
	rc = gate_shake_kinds(&g->shake, optarg);
	if (rc > 0)
		exit(cli_out_end(0));
	return !rc;
}

/* An option of the gate. False: it has told what is wrong, or it is none. */
static bool run_gate_option(struct gate *g, int opt)
{
	const char *name = opt == OPT_JUNIT ? "junit" : opt == OPT_REPORT ? "report" : "summary";

	if (run_is_shake(opt))
		return run_shake_option(g, opt);
	if (opt == OPT_EXPECT || opt == OPT_STRICT)
		return !gate_expect(g, opt == OPT_STRICT ? GATE_STRICT : optarg);
	if (opt == OPT_FAIL_STATUS)
		return !gate_fail_status(g, optarg);
	if (opt == OPT_CHECK)
		return !gate_check(g, optarg);
	if (opt == OPT_TIMEOUT)
		return !gate_timeout(g, optarg);
	if (opt != OPT_SUMMARY && opt != OPT_JUNIT && opt != OPT_REPORT)
		return false;
	if (optarg && !*optarg) {
		fprintf(stderr, "ruse run: --%s: the argument is empty\n", name);
		return false;
	}
	if (opt == OPT_JUNIT)
		g->junit = optarg;
	else if (opt == OPT_REPORT)
		g->report = optarg;
	else if (optarg)
		g->json = optarg;
	else
		g->summary = true;
	g->wanted = true;
	return true;
}

/* Executes the program by one of three ways. The exit status; of the last way only if that fails. */
static int run_start(char **argv, struct gate *g)
{
	bool gate = g->wanted || g->timeout;

	if (g->own || gate)
		cli_child_begin();
	if (g->own)
		return cli_run_own(argv, cli_child_exec, gate ? g : NULL);
	return gate ? gate_run(g, argv, cli_child_exec) : cli_child_exec(argv);
}

static bool run_check_choices(const char *netdev, const char *like)
{
	return run_check_choice("netdev", "netdevs", "with the interfaces ", netdev) ||
	       run_check_choice("like", "like_spec", "like ", like) ||
	       (like && run_check_file(like));
}

/* True: it has told what is wrong. */
static bool run_check_usage(bool own_and_dir, bool no_command)
{
	if (own_and_dir)
		fputs("ruse run: --own and --dir exclude each other: --own makes a run directory of its own\n", stderr);
	else if (no_command)
		fputs("ruse run: missing command; see `ruse run --help`\n", stderr);
	return own_and_dir || no_command;
}

int cmd_run(int argc, char **argv)
{
	static struct gate gate;
	char lib[PATH_MAX];
	const char *netdev = NULL, *like = NULL, *spec;
	const char *dir = NULL;
	int verbose = 0;
	bool ok;
	int opt, from;

	/* "+": stop at CMD, the first argument that is not an option. */
	argv[0] = (char *)"ruse run";	/* for getopt's messages */
	while (from = optind, (opt = getopt_long(argc, argv, "+vh", run_options, NULL)) != -1) {
		if (!run_is_shake(opt))
			gate_shake_keep(&gate.shake, argv + from, argv + optind);
		switch (opt) {
		case OPT_NO_CMA:
		case OPT_NO_DIRECT:
		case OPT_NO_POLL_WRAP:
		case OPT_EXPLAIN:
			run_setenv(run_flags[opt - OPT_NO_CMA], "1");
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
			run_setenv_option("host", "RUSE_HOST");
			break;
		case OPT_DIR:
			run_setenv_option("dir", "RUSE_DIR");
			dir = optarg;
			break;
		case OPT_NETDEV:
			run_setenv_option("netdev", "RUSE_NETDEV");
			netdev = optarg;
			break;
		case OPT_LIKE:
			run_setenv_option("like", "RUSE_LIKE");
			like = optarg;
			break;
		case OPT_OWN:
			gate.own = true;
			break;
		case 'v':
			run_setenv("RUSE_LOG", verbose++ ? "debug" : "info");
			break;
		case 'h':
			run_help();
			return 0;
		default:
			if (run_gate_option(&gate, opt))
				break;
			fputs("See `ruse run --help`.\n", stderr);
			return EXIT_FAILED;
		}
	}
	if (run_check_usage(gate.own && dir, optind == argc))
		return EXIT_FAILED;
	if (gate_shake_set(&gate.shake))
		return EXIT_FAILED;
	if (cli_find_file_or_say("libruse.so", lib))
		return EXIT_NOT_FOUND;
	if (dir && (!cli_dir_absolute() || run_make_dir(dir)))
		return EXIT_FAILED;
	spec = run_like(&ok);
	if (!ok || (like && !run_check_like(spec)) ||
	    (!gate.own && run_check_choices(netdev, like ? spec : NULL)))
		return EXIT_FAILED;
	run_warn(argv + optind);
	if (cli_set_preload(lib))
		return EXIT_FAILED;
	return run_start(argv + optind, &gate);
}
