/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The topology as data: nodes in an array with a hash of their IDs (open addressing, at least half empty), and cables
 * stored at both ports. Nodes and ports for which the file gives no GUID get one here. topo_parse.c, topo_gen.c and
 * topo_print.c use it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "fabric/topo.h"

/* First GUIDs for nodes without one, as in ibsim, so that both can be compared. */
#define FIRST_SWITCH_GUID 0x200000
#define FIRST_CA_GUID 0x100000

static const char *const speed_names[] = {
	[TOPO_SDR] = "SDR", [TOPO_DDR] = "DDR", [TOPO_QDR] = "QDR", [TOPO_FDR10] = "FDR10",
	[TOPO_FDR] = "FDR", [TOPO_EDR] = "EDR", [TOPO_HDR] = "HDR", [TOPO_NDR] = "NDR",
};
_Static_assert(ARRAY_SIZE(speed_names) == TOPO_SPEED_COUNT, "a name for each speed");

const char *topo_speed_name(enum topo_speed s)
{
	return s < TOPO_SPEED_COUNT ? speed_names[s] : NULL;
}

const char *topo_width_name(uint8_t width)
{
	switch (width) {
	case 1:
		return "1x";
	case 2:
		return "4x";
	case 4:
		return "8x";
	case 8:
		return "12x";
	case 16:
		return "2x";
	}
	return NULL;
}

void topo_init(struct topo *t)
{
	memset(t, 0, sizeof(*t));
}

void topo_fini(struct topo *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		free(t->nodes[i].ports);
	free(t->nodes);
	free(t->hash);
	topo_init(t);
}

static uint32_t hash_of(const char *id, size_t len)
{
	uint32_t h = 2166136261u;

	while (len--)
		h = (h ^ (uint8_t)*id++) * 16777619u;
	return h;
}

/* The slot of this ID, or the free slot for it; there is always a free one. */
static uint32_t *topo_slot(const struct topo *t, const char *id, size_t len)
{
	uint32_t i = hash_of(id, len) & (t->hash_size - 1);

	for (;; i = (i + 1) & (t->hash_size - 1)) {
		const char *have = t->hash[i] ? t->nodes[t->hash[i] - 1].id : NULL;

		if (!have || (!strncmp(have, id, len) && !have[len]))
			return &t->hash[i];
	}
}

uint32_t topo_find(const struct topo *t, const char *id, size_t len)
{
	if (!t->hash_size || !len || len > TOPO_NAME_LEN)
		return TOPO_NONE;
	return *topo_slot(t, id, len) - 1; /* 0 - 1 is TOPO_NONE */
}

/* Makes room for one more node and its hash entry. */
static int topo_grow(struct topo *t)
{
	uint32_t n = max(t->size * 2, 64u);
	struct topo_node *nodes;
	uint32_t *hash;

	if (t->count < t->size)
		return 0;
	nodes = realloc(t->nodes, n * sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	t->nodes = nodes;
	hash = calloc((size_t)n * 2, sizeof(*hash));
	if (!hash)
		return -ENOMEM;
	free(t->hash);
	t->hash = hash;
	t->hash_size = n * 2;
	t->size = n;
	for (uint32_t i = 0; i < t->count; i++)
		*topo_slot(t, t->nodes[i].id, strlen(t->nodes[i].id)) = i + 1;
	return 0;
}

int topo_add(struct topo *t, const char *id, enum node_type type, uint32_t nports,
	     struct topo_node **out)
{
	size_t len = strlen(id);
	struct topo_node *n;

	if (!len || len > TOPO_NAME_LEN || !nports || nports > TOPO_MAX_PORTS ||
	    t->count >= TOPO_MAX_NODES)
		return -EINVAL;
	if (topo_grow(t))
		return -ENOMEM;
	if (*topo_slot(t, id, len))
		return -EEXIST;
	n = &t->nodes[t->count];
	memset(n, 0, sizeof(*n));
	n->ports = calloc(nports + 1, sizeof(*n->ports));
	if (!n->ports)
		return -ENOMEM;
	for (uint32_t i = 0; i <= nports; i++)
		n->ports[i] = (struct topo_port){ TOPO_NONE, .width = 2, .speed = TOPO_EDR };
	memcpy(n->id, id, len);
	memcpy(n->desc, id, len);
	n->type = type;
	n->nports = (uint8_t)nports;
	*topo_slot(t, id, len) = ++t->count;
	*out = n;
	return 0;
}

int topo_connect(struct topo *t, uint32_t a, uint32_t a_port, uint32_t b, uint32_t b_port,
		 uint8_t width, enum topo_speed speed)
{
	struct topo_port *pa, *pb;

	if (a >= t->count || b >= t->count || !a_port || !b_port ||
	    a_port > t->nodes[a].nports || b_port > t->nodes[b].nports ||
	    (a == b && a_port == b_port))
		return -EINVAL;
	pa = &t->nodes[a].ports[a_port];
	pb = &t->nodes[b].ports[b_port];
	if ((pa->peer != TOPO_NONE && (pa->peer != b || pa->peer_port != b_port)) ||
	    (pb->peer != TOPO_NONE && (pb->peer != a || pb->peer_port != a_port)))
		return -EEXIST;
	pa->peer = b;
	pa->peer_port = (uint8_t)b_port;
	pb->peer = a;
	pb->peer_port = (uint8_t)a_port;
	pa->width = pb->width = width;
	pa->speed = pb->speed = (uint8_t)speed;
	return 0;
}

static int cmp_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * All GUIDs in use, sorted: node GUIDs, and port GUIDs of CAs that differ from their node's. A
 * port may have the same GUID as its node, as port 0 of a switch does.
 */
static int taken_guids(const struct topo *t, uint64_t **out, size_t *count)
{
	size_t n = 0, size = 0;
	uint64_t *g;

	for (uint32_t i = 0; i < t->count; i++)
		size += t->nodes[i].nports + 1u;
	g = malloc((size + 1) * sizeof(*g));
	if (!g)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->count; i++) {
		const struct topo_node *d = &t->nodes[i];

		if (d->guid)
			g[n++] = d->guid;
		for (uint32_t p = 1; d->type != NODE_SWITCH && p <= d->nports; p++)
			if (d->ports[p].guid && d->ports[p].guid != d->guid)
				g[n++] = d->ports[p].guid;
	}
	qsort(g, n, sizeof(*g), cmp_u64);
	*out = g;
	*count = n;
	return 0;
}

/* True if one of the n GUIDs from first is in use. */
static bool guids_overlap(const uint64_t *g, size_t count, uint64_t first, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t key = first + i;

		if (bsearch(&key, g, count, sizeof(*g), cmp_u64))
			return true;
	}
	return false;
}

static void fill_ports(struct topo_node *d)
{
	if (!d->sysimgguid)
		d->sysimgguid = d->guid;
	if (d->type == NODE_SWITCH) {
		if (!d->ports[0].guid)
			d->ports[0].guid = d->guid;
		return;
	}
	for (uint32_t p = 1; p <= d->nports; p++)
		if (!d->ports[p].guid)
			d->ports[p].guid = d->guid + p;
}

int topo_fill_guids(struct topo *t, struct topo_err *err)
{
	uint64_t sw = FIRST_SWITCH_GUID, ca = FIRST_CA_GUID;
	uint64_t *g;
	size_t count;
	int rc = taken_guids(t, &g, &count);

	for (uint32_t i = 0; !rc && i < t->count; i++) {
		struct topo_node *d = &t->nodes[i];
		uint64_t *next = d->type == NODE_SWITCH ? &sw : &ca;
		uint32_t n = d->type == NODE_SWITCH ? 1 : d->nports + 1u;

		if (!d->guid) {
			while (guids_overlap(g, count, *next, n))
				*next += n;
			d->guid = *next;
			*next += n;
		}
		fill_ports(d);
	}
	free(rc ? NULL : g);
	if (!rc)
		rc = taken_guids(t, &g, &count);
	for (size_t i = 1; !rc && i < count; i++)
		if (g[i] == g[i - 1]) {
			err->line = 0;
			snprintf(err->text, sizeof(err->text), "GUID 0x%llx is used twice",
				 (unsigned long long)g[i]);
			free(g);
			return -EINVAL;
		}
	if (!rc)
		free(g);
	return rc;
}
