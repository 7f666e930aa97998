/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "base/rand.h"
#include "base/words.h"
#include "cli/cli.h"
#include "cli/gate.h"
#include "cli/gate_shake.h"
#include "shake/kinds.h"

#define SHAKE_NONE "none"	/* for --shake-only */

typedef unsigned long long ull;

int gate_shake_seed(struct gate_shake *s, const char *seed)
{
	char *end;

	s->on = true;
	if (!seed)
		return 0;
	errno = 0;
	s->seed = strtoull(seed, &end, 10);
	s->seeded = *seed >= '0' && *seed <= '9' && !*end && !errno;
	if (s->seeded)
		return 0;
	fprintf(stderr, "ruse: --shake: '%s' is no seed: a decimal number of up to 64 bits\n", seed);
	return -EINVAL;
}

/* Replaces commas. NULL: no memory. */
static char *shake_join(const char *list, char with)
{
	char *copy = strdup(list);

	for (char *c = copy; c && *c; c++)
		if (*c == ',')
			*c = with;
	return copy;
}

static void shake_list_kinds(void)
{
	for (int i = 0; i < SHAKE_KINDS; i++)
		printf("%-9s %s (%s)%s\n", shake_rows[i].name, shake_rows[i].text, shake_rows[i].clause,
		       shake_rows[i].on ? "" : "; only if it is named");
}

/* Tells that there is no kind of this name of n characters, and the one that is nearly the same. */
static void shake_unknown(const char *name, size_t n)
{
	char word[32];
	const char *like = NULL;

	snprintf(word, sizeof(word), "%.*s", (int)n, name);
	for (int i = 0; i < SHAKE_KINDS; i++)
		if (words_near(word, shake_rows[i].name))
			like = shake_rows[i].name;
	fprintf(stderr, "ruse: --shake: there is no kind '%s'", word);
	if (like)
		fprintf(stderr, "; did you mean '%s'?", like);
	fputs("; kinds:", stderr);
	for (int i = 0; i < SHAKE_KINDS; i++)
		fprintf(stderr, "%s %s", i ? "," : "", shake_rows[i].name);
	fputc('\n', stderr);
}

int gate_shake_kinds(struct gate_shake *s, const char *list)
{
	size_t n;

	if (!strcmp(list, "help")) {
		shake_list_kinds();
		return 1;
	}
	for (const char *k = list;; k += n + 1) {
		n = strcspn(k, ",");
		if (shake_kind_find(k, n) < 0) {
			shake_unknown(k, n);
			return -EINVAL;
		}
		if (!k[n])
			break;
	}
	free(s->kinds);
	s->kinds = shake_join(list, ':');
	return s->kinds ? 0 : -EINVAL;
}

/* KIND@PLACE.QP.MSG */
static bool shake_is_point(const char *p, size_t len)
{
	static const char lower[] = "abcdefghijklmnopqrstuvwxyz", digits[] = "0123456789";
	static const char place[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	size_t at = strspn(p, lower), part;

	if (!at || p[at] != '@')
		return false;
	part = strspn(p + at + 1, place);
	at += 1 + part;
	for (int i = 0; part && i < 2 && p[at] == '.'; i++) {
		part = strspn(p + at + 1, digits);
		at += 1 + part;
		if (i && part)
			return at == len;
	}
	return false;
}

int gate_shake_only(struct gate_shake *s, const char *list)
{
	bool none = !strcmp(list, SHAKE_NONE);
	const char *p = list;
	size_t len;

	free(s->only);
	s->only = none ? strdup("") : shake_join(list, '+');
	if (!s->only)
		return -EINVAL;
	while (!none) {
		len = strcspn(p, ",");
		if (!shake_is_point(p, len)) {
			fprintf(stderr, "ruse: --shake-only: '%.*s' is no point, KIND@PLACE.QP.MSG, as the end of a run tells it; "
				"`none` is for no decision\n", (int)len, p);
			return -EINVAL;
		}
		if (!p[len])
			break;
		p += len + 1;
	}
	return 0;
}

void gate_shake_keep(struct gate_shake *s, char **from, char **to)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return;
	fputs(s->again ? s->again : "", f);
	for (; from < to; from++) {
		fputc(' ', f);
		cli_put_word(f, *from);
	}
	fclose(f);
	free(s->again);
	s->again = text;
}

int gate_shake_set(struct gate_shake *s)
{
	const char *what = s->only ? ",only=" : s->kinds ? ",kinds=" :
							   "";
	const char *list = s->only ? s->only : s->kinds ? s->kinds :
							  "";
	char *env;
	int rc;

	if (s->only && s->kinds) {
		fputs("ruse: --shake-only and --shake-kinds exclude each other: a point names its kind\n", stderr);
		return -EINVAL;
	}
	if (s->only && !s->seeded) {
		fputs("ruse: --shake-only needs the seed of the run that it repeats: --shake=SEED\n", stderr);
		return -EINVAL;
	}
	s->on = s->on || s->kinds || s->only;
	if (!s->on)
		return 0;
	if (!s->seeded)
		s->seed = rand_u32();
	if (asprintf(&env, "%llu%s%s", (ull)s->seed, what, list) < 0)
		return -EINVAL;
	rc = setenv("RUSE_SHAKE", env, 1);
	free(env);
	return rc ? -EINVAL : 0;
}

void gate_shake_begin(const struct gate *g)
{
	if (g->shake.on && !g->shake.quiet)
		fprintf(stderr, "ruse run: --shake: seed %llu\n", (ull)g->shake.seed);
}

void gate_shake_put_list(FILE *f, const char *option, const char *list)
{
	fprintf(f, " --%s ", option);
	for (; *list; list++)
		fputc(*list == '+' || *list == ':' ? ',' : *list, f);
}

static void shake_put_again(FILE *f, const struct gate *g)
{
	const struct gate_shake *s = &g->shake;

	fprintf(f, "ruse run --shake=%llu", (ull)s->seed);
	if (s->only)
		gate_shake_put_list(f, "shake-only", *s->only ? s->only : SHAKE_NONE);
	if (s->kinds)
		gate_shake_put_list(f, "shake-kinds", s->kinds);
	fprintf(f, "%s --", s->again ? s->again : "");
	cli_put_words(f, g->argv);
	fputc('\n', f);
}

void gate_shake_put(FILE *f, const struct gate *g)
{
	struct json_object *l = g->done ? gate_list(g->done, "decisions") : NULL, *o;
	size_t n = l ? json_object_array_length(l) : 0;

	if (!g->shake.on || g->shake.quiet)
		return;
	fprintf(f, "ruse run: --shake: seed %llu, %zu decision%s%s\n", (ull)g->shake.seed, n, n == 1 ? "" : "s", n ? ":" : "");
	for (size_t i = 0; i < n; i++) {
		o = json_object_array_get_idx(l, i);
		fprintf(f, "  %s: %s\n    %s, process %llu\n", cli_json_string(o, "id"), cli_json_string(o, "text"),
			cli_json_string(o, "point"), (ull)cli_json_u64(o, "pid"));
	}
	fputs("ruse run: again: ", f);
	shake_put_again(f, g);
}

void gate_shake_json(struct json_object *to, const struct gate *g)
{
	if (g->shake.on)
		json_object_object_add(to, "seed", json_object_new_uint64(g->shake.seed));
}
