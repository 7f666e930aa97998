/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RDMA communication ids: the API that abi/ucma is made of, in the shape of the
 * kernel's include/rdma/rdma_cm.h. Every call is answered at once: 0 or -errno;
 * -EINVAL is also the wrong state. Events come through the id's handler.
 */
#ifndef RUSE_RDMACM_ID_H
#define RUSE_RDMACM_ID_H

#include <rdma/rdma_user_cm.h>
#include "cm/cm_event.h"
#include "rdmacm/addr.h"
#include "rdmacm/path.h"
#include "rdmacm/rdmacm.h"

/* These numbers cross the ABI. */
enum rdma_cm_event_type {
	RDMA_CM_EVENT_ADDR_RESOLVED,
	RDMA_CM_EVENT_ADDR_ERROR,	/* status -errno */
	RDMA_CM_EVENT_ROUTE_RESOLVED,
	RDMA_CM_EVENT_ROUTE_ERROR,
	RDMA_CM_EVENT_CONNECT_REQUEST,	/* on a new id */
	RDMA_CM_EVENT_CONNECT_RESPONSE,	/* active: REP has come; rdma_accept(NULL) answers it */
	RDMA_CM_EVENT_CONNECT_ERROR,
	RDMA_CM_EVENT_UNREACHABLE,	/* status -ETIMEDOUT, or the status of a SIDR_REP */
	RDMA_CM_EVENT_REJECTED,		/* status: the REJ's reason */
	RDMA_CM_EVENT_ESTABLISHED,
	RDMA_CM_EVENT_DISCONNECTED,	/* status 0, or -ETIMEDOUT: the DREQ was not answered */
	RDMA_CM_EVENT_DEVICE_REMOVAL,
	RDMA_CM_EVENT_MULTICAST_JOIN,
	RDMA_CM_EVENT_MULTICAST_ERROR,
	RDMA_CM_EVENT_ADDR_CHANGE,
	RDMA_CM_EVENT_TIMEWAIT_EXIT,
	RDMA_CM_EVENT_COUNT
};

enum rdma_cm_state {
	RDMA_CM_IDLE,
	RDMA_CM_ADDR_QUERY,
	RDMA_CM_ADDR_RESOLVED,
	RDMA_CM_ROUTE_QUERY,
	RDMA_CM_ROUTE_RESOLVED,
	RDMA_CM_CONNECT,	/* from REQ or SIDR_REQ, sent or received, on */
	RDMA_CM_DISCONNECT,
	RDMA_CM_ADDR_BOUND,
	RDMA_CM_LISTEN,
	RDMA_CM_DEVICE_REMOVAL,
	RDMA_CM_DESTROYING,
	RDMA_CM_STATE_COUNT
};

const char *rdma_cm_state_name(enum rdma_cm_state s);
const char *rdma_event_msg(enum rdma_cm_event_type e);

/* enum ib_qp_type of the kernel, where user space gives it (RDMA_PS_IB). */
enum { CMA_QPT_RC = 2, CMA_QPT_UC = 3, CMA_QPT_UD = 4, CMA_QPT_XRC_INI = 9, CMA_QPT_XRC_TGT = 10 };

struct rdma_conn_param {
	const void *private_data;
	uint8_t private_data_len;
	uint8_t responder_resources, initiator_depth;
	uint8_t flow_control, retry_count, rnr_retry_count, srq;
	uint32_t qp_num, qkey;
};

struct rdma_ud_param {
	const void *private_data;
	uint8_t private_data_len;
	struct ib_uverbs_ah_attr ah_attr;
	uint32_t qp_num, qkey;
};

/* Pointers live as long as the handler's call. */
struct rdma_cm_event {
	enum rdma_cm_event_type event;
	int status;
	union {
		struct rdma_conn_param conn;
		struct rdma_ud_param ud;	/* where qp_type is UD */
	} param;
	struct cm_ece ece;
	void *mc;	/* MULTICAST_*: the context of the join */
};

struct rdma_cm_id;

/*
 * Must not call back into rdmacm for this id. Not 0: the id is destroyed when
 * the handler has returned (-ENOMEM for a CONNECT_REQUEST: without a REJ).
 */
typedef int (*rdma_cm_event_handler)(struct rdma_cm_id *id, struct rdma_cm_event *event);

/* The public part; to read, but for context. */
struct rdma_cm_id {
	struct rdmacm *rm;
	void *context;
	rdma_cm_event_handler event_handler;
	const struct host_dev *device;	/* NULL: not bound to one */
	uint16_t ps;			/* RDMA_PS_* */
	uint8_t qp_type;
	uint8_t port_num;		/* 0 while there is no device */
	bool may_bind;			/* the owner may have ports below 1024 */
	struct sockaddr_storage src, dst;	/* all zero while unknown */
	uint16_t pkey;			/* of QUERY_ADDR; 0 on RoCE unless bound by loopback or AF_IB */
	unsigned int num_paths;		/* 0, 1 or 2 records in path */
	struct sa_path_rec *path;
};

/* NULL: no memory. */
struct rdma_cm_id *rdma_create_user_id(struct rdmacm *rm, rdma_cm_event_handler handler,
				       void *context, uint16_t ps, uint8_t qp_type);
/* In any state; what the peer is owed (REJ, DREQ, DREP) is sent. No events follow. */
void rdma_destroy_id(struct rdma_cm_id *id);
enum rdma_cm_state rdma_id_state(const struct rdma_cm_id *id);

int rdma_bind_addr(struct rdma_cm_id *id, const struct sockaddr *addr);
int rdma_listen(struct rdma_cm_id *id, int backlog);
/* src NULL or of family 0: to be chosen. */
int rdma_resolve_addr(struct rdma_cm_id *id, const struct sockaddr *src,
		      const struct sockaddr *dst, uint32_t timeout_ms);
int rdma_resolve_route(struct rdma_cm_id *id, uint32_t timeout_ms);
/* Instead of rdma_resolve_route(); the event is the caller's. */
int rdma_set_ib_path(struct rdma_cm_id *id, const struct sa_path_rec *path);

int rdma_connect_ece(struct rdma_cm_id *id, const struct rdma_conn_param *p, struct cm_ece ece);
/* p NULL: answers a CONNECT_RESPONSE (RTU). A failure has sent a REJ. */
int rdma_accept_ece(struct rdma_cm_id *id, const struct rdma_conn_param *p, struct cm_ece ece);
int rdma_reject(struct rdma_cm_id *id, const void *data, uint8_t len, uint8_t reason);
int rdma_disconnect(struct rdma_cm_id *id);
int rdma_notify(struct rdma_cm_id *id, uint32_t event);	/* enum ib_event_type: COMM_EST, PATH_MIG */
uint32_t rdma_id_can(const struct rdma_cm_id *id);	/* UCMA_CAN_* (ipc/ucma_shm.h) */
/* attr->qp_state is asked for; the rest zeroed by the caller. */
int rdma_init_qp_attr(struct rdma_cm_id *id, struct ib_uverbs_qp_attr *attr);

/* join_state: bit 0 full member, bit 3 send-only full member. context comes with the events. */
int rdma_join_multicast(struct rdma_cm_id *id, const struct sockaddr *addr, uint8_t join_state,
			void *context);
void rdma_leave_multicast(struct rdma_cm_id *id, const struct sockaddr *addr);

void rdma_set_service_type(struct rdma_cm_id *id, uint8_t tos);
int rdma_set_ack_timeout(struct rdma_cm_id *id, uint8_t timeout);
int rdma_set_reuseaddr(struct rdma_cm_id *id, bool reuse);
int rdma_set_afonly(struct rdma_cm_id *id, bool afonly);

/* Host byte order. */
uint64_t rdma_get_service_id(const struct rdma_cm_id *id, const struct sockaddr *addr);
/* Zero without a device; either may be NULL. */
void rdma_read_gids(const struct rdma_cm_id *id, uint8_t sgid[16], uint8_t dgid[16]);

#endif
