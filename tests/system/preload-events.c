/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Event files through read(2): the behaviour of the descriptor while no event comes, and how a
 * waiting thread can be interrupted: cancellation, signals with and without SA_RESTART.
 */
#include <poll.h>
#include <pthread.h>
#include <rdma/ib_user_verbs.h>
#include <signal.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include "preload.h"

static int dev, async_fd, comp_fd;

static void get_context(void)
{
	struct ib_uverbs_get_context_resp resp;
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_get_context req;
	} cmd = {
		.hdr = { IB_USER_VERBS_CMD_GET_CONTEXT, sizeof(cmd) / 4, sizeof(resp) / 4 },
		.req = { .response = (uintptr_t)&resp },
	};

	CHECK(write(dev, &cmd, sizeof(cmd)) == sizeof(cmd));
	async_fd = (int)resp.async_fd;
}

static void create_channel(void)
{
	struct ib_uverbs_create_comp_channel_resp resp;
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_create_comp_channel req;
	} cmd = {
		.hdr = { IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, sizeof(cmd) / 4, sizeof(resp) / 4 },
		.req = { .response = (uintptr_t)&resp },
	};

	CHECK(write(dev, &cmd, sizeof(cmd)) == sizeof(cmd));
	comp_fd = (int)resp.fd;
}

static void setup(void)
{
	dev = open_device();
	get_context();
	create_channel();
	CHECK(fcntl(async_fd, F_GETFD) == FD_CLOEXEC && fcntl(comp_fd, F_GETFD) == FD_CLOEXEC);
}

static void while_there_is_none(void)
{
	char buf[64];
	struct iovec iov = { buf, sizeof(buf) };
	struct pollfd p[2];

	setup();
	p[0] = (struct pollfd){ .fd = async_fd, .events = POLLIN };
	p[1] = (struct pollfd){ .fd = comp_fd, .events = POLLIN };
	CHECK(poll(p, 2, 0) == 0);
	for (int i = 0; i < 2; i++) {
		CHECK(write(p[i].fd, buf, 8) == -1 && errno == EBADF);
		CHECK(fcntl(p[i].fd, F_SETFL, O_NONBLOCK) == 0);
		CHECK(read(p[i].fd, buf, sizeof(buf)) == -1 && errno == EAGAIN);
		CHECK(readv(p[i].fd, &iov, 1) == -1 && errno == EAGAIN);
	}
}

static void dups_and_closes(void)
{
	int before, d;
	char buf[64];

	close(open_device());
	before = count_fds();
	setup();
	d = dup(comp_fd);
	CHECK(d >= 0 && close(comp_fd) == 0);
	CHECK(write(d, buf, 8) == -1 && errno == EBADF);
	CHECK(close(dev) == 0);
	/* Event files stay open when the device's descriptor is closed. */
	CHECK(write(async_fd, buf, 8) == -1 && errno == EBADF);
	CHECK(close(d) == 0 && close(async_fd) == 0);
	CHECK(read(d, buf, 8) == -1 && errno == EBADF);
	CHECK(count_fds() == before);
}

static void *wait_for_event(void *fd)
{
	char buf[64];

	CHECK(read(*(int *)fd, buf, sizeof(buf)) == 16);
	return NULL;
}

/* Waits until the other thread is blocked in the kernel, as its state in /proc shows. */
static void until_asleep(void)
{
	char path[64], state = 0;
	struct dirent *e;
	DIR *d;

	while (state != 'S') {
		d = opendir("/proc/self/task");
		CHECK(d);
		while ((e = readdir(d))) {
			FILE *f;
			char comm[32];

			snprintf(path, sizeof(path), "/proc/self/task/%.20s/stat", e->d_name);
			f = fopen(path, "r");
			if (!f)
				continue;
			if (fscanf(f, "%*d (%31[^)]) %c", comm, &state) != 2 ||
			    strcmp(comm, "waiter"))
				state = 0;
			fclose(f);
			if (state == 'S')
				break;
		}
		closedir(d);
	}
}

static void a_waiter_can_be_cancelled(void)
{
	int before;
	pthread_t t;
	void *ret;

	close(open_device());
	before = count_fds();
	setup();
	CHECK(pthread_create(&t, NULL, wait_for_event, &async_fd) == 0);
	CHECK(pthread_setname_np(t, "waiter") == 0);
	until_asleep();
	CHECK(pthread_cancel(t) == 0 && pthread_join(t, &ret) == 0 && ret == PTHREAD_CANCELED);
	CHECK(close(async_fd) == 0 && close(comp_fd) == 0 && close(dev) == 0);
	CHECK(count_fds() == before);
}

static volatile sig_atomic_t alarms;

static void on_alarm(int sig)
{
	/* With SA_RESTART the first alarm restarts the wait; the second one ends the case with success. */
	if (++alarms == 2)
		_exit(0);
	alarm(1);
}

static void wait_with(int flags)
{
	struct sigaction sa = { .sa_handler = on_alarm, .sa_flags = flags };
	char buf[64];

	setup();
	CHECK(sigaction(SIGALRM, &sa, NULL) == 0);
	alarm(1);
	CHECK(read(async_fd, buf, sizeof(buf)) == -1 && errno == EINTR);
	CHECK(!(flags & SA_RESTART));
}

static void a_signal_interrupts(void)
{
	wait_with(0);
}

static void a_signal_restarts(void)
{
	wait_with(SA_RESTART);
	CHECK(!"interrupted in spite of SA_RESTART");
}

static const struct testcase cases[] = {
	{ "while-there-is-none", while_there_is_none, 0 },
	{ "dups-and-closes", dups_and_closes, 0 },
	{ "a-waiter-can-be-cancelled", a_waiter_can_be_cancelled, 0 },
	{ "a-signal-interrupts", a_signal_interrupts, 0 },
	{ "a-signal-restarts", a_signal_restarts, 0 },
};

int main(int argc, char **argv)
{
	return run_cases(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
