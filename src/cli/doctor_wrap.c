/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs that start another one: which of their arguments names it, and whether it keeps LD_PRELOAD. The options of each
 * that have an argument of their own are listed, so that the program is found behind them. An unknown option has none.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/doctor_program.h"

#define WRAP_SPLIT_MAX 32

enum wrap_kind {
	WRAP_KEEPS, /* except with the options in `clearing` */
	WRAP_CLEARS,
	WRAP_ROOT_KEEPS, /* set-user-ID root, so it clears for all other users */
	WRAP_ELSEWHERE,
};

static const struct wrapper {
	const char *name;
	enum wrap_kind kind;
	const char *shorts; /* short options with an argument */
	const char *
		longs; /* long options with an argument as the next word, without dashes, a space before and behind each */
	int skip; /* words before the program that are no options; -1: the program is not found this way */
	const char *clearing; /* options after which LD_PRELOAD is lost, as longs; short ones too */
} wrappers[] = {
	{ "env", WRAP_KEEPS, "uCS", " unset chdir split-string ", 0, " i - ignore-environment " },
	{ "sudo", WRAP_CLEARS, "CDghpRrtTuUa",
	  " close-from chdir group host prompt chroot role type "
	  "command-timeout other-user user ",
	  0, "" },
	{ "doas", WRAP_CLEARS, "Cua", " ", 0, "" },
	{ "pkexec", WRAP_CLEARS, "", " user ", 0, "" },
	{ "su", WRAP_ROOT_KEEPS, "", " ", -1, " - l login " },
	{ "runuser", WRAP_KEEPS, "ugGsw", " user group supp-group shell ", 0, " - l login " },
	{ "setpriv", WRAP_KEEPS, "",
	  " ruid euid reuid rgid egid regid groups ambient-caps inh-caps "
	  "bounding-set securebits pdeathsig selinux-label apparmor-profile ",
	  0, " reset-env " },
	{ "bwrap", WRAP_KEEPS, "", " ", -1, " clearenv " },
	{ "docker", WRAP_ELSEWHERE, "", " ", -1, "" },
	{ "podman", WRAP_ELSEWHERE, "", " ", -1, "" },
	{ "nerdctl", WRAP_ELSEWHERE, "", " ", -1, "" },
	{ "kubectl", WRAP_ELSEWHERE, "", " ", -1, "" },
	{ "flatpak", WRAP_ELSEWHERE, "", " ", -1, "" },
	{ "systemd-nspawn", WRAP_ELSEWHERE, "", " ", -1, "" },
	{ "machinectl", WRAP_ELSEWHERE, "", " ", -1, "" },
	{ "ssh", WRAP_ELSEWHERE, "", " ", -1, "" },
	{ "at", WRAP_CLEARS, "", " ", -1, "" },
	{ "chroot", WRAP_ELSEWHERE, "", " ", -1, "" },
	{ "nice", WRAP_KEEPS, "n", " adjustment ", 0, "" },
	{ "ionice", WRAP_KEEPS, "cnpPu", " class classdata ", 0, "" },
	{ "chrt", WRAP_KEEPS, "TPD", " sched-runtime sched-period sched-deadline ", 1, "" },
	{ "nohup", WRAP_KEEPS, "", " ", 0, "" },
	{ "setsid", WRAP_KEEPS, "", " ", 0, "" },
	{ "stdbuf", WRAP_KEEPS, "ioe", " input output error ", 0, "" },
	{ "timeout", WRAP_KEEPS, "ks", " kill-after signal ", 1, "" },
	{ "taskset", WRAP_KEEPS, "", " ", 1, "" },
	{ "numactl", WRAP_KEEPS, "CNmip", " interleave membind cpunodebind physcpubind preferred ",
	  0, "" },
	{ "prlimit", WRAP_KEEPS, "", " ", 0, "" },
	{ "unshare", WRAP_KEEPS, "SGwR", " setuid setgid wd root ", 0, "" },
	{ "time", WRAP_KEEPS, "of", " format output ", 0, "" },
	{ "strace", WRAP_KEEPS, "aebEIoOpPsSuUX", " ", 0, "" },
	{ "ltrace", WRAP_KEEPS, "aAeDFlnopsuwx", " ", 0, "" },
	{ "valgrind", WRAP_KEEPS, "", " ", 0, "" },
};

/* True if word, of len bytes, is in a list " a b ". */
static bool wrap_lists(const char *list, const char *word, size_t len)
{
	for (const char *p = list; len && (p = strchr(p, ' ')) && p[1]; p++)
		if (!strncmp(p + 1, word, len) && p[1 + len] == ' ')
			return true;
	return false;
}

/* The directories of the wrappers: elsewhere a file of such a name, as `./at`, is another program. */
static bool wrap_is_place(const char *path, size_t len)
{
	static const char *const places[] = { "/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/", "/usr/local/bin/" };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (strlen(places[i]) == len && !strncmp(places[i], path, len))
			return true;
	return false;
}

static const struct wrapper *wrap_find(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (slash && !wrap_is_place(path, (size_t)(slash + 1 - path)))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(wrappers); i++)
		if (!strcmp(wrappers[i].name, slash ? slash + 1 : path))
			return &wrappers[i];
	return NULL;
}

bool wrapped_is_ruse(char *const *argv)
{
	const char *slash = argv[0] ? strrchr(argv[0], '/') : NULL;

	return argv[0] && !strcmp(slash ? slash + 1 : argv[0], "ruse") && argv[1] &&
	       !strcmp(argv[1], "run");
}

/* A long option's name, "" if word is none. */
static const char *wrap_long(const char *word)
{
	return strncmp(word, "--", 2) ? "" : word + 2;
}

/* The argument of an option of env, whose short and long name are given, in this word or the next; NULL: another option. */
static const char *wrap_argument(char s, const char *name, const char *word, const char *next)
{
	const char *given = wrap_long(word);
	size_t len = strlen(name);

	if (!strncmp(given, name, len) && (!given[len] || given[len] == '='))
		return given[len] ? given + len + 1 : next;
	if (word[0] != '-' || word[1] != s)
		return NULL;
	return word[2] ? word + 2 : next;
}

/* env -u LD_PRELOAD, bwrap with the option unsetenv */
static bool wrap_unsets(const struct wrapper *wr, const char *word, const char *next)
{
	const char *name = !strcmp(wr->name, "env") ? wrap_argument('u', "unset", word, next) :
			   !strcmp(wr->name, "bwrap") && !strcmp(wrap_long(word), "unsetenv") ? next : NULL;

	return name && !strcmp(name, "LD_PRELOAD");
}

/* True if the short options of a word, such as -iu, have one with an argument of its own in the next word. */
static bool wrap_short_takes(const struct wrapper *wr, const char *word)
{
	for (const char *p = word + 1; *p; p++)
		if (strchr(wr->shorts, *p))
			return !p[1];
	return false;
}

/* True if a word with options loses LD_PRELOAD: a long one, -, or a short one in it such as the i of -iC. */
static bool wrap_option_clears(const struct wrapper *wr, const char *word)
{
	const char *name = wrap_long(word);

	if (*name || !word[1])
		return wrap_lists(wr->clearing, *name ? name : word, strlen(*name ? name : word));
	for (const char *p = word + 1; *p && !strchr(wr->shorts, *p); p++)
		if (wrap_lists(wr->clearing, p, 1))
			return true;
	return false;
}

/* True if word is an assignment. One to LD_PRELOAD goes to *preload. */
static bool wrap_assigns(const struct wrapper *wr, const char *word, const char **preload)
{
	if ((strcmp(wr->name, "env") && strcmp(wr->name, "sudo")) || *word == '=' ||
	    !strchr(word, '='))
		return false;
	if (!strncmp(word, "LD_PRELOAD=", 11))
		*preload = word + 11;
	return true;
}

/* True if the next word is the argument of this option. */
static bool wrap_takes_next(const struct wrapper *wr, const char *word)
{
	const char *name = wrap_long(word);

	return *name ? wrap_lists(wr->longs, name, strlen(name)) : wrap_short_takes(wr, word);
}

void wrapped_parse(char *const *argv, struct wrapped *w)
{
	const struct wrapper *wr = wrap_find(argv[0]);
	const char *split = NULL, *preload = NULL;
	bool lost = false;
	int i, skip;

	*w = (struct wrapped){ .name = wr ? wr->name : NULL };
	if (!wr)
		return;
	skip = wr->skip;
	for (i = 1; argv[i]; i++) {
		const char *word = argv[i], *next = argv[i + 1];

		lost |= wrap_unsets(wr, word, next);
		if (!strcmp(word, "--")) {
			i++;
			break;
		}
		split = strcmp(wr->name, "env") ? NULL :
						  wrap_argument('S', "split-string", word, next);
		if (split)
			break;
		if (*word == '-') {
			lost |= wrap_option_clears(wr, word);
			if (next && wrap_takes_next(wr, word))
				i++;
		} else if (!wrap_assigns(wr, word, &preload) && wr->skip >= 0 && !skip--) {
			break;
		}
	}
	while (!split && argv[i] && wrap_assigns(wr, argv[i], &preload)) /* behind -- */
		i++;
	if (wr->skip >= 0 && argv[i] && !split)
		w->inner = i;
	w->split = split ? strdup(split) : NULL;
	w->elsewhere = wr->kind == WRAP_ELSEWHERE;
	if (w->elsewhere)
		w->clears = "starts its program on another machine or in another file system";
	else if (wr->kind == WRAP_CLEARS || (wr->kind == WRAP_ROOT_KEEPS && geteuid()))
		w->clears = "clears LD_PRELOAD";
	else if (lost)
		w->clears = "loses LD_PRELOAD by this option";
	else if (preload)
		w->clears = "replaces LD_PRELOAD";
	if (preload && strstr(preload, "libruse.so"))
		w->clears = NULL;
	if (w->inner && wrapped_is_ruse(argv + w->inner))
		w->clears = NULL;
}
