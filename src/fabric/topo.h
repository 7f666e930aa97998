/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A topology: nodes, ports and cables. Its text format is that which ibnetdiscover
 * prints and ibsim reads:
 *
 *	vendid=0x2c9
 *	devid=0xcf09
 *	sysimgguid=0x2c900
 *	switchguid=0x2c901(2c901)
 *	Switch	36 "S-000000000002c901"		# "leaf" base port 0 lid 3 lmc 0
 *	[1]	"H-0000000000100000"[1](100001) 		# "node1 mlx5_0" lid 4 4xEDR
 *
 *	caguid=0x100000
 *	Ca	1 "H-0000000000100000"		# "node1 mlx5_0"
 *	[1](100001) 	"S-000000000002c901"[1]		# lid 4 lmc 0 "leaf" lid 3 4xEDR
 *
 * Only node lines and port lines are required. The quoted IDs may be any names. A
 * cable may be given at one of its ends only. w= and s= give width and speed as in
 * ibsim. Description, LID, LMC, width and speed are read from comments too, so that
 * a printed topology can be read back.
 */
#ifndef RUSE_FABRIC_TOPO_H
#define RUSE_FABRIC_TOPO_H

#include <stdio.h>
#include "wire/smp.h"

#define TOPO_NONE UINT32_MAX
#define TOPO_MAX_NODES (LID_MCAST - 1)
#define TOPO_MAX_PORTS 254	/* port number 255 is reserved: it means "no port" in a forwarding table */
#define TOPO_NAME_LEN 64	/* NodeDescription's length; no final NUL there */

/* Slowest first. The values are internal, not those of PortInfo. */
enum topo_speed {
	TOPO_SDR, TOPO_DDR, TOPO_QDR, TOPO_FDR10, TOPO_FDR, TOPO_EDR, TOPO_HDR, TOPO_NDR,
	TOPO_SPEED_COUNT
};

struct topo_port {
	uint32_t peer;		/* node index; TOPO_NONE: no cable */
	uint8_t peer_port;
	uint8_t width;		/* LinkWidthActive: 1, 2 (4x), 4 (8x), 8 (12x), 16 (2x) */
	uint8_t speed;		/* enum topo_speed */
	uint8_t lmc;
	uint16_t lid;		/* 0: not given */
	uint64_t guid;		/* PortGUID; 0 at the external ports of switches, which have none */
};

struct topo_node {
	char id[TOPO_NAME_LEN + 1];	/* as in quotes; unique */
	char desc[TOPO_NAME_LEN + 1];
	enum node_type type;
	uint8_t nports;
	bool enhanced_port0;
	uint32_t vendid, devid;
	uint64_t guid, sysimgguid;
	struct topo_port *ports;	/* by port number, 0 to nports; port 0 is the management port of a switch */
};

struct topo {
	struct topo_node *nodes;
	uint32_t count, size;
	uint32_t *hash, hash_size;	/* of IDs: index + 1 */
};

struct topo_err {
	uint32_t line;		/* number of the wrong line, from 1; 0: the error is not in one line */
	char text[128];
};

void topo_init(struct topo *t);
void topo_fini(struct topo *t);
/*
 * Reads len bytes of text (no final NUL needed) into an initialised topology. 0; -EINVAL: err has
 * message and line; -ENOMEM. After an error of this function, topo_fill_guids() or a generator the
 * topology may be incomplete: only topo_fini() is allowed.
 */
int topo_parse(struct topo *t, const char *text, size_t len, struct topo_err *err);
/*
 * Prints the topology as ibnetdiscover does: switches first, each cable at both ends. The printed ID of a node consists of
 * its type and its GUID, as "S-000000000002c901"; topo_node.id is not printed. 0 or -EIO.
 */
int topo_print(const struct topo *t, FILE *out);

/*
 * Adds a node without cables. *out is valid until the next call. -EEXIST: ID in use; -EINVAL: bad
 * number of ports, bad ID, too many nodes; -ENOMEM.
 */
int topo_add(struct topo *t, const char *id, enum node_type type, uint32_t nports,
	     struct topo_node **out);
/* Adds a cable. -EEXIST: a port has another cable; -EINVAL: no such port, or a port with itself. */
int topo_connect(struct topo *t, uint32_t a, uint32_t a_port, uint32_t b, uint32_t b_port,
		 uint8_t width, enum topo_speed speed);
/* Index of a node by ID; TOPO_NONE: not found. */
uint32_t topo_find(const struct topo *t, const char *id, size_t len);
/*
 * Assigns the missing GUIDs as ibsim does: switches from 0x200000, others from 0x100000. -EINVAL:
 * two nodes or ports have the same GUID; -ENOMEM.
 */
int topo_fill_guids(struct topo *t, struct topo_err *err);

/*
 * Generators, into an initialised topology. Hosts have the IDs H1, H2, ...; links are 4xEDR. 0;
 * -EINVAL: a size of 0, too many ports or nodes; -ENOMEM.
 */
int topo_star(struct topo *t, uint32_t hosts);
/* k-ary fat tree of switches with k ports (Al-Fares): edge, aggregation, core; k^3/4 hosts. */
int topo_fat_tree(struct topo *t, uint32_t k);
/* Torus: a switch with `hosts` hosts at each point, cables to both neighbours per dimension. */
int topo_torus(struct topo *t, const uint32_t *dims, uint32_t ndims, uint32_t hosts);
/*
 * Canonical dragonfly (Kim, Dally), whose "routers" are InfiniBand switches. There are routers * globals + 1 groups of
 * `routers` switches each. Each switch has `hosts` hosts, one cable to each other switch of its group, and `globals` cables
 * to other groups. Any two groups are connected by one cable.
 */
int topo_dragonfly(struct topo *t, uint32_t routers, uint32_t hosts, uint32_t globals);

/* Name of a link width, as "4x"; NULL: unknown value. */
const char *topo_width_name(uint8_t width);
/* Name of a link speed, as "EDR"; NULL: unknown value. */
const char *topo_speed_name(enum topo_speed s);

#endif
