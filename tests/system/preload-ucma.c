/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * /dev/infiniband/rdma_cm looks and behaves like the character device: sysfs, poll, blocking
 * reads, signals, dup, fork, exec, close.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <time.h>
#include "ucma.h"

#define PORT 7001
/*
 * The error of a bind to a loopback address if the rdma_cm port number is in use: a loopback address counts as a
 * wildcard address (cma_check_port() of the kernel).
 */
#define TAKEN (-EADDRNOTAVAIL)

static void looks(void)
{
	int fd = open_cm(0);
	struct stat st, path;
	char buf[16];
	void *p;

	CHECK(fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && (st.st_mode & 0777) == 0666);
	CHECK(stat(RDMA_CM, &path) == 0 && path.st_rdev == st.st_rdev && major(st.st_rdev) == 10);
	CHECK(access(RDMA_CM, R_OK | W_OK) == 0);
	CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR);
	CHECK(read(fd, buf, sizeof(buf)) == -1 && errno == EINVAL);
	CHECK(ioctl(fd, 0x1234) == -1 && errno == ENOTTY);
	CHECK(lseek(fd, 0, SEEK_SET) == -1 && errno == ESPIPE);
	p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(p == MAP_FAILED && errno == ENODEV);
	CHECK(open(RDMA_CM, O_RDWR | O_CREAT | O_EXCL, 0600) == -1 && errno == EEXIST);
	CHECK(open(RDMA_CM, O_RDONLY | O_DIRECTORY) == -1 && errno == ENOTDIR);
	CHECK(!readable(fd));
	close(fd);
	CHECK(write(fd, buf, 8) == -1 && errno == EBADF);
}

static void in_sysfs(void)
{
	char text[32] = "";
	int fd = open("/sys/class/misc/rdma_cm/abi_version", O_RDONLY);

	CHECK(fd >= 0 && read(fd, text, sizeof(text)) == 2 && !strcmp(text, "4\n"));
	close(fd);
	fd = open("/sys/class/misc/rdma_cm/dev", O_RDONLY);
	CHECK(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && !strncmp(text, "10:", 3));
	close(fd);
}

static void events(void)
{
	int fd = open_cm(O_NONBLOCK), ep = epoll_create1(0);
	struct epoll_event ee = { .events = EPOLLIN };
	struct rdma_ucm_event_resp ev;
	uint32_t id;

	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ee) == 0);
	CHECK(create_id(fd, &id) == 0);
	CHECK(get_event(fd, &ev) == -EAGAIN);
	CHECK(epoll_wait(ep, &ee, 1, 0) == 0);
	CHECK(resolve_loopback(fd, id, PORT) == 0);
	CHECK(epoll_wait(ep, &ee, 1, 5000) == 1 && ee.events & EPOLLIN && readable(fd));
	CHECK(get_event(fd, &ev) == 0);
	CHECK(ev.event == 0 && ev.id == id && ev.uid == 4711 && ev.status == 0);
	CHECK(!readable(fd) && get_event(fd, &ev) == -EAGAIN);
	/* An event that is dropped with its id does not make the file readable. */
	CHECK(create_id(fd, &id) == 0 && resolve_loopback(fd, id, PORT) == 0);
	CHECK(epoll_wait(ep, &ee, 1, 5000) == 1);
	CHECK(destroy_id(fd, id) == 0 && !readable(fd));
	CHECK(get_event(fd, &ev) == -EAGAIN);
}

/* More events than rused puts into shared memory at a time. */
static void many_events(void)
{
	int fd = open_cm(O_NONBLOCK);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct rdma_ucm_event_resp ev;
	uint32_t id;

	for (int i = 0; i < 1000; i++)
		CHECK(create_id(fd, &id) == 0 && resolve_loopback(fd, id, PORT) == 0);
	for (int i = 0; i < 1000; i++) {
		CHECK(poll(&p, 1, 5000) == 1);
		CHECK(get_event(fd, &ev) == 0 && ev.event == 0);
	}
	CHECK(!readable(fd) && get_event(fd, &ev) == -EAGAIN);
}

static void *resolve_later(void *arg)
{
	struct timespec nap = { .tv_nsec = 100000000 };
	uint32_t id;
	int fd = *(int *)arg;

	nanosleep(&nap, NULL);
	CHECK(create_id(fd, &id) == 0 && resolve_loopback(fd, id, PORT) == 0);
	return NULL;
}

static void blocking(void)
{
	struct rdma_ucm_event_resp ev;
	int fd = open_cm(0);
	pthread_t t;

	CHECK(!pthread_create(&t, NULL, resolve_later, &fd));
	CHECK(get_event(fd, &ev) == 0 && ev.event == 0);
	CHECK(!pthread_join(t, NULL) && !readable(fd));
}

static void *wait_for_event(void *arg)
{
	struct rdma_ucm_event_resp ev;

	get_event(*(int *)arg, &ev);
	return NULL;
}

/* A waiting thread can be cancelled, as in rping, and other threads continue with the file. */
static void cancelled(void)
{
	struct timespec nap = { .tv_nsec = 50000000 };
	int fd = open_cm(0);
	pthread_t t;
	uint32_t id;
	void *ret;

	for (int i = 0; i < 20; i++) {
		CHECK(!pthread_create(&t, NULL, wait_for_event, &fd));
		if (i & 1)
			nanosleep(&nap, NULL);
		CHECK(!pthread_cancel(t) && !pthread_join(t, &ret) && ret == PTHREAD_CANCELED);
		CHECK(create_id(fd, &id) == 0 && destroy_id(fd, id) == 0);
	}
}

static void on_alarm(int sig)
{
}

static void signals(void)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	struct rdma_ucm_event_resp ev;
	int fd = open_cm(0);

	CHECK(!sigaction(SIGALRM, &sa, NULL));
	alarm(1);
	CHECK(get_event(fd, &ev) == -EINTR);
}

/* Closing the last descriptor of a file releases the file and all its ids. */
static void last_close(void)
{
	int fd = open_cm(0), other, third;
	uint32_t id;

	CHECK(create_id(fd, &id) == 0 && bind_loopback(fd, id, PORT) == 0);
	CHECK(listen_on(fd, id) == 0);
	other = dup(fd);
	CHECK(other >= 0 && fcntl(fd, F_DUPFD, 50) == 50);
	close(fd);
	third = open_cm(0);
	CHECK(create_id(third, &id) == 0 && bind_loopback(third, id, PORT) == TAKEN);
	CHECK(listen_on(50, 0) != -EBADF);
	close(other);
	CHECK(bind_loopback(third, id, PORT) == TAKEN);
	close(50);
	CHECK(bind_loopback(third, id, PORT) == 0);
}

/* Many opens and closes, one after the other: the port number to which an id was bound is free for the next file. */
static void reopened(void)
{
	for (int i = 0; i < 300; i++) {
		int fd = open_cm(0);
		uint32_t id;

		CHECK(create_id(fd, &id) == 0 && bind_loopback(fd, id, PORT) == 0);
		CHECK(listen_on(fd, id) == 0);
		close(fd);
	}
}

/* A child shares the parent's file and keeps it open. */
static void forked(void)
{
	struct rdma_ucm_event_resp ev;
	int fd = open_cm(0), st, other;
	uint32_t id, id2;
	pid_t pid;

	CHECK(create_id(fd, &id) == 0);
	pid = fork();
	if (!pid) {
		CHECK(bind_loopback(fd, id, PORT) == 0 && listen_on(fd, id) == 0);
		CHECK(create_id(fd, &id2) == 0 && resolve_loopback(fd, id2, PORT) == 0);
		CHECK(get_event(fd, &ev) == 0 && ev.event == 0 && ev.id == id2);
		_exit(0);
	}
	CHECK(waitpid(pid, &st, 0) == pid && !st);
	/* The id still listens although the child that called LISTEN has ended. */
	other = open_cm(0);
	CHECK(create_id(other, &id2) == 0 && bind_loopback(other, id2, PORT) == TAKEN);
	CHECK(destroy_id(fd, id) == 0 && bind_loopback(other, id2, PORT) == 0);
}

static void closed_by_exec(void)
{
	int fd = open_cm(0), st;
	uint32_t id;
	pid_t pid;

	pid = fork();
	if (!pid) {
		int mine = open_cm(0);

		CHECK(create_id(mine, &id) == 0 && bind_loopback(mine, id, PORT) == 0);
		execl("/bin/true", "true", (char *)NULL);
		_exit(127);
	}
	CHECK(waitpid(pid, &st, 0) == pid && !st);
	CHECK(create_id(fd, &id) == 0 && bind_loopback(fd, id, PORT) == 0);
}

static void killed(void)
{
	int fd = open_cm(0), st, to[2];
	uint32_t id;
	pid_t pid;

	CHECK(!pipe(to));
	pid = fork();
	if (!pid) {
		int mine = open_cm(0);

		CHECK(create_id(mine, &id) == 0 && bind_loopback(mine, id, PORT) == 0);
		CHECK(listen_on(mine, id) == 0 && write(to[1], "x", 1) == 1);
		for (;;)
			pause();
	}
	CHECK(read(to[0], &st, 1) == 1);
	CHECK(create_id(fd, &id) == 0 && bind_loopback(fd, id, PORT) == TAKEN);
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, &st, 0) == pid);
	CHECK(bind_loopback(fd, id, PORT) == 0);
}

static void written_in_pieces(void)
{
	struct rdma_ucm_create_id_resp resp;
	struct {
		struct rdma_ucm_cmd_hdr hdr;
		struct rdma_ucm_create_id c;
	} w = { { RDMA_USER_CM_CMD_CREATE_ID, sizeof(w.c), sizeof(resp) },
		{ .response = (uintptr_t)&resp, .ps = PS_TCP, .qp_type = QPT_RC } };
	struct iovec iov = { &w, sizeof(w) };
	int fd = open_cm(0);

	resp.id = 0xdead;
	CHECK(writev(fd, &iov, 1) == sizeof(w) && resp.id != 0xdead);
}

static const struct testcase cases[] = {
	{ "looks", looks, 0 },
	{ "in_sysfs", in_sysfs, 0 },
	{ "events", events, 0 },
	{ "many_events", many_events, 0 },
	{ "blocking", blocking, 0 },
	{ "cancelled", cancelled, 0 },
	{ "signals", signals, 0 },
	{ "last_close", last_close, 0 },
	{ "reopened", reopened, 0 },
	{ "forked", forked, 0 },
	{ "closed_by_exec", closed_by_exec, 0 },
	{ "killed", killed, 0 },
	{ "written_in_pieces", written_in_pieces, 0 },
};

int main(int argc, char **argv)
{
	return run_cases(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
