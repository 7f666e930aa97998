/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Commands that fail: protection domains, memory, completion queues, handles. */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include "commands.h"

#define PAGE 4096u

static int reg(void *addr, size_t len, int access)
{
	struct ibv_mr *m = ibv_reg_mr(pd, addr, len, access);
	int err = null_error(m);

	if (m)
		ibv_dereg_mr(m);
	return err;
}

/* n new pages. */
static char *pages(size_t n, int prot)
{
	return must(mmap(NULL, n * PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), "mmap");
}

/* No descriptor is free. */
static int no_descriptor(void)
{
	struct rlimit old, none;
	int err;

	getrlimit(RLIMIT_NOFILE, &old);
	none = (struct rlimit){ 3, old.rlim_max };
	setrlimit(RLIMIT_NOFILE, &none);
	err = null_error(ibv_create_comp_channel(ctx));
	setrlimit(RLIMIT_NOFILE, &old);
	return err;
}

static int pd_in_use(void)
{
	struct ibv_qp *qp = new_qp(IBV_QPT_RC, cq);
	int err = ibv_dealloc_pd(pd);

	ibv_destroy_qp(qp);
	return err;
}

static int pd_gone(void)
{
	struct ibv_pd copy = *pd;

	copy.handle = 9999;
	return null_error(ibv_reg_mr(&copy, buf, PAGE, 0));
}

static int pd_of_other_kind(void)
{
	struct ibv_pd copy = *pd;

	copy.handle = cq->handle;
	return null_error(ibv_reg_mr(&copy, buf, PAGE, 0));
}

static int reg_no_local_write(void)
{
	return reg(buf, PAGE, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
}

static int reg_flags(void)
{
	return reg(buf, PAGE, IBV_ACCESS_LOCAL_WRITE | 1 << 9);
}

static int reg_empty(void)
{
	return reg(buf, 0, 0);
}

static int reg_wraps(void)
{
	return reg(buf, SIZE_MAX, 0);
}

static int reg_freed(void)
{
	char *p = pages(1, PROT_READ);

	munmap(p, PAGE);
	return reg(p + 16, 100, 0);
}

static int reg_hole(void)
{
	char *p = pages(9, PROT_READ | PROT_WRITE);
	int err;

	munmap(p + 5ul * PAGE, PAGE);
	err = reg(p + 16, 8ul * PAGE, ALL);
	munmap(p, 9ul * PAGE);
	return err;
}

static int reg_read_only(void)
{
	char *p = pages(1, PROT_READ);
	int err = reg(p, PAGE, IBV_ACCESS_LOCAL_WRITE);

	munmap(p, PAGE);
	return err;
}

/* The file has one page, the region three. */
static int reg_file_end(void)
{
	int fd = memfd_create("file", 0), err;
	char *p;

	if (fd < 0 || ftruncate(fd, PAGE))
		return 0;
	p = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	err = reg(p, 3 * PAGE, IBV_ACCESS_LOCAL_WRITE);
	munmap(p, 3 * PAGE);
	close(fd);
	return err;
}

static int reg_iova(void)
{
	return null_error(ibv_reg_mr_iova(pd, buf + 16, PAGE, 0x1000, 0));
}

/* A window is bound to the region. */
static int mr_in_use(void)
{
	struct ibv_mw *mw = must(ibv_alloc_mw(pd, IBV_MW_TYPE_1), "ibv_alloc_mw");
	struct ibv_mw_bind bind = {
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = { .mr = mr, .addr = (uintptr_t)buf, .length = 64,
			       .mw_access_flags = IBV_ACCESS_REMOTE_READ },
	};
	struct ibv_qp *qp = new_qp(IBV_QPT_RC, cq);
	struct ibv_wc wc;
	int err, n;

	move_to(qp, IBV_QPS_RTS);
	err = ibv_bind_mw(qp, mw, &bind);
	while (!err && (n = ibv_poll_cq(cq, 1, &wc)) <= 0)
		err = n;
	must(err || wc.status ? NULL : mw, "ibv_bind_mw");
	err = ibv_dereg_mr(mr);
	ibv_dealloc_mw(mw);
	ibv_destroy_qp(qp);
	return err;
}

static int mw_type(void)
{
	return null_error(ibv_alloc_mw(pd, (enum ibv_mw_type)3));
}

static int cq_large(void)
{
	return null_error(ibv_create_cq(ctx, 1 << 23, NULL, NULL, 0));
}

static int cq_flags(void)
{
	struct ibv_cq_init_attr_ex a = {
		.cqe = 8, .wc_flags = IBV_WC_STANDARD_FLAGS,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN,
	};

	return null_error(ibv_create_cq_ex(ctx, &a));
}

static int cq_vector(void)
{
	return null_error(ibv_create_cq(ctx, 1, NULL, NULL, 99));
}

static int cq_channel(void)
{
	struct ibv_comp_channel *ch = must(ibv_create_comp_channel(other_ctx), "channel");
	struct ibv_comp_channel copy = *ch;
	int err;

	copy.context = ctx;
	err = null_error(ibv_create_cq(ctx, 1, NULL, &copy, 0));
	ibv_destroy_comp_channel(ch);
	return err;
}

static int cq_in_use(void)
{
	struct ibv_qp *qp = new_qp(IBV_QPT_RC, cq);
	int err = ibv_destroy_cq(cq);

	ibv_destroy_qp(qp);
	return err;
}

/* The CQ has four completions of flushed receives. */
static int cq_shrink(void)
{
	struct ibv_sge s = { (uintptr_t)buf, 64, mr->lkey };
	struct ibv_recv_wr w = { .sg_list = &s, .num_sge = 1 }, *bad;
	struct ibv_cq *small = must(ibv_create_cq(ctx, 16, NULL, NULL, 0), "ibv_create_cq");
	struct ibv_qp *qp = new_qp(IBV_QPT_RC, small);
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_ERR };
	int err;

	move_to(qp, IBV_QPS_INIT);
	for (int i = 0; i < 4; i++)
		ibv_post_recv(qp, &w, &bad);
	ibv_modify_qp(qp, &a, IBV_QP_STATE);
	err = ibv_resize_cq(small, 2);
	ibv_destroy_qp(qp);
	ibv_destroy_cq(small);
	return err;
}

const struct command object_commands[] = {
	{ "no-descriptor", no_descriptor },
	{ "pd-in-use", pd_in_use },
	{ "pd-gone", pd_gone },
	{ "pd-of-other-kind", pd_of_other_kind },
	{ "reg-no-local-write", reg_no_local_write },
	{ "reg-flags", reg_flags },
	{ "reg-empty", reg_empty },
	{ "reg-wraps", reg_wraps },
	{ "reg-freed", reg_freed },
	{ "reg-hole", reg_hole },
	{ "reg-read-only", reg_read_only },
	{ "reg-file-end", reg_file_end },
	{ "reg-iova", reg_iova },
	{ "mr-in-use", mr_in_use },
	{ "mw-type", mw_type },
	{ "cq-large", cq_large },
	{ "cq-flags", cq_flags },
	{ "cq-vector", cq_vector },
	{ "cq-channel", cq_channel },
	{ "cq-in-use", cq_in_use },
	{ "cq-shrink", cq_shrink },
};
const unsigned int nobject_commands = sizeof(object_commands) / sizeof(*object_commands);
