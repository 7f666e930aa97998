/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Open rdma_cm files: their close, and what rused handles before it. */
#include "base/testing.h"

#include <arpa/inet.h>
#include <errno.h>
#include <rdma/rdma_user_cm.h>
#include <sys/socket.h>
#include <unistd.h>

#include "abi/ucma/ucma.h"
#include "daemon/files/cmfile.h"
#include "daemon/state/port.h"
#include "daemon/state/process.h"
#include "fabrics/client.h"
#include "fabrics/fabrics.h"
#include "gsi/gsi.h"
#include "hostnet/hostnet.h"
#include "ipc/ucma_msg.h"
#include "loop/testing.h"
#include "umads/umads.h"

static struct loop loop;
static struct host_page page;
static struct umads umads;
static struct gsi gsi;
static struct hostnet net;
static struct fabrics fabrics;
static struct port port;
static struct cmfiles files;
static struct fabric_client fabric;
static struct process process;
static uint32_t drained;	/* the process whose messages were handled last */
static bool open_then;		/* the files were open then */
static int drained_posted;

static void drain(void *ctx, uint32_t proc)
{
	drained = proc;
	open_then = cmfiles_busy(&files);
}

static bool drain_posted(void *ctx)
{
	drained_posted++;
	return false;
}

static const struct cmfiles_ops ops = { .drain = drain, .drain_posted = drain_posted };

static void no_change(void *ctx, uint32_t ifindex, bool link)
{
}

static int setup(void **state)
{
	static const struct hostnet_ops net_ops = { .changed = no_change };

	memset(&page, 0, sizeof(page));
	memset(&gsi, 0, sizeof(gsi));
	memset(&files, 0, sizeof(files));
	memset(&fabric, 0, sizeof(fabric));
	/* As if UDP port 4791 were open. */
	port = (struct port){ .loop = &loop, .nslots = 1 };
	process = (struct process){ .pid = getpid(), .proc = 7, .page_fd = -1, .fabric = &fabric };
	drained = 0;
	drained_posted = 0;
	if (loop_init(&loop) || gsi_init(&gsi, &loop, &page, &umads))
		return -1;
	hostnet_init(&net, &loop, &net_ops, NULL);
	files.loop = &loop;
	files.page = &page;
	files.gsi = &gsi;
	files.net = &net;
	files.fabrics = &fabrics;
	files.port = &port;
	files.ops = &ops;
	return cmfiles_init(&files);
}

static int teardown(void **state)
{
	cmfiles_fini(&files);
	gsi_fini(&gsi);
	hostnet_fini(&net);
	loop_free_dead(&loop);
	loop_fini(&loop);
	return 0;
}

static void settle(struct loop *l)
{
	cmfiles_flush(&files);
}

/* A file as a program has it. */
struct opened {
	uint32_t number;
	int fds[CMFILE_OPEN_FDS];
};

static struct opened open_one(void)
{
	struct opened o;

	assert_int_equal(cmfile_open(&files, &process, &o.number, o.fds), 0);
	close(o.fds[1]);
	return o;
}

/* write() of a command. Its result. */
static int call(uint32_t file, uint32_t cmd, const void *body, size_t len, void *response)
{
	static uint8_t out[UCMA_RESPONSE_MAX];
	struct rdma_ucm_cmd_hdr hdr = { .cmd = cmd, .in = (uint16_t)len, .out = sizeof(out) };
	struct ipc_ucma q = { .file = file, .len = (uint32_t)(sizeof(hdr) + len),
			      .count = sizeof(hdr) + len };
	struct ipc_ucma_reply reply;
	uint8_t in[512];
	size_t rlen;
	int rc;

	memcpy(in, &hdr, sizeof(hdr));
	memcpy(in + sizeof(hdr), body, len);
	rc = cmfile_write(&files, &q, in, 0, &reply, out, &rlen);
	if (rc)
		return rc;
	if (!reply.ret && response)
		memcpy(response, out, rlen);
	return reply.ret;
}

static uint32_t create_id(uint32_t file)
{
	struct rdma_ucm_create_id q = { .ps = RDMA_PS_TCP, .qp_type = 2 };
	struct rdma_ucm_create_id_resp r = { .id = UINT32_MAX };

	assert_int_equal(call(file, RDMA_USER_CM_CMD_CREATE_ID, &q, sizeof(q), &r), 0);
	return r.id;
}

static int bind_id(uint32_t file, uint32_t id, uint16_t to)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(to) };
	struct rdma_ucm_bind q = { .id = id, .addr_size = sizeof(sin) };

	memcpy(&q.addr, &sin, sizeof(sin));
	return call(file, RDMA_USER_CM_CMD_BIND, &q, sizeof(q), NULL);
}

/* The hang-up of a file waits for what its process has sent before. */
static void test_hang_up(void **state)
{
	struct opened o = open_one();

	assert_true(cmfiles_busy(&files));
	close(o.fds[0]);
	loop_round(&loop, settle);
	assert_int_equal(drained, 7);
	assert_true(open_then);
	assert_false(cmfiles_busy(&files));
	assert_int_equal(call(o.number, RDMA_USER_CM_CMD_GET_EVENT, "", 1, NULL), -EBADF);
}

/* A file that another process has inherited: what that has sent last comes first. */
static void test_poster(void **state)
{
	struct rdma_ucm_destroy_id q = { .id = 99 };
	struct process child = { .pid = process.pid, .proc = 8, .page_fd = -1, .fabric = &fabric };
	struct ipc_ucma post = { .len = sizeof(struct rdma_ucm_cmd_hdr) + sizeof(q) };
	uint8_t body[sizeof(struct rdma_ucm_cmd_hdr) + sizeof(q)] = { RDMA_USER_CM_CMD_DESTROY_ID };
	struct opened o = open_one();

	post.file = o.number ^ 1u << 31;
	cmfile_write_posted(&files, &child, &post, body);	/* no such file: no effect */
	close(o.fds[0]);
	loop_round(&loop, settle);
	assert_int_equal(drained, 7);
	o = open_one();
	post.file = o.number;
	cmfile_write_posted(&files, &child, &post, body);
	close(o.fds[0]);
	loop_round(&loop, settle);
	assert_int_equal(drained, 8);
}

/* A file that the program has closed before a command has released its ports, though rused has not seen the close yet. */
static void test_free_port(void **state)
{
	struct opened a = open_one(), b = open_one();
	uint32_t id = create_id(b.number);

	assert_int_equal(bind_id(a.number, create_id(a.number), 7471), 0);
	assert_int_equal(bind_id(b.number, id, 7471), -EADDRNOTAVAIL);
	assert_int_equal(drained_posted, 1);
	close(a.fds[0]);
	assert_int_equal(bind_id(b.number, id, 7471), 0);
	assert_int_equal(drained_posted, 2);
	close(b.fds[0]);
	loop_round(&loop, settle);
	assert_false(cmfiles_busy(&files));
}

/* The host of a fabric on which the program ran was removed. */
static void test_no_host(void **state)
{
	uint32_t number;
	int fds[CMFILE_OPEN_FDS];

	fabric.number = 3;
	assert_int_equal(cmfile_open(&files, &process, &number, fds), -ENODEV);
	assert_false(cmfiles_busy(&files));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_hang_up, setup, teardown),
		cmocka_unit_test_setup_teardown(test_poster, setup, teardown),
		cmocka_unit_test_setup_teardown(test_free_port, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_host, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
