/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Does ruse change what a program can see of its memory? Each case uses memory in a way of its own and prints what came
 * of it:
 *
 *   harmless CASE          libibverbs is loaded, no device is used
 *   harmless CASE device   besides, a thread has opened a device, made a QP and registered page-aligned memory
 *   harmless --list GROUP  the names of the cases of a group
 *
 * harmless.inc compares the lines with those of a run without ruse.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "harmless.h"
#include "verbs.h"

const char *const sources[SOURCES] = { "malloc", "mmap", "aligned" };
bool has_device, has_all;

/* The compiler must not know what this is. */
static void *(*volatile v_malloc)(size_t) = malloc;

void say(const char *fmt, ...)
{
	char line[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	if (n < 0 || n >= (int)sizeof(line) - 1)
		n = sizeof(line) - 2;
	line[n] = '\n';
	if (write(1, line, (size_t)n + 1) != n + 1)
		_exit(2);
}

void *h_get(enum source from, size_t len)
{
	void *p = NULL;
	int rc;

	switch (from) {
	case BY_MALLOC:
		return v_malloc(len);
	case BY_MMAP:
		p = mmap(NULL, len, RW, ANON, -1, 0);
		return p == MAP_FAILED ? NULL : p;
	default:
		rc = posix_memalign(&p, PG, len);
		if (rc)
			errno = rc;
		return rc ? NULL : p;
	}
}

void h_put(enum source from, void *p, size_t len)
{
	if (from != BY_MMAP)
		free(p);
	else if (munmap(p, len))
		die("munmap: %m");
}

uint8_t *h_filled(enum source from, size_t len, uint8_t v)
{
	uint8_t *p = h_get(from, len);

	if (!p)
		die("%s of %zu bytes: %m", sources[from], len);
	memset(p, v, len);
	return p;
}

bool h_holds(const uint8_t *p, uint8_t v, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (p[i] != v)
			return false;
	return true;
}

int h_ended(pid_t pid)
{
	int status;

	if (pid < 0)
		return 2000 + errno;
	while (waitpid(pid, &status, 0) != pid)
		if (errno != EINTR)
			return 3000 + errno;
	return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

int h_in_child(int (*fn)(void *), void *arg)
{
	pid_t pid = fork();

	if (!pid)
		_exit(fn(arg));
	return h_ended(pid);
}

pid_t h_fork_bound(void)
{
	pid_t parent = getpid(), pid = fork();

	if (!pid && (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent))
		_exit(1);
	return pid;
}

bool h_has_time(void)
{
	static time_t end;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!end)
		end = now.tv_sec + 2;
	return now.tv_sec < end;
}

long h_proc(const char *file, const char *name)
{
	char path[64], line[512];
	long value = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/%s", file);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)))
			value = strtol(line + strlen(name), NULL, 10);
	if (f)
		fclose(f);
	return value;
}

static struct {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool ready;
	uint8_t *mem[2];
	struct ibv_context *ctx;
} holder = { .lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER };

/* Holds two connected QPs and two regions for the life of the process; one message shows that they work. */
static void *hold_device(void *arg)
{
	struct vctx v = { .sock = -1 };
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	struct ibv_qp *other;
	sigset_t all;

	/* Signals are for the case's threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	v_open(&v, &vcfg_default);
	other = v_qp(&v);
	v_connect_self(&v, v.qp, other);
	for (int i = 0; i < 2; i++) {
		holder.mem[i] = h_filled(BY_ALIGNED, MB, 0x5a);
		if (!ibv_reg_mr(v.pd, holder.mem[i], MB, access))
			die("reg_mr: %m");
	}
	if (v_message(&v, v.qp, other, IBV_SEND_SIGNALED))
		die("the message failed");
	pthread_mutex_lock(&holder.lock);
	holder.ctx = v.ctx;
	holder.ready = true;
	pthread_cond_signal(&holder.cond);
	pthread_mutex_unlock(&holder.lock);
	for (;;)
		pause();
	return arg;
}

bool h_device_works(void)
{
	struct ibv_device_attr attr;
	struct ibv_pd *pd;

	if (!has_device)
		return true;
	pd = ibv_alloc_pd(holder.ctx);
	return pd && !ibv_dealloc_pd(pd) && !ibv_query_device(holder.ctx, &attr);
}

static void start_device(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, hold_device, NULL))
		die("no thread");
	pthread_mutex_lock(&holder.lock);
	while (!holder.ready)
		pthread_cond_wait(&holder.cond, &holder.lock);
	pthread_mutex_unlock(&holder.lock);
}

static const struct {
	const char *name;
	const struct hcase *cases;
} groups[] = {
	{ "memory", memory_cases }, { "signals", signal_cases }, { "fork", fork_cases },
	{ "limits", limit_cases },  { "leak", leak_cases },
	{ "corners", corner_cases }, { "sigmask", sigmask_cases },
	{ "sigaction", sigaction_cases }, { "sigcontext", sigcontext_cases },
	{ "aligned", aligned_cases }, { "userfault", userfault_cases },
};

int main(int argc, char **argv)
{
	const struct hcase *found = NULL;

	if (argc < 2)
		die("usage: harmless CASE [device] | --list GROUP");
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++)
		for (const struct hcase *c = groups[i].cases; c->name; c++) {
			if (argc > 2 && !strcmp(argv[1], "--list") && !strcmp(argv[2], groups[i].name))
				puts(c->name);
			if (!strcmp(argv[1], c->name))
				found = c;
		}
	if (!strcmp(argv[1], "--list"))
		return 0;
	if (!found)
		die("no case %s", argv[1]);
	has_all = strstr(found->name, "-loaded") || strstr(found->name, "-protected");
	has_device = argc > 2 && !strcmp(argv[2], "device");
	if (has_device)
		start_device();
	found->run();
	if (has_device && !(h_holds(holder.mem[0], 0x5a, MB) && h_holds(holder.mem[1], 0x5a, MB)))
		say("registered memory has changed");
	say("end");
	/* Other threads may still use memory. */
	_exit(0);
}
