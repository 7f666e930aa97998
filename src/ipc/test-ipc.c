/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Framing over a socket pair, the table of types, calls to a peer that misbehaves, the run
 * directory, and starting rused.
 *
 * play() acts as rused in a thread: it takes one request and sends scripted messages. test_start()
 * uses a shell script in the place of rused that reports its arguments, environment and
 * descriptors.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/sys.h"
#include "ipc/attach.h"
#include "ipc/messages.h"

static int pair[2];

static int setup(void **state)
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
}

static int teardown(void **state)
{
	close(pair[0]);
	close(pair[1]);
	return 0;
}

static struct ipc_hdr request(uint16_t type)
{
	return (struct ipc_hdr){ .version = IPC_VERSION, .type = type, .seq = 7 };
}

static void test_check_requests(void **state)
{
	struct ipc_hdr h = request(IPC_HELLO);

	assert_int_equal(ipc_check(&h, sizeof(struct ipc_hello), 0, false), 0);
	assert_int_equal(ipc_check(&h, sizeof(struct ipc_hello) - 1, 0, false), -EPROTO);
	assert_int_equal(ipc_check(&h, sizeof(struct ipc_hello) + 1, 0, false), -EPROTO);
	h.flags = IPC_F_REPLY;
	assert_int_equal(ipc_check(&h, sizeof(struct ipc_hello), 0, false), -EPROTO);
	h = request(IPC_NTYPES);
	assert_int_equal(ipc_check(&h, 0, 0, false), -EPROTO);
	h = request(0);
	assert_int_equal(ipc_check(&h, 0, 0, false), -EPROTO);
	h = request(IPC_STATUS);
	assert_int_equal(ipc_check(&h, 0, 0, false), 0);
	h.reserved = 1;
	assert_int_equal(ipc_check(&h, 0, 0, false), -EPROTO);
	h = request(IPC_STATUS);
	h.version++;
	assert_int_equal(ipc_check(&h, 0, 0, false), -EPROTO);
	h = request(IPC_STATUS);
	h.error = -1;
	assert_int_equal(ipc_check(&h, 0, 0, false), -EPROTO);
	h = request(IPC_SHUTDOWN);
	assert_int_equal(ipc_check(&h, 0, 0, false), 0);
	assert_int_equal(ipc_check(&h, sizeof(struct ipc_shutdown), 0, false), 0);
	assert_int_equal(ipc_check(&h, 1, 0, false), -EPROTO);
}

/* Each row of messages.def: one byte or one descriptor more or less than it says. */
static void test_check_rows(void **state)
{
	for (uint16_t type = IPC_HELLO; type < IPC_NTYPES; type++) {
		const struct ipc_row *r = &ipc_rows[type];
		struct ipc_hdr q = request(type), a = request(type);
		bool answers = r->answer.form != IPC_POSTED && r->answer.form != IPC_NO_ANSWER;
		uint32_t n = r->request.size, k = r->answer.size;

		a.flags = IPC_F_REPLY;
		assert_int_equal(ipc_check(&q, n, r->takes, false), 0);
		assert_int_equal(ipc_check(&q, n, r->takes + 1, false), -EPROTO);
		assert_int_equal(ipc_check(&q, n + 1, 0, false),
				 r->request.form == IPC_HEAD ? 0 : -EPROTO);
		if (n)
			assert_int_equal(ipc_check(&q, n - 1, 0, false), -EPROTO);
		assert_int_equal(ipc_check(&q, IPC_MAX, 0, false), -EPROTO);
		assert_int_equal(ipc_check(&a, k, r->gives, true), answers ? 0 : -EPROTO);
		assert_int_equal(ipc_check(&a, k, r->gives + 1, true), -EPROTO);
		if (k)
			assert_int_equal(ipc_check(&a, k - 1, 0, true), -EPROTO);
		a.flags |= IPC_F_MORE;
		assert_int_equal(ipc_check(&a, k, 0, true),
				 r->answer.form == IPC_TEXT ? 0 : -EPROTO);
	}
}

static void test_check_replies(void **state)
{
	struct ipc_hdr h = request(IPC_LEASE);

	assert_int_equal(ipc_check(&h, sizeof(struct ipc_lease), 0, true), -EPROTO);
	h.flags = IPC_F_REPLY;
	assert_int_equal(ipc_check(&h, sizeof(struct ipc_lease), 0, true), 0);
	h.error = -ENOSPC;
	assert_int_equal(ipc_check(&h, sizeof(struct ipc_lease), 0, true), -EPROTO);
	assert_int_equal(ipc_check(&h, 0, 0, true), 0);
	h.error = ENOSPC;
	assert_int_equal(ipc_check(&h, 0, 0, true), -EPROTO);
	h.error = -4096;
	assert_int_equal(ipc_check(&h, 0, 0, true), -EPROTO);
	h.error = 0;
	h.flags |= IPC_F_MORE;
	assert_int_equal(ipc_check(&h, sizeof(struct ipc_lease), 0, true), -EPROTO);
	h.type = IPC_STATUS;
	assert_int_equal(ipc_check(&h, 1234, 0, true), 0);
	assert_int_equal(ipc_check(&h, IPC_MAX, 0, true), -EPROTO);
}

static int count_fds(void)
{
	int fd, n = 0;

	for (fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void test_descriptors(void **state)
{
	struct ipc_hdr h = request(IPC_HELLO), got;
	int fds[IPC_MAX_FDS] = { pair[0], pair[1], pair[0] }, in[IPC_MAX_FDS];
	int n = IPC_MAX_FDS, before, next, i;
	struct rlimit old, few;
	char body[16];
	size_t len = sizeof(body);

	assert_int_equal(ipc_send(pair[0], &h, "abc", 3, fds, 3), 0);
	assert_int_equal(ipc_recv(pair[1], MSG_DONTWAIT, &got, body, &len, in, &n), 0);
	assert_int_equal(len, 3);
	assert_memory_equal(body, "abc", 3);
	assert_memory_equal(&h, &got, sizeof(h));
	assert_int_equal(n, 3);
	for (i = 0; i < n; i++) {
		assert_int_equal(fcntl(in[i], F_GETFD), FD_CLOEXEC);
		close(in[i]);
	}
	/* A message with more descriptors than the receiver has room for is refused, and all its descriptors are closed. */
	before = count_fds();
	n = 1;
	len = sizeof(body);
	assert_int_equal(ipc_send(pair[0], &h, NULL, 0, fds, 3), 0);
	assert_int_equal(ipc_recv(pair[1], MSG_DONTWAIT, &got, body, &len, in, &n), -EPROTO);
	assert_int_equal(count_fds(), before);
	assert_int_equal(n, 0);
	/* The process may have one more descriptor, and the message has three. */
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	next = dup(pair[0]);
	close(next);
	few = (struct rlimit){ (rlim_t)next + 1, old.rlim_max };
	n = IPC_MAX_FDS;
	assert_int_equal(ipc_send(pair[0], &h, NULL, 0, fds, 3), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_int_equal(ipc_recv(pair[1], MSG_DONTWAIT, &got, body, &len, in, &n), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(count_fds(), before);
	assert_int_equal(n, 0);
}

static void test_malformed(void **state)
{
	struct ipc_hdr h = request(IPC_HELLO), got;
	char body[16];
	size_t len = sizeof(body);

	assert_int_equal(ipc_recv(pair[1], MSG_DONTWAIT, &got, body, &len, NULL, NULL), -EAGAIN);
	assert_int_equal(send(pair[0], "x", 1, 0), 1);
	assert_int_equal(ipc_recv(pair[1], MSG_DONTWAIT, &got, body, &len, NULL, NULL), -EPROTO);
	len = 2;
	assert_int_equal(ipc_send(pair[0], &h, "abc", 3, NULL, 0), 0);
	assert_int_equal(ipc_recv(pair[1], MSG_DONTWAIT, &got, body, &len, NULL, NULL), -EMSGSIZE);
	h.version = 99;
	len = sizeof(body);
	assert_int_equal(ipc_send(pair[0], &h, NULL, 0, NULL, 0), 0);
	assert_int_equal(ipc_recv(pair[1], MSG_DONTWAIT, &got, body, &len, NULL, NULL),
			 -EPROTONOSUPPORT);
	shutdown(pair[0], SHUT_RDWR);
	assert_int_equal(ipc_recv(pair[1], MSG_DONTWAIT, &got, body, &len, NULL, NULL), -EPIPE);
	assert_int_equal(ipc_send(pair[1], &h, NULL, 0, NULL, 0), -EPIPE);
}

/* Messages that play() sends for one request. */
struct script {
	int n;
	struct {
		struct ipc_hdr h;
		const char *body;
		size_t len;
	} msg[4];
};

static void *play(void *arg)
{
	struct script *s = arg;
	char body[IPC_MAX];
	size_t len = sizeof(body);
	struct ipc_hdr h;
	int i;

	if (ipc_recv(pair[1], 0, &h, body, &len, NULL, NULL))
		return NULL;
	for (i = 0; i < s->n; i++)
		ipc_send(pair[1], &s->msg[i].h, s->msg[i].body, s->msg[i].len, NULL, 0);
	return NULL;
}

static int call(struct script *s, enum ipc_type type, void *reply, size_t *rsize, bool *failed)
{
	struct ipc_conn c = { .fd = dup(pair[0]) };
	struct ipc_lease l = { 0 };
	struct ipc_msg m = { .type = type, .req = &l, .len = type == IPC_LEASE ? sizeof(l) : 0,
			     .reply = reply, .room = *rsize };
	pthread_t t;
	int rc;

	assert_int_equal(pthread_create(&t, NULL, play, s), 0);
	rc = ipc_call(&c, &m);
	pthread_join(t, NULL);
	*rsize = m.rlen;
	*failed = c.failed;
	/* Nothing more is sent. */
	if (c.failed) {
		assert_int_equal(ipc_call(&c, &m), -ENOTCONN);
		assert_int_equal(ipc_post(&c, IPC_WAKE, NULL, 0), -ENOTCONN);
	}
	ipc_close(&c);
	return rc;
}

#define REPLY(t, f, e) { .version = IPC_VERSION, .type = (t), .flags = (f), .seq = 1, .error = (e) }

static void test_call(void **state)
{
	struct script ok = { 1, { { REPLY(IPC_LEASE, IPC_F_REPLY, 0), "\5\0\0\0\1\0\0\0\0\0\0\0\0\0\0", 16 } } };
	struct script no = { 1, { { REPLY(IPC_LEASE, IPC_F_REPLY, -ENOSPC), NULL, 0 } } };
	struct script other = { 1, { { REPLY(IPC_PEER, IPC_F_REPLY, -ENOENT), NULL, 0 } } };
	struct script shorter = { 1, { { REPLY(IPC_LEASE, IPC_F_REPLY, 0), "\5", 1 } } };
	struct script parts = { 3, { { REPLY(IPC_STATUS, IPC_F_REPLY | IPC_F_MORE, 0), "ab", 2 },
				     { REPLY(IPC_STATUS, IPC_F_REPLY | IPC_F_MORE, 0), "cd", 2 },
				     { REPLY(IPC_STATUS, IPC_F_REPLY, 0), "e", 1 } } };
	struct ipc_lease l = { 0 };
	size_t n = sizeof(l);
	char text[8];
	bool failed;

	assert_int_equal(call(&ok, IPC_LEASE, &l, &n, &failed), 0);
	assert_int_equal(n, sizeof(l));
	assert_int_equal(l.block, 5);
	assert_false(failed);
	n = sizeof(l);
	assert_int_equal(call(&no, IPC_LEASE, &l, &n, &failed), -ENOSPC);
	assert_false(failed);
	n = sizeof(text);
	assert_int_equal(call(&parts, IPC_STATUS, text, &n, &failed), 0);
	assert_int_equal(n, 5);
	assert_memory_equal(text, "abcde", 5);
	n = sizeof(l);
	assert_int_equal(call(&other, IPC_LEASE, &l, &n, &failed), -EPROTO);
	assert_true(failed);
	n = sizeof(l);
	assert_int_equal(call(&shorter, IPC_LEASE, &l, &n, &failed), -EPROTO);
	assert_true(failed);
}

static void test_call_too_long(void **state)
{
	struct script parts = { 2, { { REPLY(IPC_STATUS, IPC_F_REPLY | IPC_F_MORE, 0), "abc", 3 },
				     { REPLY(IPC_STATUS, IPC_F_REPLY, 0), "def", 3 } } };
	char text[4];
	size_t n = sizeof(text);
	bool failed;

	assert_int_equal(call(&parts, IPC_STATUS, text, &n, &failed), -EMSGSIZE);
	assert_true(failed);
}

static void test_rundir(void **state)
{
	char dir[] = "/tmp/test-ipc-XXXXXX", path[IPC_RUNDIR_MAX], want[128];
	struct stat st;

	assert_non_null(mkdtemp(dir));
	snprintf(want, sizeof(want), "%s/run", dir);
	setenv("RUSE_DIR", want, 1);
	assert_int_equal(ipc_rundir(path, sizeof(path)), 0);
	assert_string_equal(path, want);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(chmod(path, 0755), 0);
	assert_int_equal(ipc_rundir(path, sizeof(path)), -EPERM);
	assert_int_equal(rmdir(want), 0);
	assert_int_equal(symlink("/", want), 0);
	assert_int_equal(ipc_rundir(path, sizeof(path)), -ENOTDIR);
	assert_int_equal(unlink(want), 0);
	unsetenv("RUSE_DIR");
	setenv("XDG_RUNTIME_DIR", dir, 1);
	assert_int_equal(ipc_rundir(path, sizeof(path)), 0);
	stat("/proc/self/ns/net", &st);
	snprintf(want, sizeof(want), "%s/ruse/%llu", dir, (unsigned long long)st.st_ino);
	assert_string_equal(path, want);
	rmdir(want);
	*strrchr(want, '/') = '\0';
	rmdir(want);
	rmdir(dir);
	unsetenv("XDG_RUNTIME_DIR");
}

static volatile sig_atomic_t sigchld;

static void on_sigchld(int sig)
{
	sigchld = 1;
}

/* The start is invisible: no SIGCHLD, no child, no inherited descriptor, no LD_PRELOAD. */
static void test_start(void **state)
{
	char script[] = "/tmp/test-ipc-XXXXXX", out[160], mark[160], line[256] = "";
	int fd = mkstemp(script), tries;
	FILE *f;

	snprintf(out, sizeof(out), "%s.out", script);
	dprintf(fd, "#!/bin/sh\n{ echo \"$1 $2 [$LD_PRELOAD] [$SEEN] $PWD\"; ls -l /proc/$$/fd | grep -c 'test-ipc.*mark';"
		    " readlink /proc/$$/fd/0; } > %s.tmp\nmv %s.tmp %s\n", out, out, out);
	fchmod(fd, 0700);
	close(fd);
	snprintf(mark, sizeof(mark), "%s.mark", script);
	fd = open(mark, O_RDWR | O_CREAT, 0600);	/* not close-on-exec */
	assert_true(fd > 2);
	setenv("LD_PRELOAD", "", 1);
	setenv("SEEN", "yes", 1);
	signal(SIGCHLD, on_sigchld);
	assert_int_equal(ipc_start(script, "/some/dir", -1), 0);
	for (tries = 0; tries < 500 && access(out, R_OK); tries++)
		usleep(10000);
	f = fopen(out, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	assert_string_equal(line, "--rundir /some/dir [] [yes] /\n");
	assert_non_null(fgets(line, sizeof(line), f));
	assert_string_equal(line, "0\n");
	assert_non_null(fgets(line, sizeof(line), f));
	assert_string_equal(line, "/dev/null\n");
	fclose(f);
	assert_int_equal(sigchld, 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
	assert_int_equal(errno, ECHILD);
	close(fd);
	unlink(mark);
	unlink(out);
	unlink(script);
	assert_int_equal(ipc_start(script, "/some/dir", -1), -ENOENT);
	signal(SIGCHLD, SIG_DFL);
}

static void test_connect_absent(void **state)
{
	char dir[] = "/tmp/test-ipc-XXXXXX", longer[200];
	struct ipc_conn c;

	assert_non_null(mkdtemp(dir));
	assert_int_equal(ipc_connect(&c, dir), -ENOENT);
	memset(longer, 'a', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(ipc_connect(&c, longer), -ENAMETOOLONG);
	assert_int_equal(ipc_call(&c, &(struct ipc_msg){ .type = IPC_STATUS }), -ENOTCONN);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_check_requests),
		cmocka_unit_test(test_check_rows),
		cmocka_unit_test(test_check_replies),
		cmocka_unit_test_setup_teardown(test_descriptors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_malformed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_call, setup, teardown),
		cmocka_unit_test_setup_teardown(test_call_too_long, setup, teardown),
		cmocka_unit_test(test_rundir),
		cmocka_unit_test(test_start),
		cmocka_unit_test(test_connect_absent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
