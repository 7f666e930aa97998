/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads the text of a topology (format: topo.h) line by line. A line with GUIDs or
 * vendor applies to the next node; port lines belong to the node above them. Cables
 * are connected after the last line, since most name a node that comes later. An
 * error has a message and a line number.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "fabric/topo_lex_internal.h"
#include "fabric/topo.h"

/* A cable from one port line; width 0 and speed TOPO_SPEED_COUNT: not given. */
struct cable {
	uint32_t node, line;
	const char *peer;	/* ID, points into the text */
	uint8_t peer_len, port, peer_port, width;
	enum topo_speed speed;
	uint64_t peer_guid;
};

struct parser {
	struct topo *t;
	struct topo_err *err;
	uint32_t line;
	uint32_t node;		/* node of the following port lines; TOPO_NONE: none */
	struct topo_node ids;	/* GUIDs and vendor given before the node */
	uint64_t port0_guid;
	struct cable *cables;
	size_t count, size;
};

static int __printf(2, 3) parse_bad(struct parser *ps, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(ps->err->text, sizeof(ps->err->text), fmt, ap);
	va_end(ap);
	ps->err->line = ps->line;
	return -EINVAL;
}

/* Finds a word like 4xEDR in a comment. */
static void parse_link(struct cursor c, struct cable *cb)
{
	while (c.p < c.end) {
		for (uint8_t w = 1; w <= 16; w = (uint8_t)(w * 2)) {
			struct cursor at = c;

			if (!cursor_word(&at, topo_width_name(w)))
				continue;
			/* Fastest first; FDR does not match FDR10, as a digit follows it. */
			for (int s = TOPO_SPEED_COUNT - 1; s >= 0; s--) {
				enum topo_speed sp = (enum topo_speed)s;
				struct cursor end = at;

				if (!cursor_word(&end, topo_speed_name(sp)))
					continue;
				if (end.p < end.end && cursor_digit(*end.p) < 10)
					continue;
				cb->width = w;
				cb->speed = sp;
				return;
			}
		}
		while (c.p < c.end && *c.p != ' ' && *c.p != '\t')
			c.p++;
		cursor_skip_space(&c);
	}
}

static void copy_desc(char *out, struct cursor c)
{
	size_t n = min((size_t)(c.end - c.p), (size_t)TOPO_NAME_LEN);

	memset(out, 0, TOPO_NAME_LEN + 1);
	for (size_t i = 0; i < n; i++)
		out[i] = (uint8_t)c.p[i] < ' ' || c.p[i] == 0x7f ? ' ' : c.p[i];
}

/* Parses a line that begins with vendid=, devid= or a similar key. 1: it was one; 0: it is another kind of line; or -errno. */
static int parse_id(struct parser *ps, struct cursor c)
{
	static const char *const keys[] = {
		"vendid=", "devid=", "sysimgguid=", "switchguid=", "caguid=", "rtguid=",
	};
	uint64_t v;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (!cursor_word(&c, keys[i]))
			continue;
		if (!cursor_number(&c, 10, i < 2 ? 0xffffff : UINT64_MAX, &v))
			return parse_bad(ps, "%s must be followed by a number", keys[i]);
		if (i == 0)
			ps->ids.vendid = (uint32_t)v;
		else if (i == 1)
			ps->ids.devid = v & 0xffff;
		else if (i == 2)
			ps->ids.sysimgguid = v;
		else
			ps->ids.guid = v;
		if (i == 3)
			cursor_guid(&c, &ps->port0_guid);
		return 1;
	}
	return 0;
}

/* GUID in an ID as printed by ibnetdiscover: S-000000000002c901. 0: none. */
static uint64_t guid_of_id(const char *id)
{
	struct cursor c = { id + 2, id + strlen(id) };
	uint64_t v;

	if (strlen(id) != 18 || !strchr("SHR", id[0]) || id[1] != '-')
		return 0;
	return cursor_number(&c, 16, UINT64_MAX, &v) && c.p == c.end ? v : 0;
}

static void node_describe(struct topo_node *n, struct cursor comment)
{
	struct cursor desc, rest;

	if (cursor_desc(comment, &desc, &rest) && desc.p < desc.end)
		copy_desc(n->desc, desc);
	if (n->type != NODE_SWITCH)
		return;
	cursor_skip_space(&rest);
	n->enhanced_port0 = cursor_word(&rest, "enhanced");
	if (n->enhanced_port0 || cursor_word(&rest, "base")) {
		cursor_skip_space(&rest);
		cursor_word(&rest, "port 0");
		cursor_lid(&rest, &n->ports[0].lid, &n->ports[0].lmc);
	}
}

/* Parses a node line, such as: Switch 36 "id"	# comment. 1: it was one; 0: it is another kind of line; or -errno. */
static int parse_node(struct parser *ps, struct cursor c, struct cursor comment)
{
	static const struct {
		const char *word;
		enum node_type type;
	} types[] = {
		{ "Switch", NODE_SWITCH }, { "Hca", NODE_CA }, { "Ca", NODE_CA }, { "Rt", NODE_ROUTER },
	};
	char name[TOPO_NAME_LEN + 1] = "";
	struct topo_node *n;
	struct cursor id;
	uint64_t nports;
	size_t i;
	int rc;

	for (i = 0; i < ARRAY_SIZE(types); i++)
		if (cursor_word(&c, types[i].word))
			break;
	if (i == ARRAY_SIZE(types) || c.p == c.end || (*c.p != ' ' && *c.p != '\t'))
		return 0;
	cursor_skip_space(&c);
	if (!cursor_number(&c, 10, TOPO_MAX_PORTS, &nports) || !nports)
		return parse_bad(ps, "expected the number of ports, 1 to %d", TOPO_MAX_PORTS);
	cursor_skip_space(&c);
	if (!cursor_quoted(&c, &id) || id.p == id.end || id.end - id.p > TOPO_NAME_LEN ||
	    memchr(id.p, '\0', (size_t)(id.end - id.p)))
		return parse_bad(ps, "expected the node's ID in quotes, up to %d characters", TOPO_NAME_LEN);
	memcpy(name, id.p, (size_t)(id.end - id.p));
	rc = topo_add(ps->t, name, types[i].type, (uint32_t)nports, &n);
	if (rc == -EEXIST)
		return parse_bad(ps, "node \"%s\" is defined twice", name);
	if (rc == -EINVAL)
		return parse_bad(ps, "too many nodes; the maximum is %d", TOPO_MAX_NODES);
	if (rc)
		return rc;
	ps->node = ps->t->count - 1;
	n->guid = ps->ids.guid ? ps->ids.guid : guid_of_id(name);
	n->sysimgguid = ps->ids.sysimgguid;
	n->vendid = ps->ids.vendid;
	n->devid = ps->ids.devid;
	copy_desc(n->desc, (struct cursor){ name, name + strlen(name) });
	if (n->type == NODE_SWITCH)
		n->ports[0].guid = ps->port0_guid;
	node_describe(n, comment);
	memset(&ps->ids, 0, sizeof(ps->ids));
	ps->port0_guid = 0;
	return 1;
}

/* Reads w=4 s=QDR, in any order. */
static int parse_options(struct parser *ps, struct cursor c, struct cable *cb)
{
	for (cursor_skip_space(&c); c.p < c.end; cursor_skip_space(&c)) {
		bool width = cursor_word(&c, "w=");
		uint64_t v;

		if (!width && !cursor_word(&c, "s="))
			return parse_bad(ps, "unknown option \"%.*s\"", (int)min(c.end - c.p, (ptrdiff_t)40), c.p);
		for (int s = TOPO_SPEED_COUNT - 1; !width && s >= 0; s--)
			if (cursor_word(&c, topo_speed_name((enum topo_speed)s))) {
				cb->speed = (enum topo_speed)s;
				width = true;
				v = 0;
				break;
			}
		if (width && c.p[-1] != '=')
			continue;
		if (!cursor_number(&c, 10, 12, &v))
			return parse_bad(ps, "w= must be followed by a link width, s= by a link speed");
		if (width && v != 1 && v != 2 && v != 4 && v != 8 && v != 12)
			return parse_bad(ps, "invalid link width %u; expected 1, 2, 4, 8 or 12", (unsigned int)v);
		if (!width && v != 1 && v != 2 && v != 4)
			return parse_bad(ps, "invalid link speed; "
					     "expected a name from SDR to NDR, or 1 (SDR), 2 (DDR) or 4 (QDR)");
		if (width)
			cb->width = v == 1 ? 1 : v == 2 ? 16 : v == 4 ? 2 : v == 8 ? 4 : 8;
		else
			cb->speed = v == 1 ? TOPO_SDR : v == 2 ? TOPO_DDR : TOPO_QDR;
	}
	return 0;
}

static void port_comment(struct topo_node *n, uint8_t port, struct cursor comment, struct cable *cb)
{
	struct cursor desc, rest;

	if (n->type != NODE_SWITCH)
		cursor_lid(&comment, &n->ports[port].lid, &n->ports[port].lmc);
	cursor_desc(comment, &desc, &rest);
	if (!cb->width)
		parse_link(rest, cb);
}

/* Parses a port line, such as: [1](guid) "id"[2](guid) # comment. 1: it was one; 0: it is another kind of line; or -errno. */
static int parse_port(struct parser *ps, struct cursor c, struct cursor comment)
{
	struct cable cb = { .node = ps->node, .line = ps->line, .speed = TOPO_SPEED_COUNT };
	struct topo_node *n;
	struct cursor id;
	uint64_t ext;
	int rc;

	if (c.p == c.end || *c.p != '[')
		return 0;
	if (ps->node == TOPO_NONE)
		return parse_bad(ps, "this port line follows no node");
	n = &ps->t->nodes[ps->node];
	if (!cursor_port(&c, &cb.port) || cb.port > n->nports)
		return parse_bad(ps, "invalid port: \"%s\" has ports [1] to [%d]", n->id, n->nports);
	if (cursor_word(&c, "[ext ") && (!cursor_number(&c, 10, 255, &ext) || !cursor_word(&c, "]")))
		return parse_bad(ps, "[ext N]: expected a number");
	cursor_guid(&c, &n->ports[cb.port].guid);
	cursor_skip_space(&c);
	if (!cursor_quoted(&c, &id) || id.p == id.end || id.end - id.p > TOPO_NAME_LEN)
		return parse_bad(ps, "expected the other node's ID in quotes");
	cb.peer = id.p;
	cb.peer_len = (uint8_t)(id.end - id.p);
	cursor_skip_space(&c);
	if (!cursor_port(&c, &cb.peer_port))
		return parse_bad(ps, "expected the other node's port, [1] to [%d]", TOPO_MAX_PORTS);
	if (cursor_word(&c, "[ext ") && (!cursor_number(&c, 10, 255, &ext) || !cursor_word(&c, "]")))
		return parse_bad(ps, "[ext N]: expected a number");
	cursor_skip_space(&c);
	cursor_guid(&c, &cb.peer_guid);
	rc = parse_options(ps, c, &cb);
	if (rc)
		return rc;
	port_comment(n, cb.port, comment, &cb);
	if (ps->count == ps->size) {
		size_t size = max(ps->size * 2, (size_t)256);
		struct cable *more = realloc(ps->cables, size * sizeof(*more));

		if (!more)
			return -ENOMEM;
		ps->cables = more;
		ps->size = size;
	}
	ps->cables[ps->count++] = cb;
	return 1;
}

/* Headings between the nodes of `ibnetdiscover -g`. */
static bool is_heading(struct cursor c)
{
	return cursor_word(&c, "Chassis ") || cursor_word(&c, "Non-Chassis Nodes") ||
	       cursor_word(&c, "Hostname:");
}

static int parse_line(struct parser *ps, struct cursor c)
{
	static int (*const kinds[])(struct parser *, struct cursor, struct cursor) = {
		parse_node, parse_port,
	};
	struct cursor comment;
	int rc;

	cursor_skip_space(&c);
	if (c.p == c.end) {
		ps->node = TOPO_NONE;
		return 0;
	}
	comment = cursor_split_comment(&c);
	while (c.p < c.end && (c.end[-1] == ' ' || c.end[-1] == '\t' || c.end[-1] == '\r'))
		c.end--;
	if (c.p == c.end || is_heading(c))
		return 0;
	rc = parse_id(ps, c);
	for (size_t i = 0; !rc && i < ARRAY_SIZE(kinds); i++)
		rc = kinds[i](ps, c, comment);
	if (!rc)
		return parse_bad(ps, "expected a node or a port, not \"%.*s\"",
				 (int)min(c.end - c.p, (ptrdiff_t)40), c.p);
	return min(rc, 0);
}

static int parser_connect(struct parser *ps, const struct cable *cb)
{
	uint32_t peer = topo_find(ps->t, cb->peer, cb->peer_len);
	struct topo_node *a = &ps->t->nodes[cb->node], *b;
	const struct topo_port *old = &a->ports[cb->port];
	uint8_t width = cb->width ? cb->width : old->width;
	enum topo_speed speed = cb->speed < TOPO_SPEED_COUNT ? cb->speed :
							       (enum topo_speed)old->speed;

	ps->line = cb->line;
	if (peer == TOPO_NONE)
		return parse_bad(ps, "there is no node \"%.*s\"", cb->peer_len, cb->peer);
	b = &ps->t->nodes[peer];
	switch (topo_connect(ps->t, cb->node, cb->port, peer, cb->peer_port, width, speed)) {
	case -EINVAL:
		return parse_bad(ps, "a cable cannot be connected to \"%s\"[%d]: "
			   "no such port, or both ends are at the same port", b->id, cb->peer_port);
	case -EEXIST:
		return parse_bad(ps, "\"%s\"[%d] or \"%s\"[%d] already has another cable", a->id, cb->port, b->id,
				 cb->peer_port);
	}
	if (cb->peer_guid && b->type != NODE_SWITCH && !b->ports[cb->peer_port].guid)
		b->ports[cb->peer_port].guid = cb->peer_guid;
	return 0;
}

int topo_parse(struct topo *t, const char *text, size_t len, struct topo_err *err)
{
	struct parser ps = { .t = t, .err = err, .node = TOPO_NONE };
	const char *end = text + len;
	int rc = 0;

	memset(err, 0, sizeof(*err));
	while (!rc && text < end) {
		const char *nl = memchr(text, '\n', (size_t)(end - text));
		struct cursor c = { text, nl ? nl : end };

		ps.line++;
		rc = parse_line(&ps, c);
		text = nl ? nl + 1 : end;
	}
	for (size_t i = 0; !rc && i < ps.count; i++)
		rc = parser_connect(&ps, &ps.cables[i]);
	free(ps.cables);
	if (!rc && !t->count) {
		ps.line = 0;
		rc = parse_bad(&ps, "the file has no nodes");
	}
	return rc ? rc : topo_fill_guids(t, err);
}
