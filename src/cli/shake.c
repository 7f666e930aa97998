/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ruse shake: the options of a campaign (campaign.h). */
#include <errno.h>
#include <getopt.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "cli/campaign.h"
#include "cli/cli.h"
#include "like/load.h"

#define SHAKE_SEEDS 100u
#define SHAKE_MOST_SEEDS 100000000u
#define SHAKE_MOST_JOBS 256u
#define SHAKE_REPEATS 10u
#define SHAKE_MOST_REPEATS 1000u
#define SHAKE_DIR "ruse-shake"

static void shake_help(void)
{
	puts("usage: ruse shake [options] [--] CMD...\n"
	     "Runs CMD once for each seed, as `ruse run --shake=SEED` does, and looks for the decision that\n"
	     "makes it fail: by its exit status, a signal, a hang, or an option below. First CMD must pass\n"
	     "without decisions.\n\n"
	     "  -n, --seeds N      as many seeds (100)\n"
	     "  -j, --jobs J       as many runs at a time (1)\n"
	     "  --seed FIRST       the first seed (1); the others follow\n"
	     "  --kinds LIST       decisions of these kinds; `help` lists them\n"
	     "  --limit TIME       a run that takes longer hangs (90, 1.5s, 5m); default: 10 times as long as\n"
	     "                     the run without decisions, at least 10 s\n"
	     "  --repeat N         how often a run is repeated with and without a decision (10)\n"
	     "  --stop             stop after the first seed that fails\n"
	     "  --like LIST        each seed with the limits of each of these adapters\n"
	     "  --net              each run in a network namespace of its own, so that runs at the same time\n"
	     "                     can use the same TCP port; there is only the interface lo\n"
	     "  --check            a run fails also if `ruse run --check` finds errors\n"
	     "  --check=WORDS      the same, with words as of `ruse run`\n"
	     "  --expect LIST      a run fails also if a condition of `ruse run --expect` does\n"
	     "  --fail-if REGEX    a run fails also if a line of its output matches, a regular expression as\n"
	     "                     of `grep -E`\n"
	     "  --junit FILE       JUnit XML with a test case for each seed\n"
	     "  -o, --output DIR   where files of failures are kept (ruse-shake)\n"
	     "  -h, --help\n\n"
	     "The exit status is 0 if no seed has failed, 99 if one has, 2 after wrong usage, 1 after another\n"
	     "error, also if CMD fails without decisions.");
}

enum {
	OPT_SEED = 256, OPT_KINDS, OPT_LIMIT, OPT_REPEAT, OPT_STOP, OPT_LIKE, OPT_NET, OPT_CHECK,
	OPT_EXPECT, OPT_FAIL_IF, OPT_JUNIT
};

/* A number from 1. False: it has told what is wrong. */
static bool shake_number(const char *option, uint64_t most, uint64_t *n)
{
	if (words_number(optarg, n) && *n && *n <= most)
		return true;
	fprintf(stderr, "ruse shake: %s %s: a number from 1 to %llu is needed\n", option, optarg, (unsigned long long)most);
	return false;
}

static bool shake_number_int(const char *option, uint64_t most, unsigned int *n)
{
	uint64_t v;

	if (!shake_number(option, most, &v))
		return false;
	*n = (unsigned int)v;
	return true;
}

/* A word of a list of adapters that belongs to the one before it, as in RUSE_LIKE. */
static bool shake_is_suffix(const char *word)
{
	size_t len = strcspn(word, ",");

	return (len == 8 && !memcmp(word, "identity", len)) || !strncmp(word, "credits=", 8);
}

/* The text of an adapter: its name with what belongs to it. *list moves behind it. NULL: no memory. */
static char *shake_next_like(const char **list)
{
	const char *begin = *list, *end = begin + strcspn(begin, ",");

	while (*end && shake_is_suffix(end + 1))
		end += 1 + strcspn(end + 1, ",");
	*list = *end ? end + 1 : end;
	return strndup(begin, (size_t)(end - begin));
}

/* False: it has told what is wrong. */
static bool shake_likes(struct campaign *c, const char *list)
{
	char failure[300] = "";
	struct like like;

	do {
		char *spec = shake_next_like(&list);

		if (!spec || c->nlikes == CAMPAIGN_LIKES ||
		    like_load(spec, &like, NULL, failure, sizeof(failure))) {
			fprintf(stderr, "ruse shake: --like %s: %s\n", spec ? spec : "", *failure ? failure : "too many adapters");
			free(spec);
			return false;
		}
		c->likes[c->nlikes++] = spec;
	} while (*list);
	return true;
}

static bool shake_filter(struct campaign *c, const char *text)
{
	char why[200];
	int rc;

	if (c->filtered)
		regfree(&c->filter);
	rc = regcomp(&c->filter, text, REG_EXTENDED | REG_NOSUB);
	c->filtered = !rc;
	if (!rc)
		return true;
	regerror(rc, &c->filter, why, sizeof(why));
	fprintf(stderr, "ruse shake: --fail-if %s: %s\n", text, why);
	return false;
}

/* An option. False: it has told what is wrong, or getopt has. */
static bool shake_option(struct campaign *c, int opt)
{
	int rc;

	switch (opt) {
	case 'n':
		return shake_number("--seeds", SHAKE_MOST_SEEDS, &c->seeds);
	case 'j':
		return shake_number_int("--jobs", SHAKE_MOST_JOBS, &c->jobs);
	case OPT_REPEAT:
		return shake_number_int("--repeat", SHAKE_MOST_REPEATS, &c->repeats);
	case OPT_SEED:
		return !gate_shake_seed(&c->gate.shake, optarg);
	case OPT_KINDS:
		rc = gate_shake_kinds(&c->gate.shake, optarg);
		if (rc > 0)
			exit(cli_out_end(0));
		return !rc;
	case OPT_LIMIT:
		return !gate_timeout(&c->gate, optarg);
	case OPT_STOP:
		c->stop = true;
		return true;
	case OPT_LIKE:
		return shake_likes(c, optarg);
	case OPT_NET:
		c->net = true;
		return true;
	case OPT_CHECK:
		c->check = optarg;
		return !gate_check(&c->gate, optarg);
	case OPT_EXPECT:
		return !gate_expect(&c->gate, optarg);
	case OPT_FAIL_IF:
		return shake_filter(c, optarg);
	case OPT_JUNIT:
		c->junit = optarg;
		return true;
	case 'o':
		c->dir = optarg;
		return *optarg;
	}
	return false;
}

static int shake_start(struct campaign *c)
{
	char lib[PATH_MAX];

	c->first = c->gate.shake.seeded ? c->gate.shake.seed : 1;
	c->limit = c->gate.timeout;
	if (c->first > UINT64_MAX - c->seeds) {
		fputs("ruse shake: --seed: there are not so many seeds behind it\n", stderr);
		return EXIT_USAGE;
	}
	if (cli_find_file_or_say("libruse.so", lib) || cli_set_preload(lib))
		return 1;
	return campaign_run(c);
}

int cmd_shake(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seeds", required_argument, NULL, 'n' },
		{ "jobs", required_argument, NULL, 'j' },
		{ "seed", required_argument, NULL, OPT_SEED },
		{ "kinds", required_argument, NULL, OPT_KINDS },
		{ "limit", required_argument, NULL, OPT_LIMIT },
		{ "repeat", required_argument, NULL, OPT_REPEAT },
		{ "stop", no_argument, NULL, OPT_STOP },
		{ "like", required_argument, NULL, OPT_LIKE },
		{ "net", no_argument, NULL, OPT_NET },
		{ "check", optional_argument, NULL, OPT_CHECK },
		{ "expect", required_argument, NULL, OPT_EXPECT },
		{ "fail-if", required_argument, NULL, OPT_FAIL_IF },
		{ "junit", required_argument, NULL, OPT_JUNIT },
		{ "output", required_argument, NULL, 'o' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	static struct campaign c = { .seeds = SHAKE_SEEDS, .jobs = 1,
				     .repeats = SHAKE_REPEATS, .dir = SHAKE_DIR };
	int opt;

	argv[0] = (char *)"ruse shake";	/* for getopt's messages */
	while ((opt = getopt_long(argc, argv, "+n:j:o:h", options, NULL)) != -1) {
		if (opt == 'h') {
			shake_help();
			return 0;
		}
		if (!shake_option(&c, opt)) {
			fputs("See `ruse shake --help`.\n", stderr);
			return EXIT_USAGE;
		}
	}
	if (optind == argc) {
		fputs("ruse shake: missing command; see `ruse shake --help`\n", stderr);
		return EXIT_USAGE;
	}
	c.argv = argv + optind;
	return shake_start(&c);
}
