/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rdma_cm on hosts of a fabric. Each host has its own port spaces, addresses and devices. Its
 * queries to the subnet administrator (SA) are MADs through the fabric.
 *
 * The addresses are those that IP over InfiniBand would have on the ports; the machine has no such
 * interfaces. Port P of host N (both from 1, hosts in the order of the topology) has the IPv4
 * address 10.P.X.Y/16 with X = N / 256 and Y = N % 256, the IPv6 address fd00:0:0:P::N/64 (N in
 * hexadecimal), and its link-local address.
 */
#ifndef RUSE_FABRICS_CM_H
#define RUSE_FABRICS_CM_H

#include <sys/socket.h>
#include "base/list.h"
#include "base/timer.h"
#include "why/why.h"
#include "wire/sa.h"

struct fabric_call;
struct fabric_host;
struct fabric_port;
struct gsi_port;
struct rdmacm;
struct rdmacm_sa_join;
struct rdmacm_sa_path;
struct fabrics;
struct ucma;

struct fabric_cm {
	struct fabrics *fs;
	struct fabric_host *host;	/* NULL: it was removed, but files are open */
	struct rdmacm *rdmacm;
	struct ucma *ucma;
	uint32_t files;
	struct list_head lookups;	/* look-ups without an answer yet */
};

/* An address of a port of a host. */
struct fabric_addr {
	uint32_t node;
	uint8_t port, family, prefix;	/* family: AF_INET, AF_INET6; prefix: network bits */
	uint8_t b[16];			/* 4 or 16 bytes, network order */
};

/* cm.c. 0 or -ENOMEM. */
int fabric_cm_init(struct fabric_host *h);
/* Call when the host is removed, after its devices. cm NULL is allowed. */
void fabric_cm_host_gone(struct fabric_cm *cm);
/* Call for each file that is opened. */
void fabric_cm_get(struct fabric_cm *cm);
/* Call for each file that is closed. Frees cm if that was the last file and the host was removed. */
void fabric_cm_put(struct fabric_cm *cm);
/* Call when the IPoIB broadcast group of a port is known: repeats the look-ups that wait. */
void fabric_cm_look_again(struct fabric_cm *cm);
/* fabric_cm of the port that is the device page->dev[slot]; NULL: the device is not of a fabric. */
struct fabric_cm *fabric_cm_of(const struct fabrics *fs, unsigned int slot);

/* addr.c: creates the table of the IP addresses of all ports of a new fabric. 0 or -ENOMEM. */
int fabrics_addrs_init(struct fabrics *fs);
/* Frees this table. Call when the fabric is removed. */
void fabrics_addrs_fini(struct fabrics *fs);
/* `ruse fabric address`, and `address HOST/PORT ADDRESS/BITS`. */
int fabrics_address(struct fabric_call *c);
/* The entry of an IP address in this table; NULL: none. Ignores the scope, as link-local addresses contain GUIDs. */
const struct fabric_addr *fabric_addr_find(const struct fabrics *fs, const struct sockaddr *sa);
/* Returns the port's first address whose network contains dst, or, if `any`, its first address of dst's family. NULL: none. */
const struct fabric_addr *fabric_addr_towards(const struct fabrics *fs, uint32_t node, uint8_t port,
					      const struct sockaddr *dst, bool any);
void fabric_addr_put(const struct fabric_addr *a, struct sockaddr_storage *ss);

/* sa.c. See struct rdmacm_ops; ctx and cm are a struct fabric_cm. */
int fabrics_sa_path(void *ctx, struct rdmacm_sa_path *q);
void fabrics_sa_cancel(void *cm, struct rdmacm_sa_path *q);

/*
 * One SA query. Unless it is cancelled, done() is called once, then q is freed. status: 0: data has
 * the SA's answer; else -errno as in the kernel's ib_sa: -EINVAL: the SA answered with an error,
 * -ETIMEDOUT: it did not answer, -EINTR: the port was removed, -EIO.
 */
struct sa_query {
	struct gsi_port *port;
	void (*done)(struct sa_query *q, int status);
	void *arg;
	int status;
	struct why why;			/* of an error; its id is WHY_NONE if none is known */
	uint8_t data[SA_DATA_LEN];	/* attribute of the query, then of the answer */
};

/* NULL: no memory. */
struct sa_query *sa_query_new(struct gsi_port *port, void (*done)(struct sa_query *, int),
			      void *arg);
/* Sends the query. 0; or -errno, and q is freed: -ENODEV: the device was removed; -EAGAIN: the port does not know an SM yet. */
int sa_query_start(struct sa_query *q, enum mad_method method, uint16_t attr, uint64_t comp_mask,
		   uint32_t timeout_ms);
/* Frees q without calling done(). NULL is allowed. */
void sa_query_cancel(struct sa_query *q);

/* sa_mcast.c. See struct rdmacm_ops. */
int fabrics_sa_ip_group(void *ctx, unsigned int slot, struct sa_mcmember_rec *rec);
int fabrics_sa_join(void *ctx, struct rdmacm_sa_join *j);
void fabrics_sa_leave(void *cm, struct rdmacm_sa_join *j);
/* Call if the port has a new SM or LID, or went down: it has lost all its memberships in multicast groups. */
void fabrics_sa_reset(struct fabrics *fs, unsigned int slot);
/* Call when a port is published: after a reset, asks the SA again about the IPoIB broadcast group. The old one holds until then. */
void fabrics_sa_ip_again(struct fabric_port *p);
/* Call when the device is removed. Ends its memberships without callbacks. */
void fabrics_sa_port_gone(struct fabrics *fs, unsigned int slot);

#endif
