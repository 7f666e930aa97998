/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * IP addresses of the hosts of a fabric: assigned by rule (cm.h) or with `ruse fabric
 * address`.
 *
 * The table fabrics.addrs has PER_PORT addresses for each port of a host, in the order of the nodes and ports.
 * rused looks addresses up in this table instead of using ARP and routes. `ruse fabric address` shows
 * the table or replaces an entry.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <json-c/json.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabrics/cm.h"
#include "fabrics/fabrics_internal.h"

#define V4_BITS 16
#define V6_BITS 64
#define PER_PORT 3	/* per port: IPv4, IPv6, link-local */
#define BY_RULE 65534u	/* hosts that get an IPv4 address, up to 10.P.255.254; the next would be the broadcast address */

static uint8_t fabric_addr_bytes(uint8_t family)
{
	return family == AF_INET ? 4 : 16;
}

/* Sets the link-local IPv6 address of IP over InfiniBand: its interface identifier is the port GUID (RFC 4391, 8). */
static void fabric_addr_link_local(const struct fabric *f, struct fabric_addr *a)
{
	uint8_t gid[16];

	a->family = AF_INET6;
	a->prefix = V6_BITS;
	memcpy(a->b, (uint8_t[2]){ 0xfe, 0x80 }, 2);
	if (!fabric_port_gid(f, a->node, a->port, 0, gid))
		memcpy(a->b + 8, gid + 8, 8);
	a->b[8] |= 2;
}

static void fabric_addr_by_rule(const struct fabric *f, struct fabric_addr *a, uint32_t n)
{
	a[1] = a[2] = a[0];
	if (n <= BY_RULE) {
		a[0].family = AF_INET;
		a[0].prefix = V4_BITS;
		memcpy(a[0].b, (uint8_t[4]){ 10, a->port, (uint8_t)(n >> 8), (uint8_t)n }, 4);
	}
	a[1].family = AF_INET6;
	a[1].prefix = V6_BITS;
	a[1].b[0] = 0xfd;
	a[1].b[7] = a->port;
	put_be32(a[1].b + 12, n);
	fabric_addr_link_local(f, &a[2]);
}

int fabrics_addrs_init(struct fabrics *fs)
{
	const struct fabric *f = fs->fabric;
	uint32_t ports = 0, hosts = 0;

	for (uint32_t n = 0; n < fabric_node_count(f); n++)
		ports += fabric_node_type(f, n) == NODE_SWITCH ? 0 : fabric_node_ports(f, n);
	fs->addrs = calloc(ports + 1, PER_PORT * sizeof(*fs->addrs));
	if (!fs->addrs)
		return -ENOMEM;
	for (uint32_t n = 0; n < fabric_node_count(f); n++) {
		if (fabric_node_type(f, n) == NODE_SWITCH)
			continue;
		hosts++;
		for (uint32_t p = 1; p <= fabric_node_ports(f, n); p++) {
			struct fabric_addr *a = &fs->addrs[fs->naddrs];

			a->node = n;
			a->port = (uint8_t)p;
			fabric_addr_by_rule(f, a, hosts);
			fs->naddrs += PER_PORT;
		}
	}
	return 0;
}

void fabrics_addrs_fini(struct fabrics *fs)
{
	free(fs->addrs);
	fs->addrs = NULL;
	fs->naddrs = 0;
}

/* Copies family, address bytes and IPv6 scope id (0 for IPv4) of a socket address. False: it is neither IPv4 nor IPv6. */
static bool fabric_addr_bytes_of(const struct sockaddr *sa, uint8_t *family, uint8_t b[16],
				 uint32_t *scope)
{
	struct sockaddr_in6 a6;
	struct sockaddr_in a4;

	*scope = 0;
	*family = (uint8_t)sa->sa_family;
	if (sa->sa_family == AF_INET) {
		memcpy(&a4, sa, sizeof(a4));
		memcpy(b, &a4.sin_addr, 4);
		return true;
	}
	if (sa->sa_family != AF_INET6)
		return false;
	memcpy(&a6, sa, sizeof(a6));
	memcpy(b, &a6.sin6_addr, 16);
	*scope = a6.sin6_scope_id;
	return true;
}

const struct fabric_addr *fabric_addr_find(const struct fabrics *fs, const struct sockaddr *sa)
{
	uint8_t family, b[16];
	uint32_t scope;

	if (!fabric_addr_bytes_of(sa, &family, b, &scope))
		return NULL;
	for (uint32_t i = 0; i < fs->naddrs; i++) {
		const struct fabric_addr *a = &fs->addrs[i];

		if (a->family == family && !memcmp(a->b, b, fabric_addr_bytes(family)))
			return a;
	}
	return NULL;
}

static bool fabric_addr_same_network(const struct fabric_addr *a, const uint8_t b[16])
{
	for (uint32_t bit = 0; bit < a->prefix; bit++)
		if ((a->b[bit / 8] ^ b[bit / 8]) >> (7 - bit % 8) & 1)
			return false;
	return true;
}

const struct fabric_addr *fabric_addr_towards(const struct fabrics *fs, uint32_t node, uint8_t port,
					      const struct sockaddr *dst, bool any)
{
	uint8_t family, b[16];
	uint32_t scope;

	if (!fabric_addr_bytes_of(dst, &family, b, &scope) || (scope && scope != port))
		return NULL;
	for (uint32_t i = 0; i < fs->naddrs; i++) {
		const struct fabric_addr *a = &fs->addrs[i];

		if (a->node == node && a->port == port && a->family == family &&
		    (any || fabric_addr_same_network(a, b)))
			return a;
	}
	return NULL;
}

void fabric_addr_put(const struct fabric_addr *a, struct sockaddr_storage *ss)
{
	struct sockaddr_in6 *a6 = (struct sockaddr_in6 *)ss;
	struct sockaddr_in *a4 = (struct sockaddr_in *)ss;

	memset(ss, 0, sizeof(*ss));
	ss->ss_family = a->family;
	if (a->family == AF_INET) {
		memcpy(&a4->sin_addr, a->b, 4);
		return;
	}
	memcpy(&a6->sin6_addr, a->b, 16);
	if (a->b[0] == 0xfe)
		a6->sin6_scope_id = a->port;
}

static struct json_object *fabric_addr_text(const struct fabric_addr *a)
{
	char text[INET6_ADDRSTRLEN + 8] = "";
	size_t n;

	if (a->family) {
		inet_ntop(a->family, a->b, text, INET6_ADDRSTRLEN);
		n = strlen(text);
		snprintf(text + n, sizeof(text) - n, "/%u", a->prefix);
	}
	return json_object_new_string(text);
}

static int fabric_addr_show(struct fabric_call *c)
{
	struct json_object *all = json_object_new_array();
	const struct fabrics *f = c->fs;

	for (uint32_t i = 0; i < f->naddrs; i += PER_PORT) {
		const struct fabric_addr *a = &f->addrs[i];
		struct json_object *o = json_object_new_object();

		json_object_object_add(o, "host",
				       json_object_new_string(fabric_node_id(f->fabric, a->node)));
		json_object_object_add(o, "port", json_object_new_int(a->port));
		json_object_object_add(o, "ipv4", fabric_addr_text(&a[0]));
		json_object_object_add(o, "ipv6", fabric_addr_text(&a[1]));
		json_object_object_add(o, "link_local", fabric_addr_text(&a[2]));
		json_object_array_add(all, o);
	}
	json_object_object_add(c->answer, "addresses", all);
	return 0;
}

/* Parses an address like "192.168.1.7/24". */
static int fabric_addr_parse(struct fabric_call *c, char *text, struct fabric_addr *a)
{
	char *slash = strchr(text, '/'), *end = NULL;
	unsigned long bits = slash ? strtoul(slash + 1, &end, 10) : 0;

	if (slash)
		*slash = '\0';
	a->family = inet_pton(AF_INET, text, a->b) == 1 ? AF_INET :
		    inet_pton(AF_INET6, text, a->b) == 1 ? AF_INET6 : 0;
	if (!a->family || !slash || !bits || *end || bits > 8u * fabric_addr_bytes(a->family))
		return refuse_usage(c->answer, "'%s': expected an address such as 192.168.1.7/24", text);
	a->prefix = (uint8_t)bits;
	/* Refuse multicast, loopback, unspecified, and IPv6 link-local, which is set by rule. */
	if (!a->b[0] ||
	    (a->family == AF_INET ? a->b[0] == 127 || a->b[0] >= 0xe0 : a->b[0] >= 0xfe))
		return refuse_command(c->answer, "%s cannot be the address of a host", text);
	return 0;
}

int fabrics_address(struct fabric_call *c)
{
	struct fabrics *f = c->fs;
	struct fabric_addr new = { 0 };
	struct sockaddr_storage ss;
	uint32_t node;
	uint8_t port;

	if (c->n == 1)
		return fabric_addr_show(c);
	if (c->n != 3)
		return refuse_usage(c->answer, "usage: address [--json | HOST/PORT ADDRESS/BITS]");
	if (fabrics_find_port(c, c->word[1], &node, &port))
		return -EINVAL;
	if (fabric_node_type(f->fabric, node) == NODE_SWITCH)
		return refuse_command(c->answer, "%s is a switch, and only hosts have addresses", c->word[1]);
	if (fabric_addr_parse(c, c->word[2], &new))
		return -EINVAL;
	fabric_addr_put(&new, &ss);
	if (fabric_addr_find(c->fs, (struct sockaddr *)&ss))
		return refuse_command(c->answer, "%s is already in use", c->word[2]);
	for (uint32_t i = 0; i < f->naddrs; i += PER_PORT)
		if (f->addrs[i].node == node && f->addrs[i].port == port) {
			new.node = node;
			new.port = port;
			f->addrs[i + (new.family == AF_INET6)] = new;
		}
	return 0;
}
