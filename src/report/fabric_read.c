/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Drawings of fabrics: the answer of rused as arrays of nodes and cables. */
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "report/fabric_internal.h"
#include "report/page.h"

/* An ID as ibnetdiscover makes it of a GUID: its description says more. */
static bool is_guid_name(const char *name)
{
	return strlen(name) == 18 && strchr("SHR", name[0]) && name[1] == '-' &&
	       strspn(name + 2, "0123456789abcdef") == 16;
}

/* Sets the label: printable, and cut at a character of UTF-8. */
static int fabric_label(struct fabric_node *n)
{
	char *text = printable_copy(is_guid_name(n->name) && *n->desc ? n->desc : n->name), *s;

	if (!text)
		return -ENOMEM;
	for (s = text; *s; s++) {
		if ((*s & 0xc0) == 0x80)
			continue;
		if (n->chars == FABRIC_LABEL)
			break;
		n->chars++;
	}
	snprintf(n->label, sizeof(n->label), "%.*s%s", (int)(s - text), text,
		 *s ? "\xe2\x80\xa6" : "");
	n->chars += !!*s;
	free(text);
	return 0;
}

static int by_name(const void *a, const void *b, void *arg)
{
	const struct fabric_node *nodes = arg;

	return strcmp(nodes[*(const uint32_t *)a].name, nodes[*(const uint32_t *)b].name);
}

uint32_t fabric_node_named(const struct fabric_picture *p, const char *name, bool by_desc)
{
	uint32_t low = 0, high = p->count;

	while (low < high) {
		uint32_t mid = (low + high) / 2;
		int cmp = strcmp(p->nodes[p->by_name[mid]].name, name);

		if (!cmp)
			return p->by_name[mid];
		if (cmp < 0)
			low = mid + 1;
		else
			high = mid;
	}
	for (uint32_t i = 0; by_desc && i < p->count; i++)
		if (!strcmp(p->nodes[i].desc, name))
			return i;
	return FABRIC_NONE;
}

static int fabric_read_nodes(struct fabric_picture *p, struct json_object *nodes)
{
	p->count = (uint32_t)json_object_array_length(nodes);
	p->nodes = calloc(p->count + 1, sizeof(*p->nodes));
	p->by_name = calloc(p->count + 1, sizeof(*p->by_name));
	if (!p->nodes || !p->by_name)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->count; i++) {
		struct json_object *o = json_object_array_get_idx(nodes, i);
		struct fabric_node *n = &p->nodes[i];

		n->name = page_string(o, "name");
		n->desc = page_string(o, "description");
		n->type = page_string(o, "type");
		n->state = page_string(o, "state");
		n->forwarding = page_string(o, "forwarding");
		n->lid = (uint32_t)page_u64(o, "lid");
		n->ports = (uint32_t)page_u64(o, "ports");
		n->is_switch = !strcmp(n->type, "switch");
		n->home = FABRIC_NONE;
		p->by_name[i] = i;
		if (fabric_label(n))
			return -ENOMEM;
	}
	qsort_r(p->by_name, p->count, sizeof(*p->by_name), by_name, p->nodes);
	return 0;
}

/* The host gets its place below the switch of its first cable. */
static void fabric_read_home(struct fabric_picture *p, struct fabric_line *l)
{
	for (int e = 0; e < 2; e++) {
		uint32_t to = l->end[!e].node;
		struct fabric_node *host = &p->nodes[l->end[e].node];

		if (host->is_switch || host->home != FABRIC_NONE || !p->nodes[to].is_switch)
			continue;
		host->home = to;
		host->slot = p->nodes[to].hosts++;
		l->is_home = true;
	}
}

static void fabric_read_end(struct fabric_picture *p, struct json_object *o, const char *which,
			    struct fabric_cable_end *e)
{
	char key[32];

	e->node = fabric_node_named(p, page_string(o, which), false);
	snprintf(key, sizeof(key), "%s_port", which);
	e->port = (uint32_t)page_u64(o, key);
	snprintf(key, sizeof(key), "%s_bytes", which);
	e->bytes = page_u64(o, key);
	snprintf(key, sizeof(key), "%s_packets", which);
	e->packets = page_u64(o, key);
}

/* False: an end is no node of the answer. */
static bool fabric_read_cable(struct fabric_picture *p, struct json_object *o,
			      struct fabric_line *l)
{
	bool up = json_object_object_get_ex(o, "active_width", NULL);

	fabric_read_end(p, o, "from", &l->end[0]);
	fabric_read_end(p, o, "to", &l->end[1]);
	if (l->end[0].node == FABRIC_NONE || l->end[1].node == FABRIC_NONE)
		return false;
	snprintf(l->plug, sizeof(l->plug), "%s%s", page_string(o, "width"),
		 page_string(o, "speed"));
	if (up)
		snprintf(l->link, sizeof(l->link), "%s%s", page_string(o, "active_width"),
			 page_string(o, "active_speed"));
	else
		memcpy(l->link, l->plug, sizeof(l->link));
	l->state_name = page_string(o, "state");
	l->state = !up				   ? CABLE_DOWN :
		   strcmp(l->state_name, "active") ? CABLE_NOT_ACTIVE :
		   strcmp(l->link, l->plug)	   ? CABLE_DEGRADED :
						     CABLE_ACTIVE;
	l->discards = page_u64(o, "discards");
	l->errors = page_u64(o, "errors");
	l->downed = page_u64(o, "downed");
	fabric_read_home(p, l);
	return true;
}

static int fabric_read_cables(struct fabric_picture *p, struct json_object *cables)
{
	uint32_t n = (uint32_t)json_object_array_length(cables);

	p->lines = calloc(n + 1, sizeof(*p->lines));
	if (!p->lines)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		if (fabric_read_cable(p, json_object_array_get_idx(cables, i),
				      &p->lines[p->nlines]))
			p->nlines++;
		else
			memset(&p->lines[p->nlines], 0, sizeof(*p->lines));
	return 0;
}

/* What most links have, by a vote of all that are up; few fabrics have more than three kinds. */
static void fabric_read_usual(struct fabric_picture *p)
{
	struct {
		const struct fabric_line *first;
		uint32_t votes;
	} kinds[8] = { { NULL, 0 } };
	uint32_t best = 0;

	p->usual_state = "active";
	for (uint32_t i = 0; i < p->nlines; i++) {
		const struct fabric_line *l = &p->lines[i];
		size_t k = 0;

		p->most = max(p->most, l->end[0].bytes + l->end[1].bytes);
		if (l->state == CABLE_DOWN || !l->state_name)
			continue;
		while (k < ARRAY_SIZE(kinds) - 1 && kinds[k].votes &&
		       (strcmp(kinds[k].first->link, l->link) ||
			strcmp(kinds[k].first->state_name, l->state_name)))
			k++;
		kinds[k].first = l;
		if (++kinds[k].votes > best) {
			best = kinds[k].votes;
			memcpy(p->usual, l->link, sizeof(p->usual));
			p->usual_state = l->state_name;
		}
	}
	for (uint32_t i = 0; i < p->nlines; i++) {
		struct fabric_line *l = &p->lines[i];

		l->is_usual = l->state_name && !strcmp(l->state_name, p->usual_state) &&
			      !strcmp(l->link, p->usual);
	}
}

int fabric_read(struct fabric_picture *p, struct json_object *fabric,
		const struct fabric_drawing *how)
{
	struct json_object *nodes = page_list(fabric, "nodes"),
			   *cables = page_list(fabric, "cables"), *o;
	int rc;

	*p = (struct fabric_picture){ .how = how, .from = FABRIC_NONE, .to = FABRIC_NONE };
	if (!nodes || !cables || !json_object_object_get_ex(fabric, "fabric", &o))
		return -EINVAL;
	p->name = page_string(o, "name");
	rc = fabric_read_nodes(p, nodes);
	if (!rc)
		rc = fabric_read_cables(p, cables);
	if (rc)
		return rc;
	fabric_read_usual(p);
	return fabric_find_way(p, fabric);
}

void fabric_free(struct fabric_picture *p)
{
	free(p->nodes);
	free(p->lines);
	free(p->hops);
	free(p->by_name);
}
