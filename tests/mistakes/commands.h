/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by commands.c, which has the objects, and commands_*.c, which have the commands that fail. */
#ifndef COMMANDS_H
#define COMMANDS_H

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#define BUF 65536u
#define ALL (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
	     IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND)

struct command {
	const char *name;
	int (*run)(void);	/* the errno of the call that fails; 0: it did not fail */
};

extern const struct command object_commands[], qp_commands[], dest_commands[];
extern const unsigned int nobject_commands, nqp_commands, ndest_commands;

extern struct ibv_context *ctx, *other_ctx;
extern struct ibv_pd *pd;
extern struct ibv_cq *cq;
extern struct ibv_mr *mr;	/* of buf */
extern char *buf;		/* BUF bytes, page-aligned */
extern union ibv_gid gid;
extern uint8_t gid_index;	/* of gid */

/* Objects that the program needs: without one it exits. */
void *must(void *obj, const char *what);
struct ibv_qp *new_qp(enum ibv_qp_type type, struct ibv_cq *with);
/* The attributes of a right ibv_modify_qp() to this state. Returns the mask. */
int attr_for(const struct ibv_qp *qp, enum ibv_qp_state state, struct ibv_qp_attr *a);
/* Moves a new QP to this state; it is connected to itself. */
void move_to(struct ibv_qp *qp, enum ibv_qp_state state);
/* commands_full.c: creates queues until their memory is used up. */
void fill_all(void);
/* errno if obj is NULL. */
int null_error(const void *obj);

#endif
