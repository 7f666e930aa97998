/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A request of libibumad that is not answered. "mad NAME" sends it, prints "ready", and waits until its standard input
 * ends. lid and route run on a host of a fabric.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/umad.h>

#define MAD 256
#define CLASS_SA 3
#define CLASS_SMP_ROUTED 0x81
#define CLASS_VENDOR 0x09

static struct {
	struct ib_user_mad u;
	uint8_t mad[MAD];
} packet;

static void check(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static void hang(const char *name)
{
	static const uint8_t gid[16] = { [10] = 0xff, 0xff, 10, 77, 0, 98 };
	int lid = !strcmp(name, "lid"), route = !strcmp(name, "route");
	int mgmt_class = lid ? CLASS_SA : route ? CLASS_SMP_ROUTED : CLASS_VENDOR;
	int version = lid ? 2 : 1, port, agent;
	ib_mad_addr_t *a = &packet.u.addr;
	uint8_t *m = packet.mad;
	char device[UMAD_CA_NAME_LEN];

	check(!umad_init() && umad_get_cas_names(&device, 1) == 1, "device");
	port = umad_open_port(device, 1);
	check(port >= 0, "umad_open_port");
	agent = umad_register(port, mgmt_class, version, 0, NULL);
	check(agent >= 0, "umad_register");
	m[0] = 1;	/* base version */
	m[1] = (uint8_t)mgmt_class;
	m[2] = (uint8_t)version;
	m[3] = 1;	/* Get */
	m[15] = 7;	/* transaction */
	m[17] = 0x11;	/* attribute */
	if (route) {
		m[7] = 2;			/* hops */
		m[32] = m[33] = m[34] = m[35] = 0xff; /* DrSLID, DrDLID: permissive */
		m[128 + 1] = 1;			/* out of this port, */
		m[128 + 2] = 200;		/* and of one that the switch does not have */
		umad_set_addr(&packet, 0xffff, 0, 0, 0);
	} else {
		umad_set_addr(&packet, lid ? 77 : 0, 1, 0, (int)0x80010000);
	}
	if (!lid && !route) {
		a->grh_present = 1;
		a->gid_index = 1;	/* the IPv4 address of the interface */
		a->hop_limit = 64;
		memcpy(a->gid, gid, sizeof(gid));
	}
	check(!umad_send(port, agent, &packet, MAD, 60000, 2), "umad_send");
}

int main(int argc, char **argv)
{
	char c;

	if (argc != 2)
		return 2;
	hang(argv[1]);
	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	return 0;
}
