/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Commands of `ruse fault`.
 *
 * fault_command() splits the line into words and runs the command's function, which changes a copy
 * of the rule table and publishes it in the host page (struct host_page), where all processes see
 * it. Each process counts matches and actions in its process page (struct proc_page); the counts of
 * exited processes are kept here. The answer is JSON.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/rand.h"
#include "base/words.h"
#include "daemon/faults/faults.h"
#include "daemon/reports/answer.h"
#include "daemon/reports/blame.h"
#include "daemon/state/devices.h"
#include "daemon/state/host.h"
#include "daemon/state/process.h"
#include "fabrics/refuse.h"
#include "gsi/gsi.h"

_Static_assert(FAULT_LINE <= BLAME_TEXT, "a rule's text fits");

struct command {
	struct fault_rules *rules;
	ns_t now;
	struct host_page *page;
	struct fault_table table;	/* copy of host_page.fault, being changed */
	char *word[FAULT_WORDS];
	int n;
	struct json_object *answer;
};

static void fault_publish(struct command *c)
{
	uint32_t was = c->page->fault.version;

	do {
		c->table.version = rand_u32();
	} while (!c->table.version || c->table.version == was);
	host_publish_faults(c->rules->host, &c->table);
}

static void fault_add_counts(struct fault_count *sum, const struct fault_count *c)
{
	if (c->id != sum->id)
		return;
	sum->matched += c->matched;
	sum->acted += c->acted;
}

void fault_process_gone(struct fault_rules *f, const struct process *pr)
{
	struct proc_page p;

	fault_event_process_gone(f, pr);
	if (process_page(pr, &p))
		return;
	for (int i = 0; i < FAULT_MAX_RULES; i++)
		fault_add_counts(&f->gone[i], &p.fault[i]);
	blame_process_gone(f->blame, pr);
}

static void fault_sum_counts(const struct fault_rules *f, struct fault_count sum[FAULT_MAX_RULES])
{
	struct proc_page p;
	struct process *pr;

	memcpy(sum, f->gone, sizeof(f->gone));
	list_for_each_entry(pr, &f->processes->list, node) {
		if (process_page(pr, &p))
			continue;
		for (int i = 0; i < FAULT_MAX_RULES; i++)
			fault_add_counts(&sum[i], &p.fault[i]);
	}
	for (int i = 0; i < FAULT_MAX_RULES; i++)
		fault_add_counts(&sum[i], &f->own->count[i]);
}

static struct json_object *fault_rule_json(const struct command *c, int i,
					   const struct fault_count *sum)
{
	struct json_object *o = json_object_new_object();

	answer_int(o, "id", c->page->fault.rule[i].id);
	answer_str(o, "rule", c->rules->text[i]);
	answer_int(o, "matched", sum[i].matched);
	answer_int(o, "acted", sum[i].acted);
	return o;
}

static int fault_do_list(struct command *c)
{
	struct json_object *a = json_object_new_array();
	struct fault_count sum[FAULT_MAX_RULES];

	fault_sum_counts(c->rules, sum);
	for (int i = 0; i < FAULT_MAX_RULES; i++)
		if (c->table.rule[i].id)
			json_object_array_add(a, fault_rule_json(c, i, sum));
	answer_int(c->answer, "seed", c->table.seed);
	json_object_object_add(c->answer, "rules", a);
	return 0;
}

/* Adds a rule at the first free index. Its text for `ruse fault` consists of the command`s words from index `first` to the last. */
static int fault_add_rule(struct command *c, const struct fault_rule *rule, int first)
{
	struct fault_rules *f = c->rules;
	size_t len = 0;
	int i = 0;

	while (i < FAULT_MAX_RULES && c->table.rule[i].id)
		i++;
	if (i == FAULT_MAX_RULES)
		return refuse_command(c->answer, "all %d rules are in use; delete one with `ruse fault del`",
				      FAULT_MAX_RULES);
	c->table.rule[i] = *rule;
	c->table.rule[i].id = ++f->next_id;
	f->gone[i] = (struct fault_count){ .id = f->next_id };
	f->text[i][0] = '\0';
	for (int k = first; k < c->n; k++)
		len += (size_t)snprintf(f->text[i] + len, sizeof(f->text[i]) - len, "%s%s",
					k > first ? " " : "", c->word[k]);
	blame_rule_added(f->blame, &c->table.rule[i], f->text[i], c->now);
	fault_publish(c);
	/* Rules prevent an idle exit. */
	f->host->configured = true;
	answer_int(c->answer, "id", f->next_id);
	return 0;
}

static int fault_do_add(struct command *c)
{
	struct fault_rule rule;
	char err[320];

	if (fault_parse(c->rules, c->word + 1, c->n - 1, &rule, err, sizeof(err)))
		return refuse_usage(c->answer, "%s", err);
	if (rule.action == FAULT_FREEZE)
		return refuse_usage(c->answer, "freeze is a command of its own: `ruse fault freeze PID`");
	return fault_add_rule(c, &rule, 1);
}

static void fault_del_rule(struct command *c, int i, bool acted)
{
	blame_rule_deleted(c->rules->blame, c->table.rule[i].id, acted, c->now);
	c->table.rule[i] = (struct fault_rule){ 0 };
}

/* Deletes all matching rules and answers with their counts. */
static int fault_del_where(struct command *c, bool (*fits)(const struct fault_rule *r,
							   uint64_t arg),
			   uint64_t arg, const char *none)
{
	struct json_object *a = json_object_new_array();
	struct fault_count sum[FAULT_MAX_RULES];
	int n = 0;

	fault_sum_counts(c->rules, sum);
	for (int i = 0; i < FAULT_MAX_RULES; i++) {
		if (!c->table.rule[i].id || !fits(&c->table.rule[i], arg))
			continue;
		json_object_array_add(a, fault_rule_json(c, i, sum));
		fault_del_rule(c, i, sum[i].acted);
		n++;
	}
	json_object_object_add(c->answer, "deleted", a);
	if (!n && none)
		return refuse_command(c->answer, "%s", none);
	if (n)
		fault_publish(c);
	return 0;
}

static bool fault_any(const struct fault_rule *r, uint64_t arg)
{
	return true;
}

static bool fault_has_id(const struct fault_rule *r, uint64_t id)
{
	return r->id == id;
}

static bool fault_pulls(const struct fault_rule *r, uint64_t dev)
{
	return r->action == FAULT_DOWN && (!dev || (r->by & FAULT_BY_DEV && r->dev == dev));
}

static bool fault_freezes(const struct fault_rule *r, uint64_t proc)
{
	return (r->action == FAULT_FREEZE || r->action == FAULT_HANG) && (!proc || r->proc == proc);
}

static int fault_want_number(struct command *c, const char *text, uint64_t *v)
{
	if (!words_number(text, v))
		return refuse_usage(c->answer, "'%s' is not a number of 64 bits, decimal or hexadecimal with 0x", text);
	return 0;
}

static int fault_do_del(struct command *c)
{
	uint64_t id;

	if (c->n != 2)
		return refuse_usage(c->answer, "usage: del ID | del all");
	if (!strcmp(c->word[1], "all"))
		return fault_del_where(c, fault_any, 0, NULL);
	return fault_want_number(c, c->word[1], &id) ? -EINVAL :
						 fault_del_where(c, fault_has_id, id, "there is no rule with this number");
}

static int fault_do_seed(struct command *c)
{
	uint64_t seed;

	if (c->n != 2)
		return refuse_usage(c->answer, "usage: seed NUMBER");
	if (fault_want_number(c, c->word[1], &seed))
		return -EINVAL;
	c->table.seed = seed;
	c->table.seeded++;
	fault_publish(c);
	return 0;
}

/* "down" and "down DEVICE" add a rule; "up" deletes it. */
static int fault_do_down(struct command *c)
{
	char *word[] = { (char *)"down", (char *)"dev", c->n > 1 ? c->word[1] : NULL };
	struct fault_rule rule;
	char err[320];

	if (c->n > 2)
		return refuse_usage(c->answer, "usage: %s [DEVICE]", c->word[0]);
	if (fault_parse(c->rules, word, c->n > 1 ? 3 : 1, &rule, err, sizeof(err)))
		return refuse_usage(c->answer, "%s", err);
	if (!strcmp(c->word[0], "up"))
		return fault_del_where(c, fault_pulls, rule.dev, "no `ruse fault down` is in effect for it");
	return fault_add_rule(c, &rule, 0);
}

static int fault_do_freeze(struct command *c)
{
	struct fault_rule rule = { .action = FAULT_FREEZE };
	bool thaw = !strcmp(c->word[0], "thaw");
	struct process *pr;
	uint64_t pid;

	if (thaw && c->n == 2 && !strcmp(c->word[1], "all"))
		return fault_del_where(c, fault_freezes, 0, NULL);
	if (c->n != 2)
		return refuse_usage(c->answer, "usage: %s PID%s", c->word[0], thaw ? "|all" : "");
	if (fault_want_number(c, c->word[1], &pid))
		return -EINVAL;
	pr = process_by_pid(c->rules->processes, pid);
	if (!pr)
		return refuse_command(c->answer, "no process with PID %llu uses RDMA", (unsigned long long)pid);
	if (thaw)
		return fault_del_where(c, fault_freezes, pr->proc, "the process is neither frozen nor hangs");
	rule.proc = pr->proc;
	return fault_add_rule(c, &rule, 0);
}

static int fault_do_event(struct command *c)
{
	return fault_event(c->rules, c->word, c->n, c->answer);
}

static const struct fault_cmd {
	const char *name;
	int (*fn)(struct command *c);
} fault_cmds[] = {
	{ "add", fault_do_add },       { "del", fault_do_del },
	{ "list", fault_do_list },     { "seed", fault_do_seed },
	{ "down", fault_do_down },     { "up", fault_do_down },
	{ "freeze", fault_do_freeze }, { "thaw", fault_do_freeze },
	{ "event", fault_do_event },
};

/* Cuts the line into words in place: printable ASCII, at least one. False: "error" is set. */
static bool fault_cut(struct command *c, char *line)
{
	const char *wrong = NULL;
	char *save = NULL;

	for (char *p = line; *p; p++)
		if ((*p < ' ' && *p != '\t') || *p > '~')
			wrong = "the command has a character that is not printable ASCII";
	for (char *w = strtok_r(line, " \t", &save); w && !wrong; w = strtok_r(NULL, " \t", &save)) {
		if (c->n == FAULT_WORDS)
			wrong = "the command has too many words";
		else
			c->word[c->n++] = w;
	}
	if (!c->n && !wrong)
		wrong = "the command is empty";
	if (wrong)
		refuse_usage(c->answer, "%s", wrong);
	return !wrong;
}

static void fault_run(struct command *c, const char *line, size_t len)
{
	char copy[FAULT_LINE];

	if (len >= sizeof(copy) || memchr(line, 0, len)) {
		refuse_usage(c->answer, "the command is too long");
		return;
	}
	memcpy(copy, line, len);
	copy[len] = '\0';
	if (!fault_cut(c, copy))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(fault_cmds); i++)
		if (!strcmp(fault_cmds[i].name, c->word[0])) {
			fault_cmds[i].fn(c);
			return;
		}
	refuse_usage(c->answer, "unknown command '%s'; see `ruse fault --help`", c->word[0]);
}

char *fault_command(struct fault_rules *f, const char *line, size_t len, ns_t now)
{
	struct host_page *page = f->host->page;
	struct command c = { .rules = f, .now = now, .page = page, .table = page->fault,
			     .answer = json_object_new_object() };
	uint32_t was = page->fault.version;
	char *text;

	if (!c.answer)
		return NULL;
	fault_run(&c, line, len);
	/* Port states depend on "down" rules. */
	if (page->fault.version != was)
		devices_refresh(f->host);
	text = strdup(json_object_to_json_string_ext(c.answer, JSON_C_TO_STRING_PLAIN));
	json_object_put(c.answer);
	return text;
}
