/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Common mistakes with libibumad, one for each name in the table: `mad NAME`, `mad --list`. Each
 * uses port 1 of the first device and prints "call NAME ERRNO" for the call that fails. mad.py
 * compares the lines, and what `ruse explain` says. fabric-* and subnet-* run on a host of a fabric.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/umad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ib_user_mad ib_user_mad_kernel	/* libibumad has a structure of this name, too */
#include <rdma/ib_user_mad.h>
#undef ib_user_mad

#define MAD 256
#define METHOD_SEND 3
#define CLASS_SMP 0x01
#define CLASS_SMP_DR 0x81
#define CLASS_SA 3
#define CLASS_CM 7
#define CLASS_VENDOR 9
#define CLASS_VENDOR_OUI 0x30

static char device[UMAD_CA_NAME_LEN];
static int port;
static struct {
	ib_user_mad_t h;
	uint8_t mad[4 * MAD];
} packet;

static void die(const char *what)
{
	fprintf(stderr, "mad: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* failed: as the functions of libibumad say; the errno is that of the system call. */
static void call(const char *name, int failed)
{
	printf("call %s %d\n", name, failed ? errno : 0);
}

static void register_raw(const struct ib_user_mad_reg_req2 *q)
{
	struct ib_user_mad_reg_req2 r = *q;

	call("umad_register2", ioctl(umad_get_fd(port), IB_USER_MAD_REGISTER_AGENT2, &r));
}

static void qpn(void)
{
	register_raw(&(struct ib_user_mad_reg_req2){ .qpn = 7 });
}

static void no_qp0(void)
{
	register_raw(&(struct ib_user_mad_reg_req2){ .mgmt_class = CLASS_SMP,
						     .mgmt_class_version = 1 });
}

static void rmpp_version(void)
{
	call("umad_register", umad_register(port, CLASS_SA, 2, 3, NULL) < 0);
}

static void unknown_class(void)
{
	call("umad_register", umad_register(port, 0x60, 1, 0, NULL) < 0);
}

static void class_qp(void)
{
	register_raw(&(struct ib_user_mad_reg_req2){ .qpn = 1, .mgmt_class = CLASS_SMP_DR,
						     .mgmt_class_version = 1 });
}

static void class_version(void)
{
	call("umad_register", umad_register(port, CLASS_VENDOR, 200, 0, NULL) < 0);
}

static void no_oui(void)
{
	uint8_t oui[3] = { 0 };

	call("umad_register", umad_register_oui(port, CLASS_VENDOR_OUI, 0, oui, NULL) < 0);
}

static void long_oui(void)
{
	register_raw(&(struct ib_user_mad_reg_req2){ .qpn = 1, .mgmt_class = CLASS_VENDOR_OUI,
						     .mgmt_class_version = 1,
						     .oui = 0x05140000 });
}

static void class_rmpp(void)
{
	call("umad_register", umad_register(port, CLASS_VENDOR, 1, 1, NULL) < 0);
}

static void flags(void)
{
	register_raw(&(struct ib_user_mad_reg_req2){ .qpn = 1, .flags = 0x11 });
}

static void flags_class(void)
{
	register_raw(&(struct ib_user_mad_reg_req2){ .qpn = 1,
						     .flags = IB_USER_MAD_USER_RMPP });
}

static void vendor_agent(const char *name)
{
	long methods[16 / sizeof(long)] = { 1 << METHOD_SEND | 1 << 1 };
	int id = umad_register(port, CLASS_VENDOR, 1, 0, methods);

	if (name)
		call(name, id < 0);
	else if (id < 0)
		die("umad_register");
}

static void method_taken(void)
{
	vendor_agent(NULL);
	vendor_agent("umad_register");
}

static void method_own(void)
{
	long methods[16 / sizeof(long)] = { 1 << METHOD_SEND };

	call("umad_register", umad_register(port, CLASS_CM, 2, 0, methods) < 0);
}

static void agents(void)
{
	for (int i = 0; i < 32; i++)
		if (umad_register(port, CLASS_VENDOR, 1, 0, NULL) < 0)
			die("umad_register");
	call("umad_register", umad_register(port, CLASS_VENDOR, 1, 0, NULL) < 0);
}

static void ouis(void)
{
	long methods[16 / sizeof(long)] = { 1 << METHOD_SEND };
	uint8_t oui[3] = { 0, 0, 0 };

	for (oui[2] = 1; oui[2] <= 8; oui[2]++)
		if (umad_register_oui(port, CLASS_VENDOR_OUI, 0, oui, methods) < 0)
			die("umad_register_oui");
	call("umad_register", umad_register_oui(port, CLASS_VENDOR_OUI, 0, oui, methods) < 0);
}

static void no_agent(void)
{
	call("umad_unregister", umad_unregister(port, 3) < 0);
}

static void pkey_late(void)
{
	vendor_agent(NULL);
	call("umad_open_port", ioctl(umad_get_fd(port), IB_USER_MAD_ENABLE_PKEY));
}

/* A request of an agent, whose address is not set yet. Returns the agent. */
static int request(uint8_t mgmt_class, uint8_t version, uint8_t method, uint16_t attr)
{
	uint8_t *m = umad_get_mad(&packet);
	int id = umad_register(port, mgmt_class, version, 0, NULL);

	if (id < 0)
		die("umad_register");
	m[0] = 1;
	m[1] = mgmt_class;
	m[2] = version;
	m[3] = method;
	m[15] = 7;
	m[16] = (uint8_t)(attr >> 8);
	m[17] = (uint8_t)attr;
	return id;
}

static void grh_to_self(uint8_t index)
{
	ib_mad_addr_t *a = umad_get_mad_addr(&packet);
	umad_port_t p;

	if (umad_get_port(device, 1, &p))
		die("umad_get_port");
	a->qpn = htonl(1);
	a->grh_present = 1;
	a->gid_index = index;
	/* The device's first GID, which is of its own port. */
	memcpy(a->gid, &p.gid_prefix, 8);
	memcpy(a->gid + 8, &p.port_guid, 8);
}

static void send_mad(int id, int len, int ms)
{
	call("umad_send", umad_send(port, id, &packet, len, ms, 0));
}

static void send_no_agent(void)
{
	send_mad(5, MAD, 0);
}

static void write_short(void)
{
	call("umad_send", write(umad_get_fd(port), &packet, 70) < 0);
}

static void too_long(void)
{
	int id = request(CLASS_VENDOR, 1, 1, 1);

	grh_to_self(0);
	send_mad(id, 2 * MAD, 0);
}

static void class_short(void)
{
	int id = request(CLASS_SA, 2, 1, 1);

	grh_to_self(0);
	send_mad(id, 40, 0);
}

static void rmpp_of_class(void)
{
	int id = umad_register(port, CLASS_SA, 2, 1, NULL);

	request(CLASS_VENDOR, 1, 1, 1);
	grh_to_self(0);
	send_mad(id, MAD, 0);
}

static void duplicate(void)
{
	int id = request(CLASS_VENDOR, 1, METHOD_SEND, 1);

	grh_to_self(0);
	if (umad_send(port, id, &packet, MAD, 60000, 0))
		die("umad_send");
	send_mad(id, MAD, 1000);
}

static void need_grh(void)
{
	send_mad(request(CLASS_VENDOR, 1, 1, 1), MAD, 1000);
}

static void gid_index(void)
{
	int id = request(CLASS_VENDOR, 1, 1, 1);

	grh_to_self(77);
	send_mad(id, MAD, 1000);
}

static void pkey_index(void)
{
	int id = request(CLASS_VENDOR, 1, 1, 1);

	umad_set_addr(&packet, 1, 1, 0, 0);
	umad_set_pkey(&packet, 5000);
	send_mad(id, MAD, 1000);
}

/* An SMP by directed route with count hops; hop: the port of each. Returns the agent. */
static int directed(uint8_t count, const uint8_t *hop)
{
	uint8_t *m = umad_get_mad(&packet);
	int id = request(CLASS_SMP_DR, 1, 1, 0x11);

	umad_set_addr(&packet, 0xffff, 0, 0, 0);
	m[7] = count;
	memset(m + 32, 0xff, 4);
	memcpy(m + 129, hop, count);
	return id;
}

static void route(void)
{
	send_mad(directed(1, (const uint8_t[]){ 3 }), MAD, 1000);
}

static void dest_family(void)
{
	int id = request(CLASS_VENDOR, 1, 1, 1);

	grh_to_self(0);
	inet_pton(AF_INET6, "::ffff:10.77.0.9", umad_get_mad_addr(&packet)->gid);
	send_mad(id, MAD, 1000);
}

static void dest_unset(void)
{
	int id = request(CLASS_VENDOR, 1, 1, 1);

	grh_to_self(0);
	memset(umad_get_mad_addr(&packet)->gid, 0, 16);
	send_mad(id, MAD, 1000);
}

static void read_short(void)
{
	int id = request(CLASS_VENDOR, 1, 1, 1);

	grh_to_self(0);
	if (umad_send(port, id, &packet, MAD, 60000, 0))
		die("umad_send");
	if (umad_poll(port, 60000))
		die("umad_poll");
	call("umad_recv", read(umad_get_fd(port), &packet, 100) < 0);
}

/* Sends the request and waits until it has timed out. */
static void unanswered(int id)
{
	int len = MAD;

	if (umad_send(port, id, &packet, MAD, 100, 1))
		die("umad_send");
	if (umad_recv(port, &packet, &len, 60000) != id)
		die("umad_recv");
	printf("call umad_recv %d\n", umad_status(&packet));
}

static void not_taken(void)
{
	int id = request(CLASS_VENDOR, 1, METHOD_SEND, 1);

	grh_to_self(0);
	unanswered(id);
}

/* The request goes to an agent of another file of this process, which does not read. */
static void silent(void)
{
	int own = port;

	port = umad_open_port(device, 1);
	if (port < 0)
		die("umad_open_port");
	vendor_agent(NULL);
	port = own;
	not_taken();
}

static void data_qp(void)
{
	int id = request(CLASS_VENDOR, 1, METHOD_SEND, 1);

	grh_to_self(0);
	umad_get_mad_addr(&packet)->qpn = htonl(9);
	unanswered(id);
}

static void absent(void)
{
	int id = request(CLASS_VENDOR, 1, 1, 1);
	const uint8_t gid[16] = { [10] = 0xff, 0xff, 10, 77, 0, 98 };

	grh_to_self(1);
	memcpy(umad_get_mad_addr(&packet)->gid, gid, sizeof(gid));
	unanswered(id);
}

static void port_down(void)
{
	int id = request(CLASS_VENDOR, 1, 1, 1);
	umad_port_t p;

	grh_to_self(0);
	if (system("ip link set r1 down"))
		die("ip");
	do {
		if (umad_get_port(device, 1, &p))
			die("umad_get_port");
	} while (p.state == 4);
	unanswered(id);
}

/* A request to a LID: an SMP, or one of QP 1. */
static void to_lid(uint8_t mgmt_class, uint8_t method, int lid)
{
	int id = request(mgmt_class, mgmt_class == CLASS_SA ? 2 : 1, method, 0x11);

	umad_set_addr(&packet, lid, mgmt_class != CLASS_SMP, 0, 0);
	unanswered(id);
}

static void no_lid(void)
{
	to_lid(CLASS_SMP, 1, 77);
}

static int lid_of_peer(void)
{
	return atoi(getenv("MAD_LID"));
}

static void way_to_peer(void)
{
	to_lid(CLASS_SMP, 1, lid_of_peer());
}

static void own_port(void)
{
	to_lid(CLASS_VENDOR, 1, lid_of_peer());
}

/* GetTable of subnet administration, sent to a host without subnet manager. */
static void no_sa(void)
{
	to_lid(CLASS_SA, 0x12, lid_of_peer());
}

static void no_hop(void)
{
	unanswered(directed(3, (const uint8_t[]){ 1, 2, 1 }));
}

static void no_port(void)
{
	unanswered(directed(2, (const uint8_t[]){ 1, 99 }));
}

/* A directed route that ends with a part by LID, to a LID of which the switch knows nothing. */
static void lid_at_end(void)
{
	int id = directed(1, (const uint8_t[]){ 1 });

	memcpy((uint8_t *)umad_get_mad(&packet) + 34, (const uint8_t[]){ 0, 77 }, 2);
	unanswered(id);
}

static void gone(void)
{
	if (system(getenv("MAD_REMOVE")))
		die("cannot remove the device");
	call("umad_recv", read(umad_get_fd(port), &packet, sizeof(packet)) < 0);
}

static const struct mistake {
	const char *name;
	void (*run)(void);
} mistakes[] = {
	{ "qpn", qpn },
	{ "no-qp0", no_qp0 },
	{ "rmpp-version", rmpp_version },
	{ "class", unknown_class },
	{ "class-version", class_version },
	{ "no-oui", no_oui },
	{ "long-oui", long_oui },
	{ "class-rmpp", class_rmpp },
	{ "flags", flags },
	{ "flags-class", flags_class },
	{ "method-taken", method_taken },
	{ "method-own", method_own },
	{ "agents", agents },
	{ "ouis", ouis },
	{ "no-agent", no_agent },
	{ "pkey-late", pkey_late },
	{ "send-no-agent", send_no_agent },
	{ "write-short", write_short },
	{ "too-long", too_long },
	{ "class-short", class_short },
	{ "rmpp-of-class", rmpp_of_class },
	{ "duplicate", duplicate },
	{ "need-grh", need_grh },
	{ "gid-index", gid_index },
	{ "dest-family", dest_family },
	{ "dest-unset", dest_unset },
	{ "read-short", read_short },
	{ "not-taken", not_taken },
	{ "silent", silent },
	{ "data-qp", data_qp },
	{ "absent", absent },
	{ "port-down", port_down },
	{ "fabric-class-qp", class_qp },
	{ "fabric-pkey-index", pkey_index },
	{ "fabric-route", route },
	{ "fabric-no-lid", no_lid },
	{ "fabric-no-hop", no_hop },
	{ "fabric-no-port", no_port },
	{ "fabric-lid-at-end", lid_at_end },
	{ "fabric-gone", gone },
	{ "subnet-no-sa", no_sa },
	{ "subnet-m-key", way_to_peer },
	{ "subnet-link-down", way_to_peer },
	{ "subnet-own-port", own_port },
	{ "subnet-no-route", way_to_peer },
};

int main(int argc, char **argv)
{
	size_t n = sizeof(mistakes) / sizeof(*mistakes);

	if (argc == 2 && !strcmp(argv[1], "--list")) {
		for (size_t i = 0; i < n; i++)
			printf("%s\n", mistakes[i].name);
		return 0;
	}
	if (argc != 2)
		return 2;
	if (umad_init() || umad_get_cas_names(&device, 1) != 1)
		die("umad_get_cas_names");
	port = umad_open_port(device, 1);
	if (port < 0)
		die("umad_open_port");
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(mistakes[i].name, argv[1])) {
			mistakes[i].run();
			return 0;
		}
	}
	return 2;
}
