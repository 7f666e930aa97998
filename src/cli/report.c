/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ruse report: the page of `ruse run --report`, of what runs now. */
#include <errno.h>
#include <getopt.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/report_data.h"
#include "cli/watch.h"

#define REPORT_SECONDS_MAX 86400

static void report_help(void)
{
	puts("usage: ruse report -o FILE [--seconds N]\n"
	     "Writes an HTML page of what runs now: failures with reasons, what hangs, packets, the\n"
	     "processes, the fabric, objects, and rused's log.\n\n"
	     "  -o, --output FILE  the page; - is standard output\n"
	     "  --seconds N        capture packets for so long (1); 0: do not\n"
	     "  -h, --help");
}

/* Watches what runs, if a rused does. */
static void report_watch(struct watch *w, struct ipc_conn *c, unsigned long seconds)
{
	size_t left;
	int rc = cli_rused_connect(c, NULL);

	w->report = !rc && seconds;
	w->rused = c;
	watch_open(w);
	if (!rc) {
		watch_for(w, seconds * NS_S);
		w->stuck = cli_stuck(0, &left, &rc);
		ipc_close(c);
	}
}

static int report_make(const char *path, unsigned long seconds)
{
	struct report_data d = { .r = { .ran = false } };
	struct watch w = { .report = false };
	struct ipc_conn c = { .fd = -1 };
	FILE *f = strcmp(path, "-") ? fopen(path, "we") : stdout;
	int err = 0;

	if (!f) {
		fprintf(stderr, "ruse report: %s: %s\n", path, strerror(errno));
		return 1;
	}
	report_watch(&w, &c, seconds);
	d.r.stuck = w.stuck;
	report_collect(&d, &w);
	report_write(f, &d.r);
	report_release(&d);
	watch_close(&w);
	if (f == stdout)	/* cli_out_end() tells why it could not be written */
		return 0;
	if (fflush(f) || ferror(f))
		err = errno ? errno : EIO;
	if (fclose(f) && !err)
		err = errno;
	if (err)
		fprintf(stderr, "ruse report: %s: %s\n", path, strerror(err));
	return err ? 1 : 0;
}

int cmd_report(int argc, char **argv)
{
	static const struct option options[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "seconds", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	const char *path = NULL;
	unsigned long seconds = 1;
	char *end;
	int opt;

	argv[0] = (char *)"ruse report";	/* for getopt's messages */
	while ((opt = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
		switch (opt) {
		case 'o':
			path = optarg;
			break;
		case 's':
			seconds = strtoul(optarg, &end, 10);
			if (*optarg < '0' || *optarg > '9' || *end ||
			    seconds > REPORT_SECONDS_MAX) {
				fprintf(stderr, "ruse report: --seconds: '%s' is not a number of seconds, 0 to %d\n", optarg,
					REPORT_SECONDS_MAX);
				return EXIT_USAGE;
			}
			break;
		case 'h':
			report_help();
			return 0;
		default:
			return EXIT_USAGE;
		}
	}
	if (optind != argc) {
		fprintf(stderr, "ruse report: unexpected argument '%s'\n", argv[optind]);
		return EXIT_USAGE;
	}
	if (!path || !*path) {
		fputs("ruse report: -o FILE is needed\n", stderr);
		return EXIT_USAGE;
	}
	return report_make(path, seconds);
}
