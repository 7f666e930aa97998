/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Simulated hosts with rdma_cm and the network between their QP1s, in virtual time. Host i has
 * the addresses 10.0.0.(i+1) and fd00::(i+1) on a netdev with ifindex 2, and one device there.
 */
#ifndef RUSE_TESTS_RDMACM_WORLD_H
#define RUSE_TESTS_RDMACM_WORLD_H

#include <netinet/in.h>
#include "base/testing.h"
#include "base/list.h"
#include "abi/ucma/ucma_internal.h"
#include "cm/cm_internal.h"
#include "rdmacm/id.h"

#define WORLD_HOSTS 2
#define WORLD_IFINDEX 2
#define WORLD_DELAY (20 * NS_US)
#define WORLD_ATTRS 16	/* CM attributes 0x10 to 0x1a, by their low four bits */

struct world;

struct world_host {
	struct world *w;
	unsigned int nr;
	struct host_page page;
	struct cm_device cdev[HOST_MAX_DEVS];
	struct cm *cm;
	struct rdmacm *rm;
	struct ucma *u;
	struct cmshare_rec *recs;	/* NULL unless RDMACM_SHARED is in the environment */
	struct list_head resolving;
	unsigned int groups;	/* number of multicast groups joined */
	uint8_t group[16];	/* MGID of the multicast group that was joined or left last */
	uint16_t port_low, port_high;
	bool v6only;		/* net.ipv6.bindv6only */
};

struct world {
	ns_t now;
	struct list_head wire;
	struct world_host host[WORLD_HOSTS];
	ns_t resolve_delay;	/* 0: answered within the call */
	int resolve_status;	/* status with which each address resolution ends; 0: that of true_answer() */
	/* True: the MAD is lost. */
	bool (*lose)(struct world *w, unsigned int from, const uint8_t *mad);
	unsigned int sent[WORLD_ATTRS], lost;
	uint8_t last[WORLD_ATTRS][CM_MAD_LEN];	/* the last MAD of each attribute */
};

struct world *world_new(void);
/* All files must be closed. Asserts that no id and no connection is left. */
void world_free(struct world *w);
/* Adds a second device with the addresses 10.1.0.(i+1) and ifindex 3; returns its index in host_page.dev. */
unsigned int world_add_dev(struct world *w, unsigned int host);
void world_remove_dev(struct world *w, unsigned int host, unsigned int slot);
/* Runs all deliveries and timers due until virtual time `until`. */
void world_run(struct world *w, ns_t until);
/* Runs until no MAD is in flight; pending timers do not count. */
void world_settle(struct world *w);

/* A program's open rdma_cm file. */
struct client {
	struct world_host *h;
	struct ucma_file *f;
	struct cmshare_file *shm;	/* NULL unless RDMACM_SHARED */
	int sv[2];		/* with shm: rused's end and the program's end of the file's socket pair */
	unsigned int readable;	/* events announced by wake(), less those that commands have taken from the queue */
	struct ucma_reply reply;
};

struct client *client_open(struct world *w, unsigned int host);
void client_close(struct client *c);
/*
 * Writes a command; `out` is the room for the answer, as in the header. Returns 0 or -errno.
 * Asserts that the answer is not longer than that room.
 */
int client_cmd(struct client *c, uint32_t cmd, const void *payload, size_t len, uint16_t out);
/* Posts a command: it has no answer, and an error arrives as an event. */
void client_post(struct client *c, uint32_t cmd, const void *payload, size_t len, uint16_t out);
/* Writes any bytes; returns the value of ucma_write(). */
ssize_t client_write(struct client *c, const struct ucma_cmd *cmd);

/* Commands; they return -errno, or 0 or the id. */
int c_create(struct client *c, uint64_t uid, uint16_t ps);
/* Returns the number of events reported, or -errno. */
int c_destroy(struct client *c, uint32_t id);
int c_bind(struct client *c, uint32_t id, const struct sockaddr_storage *a);
int c_listen(struct client *c, uint32_t id, int backlog);
int c_resolve(struct client *c, uint32_t id, const struct sockaddr_storage *src,
	      const struct sockaddr_storage *dst, uint32_t timeout_ms);
int c_route(struct client *c, uint32_t id);
int c_connect(struct client *c, uint32_t id, uint32_t qpn, const char *data);
int c_accept(struct client *c, uint32_t id, uint64_t uid, uint32_t qpn, const char *data);
/* ACCEPT with valid 0 sends an RTU. */
int c_rtu(struct client *c, uint32_t id);
int c_reject(struct client *c, uint32_t id, uint8_t reason, const char *data);
int c_disconnect(struct client *c, uint32_t id);
int c_qp_attr(struct client *c, uint32_t id, uint32_t state, struct ib_uverbs_qp_attr *attr);
int c_query_addr(struct client *c, uint32_t id, struct rdma_ucm_query_addr_resp *r);
int c_query_gid(struct client *c, uint32_t id, struct rdma_ucm_query_addr_resp *r);
int c_option(struct client *c, uint32_t id, uint32_t level, uint32_t name, const void *val,
	     uint32_t len);
/* GET_EVENT: 0 or -errno. */
int c_event(struct client *c, struct rdma_ucm_event_resp *ev);
/* Takes the next event and asserts its type. */
void c_expect(struct client *c, uint32_t event, struct rdma_ucm_event_resp *ev);
void c_nothing(struct client *c);

/* text: "10.0.0.1", "fd00::1", "fe80::1" (scope WORLD_IFINDEX), or NULL for any IPv4 address. */
struct sockaddr_storage addr(const char *text, uint16_t port);

/* Creates a listener on the address; returns its id. */
int c_server(struct client *c, const char *text, uint16_t port, uint16_t ps);
/* Creates an id with a route to the address; returns it. */
int c_route_to(struct client *c, const char *text, uint16_t port, uint16_t ps);
/* Connects two clients: both ids are ESTABLISHED, and no event is left. */
void c_pair(struct world *w, struct client *cli, struct client *srv, const char *text,
	    uint16_t port, uint32_t *cid, uint32_t *sid);

#endif
