/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * remote/ucma.c against abi/ucma in one process: the functions of the engine that send messages to rused are defined
 * here and call ucma_write() and ucma_write_posted(), as rused does. The memory that rused shares is mapped twice.
 */
#include <errno.h>
#include <fcntl.h>
#include <rdma/rdma_user_cm.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include "abi/ucma/ucma.h"
#include "base/memfd.h"
#include "base/testing.h"
#include "cm/cm.h"
#include "core/testing.h"
#include "engine/engine.h"
#include "engine/explain.h"
#include "engine/own.h"
#include "engine/rused.h"
#include "engine/shakes.h"
#include "ipc/ucma_msg.h"
#include "cmshare/ucma_shm.h"
#include "remote/remote.h"

static struct {
	struct host_page page;
	struct cm *cm;
	struct rdmacm *rm;
	struct ucma *u;
	struct cmshare_rec *recs;
	struct cmshare_file *shm;
	struct ucma_file *f;
	int recs_fd, sock;	/* sock: rused's end of the socket pair */
	unsigned int asked, posted;	/* messages */
	uint32_t late;		/* ipc_ucma.aux of the last command but SET_OPTION */
	void *file;		/* as remote_ucma_open() has returned it */
	int fd;
} r;

static int fake_open(struct ipc_msg *q)
{
	struct ipc_ucma_open *reply = q->reply;
	int sv[2], *fds = q->rfds;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv), 0);
	r.shm = memfd_new("file", sizeof(*r.shm), &fds[1]);
	assert_non_null(r.shm);
	r.shm->number = 7;
	r.shm->generation = 4711;
	r.sock = sv[0];
	fds[0] = sv[1];
	fds[2] = dup(r.recs_fd);
	q->nrfds = 3;
	r.f = ucma_file_open(r.u, &r, false);
	assert_non_null(r.f);
	ucma_file_share(r.f, r.shm, r.sock);
	*reply = (struct ipc_ucma_open){ .file = 7 };
	q->rlen = sizeof(*reply);
	return 0;
}

static struct ucma_cmd fake_cmd(const void *msg, size_t len, struct ipc_ucma *h)
{
	const uint8_t *body = (const uint8_t *)msg + sizeof(*h);
	uint32_t opt = 0, cmd;

	memcpy(h, msg, sizeof(*h));
	assert_int_equal(h->file, 7);
	assert_true(sizeof(*h) + h->len <= len);
	memcpy(&cmd, body, h->len ? sizeof(cmd) : 0);
	if (h->len && cmd == RDMA_USER_CM_CMD_SET_OPTION)
		opt = h->aux;
	else
		r.late = h->aux;
	assert_true(sizeof(*h) + h->len + opt <= len);
	return (struct ucma_cmd){ .buf = body, .len = h->len, .opt = body + h->len,
				  .opt_len = opt };
}

int rused_ask(struct rused_msg *m)
{
	struct ipc_ucma_reply *answer = m->q.reply;
	struct ucma_reply got;
	struct ucma_cmd cmd;
	struct ipc_ucma h;
	ssize_t ret;

	assert_false(m->locked);
	if (m->q.type == IPC_UCMA_OPEN)
		return fake_open(&m->q);
	assert_int_equal(m->q.type, IPC_UCMA_WRITE);
	assert_int_equal(m->of, r.shm->generation);
	r.asked++;
	cmd = fake_cmd(m->q.req, m->q.len, &h);
	ret = ucma_write(r.f, &cmd, &got);
	ucma_flush(r.u);
	assert_true(sizeof(*answer) + got.len <= m->q.room);
	*answer = (struct ipc_ucma_reply){ .ret = ret < 0 ? (int32_t)ret : 0 };
	memcpy(answer + 1, got.data, got.len);
	m->q.rlen = sizeof(*answer) + got.len;
	return 0;
}

int rused_post(struct rused_msg *m)
{
	struct ucma_reply got;
	struct ucma_cmd cmd;
	struct ipc_ucma h;

	assert_int_equal(m->q.type, IPC_UCMA_POST);
	assert_int_equal(m->of, r.shm->generation);
	r.posted++;
	cmd = fake_cmd(m->q.req, m->q.len, &h);
	if (h.count)
		ucma_write_posted(r.f, &cmd, &got);
	ucma_flush(r.u);
	return 0;
}

static int fake_wait(int fd, bool held)
{
	return fcntl(fd, F_GETFL) & O_NONBLOCK ? -EAGAIN : -EIO;
}

const struct engine_ops *engine_caller(void)
{
	static const struct engine_ops host = { .sock_wait = fake_wait };

	return &host;
}

ns_t engine_now(void)
{
	return NS_S;
}

int own_fd(int fd)
{
	return fd;
}

int own_dup(int fd)
{
	return dup(fd);
}

void own_close(int fd)
{
	if (fd >= 0)
		close(fd);
}

void explain_failed(struct rdev *dev, const struct why_rec *rec)
{
}

static enum shake_message message;
static ns_t wait;
static bool again;

ns_t engine_shake_cm(enum shake_message m, bool *twice)
{
	message = m;
	*twice = again;
	return wait;
}

static ns_t fake_now(void *ctx)
{
	return NS_S;
}

static void fake_ports(void *ctx, uint16_t *low, uint16_t *high)
{
	*low = 32768;
	*high = 60999;
}

static bool fake_v6only(void *ctx)
{
	return false;
}

static void fake_woken(void *ctx, void *host, unsigned int n)
{
}

static int setup(void **state)
{
	static const struct rdmacm_ops ops = { .now = fake_now, .port_range = fake_ports,
					       .v6only = fake_v6only };
	static const struct ucma_ops ucma_ops = { .added_events = fake_woken };
	static const struct cm_ops cm_ops;

	memset(&r, 0, sizeof(r));
	r.cm = cm_create(&cm_ops, NULL, 1);
	r.rm = rdmacm_create(&r.page, r.cm, &ops, NULL);
	r.u = ucma_create(r.rm, &ucma_ops, NULL);
	r.recs = memfd_new("recs", CMSHARE_RECS * sizeof(*r.recs), &r.recs_fd);
	if (!r.cm || !r.rm || !r.u || !r.recs)
		return -1;
	ucma_share(r.u, r.recs);
	r.fd = remote_ucma_open(&r.file);
	return r.fd < 0;
}

static int teardown(void **state)
{
	remote_ucma_release(r.file);
	ucma_file_close(r.f);
	ucma_destroy(r.u);
	rdmacm_destroy(r.rm);
	cm_free(r.cm);
	munmap(r.shm, sizeof(*r.shm));
	close(r.fd);
	close(r.sock);
	close(r.recs_fd);
	return 0;
}

/* A write() of a command with this payload: 0 or -errno. */
static int run(uint32_t cmd, const void *payload, size_t len, uint16_t out)
{
	struct {
		struct rdma_ucm_cmd_hdr hdr;
		uint8_t payload[512];
	} c = { .hdr = { .cmd = cmd, .in = (uint16_t)len, .out = out } };
	ssize_t ret;

	memcpy(c.payload, payload, len);
	ret = remote_ucma_write(r.file, r.fd, &c, sizeof(c.hdr) + len);
	if (ret >= 0)
		assert_int_equal(ret, sizeof(c.hdr) + len);
	return ret < 0 ? (int)ret : 0;
}

static uint32_t create(void)
{
	struct rdma_ucm_create_id_resp resp[2] = { { .id = ~0u }, { .id = ~0u } };
	struct rdma_ucm_create_id c = { .uid = 5, .response = (uintptr_t)resp, .ps = RDMA_PS_TCP };

	assert_int_equal(run(RDMA_USER_CM_CMD_CREATE_ID, &c, sizeof(c), sizeof(resp[0])), 0);
	assert_int_not_equal(resp[0].id, ~0u);
	assert_int_equal(resp[1].id, ~0u);	/* nothing is written behind the response */
	return resp[0].id;
}

static int destroy(uint32_t id, uint32_t *reported)
{
	struct rdma_ucm_destroy_id c = { .response = (uintptr_t)reported, .id = id };

	return run(RDMA_USER_CM_CMD_DESTROY_ID, &c, sizeof(c), sizeof(*reported));
}

static void test_life(void **state)
{
	uint32_t id = create(), reported = 9;

	assert_int_equal(r.asked, 1);
	assert_int_equal(ucma_ids(r.u), 1);
	assert_int_equal(destroy(id, &reported), 0);
	assert_int_equal(reported, 0);
	assert_int_equal(ucma_ids(r.u), 0);
	assert_int_equal(destroy(id, &reported), -ENOENT);
}

/* A response that cannot be written is found before the command takes effect. */
static void test_unwritable(void **state)
{
	struct rdma_ucm_create_id c = { .ps = RDMA_PS_TCP };
	uint8_t *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
	uint32_t id;

	test_fault_handler();
	assert_true(page != MAP_FAILED);
	assert_int_equal(mprotect(page + 4096, 4096, PROT_READ), 0);
	c.response = (uintptr_t)page + 4096 - 2;
	assert_int_equal(run(RDMA_USER_CM_CMD_CREATE_ID, &c, sizeof(c), 4), -EFAULT);
	assert_int_equal(r.asked, 0);
	assert_int_equal(ucma_ids(r.u), 0);
	/* No more than the response is touched, however much room the program says there is. */
	c.response = (uintptr_t)page + 4096 - 4;
	assert_int_equal(run(RDMA_USER_CM_CMD_CREATE_ID, &c, sizeof(c), 400), 0);
	memcpy(&id, page + 4096 - 4, sizeof(id));
	assert_int_equal(destroy(id, &id), 0);
	/* A command without a response touches nothing. */
	assert_int_equal(run(RDMA_USER_CM_CMD_LISTEN, &(struct rdma_ucm_listen){ .id = id + 1 },
			     sizeof(struct rdma_ucm_listen), 400), -ENOENT);
	munmap(page, 8192);
}

static void test_bad(void **state)
{
	struct rdma_ucm_cmd_hdr hdr = { .cmd = RDMA_USER_CM_CMD_LISTEN };
	uint32_t id = create(), reported;
	uint64_t none = 0;

	test_fault_handler();
	assert_int_equal(remote_ucma_write(r.file, r.fd, &hdr, sizeof(hdr) - 1), -EINVAL);
	assert_int_equal(remote_ucma_write(r.file, r.fd, NULL, sizeof(hdr)), -EFAULT);
	assert_int_equal(run(99, &none, sizeof(none), 0), -EINVAL);
	assert_int_equal(run(RDMA_USER_CM_CMD_GET_OPTION, &none, sizeof(none), 0), -ENOSYS);
	/* Too short for the id; then an address where no memory is. */
	assert_int_equal(run(RDMA_USER_CM_CMD_DESTROY_ID, &none, sizeof(none), 4), -EINVAL);
	assert_int_equal(destroy(id, (void *)8), -EFAULT);
	assert_int_equal(ucma_ids(r.u), 1);
	assert_int_equal(destroy(id, &reported), 0);
}

/* The program gets the response of abi/ucma, whole or not at all. */
static void test_query(void **state)
{
	struct rdma_ucm_query_addr_resp local, asked;
	struct rdma_ucm_bind b = { .addr_size = sizeof(struct sockaddr_in) };
	struct rdma_ucm_query q = { .response = (uintptr_t)&local,
				    .option = RDMA_USER_CM_QUERY_ADDR };
	uint32_t id = create(), reported;
	struct ucma_reply got;
	struct {
		struct rdma_ucm_cmd_hdr hdr;
		struct rdma_ucm_query q;
	} c = { { RDMA_USER_CM_CMD_QUERY, sizeof(q), sizeof(local) }, q };

	b.id = q.id = c.q.id = id;
	b.addr.ss_family = AF_INET;
	assert_int_equal(run(RDMA_USER_CM_CMD_BIND, &b, sizeof(b), 0), 0);
	memset(&local, 0xff, sizeof(local));
	assert_int_equal(run(RDMA_USER_CM_CMD_QUERY, &q, sizeof(q), sizeof(local)), 0);
	assert_int_equal(ucma_write(r.f, &(struct ucma_cmd){ .buf = &c, .len = sizeof(c) }, &got),
			 sizeof(c));
	assert_int_equal(got.len, sizeof(asked));
	assert_memory_equal(&local, got.data, sizeof(local));
	assert_int_equal(run(RDMA_USER_CM_CMD_QUERY, &q, sizeof(q), 8), -ENOSPC);
	assert_int_equal(destroy(id, &reported), 0);
}

static void test_no_event(void **state)
{
	struct rdma_ucm_event_resp ev;
	struct rdma_ucm_get_event c = { .response = (uintptr_t)&ev };

	assert_int_equal(fcntl(r.fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(run(RDMA_USER_CM_CMD_GET_EVENT, &c, sizeof(c), sizeof(ev)), -EAGAIN);
	assert_int_equal(r.asked, 0);
	assert_int_equal(run(RDMA_USER_CM_CMD_GET_EVENT, &c, sizeof(c), 8), -ENOSPC);
	assert_int_equal(r.asked, 1);
}

/* How late the messages of CONNECT, ACCEPT and DISCONNECT are goes to rused with the command, which fails here. */
static void test_late(void **state)
{
	struct rdma_ucm_connect connect = { .id = create() };
	struct rdma_ucm_accept accept = { .id = connect.id, .conn_param.valid = 1 };
	struct rdma_ucm_disconnect disconnect = { .id = connect.id };
	uint32_t reported;

	wait = 1500 * NS_MS;
	assert_int_equal(run(RDMA_USER_CM_CMD_CONNECT, &connect, sizeof(connect), 0), -EINVAL);
	assert_int_equal(r.late, 1500000);
	assert_int_equal(message, SHAKE_REQ);
	again = true;
	assert_int_equal(run(RDMA_USER_CM_CMD_ACCEPT, &accept, sizeof(accept), 0), -EINVAL);
	assert_int_equal(r.late, 1500000 | IPC_UCMA_TWICE);
	assert_int_equal(message, SHAKE_REP);
	accept.conn_param.valid = 0;
	assert_int_equal(run(RDMA_USER_CM_CMD_ACCEPT, &accept,
			     offsetof(struct rdma_ucm_accept, ece), 0), -EINVAL);
	assert_int_equal(message, SHAKE_RTU);
	wait = 0;
	again = false;
	assert_int_equal(run(RDMA_USER_CM_CMD_DISCONNECT, &disconnect, sizeof(disconnect), 0),
			 -EINVAL);
	assert_int_equal(r.late, 0);
	assert_int_equal(message, SHAKE_DREQ);
	/* Not of other commands, nor of one that is too short to tell REP and RTU apart. */
	wait = NS_S;
	assert_int_equal(run(RDMA_USER_CM_CMD_ACCEPT, &accept, 8, 0), -EINVAL);
	assert_int_equal(r.late, 0);
	assert_int_equal(destroy(connect.id, &reported), 0);
	assert_int_equal(r.late, 0);
	wait = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_life, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unwritable, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad, setup, teardown),
		cmocka_unit_test_setup_teardown(test_query, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_event, setup, teardown),
		cmocka_unit_test_setup_teardown(test_late, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
