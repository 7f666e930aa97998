/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ruse fabric: sends its arguments to rused, which parses them, and prints the response. */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

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
	     "  down                        remove the fabric and the devices of its programs\n"
	     "  show [--json|--topology]    list the nodes, or print a file for `up`\n"
	     "  link down|up NODE/PORT      unplug a cable, or plug it in\n"
	     "  node off|on NODE            switch a node off or on\n"
	     "  address [--json]            list the IP addresses of the hosts' ports, for rdma_cm\n"
	     "  address HOST/PORT ADDRESS/BITS\n"
	     "                              set an address\n\n"
	     "  ruse fabric up --star 4\n"
	     "  ruse run --host H1 opensm -B\n"
	     "  ruse run --host H2 ibnetdiscover\n\n"
	     "  -h, --help");
}

/* Prints the response. Returns the exit status. */
static int fabric_cmd_show(struct json_object *o, bool json)
{
	struct json_object *v;

	if (json_object_object_get_ex(o, "error", &v)) {
		fprintf(stderr, "ruse fabric: %s\n", json_object_get_string(v));
		return cli_answer_status(o);
	}
	if (json_object_object_get_ex(o, "topology", &v))
		fputs(json_object_get_string(v), stdout);
	else if (json)
		cli_put_json(o);
	else if (json_object_object_length(o))
		cli_print_json(o);
	return 0;
}

/* Sends a command and prints the response. Returns the exit status. */
static int fabric_cmd_call(struct ipc_conn *c, const char *words, size_t len, bool json)
{
	size_t size = ANSWER_MAX;
	char *text = malloc(size + 1);
	struct json_object *o;
	int rc;

	rc = text ? ipc_call(c, IPC_FABRIC, words, len, NULL, 0, text, &size, NULL, NULL) :
		    -ENOMEM;
	if (rc) {
		free(text);
		return cli_rused_complain("fabric", rc);
	}
	text[size] = '\0';
	o = json_tokener_parse(text);
	free(text);
	rc = json_object_is_type(o, json_type_object) ? fabric_cmd_show(o, json) :
							cli_rused_complain("fabric", -EPROTO);
	json_object_put(o);
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
	static const char *const names[] = { "up", "down", "show", "link", "node", "address", NULL };
	char words[WORDS_MAX], path[PATH_MAX];
	bool json = false, up;
	struct ipc_conn c;
	size_t len;
	int rc;

	if (cli_asks_help(argc, argv)) {
		fabric_help();
		return 0;
	}
	if (argc == 3 && (!strcmp(argv[1], "show") || !strcmp(argv[1], "address")) &&
	    !strcmp(argv[2], "--json")) {
		json = true;
		argc--;
	}
	if (argc > 1 && !cli_check_word("ruse fabric", names, argv[1]))
		return EXIT_USAGE;
	up = argc > 1 && !strcmp(argv[1], "up");
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
	rc = fabric_cmd_call(&c, words, len, json);
	ipc_close(&c);
	return rc;
}
