/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The fixture of the uverbs ABI tests (fixture.h): a fake host with descriptors and counters,
 * memory that is writable, read-only or unmapped, and the functions that call a command by
 * write() or by INVOKE_WRITE, or a method by ioctl().
 */
#include <rdma/ib_user_ioctl_verbs.h>
#include "fixture.h"

struct fix fx;
char *arena, *readonly, *unmapped;
static size_t arena_used;

/*
 * cmocka installs its own handlers for SIGSEGV and SIGBUS before each test; restore that of umem.
 */
static void guard(void)
{
	test_fault_handler();
}

void *arena_get(size_t len)
{
	void *p = arena + arena_used;

	arena_used += ALIGN_UP(len, (size_t)64);
	assert_true(arena_used <= ARENA_SIZE);
	memset(p, 0, len);
	return p;
}

static int fd_install(struct uverbs_file *f, struct event_file *ev)
{
	if (fx.install_err)
		return fx.install_err;
	for (int i = 0; i < MAX_FDS; i++) {
		if (fx.fds[i])
			continue;
		fx.fds[i] = ev;
		ev->fd = 0;
		return FD_BASE + i;
	}
	return -EMFILE;
}

static struct event_file *fd_lookup(struct uverbs_file *f, int fd)
{
	return fd >= FD_BASE && fd < FD_BASE + MAX_FDS ? fx.fds[fd - FD_BASE] : NULL;
}

void fix_fd_close(int fd)
{
	event_file_put(fx.fds[fd - FD_BASE]);
	fx.fds[fd - FD_BASE] = NULL;
}

static void fd_uninstall(struct uverbs_file *f, struct event_file *ev, int fd)
{
	assert_ptr_equal(fx.fds[fd - FD_BASE], ev);
	fix_fd_close(fd);
}

static int host_doorbell(struct qp *qp)
{
	fx.doorbells++;
	fx.last_qp = qp;
	return fx.doorbell_ret;
}

static void qp_ending(struct qp *qp)
{
	fx.ending++;
}

static void qp_modified(struct qp *qp, enum qp_state old, uint32_t mask)
{
	fx.modified++;
	fx.last_qp = qp;
	fx.last_old = old;
	fx.last_mask = mask;
}

static int qp_created(struct qp *qp)
{
	fx.created++;
	fx.last_qp = qp;
	return fx.created_err;
}

static void qp_destroying(struct qp *qp)
{
	fx.destroying++;
}

static void qp_query(struct qp *qp, uint32_t *rq_psn, uint32_t *sq_psn, bool *draining)
{
	*rq_psn = 0x111;
	*sq_psn = 0x222;
	*draining = false;
}

static void cq_armed(struct cq *cq)
{
	fx.armed++;
}

static const struct uverbs_ops host = {
	.fd_install = fd_install, .fd_uninstall = fd_uninstall, .fd_lookup = fd_lookup,
	.doorbell = host_doorbell, .qp_ending = qp_ending, .qp_modified = qp_modified,
	.qp_created = qp_created, .qp_destroying = qp_destroying,
	.qp_query = qp_query, .cq_armed = cq_armed,
};

void fix_open(bool with_context)
{
	static bool mapped;

	if (!mapped) {
		arena = mmap(NULL, ARENA_SIZE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		readonly = mmap(NULL, 0x2000, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		unmapped = mmap(NULL, 0x2000, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert_true(arena != MAP_FAILED && readonly != MAP_FAILED);
		assert_true(unmapped != MAP_FAILED);
		mapped = true;
	}
	guard();
	arena_used = 0;
	memset(&fx, 0, sizeof(fx));
	fx.td = test_dev_create();
	assert_int_equal(uverbs_open(&fx.td->uctx, &host, &test_event_ops, &fx.f), 0);
	if (with_context) {
		struct cmd c;

		assert_true(sample(IB_USER_VERBS_CMD_GET_CONTEXT, false, &c));
		assert_int_equal(run(BY_WRITE, &c), 0);
		fx.async = (int)((struct ib_uverbs_get_context_resp *)(uintptr_t)c.resp)->async_fd;
	}
}

void fix_objects(void)
{
	fx.channel = mk_channel();
	fx.pd = mk_pd();
	fx.cq = mk_cq();
	fx.mr = mk_mr(fx.pd);
	fx.ah = mk_ah(fx.pd);
	fx.qp = mk_qp(fx.pd, fx.cq);
}

void fix_close(void)
{
	if (fx.f)
		uverbs_close(fx.f);
	fx.f = NULL;
	assert_int_equal(fx.td->uctx.npd + fx.td->uctx.nmr + fx.td->uctx.ncq + fx.td->uctx.nqp +
			 fx.td->uctx.nah, 0);
	assert_int_equal(fx.td->rings, 0);
	for (int i = 0; i < MAX_FDS; i++)
		if (fx.fds[i])
			fix_fd_close(FD_BASE + i);
	test_dev_destroy(fx.td);
}

int setup(void **state)
{
	fix_open(true);
	return 0;
}

int setup_objects(void **state)
{
	fix_open(true);
	fix_objects();
	return 0;
}

int teardown(void **state)
{
	fix_close();
	return 0;
}

ssize_t frame(uint32_t command, const void *req, size_t in, size_t out)
{
	struct ib_uverbs_cmd_hdr *hdr = arena_get(sizeof(*hdr) + in + 8);

	guard();
	hdr->command = command;
	hdr->in_words = (uint16_t)((sizeof(*hdr) + in) / 4);
	hdr->out_words = (uint16_t)(out / 4);
	memcpy(hdr + 1, req, in);
	return uverbs_write(fx.f, hdr, sizeof(*hdr) + in);
}

ssize_t frame_ex(uint32_t nr, const void *req, size_t in, size_t drv_in, uint64_t resp, size_t out,
		 size_t drv_out)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_ex_cmd_hdr ex;
	} *h = arena_get(sizeof(*h) + in + drv_in);

	guard();
	h->hdr.command = nr | IB_USER_VERBS_CMD_FLAG_EXTENDED;
	h->hdr.in_words = (uint16_t)(in / 8);
	h->hdr.out_words = (uint16_t)(out / 8);
	h->ex.response = resp;
	h->ex.provider_in_words = (uint16_t)(drv_in / 8);
	h->ex.provider_out_words = (uint16_t)(drv_out / 8);
	memcpy(h + 1, req, in);
	return uverbs_write(fx.f, h, sizeof(*h) + in + drv_in);
}

const struct write_row *row_of(const struct cmd *c)
{
	return c->ex ? &write_ex_rows[c->nr] : &write_rows[c->nr];
}

static int run_invoke(struct cmd *c)
{
	void *in = arena_get(c->in + 8);
	struct ioc i;

	memcpy(in, &c->req, c->in);
	ioc_init(&i, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	ioc_add(&i, UVERBS_ATTR_WRITE_CMD, 8,
		c->nr | (c->ex ? IB_USER_VERBS_CMD_FLAG_EXTENDED : 0));
	if (c->in > 8)
		ioc_add(&i, UVERBS_ATTR_CORE_IN, (uint16_t)c->in, (uintptr_t)in);
	else if (c->in)
		memcpy(&ioc_add(&i, UVERBS_ATTR_CORE_IN, (uint16_t)c->in, 0)->data, in, c->in);
	if (c->out)
		ioc_add(&i, UVERBS_ATTR_CORE_OUT, (uint16_t)c->out, c->resp);
	if (c->drv_in)
		ioc_add(&i, UVERBS_ATTR_UHW_IN, (uint16_t)c->drv_in, 0);
	if (c->drv_out)
		ioc_add(&i, UVERBS_ATTR_UHW_OUT, (uint16_t)c->drv_out, c->resp + c->out);
	return ioc_run(&i);
}

int run(enum way way, struct cmd *c)
{
	size_t size;
	ssize_t n;

	if (way == BY_INVOKE)
		return run_invoke(c);
	if (c->ex) {
		size = 24 + c->in + c->drv_in;
		n = frame_ex(c->nr, &c->req, c->in, c->drv_in, c->resp, c->out, c->drv_out);
	} else {
		size = 8 + c->in + c->drv_in;
		if (row_of(c)->has_resp)
			c->req.response = c->resp;
		n = frame(c->nr, &c->req, c->in + c->drv_in, c->out + c->drv_out);
	}
	if (n >= 0)
		assert_int_equal(n, size);
	return n < 0 ? (int)n : 0;
}

void ioc_init(struct ioc *i, uint16_t object, uint16_t method)
{
	memset(i, 0, sizeof(*i));
	i->hdr.object_id = object;
	i->hdr.method_id = method;
	i->hdr.driver_id = RDMA_DRIVER_RXE;
	i->hdr.length = sizeof(i->hdr);
}

struct ib_uverbs_attr *ioc_add(struct ioc *i, uint16_t id, uint16_t len, uint64_t data)
{
	struct ib_uverbs_attr *a = &i->attr[i->hdr.num_attrs++];

	i->hdr.length += sizeof(*a);
	*a = (struct ib_uverbs_attr){ .attr_id = id, .len = len, .flags = 1, .data = data };
	return a;
}

struct ib_uverbs_attr *ioc_find(struct ioc *i, uint16_t id)
{
	for (int n = 0; n < i->hdr.num_attrs; n++)
		if (i->attr[n].attr_id == id)
			return &i->attr[n];
	return NULL;
}

void ioc_remove(struct ioc *i, uint16_t id)
{
	struct ib_uverbs_attr *a = ioc_find(i, id);

	*a = i->attr[--i->hdr.num_attrs];
	i->hdr.length -= sizeof(*a);
}

int ioc_run(struct ioc *i)
{
	guard();
	return uverbs_ioctl(fx.f, RDMA_VERBS_IOCTL, i);
}
