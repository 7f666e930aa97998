/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RDMA communication ids: the API below abi/ucma, as in the kernel's rdma_cm.h. No call blocks. Functions that return int return 0
 * or -errno; -EINVAL also if the id is in the wrong state. Events go to the id's handler.
 */
#ifndef RUSE_RDMACM_ID_H
#define RUSE_RDMACM_ID_H

#include <rdma/rdma_user_cm.h>
#include "cm/cm_event.h"
#include "rdmacm/addr.h"
#include "rdmacm/path.h"
#include "rdmacm/rdmacm.h"

/* The values are part of the kernel's ABI. */
enum rdma_cm_event_type {
	RDMA_CM_EVENT_ADDR_RESOLVED,
	RDMA_CM_EVENT_ADDR_ERROR,	/* status -errno */
	RDMA_CM_EVENT_ROUTE_RESOLVED,
	RDMA_CM_EVENT_ROUTE_ERROR,
	RDMA_CM_EVENT_CONNECT_REQUEST,	/* passive: REQ received; delivered on a new id */
	RDMA_CM_EVENT_CONNECT_RESPONSE,	/* active: REP received; answer: rdma_accept_ece(NULL) */
	RDMA_CM_EVENT_CONNECT_ERROR,
	RDMA_CM_EVENT_UNREACHABLE,	/* status -ETIMEDOUT, or the status of a SIDR_REP */
	RDMA_CM_EVENT_REJECTED,		/* status: reason code of the REJ */
	RDMA_CM_EVENT_ESTABLISHED,
	RDMA_CM_EVENT_DISCONNECTED,	/* status 0, or -ETIMEDOUT: no answer to the DREQ */
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
	RDMA_CM_CONNECT,	/* REQ or SIDR_REQ sent or received, until disconnected */
	RDMA_CM_DISCONNECT,
	RDMA_CM_ADDR_BOUND,
	RDMA_CM_LISTEN,
	RDMA_CM_DEVICE_REMOVAL,
	RDMA_CM_DESTROYING,
	RDMA_CM_STATE_COUNT
};

const char *rdma_cm_state_name(enum rdma_cm_state s);
const char *rdma_event_msg(enum rdma_cm_event_type e);

/* The kernel's enum ib_qp_type, which user space passes with RDMA_PS_IB. */
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

/* Pointers are valid until the handler returns. */
struct rdma_cm_event {
	enum rdma_cm_event_type event;
	int status;
	union {
		struct rdma_conn_param conn;
		struct rdma_ud_param ud;	/* if qp_type is UD */
	} param;
	struct cm_ece ece;
	void *mc;	/* MULTICAST_*: context argument of rdma_join_multicast() */
};

struct rdma_cm_id;

/*
 * Must not call rdmacm for this id. On an error rdmacm destroys the id. CONNECT_REQUEST brings a new id with the listener's handler
 * and context: on 0 it belongs to the listener's owner, on an error a REJ is sent (on -ENOMEM nothing is sent).
 */
typedef int (*rdma_cm_event_handler)(struct rdma_cm_id *id, struct rdma_cm_event *event);

/* The public part. The owner may write context, pid, and may_bind before it binds; the rest is read-only. */
struct rdma_cm_id {
	struct rdmacm *rm;
	void *context;
	rdma_cm_event_handler event_handler;
	const struct host_dev *device;	/* NULL: not bound to a device */
	uint16_t ps;			/* RDMA_PS_* */
	uint8_t qp_type;
	uint8_t port_num;		/* 0 without a device */
	uint32_t pid;			/* process of the owner, for texts; 0: unknown */
	bool may_bind;			/* the owner may bind to port numbers below 1024 */
	struct sockaddr_storage src, dst;	/* all zero while unknown */
	uint16_t pkey;			/* P_Key that QUERY_ADDR returns; on RoCE 0, except with a loopback or AF_IB address */
	unsigned int num_paths;		/* records in path: 0, 1 or 2 */
	struct sa_path_rec *path;
};

/* NULL: no memory. The caller owns the id. */
struct rdma_cm_id *rdma_create_user_id(struct rdmacm *rm, rdma_cm_event_handler handler,
				       void *context, uint16_t ps, uint8_t qp_type);
/* Valid in any state. Sends the REJ, DREQ or DREP that ends a connection. No event follows. */
void rdma_destroy_id(struct rdma_cm_id *id);
enum rdma_cm_state rdma_id_state(const struct rdma_cm_id *id);
/* Fails with -EADDRINUSE, -EACCES (may_bind), -EADDRNOTAVAIL, -EAFNOSUPPORT, -EPROTONOSUPPORT, -ENODEV (no device), -ENOMEM. */
int rdma_bind_addr(struct rdma_cm_id *id, const struct sockaddr *addr);
int rdma_listen(struct rdma_cm_id *id, int backlog);	/* errors as rdma_bind_addr(); backlog: unused */
/* src NULL or of family 0: the host chooses. timeout_ms: for route and neighbour. Errors of rdma_bind_addr() and ops->resolve(). */
int rdma_resolve_addr(struct rdma_cm_id *id, const struct sockaddr *src,
		      const struct sockaddr *dst, uint32_t timeout_ms);
int rdma_resolve_route(struct rdma_cm_id *id, uint32_t timeout_ms);
/* Sets the path instead of rdma_resolve_route(). The caller delivers ROUTE_RESOLVED. */
int rdma_set_ib_path(struct rdma_cm_id *id, const struct sa_path_rec *path);
/* Sends a REQ or SIDR_REQ. -EINVAL also if the private data is too long; -ENOMEM; errors of cm_send_req(), cm_send_sidr_req(). */
int rdma_connect_ece(struct rdma_cm_id *id, const struct rdma_conn_param *p, struct cm_ece ece);
/* p NULL: answers a CONNECT_RESPONSE with RTU. A failure other than a wrong state sends a REJ. */
int rdma_accept_ece(struct rdma_cm_id *id, const struct rdma_conn_param *p, struct cm_ece ece);
int rdma_reject(struct rdma_cm_id *id, const void *data, uint8_t len, uint8_t reason);
int rdma_disconnect(struct rdma_cm_id *id);
int rdma_notify(struct rdma_cm_id *id, uint32_t event);	/* enum ib_event_type: COMM_EST, PATH_MIG */
/* Mask of the calls that succeed in the id's present state: CMSHARE_CAN_* (cmshare/ucma_shm.h). */
uint32_t rdma_id_can(const struct rdma_cm_id *id);
/* Attributes for the transition to attr->qp_state. The caller zeroes all other fields. */
int rdma_init_qp_attr(struct rdma_cm_id *id, struct ib_uverbs_qp_attr *attr);

/* join_state: bit 0 full member, bit 3 send-only full member. Events carry context. */
int rdma_join_multicast(struct rdma_cm_id *id, const struct sockaddr *addr, uint8_t join_state,
			void *context);
void rdma_leave_multicast(struct rdma_cm_id *id, const struct sockaddr *addr);
void rdma_set_service_type(struct rdma_cm_id *id, uint8_t tos);
int rdma_set_ack_timeout(struct rdma_cm_id *id, uint8_t timeout);
int rdma_set_reuseaddr(struct rdma_cm_id *id, bool reuse);
int rdma_set_afonly(struct rdma_cm_id *id, bool afonly);

/* In host byte order. */
uint64_t rdma_get_service_id(const struct rdma_cm_id *id, const struct sockaddr *addr);
/* GIDs of the id; zero without a device. Either argument may be NULL. */
void rdma_read_gids(const struct rdma_cm_id *id, uint8_t sgid[16], uint8_t dgid[16]);

#endif
