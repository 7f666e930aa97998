/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The run directory's locks, and the listening socket in it. */
#include "base/testing.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fds.h"
#include "daemon/life/listener.h"
#include "daemon/life/place.h"
#include "loop/testing.h"

static char dir[64];
static struct loop loop;
static struct place place;
static struct listener listener;
static int accepted;
static bool dials;		/* each connection that is accepted makes another attempt; `dialled` is its result */
static int dialled;

/* Connects as a program does. The descriptor, or -errno. */
static int dial(void)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/" IPC_SOCK_NAME, dir);
	if (!connect(fd, (struct sockaddr *)&sa, sizeof(sa)))
		return fd;
	err = errno;
	close(fd);
	return -err;
}

static bool accept_one(void *ctx, int lfd)
{
	int fd = fds_accept(lfd, SOCK_CLOEXEC | SOCK_NONBLOCK);

	assert_ptr_equal(ctx, &accepted);
	if (fd < 0)
		return false;
	accepted++;
	if (dials)
		dialled = dial();
	close(fd);
	return true;
}

static int setup(void **state)
{
	strcpy(dir, "/tmp/test-listener-XXXXXX");
	memset(&place, 0, sizeof(place));
	memset(&listener, 0, sizeof(listener));
	accepted = 0;
	dials = false;
	if (!mkdtemp(dir) || loop_init(&loop) || place_open(&place, dir) || place_take(&place) != 1)
		return -1;
	place.loop = &loop;
	if (!listener_given(&listener))
		return -1;
	listener_init(&listener, &loop, &place, accept_one, &accepted);
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	loop_del(&loop, &listener.sock);
	loop_fini(&loop);
	place_leave(&place);
	close(place.run);
	snprintf(command, sizeof(command), "rm -r '%s'", dir);
	return system(command);
}

static bool is_there(const char *name)
{
	return !faccessat(place.run, name, F_OK, AT_SYMLINK_NOFOLLOW);
}

/* One rused at a time has the directory; the lock in it decides. */
static void test_lock(void **state)
{
	assert_true(place_ours(&place));
	assert_int_equal(place_lock(place.run), -EBUSY);
	/* A file of this name that another process has made is not the lock. */
	assert_int_equal(unlinkat(place.run, PLACE_LOCK_NAME, 0), 0);
	assert_false(place_ours(&place));
	close(place.lock);
	place.lock = place_lock(place.run);
	assert_true(place.lock >= 0);
	assert_true(place_ours(&place));
}

static void test_directory(void **state)
{
	struct place p = { 0 };

	assert_int_equal(place_open(&p, "relative"), -EINVAL);
	assert_int_equal(chmod(dir, 0750), 0);
	assert_int_equal(place_open(&p, dir), -EPERM);
	assert_int_equal(chmod(dir, 0700), 0);
	assert_int_equal(place_open(&p, dir), 0);
	assert_int_equal(p.netns, place.netns);
	close(p.run);
}

static void test_accept(void **state)
{
	int fd;

	assert_int_equal(dial(), -ENOENT);
	assert_int_equal(listener_open(&listener), 0);
	fd = dial();
	assert_true(fd >= 0);
	assert_int_equal(accepted, 0);
	loop_round(&loop, NULL);
	assert_int_equal(accepted, 1);
	close(fd);
}

/* What has connected before the end is accepted, what connects later refused; and rused may listen again. */
static void test_stop(void **state)
{
	int fd[3];

	assert_int_equal(listener_open(&listener), 0);
	for (int i = 0; i < 3; i++) {
		fd[i] = dial();
		assert_true(fd[i] >= 0);
	}
	dials = true;
	listener_stop(&listener);
	dials = false;
	assert_int_equal(accepted, 3);
	assert_int_equal(dialled, -ECONNREFUSED);
	assert_int_equal(dial(), -ECONNREFUSED);
	listener_stop(&listener);
	for (int i = 0; i < 3; i++)
		close(fd[i]);
	assert_int_equal(listener_open(&listener), 0);
	fd[0] = dial();
	assert_true(fd[0] >= 0);
	loop_round(&loop, NULL);
	assert_int_equal(accepted, 4);
	close(fd[0]);
}

static void test_unlink(void **state)
{
	assert_int_equal(listener_open(&listener), 0);
	/* The directory is another rused's. */
	assert_int_equal(unlinkat(place.run, PLACE_LOCK_NAME, 0), 0);
	listener_unlink(&listener);
	assert_true(is_there(IPC_SOCK_NAME));
	close(place.lock);
	place.lock = place_lock(place.run);
	listener_unlink(&listener);
	assert_false(is_there(IPC_SOCK_NAME));
}

/* A socket of the service manager is linked into the directory, and is not shut down. */
static void test_given(void **state)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), first;

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/given", dir);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(listen(fd, 4), 0);
	listener.given = fd;
	assert_int_equal(listener_open(&listener), 0);
	first = dial();
	assert_true(first >= 0);
	listener_stop(&listener);
	assert_int_equal(accepted, 1);
	close(first);
	/* For the next rused. */
	first = dial();
	assert_true(first >= 0);
	assert_int_equal(accepted, 1);
	close(first);
	listener_unlink(&listener);
	assert_true(is_there(IPC_SOCK_NAME));
	close(fd);
}

/* What a service manager passes must be one socket that listens for packets. */
static void test_given_wrong(void **state)
{
	struct listener l;
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)getpid() + 1);
	setenv("LISTEN_PID", pid, 1);
	setenv("LISTEN_FDS", "2", 1);
	assert_true(listener_given(&l));	/* it is for another process */
	assert_int_equal(l.given, -1);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("LISTEN_PID", pid, 1);
	assert_false(listener_given(&l));
	assert_int_equal(l.given, -1);
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_lock, setup, teardown),
		cmocka_unit_test_setup_teardown(test_directory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_accept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stop, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unlink, setup, teardown),
		cmocka_unit_test_setup_teardown(test_given, setup, teardown),
		cmocka_unit_test_setup_teardown(test_given_wrong, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
