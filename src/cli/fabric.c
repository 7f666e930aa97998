/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ruse fabric: sends its arguments to rused, which parses them, and prints the response. */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/late.h"

#define ANSWER_MAX (64u << 20)
#define WORDS_MAX 8192

static void fabric_help(void)
{
	puts("usage: ruse fabric COMMAND\n"
	     "Simulates an InfiniBand fabric of switches and hosts in this user's rused.\n\n"
	     "  up FILE                     create a fabric from a file of ibnetdiscover or ibsim\n"
	     "  up --star HOSTS             one switch\n"
	     "  up --fat-tree PORTS         three levels of switches with PORTS ports each\n"
	     "  up --torus 4x4x2 [HOSTS]    a torus, with HOSTS hosts at each switch (default 1)\n"
	     "  up --dragonfly ROUTERS HOSTS GLOBALS\n"
	     "                              groups of ROUTERS switches, each with HOSTS hosts and\n"
	     "                              GLOBALS links to other groups\n"
	     "  up ... --sm[=HOST]          start opensm on HOST (default: the first) and wait until\n"
	     "                              the ports are active; `down` ends it\n"
	     "  down [--kill]               remove the fabric and the devices of its programs; name\n"
	     "                              the subnet managers that remain, or end them\n"
	     "  show [--json|--topology]    list the nodes, or print a file for `up`\n"
	     "  show --route FROM TO [--json]\n"
	     "                              print the way between two hosts by the forwarding tables\n"
	     "  draw [-o FILE.svg] [--route FROM TO] [--load]\n"
	     "                              draw the fabric, with that way, or with cables coloured by\n"
	     "                              their counters\n"
	     "  link down|up NODE/PORT      unplug a cable, or plug it in\n"
	     "  node off|on NODE            switch a node off or on\n"
	     "  address [--json]            list the IP addresses of the hosts' ports, for rdma_cm\n"
	     "  address HOST/PORT ADDRESS/BITS\n"
	     "                              set an address\n"
	     "  sm                          list the subnet managers\n\n"
	     "  ruse fabric up --star 4 --sm\n"
	     "  ruse run --host H2 ibnetdiscover\n\n"
	     "  -h, --help");
}

/* Prints the response. Returns the exit status: 1 also for a route that does not arrive. */
static int fabric_cmd_show(struct json_object *o, bool json)
{
	struct json_object *v, *route = NULL;

	if (json_object_object_get_ex(o, "error", NULL))
		return cli_answer_status(o);
	if (json_object_object_get_ex(o, "topology", &v))
		fputs(json_object_get_string(v), stdout);
	else if (json)
		cli_put_json(o);
	else if (json_object_object_get_ex(o, "route", &route))
		cli_print_json(route);
	else if (json_object_object_length(o))
		cli_print_json(o);
	return json_object_object_get_ex(o, "route", &route) &&
	       strcmp(cli_json_string(route, "result"), "delivered") != 0;
}

struct json_object *cli_fabric_try(struct ipc_conn *c, const char *words, size_t len)
{
	char *text = malloc(ANSWER_MAX + 1);
	struct ipc_msg m = { .type = IPC_FABRIC, .req = words, .len = len, .reply = text,
			     .room = ANSWER_MAX };
	struct json_object *o;
	int rc;

	rc = text ? ipc_call(c, &m) : -ENOMEM;
	if (rc) {
		free(text);
		cli_rused_complain("fabric", rc);
		return NULL;
	}
	text[m.rlen] = '\0';
	o = json_tokener_parse(text);
	free(text);
	if (!json_object_is_type(o, json_type_object)) {
		json_object_put(o);
		cli_rused_complain("fabric", -EPROTO);
		return NULL;
	}
	cli_take_late("fabric", o);
	return o;
}

struct json_object *cli_fabric_ask(struct ipc_conn *c, const char *words, size_t len)
{
	struct json_object *o = cli_fabric_try(c, words, len), *error;

	if (json_object_object_get_ex(o, "error", &error))
		fprintf(stderr, "ruse fabric: %s\n", json_object_get_string(error));
	return o;
}

/* Sends a command and prints the response. Returns the exit status. */
static int fabric_cmd_call(struct ipc_conn *c, const char *words, size_t len, bool json)
{
	struct json_object *o = cli_fabric_ask(c, words, len);
	int rc = o ? fabric_cmd_show(o, json) : 1;

	json_object_put(o);
	return rc;
}

/* Options of `up` and `down` that this program executes. */
struct fabric_sm {
	bool start, kill;
	const char *host;		/* NULL: the first */
	char opensm[PATH_MAX];
};

/* Takes them out of the arguments. The exit status. */
static int fabric_sm_options(int *argc, char **argv, struct fabric_sm *sm)
{
	bool up = *argc > 1 && !strcmp(argv[1], "up"), down = *argc > 1 && !strcmp(argv[1], "down");
	int n = 0;

	for (int i = 0; i < *argc; i++) {
		if (up && i > 1 && (!strcmp(argv[i], "--sm") || !strncmp(argv[i], "--sm=", 5))) {
			sm->start = true;
			sm->host = argv[i][4] ? argv[i] + 5 : NULL;
		} else if (down && !strcmp(argv[i], "--kill")) {
			sm->kill = true;
		} else {
			argv[n++] = argv[i];
		}
	}
	*argc = n;
	if (sm->host && !*sm->host) {
		fputs("ruse fabric: --sm=: the argument is empty\n", stderr);
		return EXIT_USAGE;
	}
	if (!sm->start || cli_sm_find(sm->opensm))
		return 0;
	fputs("ruse fabric: --sm: there is no opensm here; install it "
	      "(Debian: `apt-get install opensm`)\n", stderr);
	return 1;
}

/* `down`: ends subnet managers first, as they could not end in order without their devices. The exit status. */
static int fabric_cmd_down(struct ipc_conn *c, const char *words, size_t len,
			   const struct fabric_sm *sm)
{
	char *remain = cli_sm_end(c, sm->kill);
	int rc = fabric_cmd_call(c, words, len, false);

	if (!rc && remain && *remain)
		fprintf(stderr, "ruse fabric: a subnet manager has lost its device and still runs: %s; `kill PID` ends it%s\n",
			remain, sm->kill ? "" : ", as `ruse fabric down --kill` would have");
	free(remain);
	return rc;
}

static int fabric_cmd_up(struct ipc_conn *c, const char *words, size_t len,
			 const struct fabric_sm *sm)
{
	int rc = fabric_cmd_call(c, words, len, false);

	if (rc || !sm->start)
		return rc;
	rc = cli_sm_start(c, sm->opensm, sm->host);
	if (rc == EXIT_USAGE)
		fabric_cmd_call(c, "down", sizeof("down"), false);
	return rc;
}

/* Concatenates the arguments, each with its NUL. False: they are too long. */
static bool fabric_words_join(int argc, char **argv, char *words, size_t *len)
{
	*len = 0;
	for (int i = 0; i < argc; i++) {
		size_t n = strlen(argv[i]) + 1;

		if (*len + n > WORDS_MAX)
			return false;
		memcpy(words + *len, argv[i], n);
		*len += n;
	}
	return true;
}

int cmd_fabric(int argc, char **argv)
{
	static const char *const names[] = { "up", "down", "show", "draw", "link", "node", "address", "sm", NULL };
	char *nodes[] = { argv[0], (char *)"show", (char *)"nodes", NULL };
	char words[WORDS_MAX], path[PATH_MAX];
	struct fabric_sm sm = { 0 };
	bool json = false, up, down;
	struct ipc_conn c;
	size_t len;
	int rc;

	if (cli_asks_help(argc, argv)) {
		fabric_help();
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "draw"))
		return cli_fabric_draw(argc - 1, argv + 1);
	if ((argc == 3 || argc == 6) && (!strcmp(argv[1], "show") || !strcmp(argv[1], "address")) &&
	    !strcmp(argv[argc - 1], "--json")) {
		json = true;
		argc--;
	}
	if (argc > 1 && !cli_check_word("ruse fabric", names, argv[1]))
		return EXIT_USAGE;
	rc = fabric_sm_options(&argc, argv, &sm);
	if (rc)
		return rc;
	up = argc > 1 && !strcmp(argv[1], "up");
	/* The table has no cables. */
	if (!json && argc == 2 && !strcmp(argv[1], "show")) {
		argv = nodes;
		argc = 3;
	}
	down = argc == 2 && !strcmp(argv[1], "down");
	/* rused has another working directory, so it needs an absolute path. */
	if (up && argc == 3 && argv[2][0] != '-') {
		if (!realpath(argv[2], path)) {
			fprintf(stderr, "ruse fabric: %s: %m\n", argv[2]);
			return 1;
		}
		argv[2] = path;
	}
	if (argc < 2 || !fabric_words_join(argc - 1, argv + 1, words, &len)) {
		fprintf(stderr, "ruse fabric: %s; see `ruse fabric --help`\n",
			argc < 2 ? "missing command" : "the command is too long");
		return EXIT_USAGE;
	}
	rc = up ? cli_rused_attach(&c, NULL) : cli_rused_connect(&c, NULL);
	if (cli_rused_absent(rc) && !up) {
		fputs("ruse fabric: no fabric is up; create one with `ruse fabric up`\n", stderr);
		return 1;
	}
	if (rc)
		return cli_rused_complain("fabric", rc);
	rc = up ? fabric_cmd_up(&c, words, len, &sm) : down ? fabric_cmd_down(&c, words, len, &sm) :
							      fabric_cmd_call(&c, words, len, json);
	ipc_close(&c);
	return rc;
}
