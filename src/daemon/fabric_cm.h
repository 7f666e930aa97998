/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * rdma_cm on hosts of a fabric. Each has one of its own: its port spaces, its
 * addresses, its devices and nobody else's. What its ports ask of the subnet
 * administrator goes by MADs through the fabric, as from any host.
 *
 * Addresses are those of IP over InfiniBand on its ports, ib0 and on; the machine
 * has no such interface. Port P of the N-th host (both from 1, hosts in the order of the
 * topology) has 10.P.N/256.N%256/16, fd00:0:0:P::N/64, and its link-local address.
 */
#ifndef RUSE_DAEMON_FABRIC_CM_H
#define RUSE_DAEMON_FABRIC_CM_H

#include <sys/socket.h>
#include "base/list.h"
#include "base/timer.h"
#include "wire/sa.h"

struct fabric_call;
struct fabric_host;
struct gsi_port;
struct rdmacm;
struct rdmacm_sa_join;
struct rdmacm_sa_path;
struct rused;
struct ucma;

struct fabric_cm {
	struct rused *r;
	struct fabric_host *host;	/* NULL: it is gone, files are open yet */
	struct rdmacm *rdmacm;
	struct ucma *ucma;
	uint32_t files;
	struct list_head lookups;	/* addresses that nobody answers for yet */
};

/* An address of a port. */
struct fabric_addr {
	uint32_t node;
	uint8_t port, family, prefix;	/* AF_INET, AF_INET6; prefix: bits of the network */
	uint8_t b[16];			/* 4 or 16 of them */
};

/* fabric_cm.c. 0 or -ENOMEM. */
int fabric_cm_init(struct fabric_host *h);
/* The host goes; its devices are gone. NULL is fine. */
void fabric_cm_host_gone(struct fabric_cm *cm);
/* An open file of it: comes, goes. */
void fabric_cm_get(struct fabric_cm *cm);
void fabric_cm_put(struct fabric_cm *cm);
/* Of the port in this slot; NULL: none of a fabric. */
struct fabric_cm *fabric_cm_of(const struct rused *r, unsigned int slot);

/* fabric_addr.c: the fabric is up, or goes. 0 or -ENOMEM. */
int fabric_addrs_init(struct rused *r);
void fabric_addrs_fini(struct rused *r);
/* `ruse fabric address`, and `address HOST/PORT ADDRESS/BITS`. */
int fabric_address(struct fabric_call *c);
/* Whose it is; a link-local one too, whatever its scope: they are made of GUIDs. */
const struct fabric_addr *fabric_addr_find(const struct rused *r, const struct sockaddr *sa);
/* The first of a port that has this destination in its network; any: the first of the family. */
const struct fabric_addr *fabric_addr_towards(const struct rused *r, uint32_t node, uint8_t port,
					      const struct sockaddr *dst, bool any);
void fabric_addr_put(const struct fabric_addr *a, struct sockaddr_storage *ss);

/* fabric_sa.c, as struct rdmacm_ops says; ctx, cm: a struct fabric_cm. */
int fabric_sa_path(void *ctx, struct rdmacm_sa_path *q);
void fabric_sa_cancel(void *cm, struct rdmacm_sa_path *q);

/*
 * One question. Answered by done() once: 0 and the SA's data, or -errno as ib_sa has it (-EINVAL:
 * a status, -ETIMEDOUT); q is gone afterwards.
 */
struct sa_query {
	struct gsi_port *port;
	void (*done)(struct sa_query *q, int status);
	void *arg;
	int status;
	uint8_t data[SA_DATA_LEN];	/* of the question, then of the answer */
};

/* NULL: no memory. */
struct sa_query *sa_query_new(struct gsi_port *port, void (*done)(struct sa_query *, int),
			      void *arg);
/* Sends it: 0 or -errno, and q is gone; -EAGAIN: no SM is known, -ENODEV. */
int sa_query_start(struct sa_query *q, enum mad_method method, uint16_t attr, uint64_t comp_mask,
		   uint32_t timeout_ms);
/* Without done(). NULL is fine. */
void sa_query_cancel(struct sa_query *q);

/* fabric_sa_mcast.c, in the same way. */
int fabric_sa_ip_group(void *ctx, unsigned int slot, struct sa_mcmember_rec *rec);
int fabric_sa_join(void *ctx, struct rdmacm_sa_join *j);
void fabric_sa_leave(void *cm, struct rdmacm_sa_join *j);
/* The SM of the port is a new one, or the port is another: its groups are no more. */
void fabric_sa_reset(struct rused *r, unsigned int slot);
/* The device goes: its memberships end, without a word to anybody. */
void fabric_sa_port_gone(struct rused *r, unsigned int slot);

#endif
