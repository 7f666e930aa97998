/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fixture of the uverbs ABI tests: an open uverbs file on a fake device and a fake host, memory
 * for commands to point at, and both ways to call a command. Only the command path is real.
 */
#ifndef RUSE_TESTS_ABI_FIXTURE_H
#define RUSE_TESTS_ABI_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <rdma/rdma_user_rxe.h>
#include "abi/uverbs/uverbs_internal.h"
#include "core/testing.h"

#define FD_BASE 100
#define MAX_FDS 64

enum way { BY_WRITE, BY_INVOKE, WAYS };

struct fix {
	struct test_dev *td;
	struct uverbs_file *f;
	struct event_file *fds[MAX_FDS];
	int install_err;	/* the error that fd_install() returns; 0: it succeeds */
	int created_err;	/* what qp_created() returns */
	int doorbell_ret;
	int doorbells, ending, modified, created, destroying, armed;
	struct qp *last_qp;
	enum qp_state last_old;
	uint32_t last_mask;
	/* Handles of one object of each kind. */
	uint32_t pd, cq, mr, ah, qp;
	int channel, async;
};
extern struct fix fx;

/*
 * arena: readable and writable memory; readonly: memory that cannot be written; unmapped: an
 * address that is not accessible.
 */
#define ARENA_SIZE 0x20000
extern char *arena, *readonly, *unmapped;
/* Zeroed memory, aligned to 64 bytes; fix_open() frees the whole arena. */
void *arena_get(size_t len);

void fix_open(bool with_context);
void fix_objects(void);		/* creates one object of each kind; handles in fx */
void fix_close(void);
void fix_fd_close(int fd);
int setup(void **state);
int setup_objects(void **state);
int teardown(void **state);

/*
 * A write() command; lengths in bytes, the request without header. Returns the value of
 * uverbs_write().
 */
ssize_t frame(uint32_t command, const void *req, size_t in, size_t out);
ssize_t frame_ex(uint32_t nr, const void *req, size_t in, size_t drv_in, uint64_t resp, size_t out,
		 size_t drv_out);

/*
 * A command. run() passes it to the file by write() or by INVOKE_WRITE and returns 0 or -errno.
 * resp: address of the core response, followed by the provider's.
 */
struct cmd {
	uint32_t nr;
	bool ex;
	union {
		uint64_t response;
		char b[512];
	} req;
	size_t in, out, drv_in, drv_out;
	uint64_t resp;
};
int run(enum way way, struct cmd *c);
const struct write_row *row_of(const struct cmd *c);

/*
 * Fills in a valid request for a write() command, with new objects. Returns false if samples.c has
 * no sample for it.
 */
bool sample(uint32_t nr, bool ex, struct cmd *c);

struct ioc {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attr[40];
};
void ioc_init(struct ioc *i, uint16_t object, uint16_t method);
struct ib_uverbs_attr *ioc_add(struct ioc *i, uint16_t id, uint16_t len, uint64_t data);
struct ib_uverbs_attr *ioc_find(struct ioc *i, uint16_t id);
void ioc_remove(struct ioc *i, uint16_t id);
int ioc_run(struct ioc *i);
/*
 * Fills in a valid call of an ioctl method; *expect: the result that it must have. False: no
 * sample.
 */
bool ioc_sample(const struct method_spec *m, struct ioc *i, int *expect);

/* Shortcuts; they assert success and return the handle. */
uint32_t mk_pd(void);
uint32_t mk_cq(void);
uint32_t mk_mr(uint32_t pd);
uint32_t mk_ah(uint32_t pd);
uint32_t mk_qp(uint32_t pd, uint32_t cq);
uint32_t mk_srq(uint32_t pd);
uint32_t mk_mw(uint32_t pd);
uint32_t mk_ud(bool attached);
int destroy(uint32_t nr, uint32_t handle);
int mk_channel(void);
/* MODIFY_QP with the attributes that the transition requires; returns the command's result. */
int to_state(uint32_t qp, enum qp_state s);
struct ib_uverbs_modify_qp *modify_request(struct cmd *c, uint32_t qp, enum qp_state s);

#endif
