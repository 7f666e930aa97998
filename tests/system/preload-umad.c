/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * umad0 and issm0 look and behave like the character devices: sysfs, poll, blocking reads,
 * signals, dup, fork, exec, close.
 */
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <time.h>
#include "umad.h"

static void looks_like(const char *name, unsigned int minor_wanted)
{
	int fd = open(name, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	struct stat st, path;
	void *p;

	CHECK(fd >= 0);
	CHECK(fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && (st.st_mode & 0777) == 0600);
	CHECK(stat(name, &path) == 0 && path.st_rdev == st.st_rdev);
	CHECK(major(st.st_rdev) == 231 && minor(st.st_rdev) == minor_wanted);
	CHECK(access(name, R_OK | W_OK) == 0);
	CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC);
	CHECK(fcntl(fd, F_GETFL) == (O_RDWR | O_NONBLOCK));
	CHECK(lseek(fd, 0, SEEK_SET) == -1 && errno == ESPIPE);
	p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(p == MAP_FAILED && errno == ENODEV);
	CHECK(ioctl(fd, 0x1234) == -1 && errno == ENOTTY);
	CHECK(open(name, O_RDWR | O_CREAT | O_EXCL, 0600) == -1 && errno == EEXIST);
	CHECK(open(name, O_RDONLY | O_DIRECTORY) == -1 && errno == ENOTDIR);
	close(fd);
	CHECK(write(fd, "x", 1) == -1 && errno == EBADF);
	CHECK(read(fd, &st, 1) == -1 && errno == EBADF);
}

static void looks(void)
{
	char name[PATH_MAX];

	looks_like(UMAD, 0);
	looks_like(ISSM, 64);
	looks_like("/dev/char/231:0", 0);
	CHECK(realpath(UMAD, name) && !strcmp(name, UMAD));
	CHECK(realpath(ISSM, name) && !strcmp(name, ISSM));
	CHECK(open("/dev/infiniband/umad17", O_RDWR) == -1 && errno == ENOENT);
	CHECK(open("/dev/infiniband/issm17", O_RDWR) == -1 && errno == ENOENT);
}

static void text_is(const char *path, const char *want)
{
	char text[128] = "";
	int fd = open(path, O_RDONLY);

	CHECK(fd >= 0 && read(fd, text, sizeof(text) - 1) >= 0 && !strcmp(text, want));
	close(fd);
}

#define CLASS_DIR "/sys/class/infiniband_mad/"

static void in_sysfs(void)
{
	bool umad = false, issm = false;
	struct dirent *e;
	DIR *d;

	text_is(CLASS_DIR "abi_version", "5\n");
	text_is(CLASS_DIR "umad0/ibdev", "rxe_0\n");
	text_is(CLASS_DIR "umad0/port", "1\n");
	text_is(CLASS_DIR "umad0/dev", "231:0\n");
	text_is(CLASS_DIR "umad0/uevent", "MAJOR=231\nMINOR=0\nDEVNAME=infiniband/umad0\n");
	text_is(CLASS_DIR "issm0/ibdev", "rxe_0\n");
	text_is(CLASS_DIR "issm0/port", "1\n");
	text_is(CLASS_DIR "issm0/dev", "231:64\n");
	d = opendir("/dev/infiniband");
	while ((e = readdir(d))) {
		umad |= !strcmp(e->d_name, "umad0");
		issm |= !strcmp(e->d_name, "issm0");
	}
	CHECK(umad && issm);
}

/* Sends a request to the file's own agent, so that the file has a packet to read. */
static void send_one(int fd, uint32_t tid)
{
	struct packet p;

	build(&p, CLASS_VENDOR, 1, SEND, tid, 0);
	CHECK(put(fd, &p) == 0);
}

static void polls(void)
{
	struct epoll_event ee = { .events = EPOLLIN | EPOLLOUT };
	int fd = open_agent(O_NONBLOCK, CLASS_VENDOR, 1, 0), ep = epoll_create1(0);
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT };
	struct timeval none = { 0 }, some = { .tv_sec = WAIT_MS / 1000 };
	struct packet got;
	fd_set in;

	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ee) == 0);
	CHECK(poll(&p, 1, 0) == 1 && p.revents == POLLOUT);
	CHECK(epoll_wait(ep, &ee, 1, 0) == 1 && ee.events == EPOLLOUT);
	FD_ZERO(&in);
	FD_SET(fd, &in);
	CHECK(select(fd + 1, &in, NULL, NULL, &none) == 0);
	CHECK(read(fd, &got, sizeof(got)) == -1 && errno == EAGAIN);
	send_one(fd, 1);
	FD_SET(fd, &in);
	CHECK(select(fd + 1, &in, NULL, NULL, &some) == 1);
	CHECK(epoll_wait(ep, &ee, 1, 0) == 1 && ee.events == (EPOLLIN | EPOLLOUT));
	CHECK(poll(&p, 1, 0) == 1 && p.revents == (POLLIN | POLLOUT));
	CHECK(read(fd, &got, sizeof(got)) == sizeof(got));
	CHECK(poll(&p, 1, 0) == 1 && p.revents == POLLOUT);
	CHECK(read(fd, &got, sizeof(got)) == -1 && errno == EAGAIN);
}

/* More packets than rused puts into shared memory at a time, in order. */
static void many(void)
{
	int fd = open_agent(O_NONBLOCK, CLASS_VENDOR, 1, 0);
	struct packet got;

	for (uint32_t i = 0; i < 1000; i++)
		send_one(fd, i);
	for (uint32_t i = 0; i < 1000; i++) {
		CHECK(get(fd, &got, sizeof(got)) == sizeof(got));
		CHECK(low_tid(got.mad) == i);
	}
	CHECK(!readable(fd, 0) && read(fd, &got, sizeof(got)) == -1 && errno == EAGAIN);
}

static void *send_later(void *arg)
{
	struct timespec nap = { .tv_nsec = 100000000 };

	nanosleep(&nap, NULL);
	send_one(*(int *)arg, 5);
	return NULL;
}

static void blocking(void)
{
	int fd = open_agent(0, CLASS_VENDOR, 1, 0);
	struct packet got;
	pthread_t t;

	CHECK(!pthread_create(&t, NULL, send_later, &fd));
	CHECK(read(fd, &got, sizeof(got)) == sizeof(got) && low_tid(got.mad) == 5);
	CHECK(!pthread_join(t, NULL) && !readable(fd, 0));
}

static void *read_one(void *arg)
{
	struct packet got;
	ssize_t n = read(*(int *)arg, &got, sizeof(got));

	return (void *)n;
}

static void cancelled(void)
{
	struct timespec nap = { .tv_nsec = 50000000 };
	int fd = open_agent(0, CLASS_VENDOR, 1, 0);
	struct packet got;
	pthread_t t;
	void *ret;

	for (int i = 0; i < 20; i++) {
		CHECK(!pthread_create(&t, NULL, read_one, &fd));
		if (i & 1)
			nanosleep(&nap, NULL);
		CHECK(!pthread_cancel(t) && !pthread_join(t, &ret) && ret == PTHREAD_CANCELED);
		send_one(fd, 1);
		CHECK(get(fd, &got, sizeof(got)) == sizeof(got));
	}
}

static void on_alarm(int sig)
{
}

static void signals(void)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	int fd = open_agent(0, CLASS_VENDOR, 1, 0);
	struct packet got;

	CHECK(!sigaction(SIGALRM, &sa, NULL));
	alarm(1);
	CHECK(read(fd, &got, sizeof(got)) == -1 && errno == EINTR);
}

/* Closing the last descriptor of a file removes its agents. */
static void last_close(void)
{
	int fd = open_agent(0, CLASS_VENDOR, 1, 0), other = open_umad(0), copy = dup(fd);

	CHECK(copy >= 0 && fcntl(fd, F_DUPFD, 50) == 50);
	CHECK(reg(other, 1, CLASS_VENDOR, 1, 0) == -EINVAL);
	close(fd);
	CHECK(reg(other, 1, CLASS_VENDOR, 1, 0) == -EINVAL);
	close(copy);
	CHECK(reg(other, 1, CLASS_VENDOR, 1, 0) == -EINVAL);
	send_one(50, 1);
	CHECK(readable(50, WAIT_MS));
	close(50);
	CHECK(reg(other, 1, CLASS_VENDOR, 1, 0) == 0);
}

static void reopened(void)
{
	for (int i = 0; i < 300; i++)
		close(open_agent(0, CLASS_VENDOR, 1, 0));
}

static void forked(void)
{
	int fd = open_agent(0, CLASS_VENDOR, 1, 0), other = open_umad(0), st;
	struct packet got;
	pid_t pid = fork();

	if (!pid) {
		send_one(fd, 1);
		CHECK(get(fd, &got, sizeof(got)) == sizeof(got) && low_tid(got.mad) == 1);
		send_one(fd, 2);
		_exit(0);
	}
	CHECK(waitpid(pid, &st, 0) == pid && !st);
	CHECK(get(fd, &got, sizeof(got)) == sizeof(got) && low_tid(got.mad) == 2);
	CHECK(reg(other, 1, CLASS_VENDOR, 1, 0) == -EINVAL);
	pid = fork();
	if (!pid) {
		for (;;)
			pause();
	}
	/* The child's copy keeps the file open until the child ends. */
	close(fd);
	CHECK(reg(other, 1, CLASS_VENDOR, 1, 0) == -EINVAL);
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, &st, 0) == pid);
	CHECK(reg(other, 1, CLASS_VENDOR, 1, 0) == 0);
}

static void closed_by_exec(void)
{
	int fd = open_umad(0), st;
	pid_t pid = fork();

	if (!pid) {
		open_agent(0, CLASS_VENDOR, 1, 0);
		execl("/bin/true", "true", (char *)NULL);
		_exit(127);
	}
	CHECK(waitpid(pid, &st, 0) == pid && !st);
	CHECK(reg(fd, 1, CLASS_VENDOR, 1, 0) == 0);
}

static void in_pieces(void)
{
	int fd = open_agent(0, CLASS_VENDOR, 1, 0);
	struct packet p, got;
	struct iovec iov = { &p, sizeof(p) };
	struct iovec parts[2] = { { &got, sizeof(got) }, { &p, sizeof(p) } };

	build(&p, CLASS_VENDOR, 1, SEND, 9, 0);
	CHECK(writev(fd, &iov, 1) == sizeof(p));
	CHECK(readable(fd, WAIT_MS));
	iov = (struct iovec){ &got, sizeof(got) };
	CHECK(readv(fd, &iov, 1) == sizeof(got) && low_tid(got.mad) == 9);
	/*
	 * readv() with two buffers returns one packet in the first buffer and does not wait for a
	 * second one.
	 */
	CHECK(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
	send_one(fd, 10);
	CHECK(readable(fd, WAIT_MS));
	CHECK(readv(fd, parts, 2) == sizeof(got) && low_tid(got.mad) == 10);
}

static const struct testcase cases[] = {
	{ "looks", looks, 0 },
	{ "in_sysfs", in_sysfs, 0 },
	{ "polls", polls, 0 },
	{ "many", many, 0 },
	{ "blocking", blocking, 0 },
	{ "cancelled", cancelled, 0 },
	{ "signals", signals, 0 },
	{ "last_close", last_close, 0 },
	{ "reopened", reopened, 0 },
	{ "forked", forked, 0 },
	{ "closed_by_exec", closed_by_exec, 0 },
	{ "in_pieces", in_pieces, 0 },
};

int main(int argc, char **argv)
{
	return run_cases(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
