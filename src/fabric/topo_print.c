/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include "fabric/topo.h"

static char node_letter(const struct topo_node *n)
{
	return n->type == NODE_SWITCH ? 'S' : n->type == NODE_CA ? 'H' : 'R';
}

/* LID of a node's port; at a switch that of its port 0, as the other ports have none. */
static uint16_t lid_at(const struct topo_node *n, uint8_t port)
{
	return n->ports[n->type == NODE_SWITCH ? 0 : port].lid;
}

static void print_node(const struct topo_node *n, FILE *out)
{
	fprintf(out, "\nvendid=0x%x\ndevid=0x%x\n", n->vendid, n->devid);
	if (n->sysimgguid)
		fprintf(out, "sysimgguid=0x%" PRIx64 "\n", n->sysimgguid);
	if (n->type == NODE_SWITCH) {
		fprintf(out, "switchguid=0x%" PRIx64 "(%" PRIx64 ")\n", n->guid, n->ports[0].guid);
		fprintf(out, "Switch\t%d \"S-%016" PRIx64 "\"\t\t# \"%s\" %s port 0 lid %d lmc %d\n",
			n->nports, n->guid, n->desc, n->enhanced_port0 ? "enhanced" : "base",
			n->ports[0].lid, n->ports[0].lmc);
		return;
	}
	fprintf(out, "%sguid=0x%" PRIx64 "\n", n->type == NODE_CA ? "ca" : "rt", n->guid);
	fprintf(out, "%s\t%d \"%c-%016" PRIx64 "\"\t\t# \"%s\"\n",
		n->type == NODE_CA ? "Ca" : "Rt", n->nports, node_letter(n), n->guid, n->desc);
}

static void print_port(const struct topo *t, const struct topo_node *n, uint8_t p, FILE *out)
{
	const struct topo_port *port = &n->ports[p];
	const struct topo_node *r = &t->nodes[port->peer];
	const char *width = topo_width_name(port->width);
	const char *speed = topo_speed_name((enum topo_speed)port->speed);

	fprintf(out, "[%d]", p);
	if (n->type != NODE_SWITCH)
		fprintf(out, "(%" PRIx64 ") ", port->guid);
	fprintf(out, "\t\"%c-%016" PRIx64 "\"[%d]", node_letter(r), r->guid, port->peer_port);
	if (r->type != NODE_SWITCH)
		fprintf(out, n->type == NODE_SWITCH ? "(%" PRIx64 ") " : " (%" PRIx64 ") ",
			r->ports[port->peer_port].guid);
	if (n->type == NODE_SWITCH)
		fprintf(out, "\t\t# \"%s\" lid %d ", r->desc, lid_at(r, port->peer_port));
	else
		fprintf(out, "\t\t# lid %d lmc %d \"%s\" lid %d ", port->lid, port->lmc, r->desc,
			lid_at(r, port->peer_port));
	fprintf(out, "%s%s\n", width ? width : "??", speed ? speed : "???");
}

int topo_print(const struct topo *t, FILE *out)
{
	static const enum node_type order[] = { NODE_SWITCH, NODE_CA, NODE_ROUTER };

	fprintf(out, "#\n# Topology file\n#\n");
	for (size_t o = 0; o < ARRAY_SIZE(order); o++)
		for (uint32_t i = 0; i < t->count; i++) {
			const struct topo_node *n = &t->nodes[i];

			if (n->type != order[o])
				continue;
			print_node(n, out);
			for (uint32_t p = 1; p <= n->nports; p++)
				if (n->ports[p].peer != TOPO_NONE)
					print_port(t, n, (uint8_t)p, out);
		}
	return ferror(out) ? -EIO : 0;
}
