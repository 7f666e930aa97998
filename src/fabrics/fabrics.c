/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Commands of `ruse fabric`: up, down, show, link, node, address, sm.
 *
 * fabrics_command() splits the command into words and calls the function for the first word, which it finds in the array
 * fabric_cmds[]. The answer, a JSON object, has the result or "error". A command changes the fabric at
 * once. Programs see the change at the end of the event loop's round, when fabrics_settle() updates
 * the ports in the host page and the paths, and sets the timer for the fabric's next event.
 */
#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "fabrics/cm.h"
#include "fabrics/fabrics_internal.h"
#include "loop/loop.h"

static void fabric_wake_due(struct timer *t, ns_t now)
{
	struct fabrics *f = container_of(t, struct fabrics, wake);

	if (f->fabric)
		fabric_timer(f->fabric, now);
	f->touched = true;
}

void fabrics_init(struct fabrics *fs)
{
	fs->wake.fn = fabric_wake_due;
	fs->sm_fd = -1;
	list_init(&fs->clients);
	list_init(&fs->groups);
}

void fabrics_touch(struct fabrics *fs)
{
	fs->touched = true;
}

void fabrics_settle(struct fabrics *f)
{
	ns_t when;

	if (!f->fabric)
		return;
	if (f->touched) {
		f->touched = false;
		for (int i = 0; i < HOST_MAX_DEVS; i++)
			if (f->port[i])
				fabric_port_publish(f->port[i]);
		fabrics_paths_settle(f);
	}
	when = fabric_wake(f->fabric);
	if (timer_armed(&f->wake) ? f->wake.when != when : when != NS_NEVER)
		timer_set(&f->loop->timers, &f->wake, when);
}

static void fabrics_down(struct fabrics *f)
{
	struct fabric_client *c;

	if (!f->fabric)
		return;
	log_info("fabric %s is removed", f->name);
	fabrics_sm_end(f);
	for (uint32_t i = 0; i < fabric_node_count(f->fabric); i++)
		if (f->hosts[i])
			fabric_host_del(f->hosts[i]);
	list_for_each_entry(c, &f->clients, node)
		c->host = NULL;
	timer_cancel(&f->loop->timers, &f->wake);
	fabrics_paths_reset(f);
	fabric_destroy(f->fabric);
	fabrics_addrs_fini(f);
	free(f->hosts);
	free(f->name);
	f->fabric = NULL;
	f->hosts = NULL;
	f->name = NULL;
}

void fabrics_fini(struct fabrics *fs)
{
	fabrics_down(fs);
	fabrics_sm_end(fs);
}

/* The words after "up". */
static char *fabric_name_of(const struct fabric_call *c)
{
	char text[PATH_MAX] = "";
	size_t n = 0;

	for (int i = 1; i < c->n && n < sizeof(text); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i > 1 ? " " : "",
				      c->word[i]);
	return strdup(text);
}

static int fabric_do_up(struct fabric_call *c)
{
	struct fabrics *f = c->fs;
	struct topo t;
	int rc;

	if (f->fabric)
		return refuse_command(c->answer, "fabric %s is up already; run `ruse fabric down` first", f->name);
	topo_init(&t);
	/* Before the words are taken apart. */
	f->name = fabric_name_of(c);
	rc = fabrics_make_topo(c, &t);
	if (!rc) {
		rc = f->name ? fabric_create(&t, &fabric_ops, c->fs, &f->fabric) : -ENOMEM;
	}
	if (!rc) {
		f->hosts = calloc(t.count, sizeof(*f->hosts));
		rc = f->hosts ? fabrics_addrs_init(c->fs) : -ENOMEM;
	}
	if (rc) {
		if (rc == -ENOMEM)
			refuse_command(c->answer, "out of memory");
		if (f->fabric)
			fabric_destroy(f->fabric);
		free(f->hosts);
		free(f->name);
		f->hosts = NULL;
		f->fabric = NULL;
		f->name = NULL;
	} else {
		log_info("fabric %s is up: %u nodes", f->name, t.count);
		fabrics_touch(c->fs);
	}
	topo_fini(&t);
	return rc;
}

static int fabric_do_down(struct fabric_call *c)
{
	if (c->n != 1)
		return refuse_usage(c->answer, "down takes no argument");
	fabrics_down(c->fs);
	return 0;
}

/* Finds a node by name. */
static int fabric_find_node(struct fabric_call *c, const char *name, uint32_t *node)
{
	*node = fabric_find(c->fs->fabric, name);
	return *node == TOPO_NONE ? refuse_command(c->answer, "there is no node %s", name) : 0;
}

int fabrics_find_port(struct fabric_call *c, char *name, uint32_t *node, uint8_t *port)
{
	char *slash = strrchr(name, '/'), *end;
	unsigned long p;

	if (!slash)
		return refuse_usage(c->answer, "'%s' is not of the form NODE/PORT", name);
	p = strtoul(slash + 1, &end, 10);
	*slash = '\0';
	if (fabric_find_node(c, name, node))
		return -EINVAL;
	if (end == slash + 1 || *end || !p || p > fabric_node_ports(c->fs->fabric, *node))
		return refuse_command(c->answer, "%s has no port %s", name, slash + 1);
	*port = (uint8_t)p;
	return 0;
}

/*
 * Checks that a command has three words, of which the second is `yes` or `no`. Sets *is to true for
 * `yes`. 0, or -EINVAL with "error" set.
 */
static int fabric_want(struct fabric_call *c, const char *yes, const char *no, bool *is)
{
	*is = c->n == 3 && !strcmp(c->word[1], yes);
	if (c->n != 3 || (!*is && strcmp(c->word[1], no)))
		return refuse_usage(c->answer, "usage: %s %s|%s %s", c->word[0], yes, no,
				    !strcmp(yes, "up") ? "NODE/PORT" : "NODE");
	return 0;
}

static int fabric_do_link(struct fabric_call *c)
{
	uint32_t node = 0;
	uint8_t port = 0;
	bool up;

	if (fabric_want(c, "up", "down", &up) || fabrics_find_port(c, c->word[2], &node, &port))
		return -EINVAL;
	fabrics_paths_count(c->fs);
	if (fabric_link(c->fs->fabric, node, port, up, c->fs->loop->now))
		return refuse_command(c->answer, "no cable is connected to this port");
	fabrics_touch(c->fs);
	return 0;
}

static int fabric_do_node(struct fabric_call *c)
{
	uint32_t node;
	bool on;

	if (fabric_want(c, "on", "off", &on) || fabric_find_node(c, c->word[2], &node))
		return -EINVAL;
	fabrics_paths_count(c->fs);
	fabric_power(c->fs->fabric, node, on, c->fs->loop->now);
	fabrics_touch(c->fs);
	return 0;
}

static int fabric_do_show(struct fabric_call *c)
{
	bool nodes = c->n == 2 && !strcmp(c->word[1], "nodes");
	bool route = c->n == 4 && !strcmp(c->word[1], "--route");

	if (c->n == 2 && !strcmp(c->word[1], "--topology"))
		return fabrics_show_topo(c);
	if (c->n > 1 && !nodes && !route)
		return refuse_usage(c->answer, "usage: show [--json|--topology] or show --route FROM TO [--json]");
	if (route && fabrics_show_route(c, c->word[2], c->word[3]))
		return -EINVAL;
	fabrics_show_nodes(c);
	if (!nodes) {
		fabrics_show_cables(c);
		fabrics_show_tables(c);
	}
	return 0;
}

static const struct fabric_cmd {
	const char *name;
	bool down_too;		/* allowed without a fabric */
	int (*fn)(struct fabric_call *c);
} fabric_cmds[] = {
	{ "up", true, fabric_do_up },      { "down", true, fabric_do_down },
	{ "show", false, fabric_do_show }, { "link", false, fabric_do_link },
	{ "node", false, fabric_do_node }, { "address", false, fabrics_address },
	{ "sm", true, fabrics_sm },
};

static void fabric_run(struct fabric_call *c, const char *words, size_t len)
{
	char copy[PATH_MAX + 256];

	if (!len || len > sizeof(copy) || words[len - 1]) {
		refuse_usage(c->answer, "the command is empty, too long or not terminated");
		return;
	}
	memcpy(copy, words, len);
	for (char *w = copy; w < copy + len; w += strlen(w) + 1) {
		if (c->n == FABRIC_WORDS) {
			refuse_usage(c->answer, "too many arguments");
			return;
		}
		c->word[c->n++] = w;
	}
	for (size_t i = 0; i < ARRAY_SIZE(fabric_cmds); i++) {
		if (strcmp(fabric_cmds[i].name, c->word[0]))
			continue;
		if (!fabric_cmds[i].down_too && !c->fs->fabric)
			refuse_command(c->answer, "no fabric is up; create one with `ruse fabric up`");
		else
			fabric_cmds[i].fn(c);
		return;
	}
	refuse_usage(c->answer, "unknown command '%s'; see `ruse fabric --help`", c->word[0]);
}

char *fabrics_command(struct fabrics *fs, const char *words, size_t len)
{
	struct fabric_call c = { .fs = fs, .answer = json_object_new_object() };
	char *text;

	if (!c.answer)
		return NULL;
	fabric_run(&c, words, len);
	text = strdup(json_object_to_json_string_ext(c.answer, JSON_C_TO_STRING_PLAIN));
	json_object_put(c.answer);
	return text;
}
