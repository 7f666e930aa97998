/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reasons of failures of rdma_cm (why/why.def). They are made when a call fails or an event with a failure is delivered,
 * and at no other time.
 */
#ifndef RUSE_RDMACM_CMA_WHY_H
#define RUSE_RDMACM_CMA_WHY_H

#include "cm/cm_event.h"
#include "rdmacm/rdmacm.h"
#include "why/why.h"

struct rdma_cm_id;
struct rdma_id_private;

/*
 * The reason of the failure that the last call or the event being delivered has; id WHY_NONE: none is known. The user of
 * the ids clears it before a call, and after it has taken it.
 */
struct why *rdmacm_why(struct rdmacm *rm);

/* Writes the address as a GID into two values of a reason. */
void cma_why_addr(const struct sockaddr *a, uint64_t arg[2]);

/* The calls of CM_STATE and CM_PRIVATE_DATA: value 0 of these reasons. */
enum cma_call { CMA_BIND, CMA_ROUTE, CMA_CONNECT, CMA_ACCEPT, CMA_JOIN, CMA_REJECT };

/* The call is not allowed in the id's state. Returns -EINVAL. */
int cma_why_state(struct rdma_id_private *p, enum cma_call call);
/* The id is not bound to a device. Returns -EINVAL. */
int cma_why_no_device(const struct rdma_cm_id *id);
/* Sets the reason if more than `most` bytes of private data are the reason of ret. Returns ret. */
int cma_why_private(struct rdma_id_private *p, enum cma_call call, uint32_t len, uint32_t most,
		    int ret);
/* The address cannot be bound to, with this error. Returns it. */
int cma_why_bind(struct rdma_id_private *p, const struct sockaddr *addr, int ret);
/* The port number is used by the id cur. Returns ret. */
int cma_why_port(const struct rdma_id_private *p, const struct rdma_id_private *cur, int ret);
/* The resolution of dst ended with this error; ifindex: the interface of the route, 0: unknown. Returns status. */
int cma_why_resolve(struct rdma_id_private *p, const struct sockaddr *dst, uint32_t ifindex,
		    uint32_t timeout_ms, int status);
/* The peer has sent a REJ with this reason, or a SIDR_REP with this status. */
void cma_why_rejected(struct rdma_id_private *p, uint32_t reason);
void cma_why_sidr(struct rdma_id_private *p, uint32_t status);
/* The CM has repeated a message in vain: IB_CM_REQ_ERROR, IB_CM_REP_ERROR, IB_CM_SIDR_REQ_ERROR. */
void cma_why_timeout(struct rdma_id_private *p, enum ib_cm_event_type event);
/* A query to the SA has ended with status; known: the reason that the host knows, or WHY_NONE. Status 0: no reason. */
/* The rule of `ruse fault` that makes this step of the id fail; 0: none. */
uint32_t cma_fault(const struct rdma_id_private *p, enum fault_step step,
		   const struct sockaddr *dst);
/* The step has failed by a rule of `ruse fault` with this number; 0: there is none, and nothing is done. */
void cma_why_step(struct rdma_id_private *p, enum fault_step step, const struct sockaddr *dst,
		  uint32_t rule);
void cma_why_sa(struct rdmacm *rm, const struct why *known, int status);

#endif
