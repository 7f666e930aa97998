/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Topologies for `ruse fabric up`, and the output of `ruse fabric show`.
 *
 * fabrics_make_topo() reads a topology file or generates one from an option such as --fat-tree. The
 * show commands print the present topology as text, or all nodes as JSON.
 */
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabrics/fabrics_internal.h"

#define FILE_MAX_BYTES (64l << 20)
#define MAX_DIMS 8
#define SIZE_MAX_NODES 65536ul
#define PORTS_MOST "254"	/* TOPO_MAX_PORTS */
#define FAT_TREE_MOST "56"	/* with 58 ports there would be more than TOPO_MAX_NODES */
#define SIZES "a fabric has at most 49151 nodes, and a switch " PORTS_MOST " ports"

_Static_assert(TOPO_MAX_PORTS == 254 && TOPO_MAX_NODES == 49151, "as in the texts above");

#define add_int(o, key, v) json_object_object_add((o), (key), json_object_new_int64((int64_t)(v)))
#define add_str(o, key, v) json_object_object_add((o), (key), json_object_new_string(v))

static int fabric_topo_number(struct fabric_call *c, const char *text, uint32_t *v)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (end == text || *end || *text == '-' || !n || n > SIZE_MAX_NODES)
		return refuse_usage(c->answer, "'%s' is not a number from 1 to %lu", text, SIZE_MAX_NODES);
	*v = (uint32_t)n;
	return 0;
}

/* Parses the n numbers after the option. */
static int fabric_topo_numbers(struct fabric_call *c, int n, const char *usage, uint32_t *v)
{
	if (c->n != 2 + n)
		return refuse_usage(c->answer, "%s", usage);
	for (int i = 0; i < n; i++)
		if (fabric_topo_number(c, c->word[2 + i], &v[i]))
			return -EINVAL;
	return 0;
}

static int fabric_make_star(struct fabric_call *c, struct topo *t)
{
	uint32_t n = 0;

	return fabric_topo_numbers(c, 1, "usage: up --star HOSTS", &n) ? -EINVAL : topo_star(t, n);
}

static int fabric_make_fat_tree(struct fabric_call *c, struct topo *t)
{
	uint32_t k = 0;

	return fabric_topo_numbers(c, 1, "usage: up --fat-tree PORTS", &k) ? -EINVAL :
								       topo_fat_tree(t, k);
}

static int fabric_make_dragonfly(struct fabric_call *c, struct topo *t)
{
	uint32_t v[3] = { 0 };

	return fabric_topo_numbers(c, 3, "usage: up --dragonfly ROUTERS HOSTS GLOBALS", v) ?
		       -EINVAL : topo_dragonfly(t, v[0], v[1], v[2]);
}

/* --torus: sizes such as 4x4x2, then the number of hosts per switch, by default 1. */
static int fabric_make_torus(struct fabric_call *c, struct topo *t)
{
	static const char usage[] = "usage: up --torus 4x4x2 [HOSTS]";
	uint32_t dims[MAX_DIMS], n = 0, hosts = 1;
	char *sizes;

	if (c->n < 3 || c->n > 4 || (c->n == 4 && fabric_topo_number(c, c->word[3], &hosts)))
		return refuse_usage(c->answer, usage);
	sizes = c->word[2];
	for (char *w; (w = strsep(&sizes, "x"));) {
		if (!*w)
			return refuse_usage(c->answer, usage);
		if (n == MAX_DIMS)
			return refuse_usage(c->answer, "a torus has at most %d dimensions", MAX_DIMS);
		if (fabric_topo_number(c, w, &dims[n++]))
			return -EINVAL;
	}
	return topo_torus(t, dims, n, hosts);
}

/* Reads a whole regular file, malloc()ed. NULL: see errno. */
static char *fabric_topo_slurp(const char *path, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), err;
	char *text = NULL;
	struct stat st;
	ssize_t n = -1;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st)) {
		if (!S_ISREG(st.st_mode) || st.st_size > FILE_MAX_BYTES)
			errno = EINVAL;
		else
			text = malloc((size_t)st.st_size + 1);
	}
	if (text)
		n = read(fd, text, (size_t)st.st_size);
	err = errno;
	close(fd);
	errno = err;
	if (n < 0) {
		free(text);
		return NULL;
	}
	*len = (size_t)n;
	return text;
}

static int fabric_topo_from_file(struct fabric_call *c, struct topo *t)
{
	const char *path = c->word[1];
	struct topo_err err;
	size_t len;
	char *text;
	int rc;

	if (c->n != 2)
		return refuse_usage(c->answer, "usage: up FILE");
	text = fabric_topo_slurp(path, &len);
	if (!text)
		return refuse_command(c->answer, "%s: %s", path, strerror(errno));
	rc = topo_parse(t, text, len, &err);
	free(text);
	if (rc == -EINVAL && err.line)
		return refuse_command(c->answer, "%s:%u: %s", path, err.line, err.text);
	return rc == -EINVAL ? refuse_command(c->answer, "%s: %s", path, err.text) : rc;
}

int fabrics_make_topo(struct fabric_call *c, struct topo *t)
{
	static const struct {
		const char *option;
		int (*fn)(struct fabric_call *c, struct topo *t);
		const char *sizes;
	} kinds[] = {
		{ "--star", fabric_make_star, "HOSTS must be from 1 to " PORTS_MOST },
		{ "--fat-tree", fabric_make_fat_tree, "PORTS must be even, from 2 to " FAT_TREE_MOST },
		{ "--torus", fabric_make_torus, SIZES },
		{ "--dragonfly", fabric_make_dragonfly, SIZES },
	};
	struct topo_err err = { 0 };
	int rc;

	if (c->n < 2)
		return refuse_usage(c->answer, "usage: up FILE, or up with --star, --fat-tree, --torus or --dragonfly");
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(kinds[i].option, c->word[1]))
			continue;
		rc = kinds[i].fn(c, t);
		if (!rc)
			rc = topo_fill_guids(t, &err);
		if (rc == -EINVAL && !json_object_object_length(c->answer))
			return refuse_usage(c->answer, "%s: %s", c->word[1], kinds[i].sizes);
		return rc;
	}
	if (c->word[1][0] == '-')
		return refuse_usage(c->answer, "unknown option %s; see `ruse fabric --help`", c->word[1]);
	return fabric_topo_from_file(c, t);
}

int fabrics_show_topo(struct fabric_call *c)
{
	char *text = NULL;
	struct topo t;
	size_t len;
	FILE *f;
	int rc;

	topo_init(&t);
	rc = fabric_topo(c->fs->fabric, &t);
	f = rc ? NULL : open_memstream(&text, &len);
	if (!f || topo_print(&t, f) || fclose(f))
		rc = refuse_command(c->answer, "out of memory");
	else
		add_str(c->answer, "topology", text);
	free(text);
	topo_fini(&t);
	return rc;
}

static struct json_object *fabric_node_json(struct fabrics *fs, uint32_t n)
{
	static const char *const states[] = { "?", "down", "init", "armed", "active" };
	struct fabric *f = fs->fabric;
	bool sw = fabric_node_type(f, n) == NODE_SWITCH;
	struct json_object *o = json_object_new_object();
	uint32_t links = 0, active = 0;
	char guid[24];

	for (uint32_t p = 1; p <= fabric_node_ports(f, n); p++) {
		uint32_t s = (uint32_t)ib_smp_get(fabric_port_info(f, n, (uint8_t)p),
						  PI_PORT_STATE);

		links += s > PORT_DOWN;
		active += s == PORT_ACTIVE;
	}
	snprintf(guid, sizeof(guid), "0x%016llx", (unsigned long long)fabric_node_guid(f, n));
	add_str(o, "name", fabric_node_id(f, n));
	add_str(o, "type", sw ? "switch" : fabric_node_type(f, n) == NODE_CA ? "host" : "router");
	add_str(o, "guid", guid);
	add_int(o, "lid", ib_smp_get(fabric_port_info(f, n, sw ? 0 : 1), PI_LID));
	add_int(o, "ports", fabric_node_ports(f, n));
	add_int(o, "links", links);
	add_int(o, "active", active);
	if (sw)
		add_str(o, "state", fabric_node_is_on(f, n) ? "on" : "off");
	else
		add_str(o, "state", !fabric_node_is_on(f, n) ? "off" :
			states[ib_smp_get(fabric_port_info(f, n, 1), PI_PORT_STATE) % 5]);
	add_int(o, "programs", fs->hosts[n] ? fs->hosts[n]->clients : 0);
	add_str(o, "description", fabric_node_desc(f, n));
	return o;
}

void fabrics_show_nodes(struct fabric_call *c)
{
	struct json_object *o = json_object_new_object(), *a = json_object_new_array();
	uint32_t count = fabric_node_count(c->fs->fabric), switches = 0;

	for (uint32_t i = 0; i < count; i++) {
		switches += fabric_node_type(c->fs->fabric, i) == NODE_SWITCH;
		json_object_array_add(a, fabric_node_json(c->fs, i));
	}
	add_str(o, "name", c->fs->name);
	add_int(o, "switches", switches);
	add_int(o, "hosts", count - switches);
	json_object_object_add(c->answer, "fabric", o);
	json_object_object_add(c->answer, "nodes", a);
}
