/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RDMA netlink sockets as a program has them: answers, their end, their number. */
#include "base/testing.h"

#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <rdma/rdma_netlink.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "abi/sysfs/sysfs.h"
#include "daemon/files/nlsock.h"
#include "daemon/files/cmfile.h"
#include "daemon/state/holds.h"
#include "daemon/state/host.h"
#include "daemon/state/process.h"
#include "fabrics/client.h"
#include "fabrics/fabrics.h"
#include "like/shown.h"
#include "loop/testing.h"

#define MOST 64		/* sockets of a process */

static char dir[64];
static struct loop loop;
static struct host_page page;
static struct host host;
static struct fabrics fabrics;
static struct cmfiles ucma;
static struct processes processes;
static struct holds holds;
static struct process process;
static struct fabric_client fabric;
static struct nlsock_owner owner;
static struct nlsocks sockets;
static const char *published;

/* What a netlink socket changes is read from the page and from sysfs; these callbacks are for other parts of rused. */
static void unseen_device(void *ctx, unsigned int slot)
{
}

static void unseen_address(void *ctx, uint32_t ifindex)
{
}

static void unseen_change(void *ctx, unsigned int slot, bool renamed)
{
}

static void notify(void *ctx, const char *what)
{
	published = what;
}

static const struct host_ops host_ops = { .added = unseen_device, .removed = unseen_device,
					  .addr_changed = unseen_address, .shown = unseen_change,
					  .notify = notify };

static int setup(void **state)
{
	memset(&page, 0, sizeof(page));
	memset(&process, 0, sizeof(process));
	memset(&fabric, 0, sizeof(fabric));
	page.dev[0] = (struct host_dev){ .in_use = 1, .index = 5, .minor = 192, .name = "rxe_0" };
	page.dev[1] = (struct host_dev){ .in_use = 1, .index = 6, .minor = 193, .name = "node3",
					 .ib.host = 4 };
	strcpy(dir, "/tmp/test-nlsock-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	host = (struct host){ .page = &page, .run = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
			      .ops = &host_ops, .shown_like = &like_shown_default };
	if (sysfs_init(host.run) || sysfs_device(host.run, NULL, &page.dev[0], &like_shown_default))
		return -1;
	ucma = (struct cmfiles){ .page = &page, .fabrics = &fabrics };
	list_init(&processes.list);
	process.page_fd = -1;
	process.uid = 1000;
	process.fabric = &fabric;
	list_add_tail(&process.node, &processes.list);
	published = NULL;
	sockets = (struct nlsocks){ .loop = &loop, .host = &host, .processes = &processes,
				    .holds = &holds, .ucma = &ucma };
	nlsock_owner_init(&owner, &process);
	if (loop_init(&loop))
		return -1;
	holds_init(&holds, &loop.timers, &processes, &page);
	return 0;
}

static int teardown(void **state)
{
	nlsock_close_all(&owner);
	loop_free_dead(&loop);
	loop_fini(&loop);
	sysfs_remove(host.run);
	close(host.run);
	return rmdir(dir);
}

static struct {
	union {
		struct nlmsghdr nlh;
		char buf[4096];
	};
	ssize_t len;
} msg;

static void request(int op, uint16_t flags)
{
	memset(&msg, 0, sizeof(msg));
	mnl_nlmsg_put_header(&msg);
	msg.nlh.nlmsg_type = (uint16_t)RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, op);
	msg.nlh.nlmsg_flags = NLM_F_REQUEST | flags;
}

static void ask(int fd)
{
	assert_int_equal(send(fd, &msg, msg.nlh.nlmsg_len, 0), msg.nlh.nlmsg_len);
	loop_round(&loop, NULL);
}

static void next_answer(int fd)
{
	msg.len = recv(fd, &msg, sizeof(msg.buf), MSG_DONTWAIT);
	assert_true(msg.len > 0);
	assert_true(mnl_nlmsg_ok(&msg.nlh, (int)msg.len));
}

static const char *device_name(void)
{
	const struct nlattr *a;

	mnl_attr_for_each(a, &msg.nlh, 0)
		if (mnl_attr_get_type(a) == RDMA_NLDEV_ATTR_DEV_NAME)
			return mnl_attr_get_str(a);
	return "";
}

/* A program sees the devices of the host on which it runs, also if it moves there after it has opened the socket. */
static void test_dump(void **state)
{
	int fd = nlsock_open(&sockets, &owner);

	assert_true(fd >= 0);
	request(RDMA_NLDEV_CMD_GET, NLM_F_DUMP);
	ask(fd);
	next_answer(fd);
	assert_string_equal(device_name(), "rxe_0");
	next_answer(fd);
	assert_int_equal(msg.nlh.nlmsg_type, NLMSG_DONE);
	fabric.number = 4;
	request(RDMA_NLDEV_CMD_GET, NLM_F_DUMP);
	ask(fd);
	next_answer(fd);
	assert_string_equal(device_name(), "node3");
	next_answer(fd);
	assert_int_equal(msg.nlh.nlmsg_type, NLMSG_DONE);
	close(fd);
	loop_round(&loop, NULL);
}

static int error_of(int fd)
{
	const struct nlmsgerr *e = mnl_nlmsg_get_payload(&msg.nlh);

	next_answer(fd);
	assert_int_equal(msg.nlh.nlmsg_type, NLMSG_ERROR);
	return e->error;
}

static int rename_to(int fd, uint32_t index, const char *name)
{
	request(RDMA_NLDEV_CMD_SET, NLM_F_ACK);
	mnl_attr_put_u32(&msg.nlh, RDMA_NLDEV_ATTR_DEV_INDEX, index);
	mnl_attr_put_strz(&msg.nlh, RDMA_NLDEV_ATTR_DEV_NAME, name);
	ask(fd);
	return error_of(fd);
}

/* A new name is in the host page and in sysfs before the answer. Devices of a fabric keep theirs. */
static void test_rename(void **state)
{
	int fd = nlsock_open(&sockets, &owner);

	assert_true(fd >= 0);
	assert_int_equal(rename_to(fd, 5, "a%b"), -EINVAL);
	assert_null(published);
	assert_string_equal(page.dev[0].name, "rxe_0");
	assert_int_equal(rename_to(fd, 5, "mine"), 0);
	assert_string_equal(page.dev[0].name, "mine");
	assert_int_equal(faccessat(host.run, "sys/class/infiniband/mine", F_OK, 0), 0);
	assert_non_null(published);
	assert_true(host.configured);
	fabric.number = 4;
	assert_int_equal(rename_to(fd, 6, "other"), -EOPNOTSUPP);
	assert_string_equal(page.dev[1].name, "node3");
	close(fd);
	loop_round(&loop, NULL);
}

/* The answer to a change waits until a process has applied it. Then the socket is closed during a wait. */
static void test_held(void **state)
{
	struct process late = { .proc = 3, .page_fd = memfd_create("page", MFD_CLOEXEC) };
	uint64_t applied = PROC_APPLIED_NONE;
	int fd = nlsock_open(&sockets, &owner);

	page.generation = 7;
	assert_int_equal(ftruncate(late.page_fd, sizeof(struct proc_page)), 0);
	assert_int_equal(pwrite(late.page_fd, &applied, sizeof(applied),
				offsetof(struct proc_page, applied)), sizeof(applied));
	list_add_tail(&late.node, &processes.list);
	for (int i = 0; i < 2; i++) {
		request(RDMA_NLDEV_CMD_SET, NLM_F_ACK);
		mnl_attr_put_u32(&msg.nlh, RDMA_NLDEV_ATTR_DEV_INDEX, 5);
		mnl_attr_put_strz(&msg.nlh, RDMA_NLDEV_ATTR_DEV_NAME, i ? "mine" : "yours");
		ask(fd);
		assert_string_equal(page.dev[0].name, i ? "mine" : "yours");
		assert_int_equal(recv(fd, &msg, sizeof(msg.buf), MSG_DONTWAIT), -1);
		if (i)
			break;
		applied = PROC_APPLIED(7, page.changes);
		assert_int_equal(pwrite(late.page_fd, &applied, sizeof(applied),
					offsetof(struct proc_page, applied)), sizeof(applied));
		timer_run(&loop.timers, loop.now + HOLD_LAST);
		assert_int_equal(error_of(fd), 0);
	}
	close(fd);
	loop_round(&loop, NULL);
	assert_int_equal(owner.n, 0);
	timer_run(&loop.timers, loop.now + HOLD_LIMIT);
	assert_int_equal(timer_next(&loop.timers), NS_NEVER);
	list_del(&late.node);
	close(late.page_fd);
}

/* A connection made by root may more. */
static void test_permission(void **state)
{
	int fd = nlsock_open(&sockets, &owner);

	assert_true(fd >= 0);
	request(RDMA_NLDEV_CMD_SYS_SET, NLM_F_ACK);
	ask(fd);
	assert_int_equal(error_of(fd), -EPERM);
	process.uid = 0;
	request(RDMA_NLDEV_CMD_SYS_SET, NLM_F_ACK);
	ask(fd);
	assert_int_equal(error_of(fd), -EINVAL);
	close(fd);
	loop_round(&loop, NULL);
}

static void test_most(void **state)
{
	int fd[MOST];

	for (int i = 0; i < MOST; i++) {
		fd[i] = nlsock_open(&sockets, &owner);
		assert_true(fd[i] >= 0);
	}
	assert_int_equal(nlsock_open(&sockets, &owner), -EMFILE);
	/* A closed one makes room for another. */
	close(fd[7]);
	loop_round(&loop, NULL);
	assert_int_equal(owner.n, MOST - 1);
	fd[7] = nlsock_open(&sockets, &owner);
	assert_true(fd[7] >= 0);
	/* The process has ended: all its sockets hang up. */
	nlsock_close_all(&owner);
	loop_free_dead(&loop);
	assert_int_equal(owner.n, 0);
	for (int i = 0; i < MOST; i++) {
		assert_int_equal(recv(fd[i], &msg, sizeof(msg.buf), MSG_DONTWAIT), 0);
		close(fd[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_dump, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rename, setup, teardown),
		cmocka_unit_test_setup_teardown(test_held, setup, teardown),
		cmocka_unit_test_setup_teardown(test_permission, setup, teardown),
		cmocka_unit_test_setup_teardown(test_most, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
