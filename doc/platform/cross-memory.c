/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Two facts about other processes of the same user. process_vm_readv() copies from a process unless
 * it belongs to another user or is not dumpable. The kernel sets FUTEX_OWNER_DIED in a robust futex
 * word in shared memory when the thread that holds it dies or its process calls execve(), so one
 * load of the word tells whether the process still runs.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proof.h"
#include "shared/barrier.h"

#define FUTEX_OWNER_DIED_BIT 0x40000000u	/* <linux/futex.h> */
#define PATIENCE_NS 2e9

static int ready[2];
static char word[16] = "parent";

static void wait_ready(void)
{
	char c;

	need(read(ready[0], &c, 1) == 1, "the child");
}

static void say_ready(void)
{
	need(write(ready[1], "x", 1) == 1, "pipe");
}

/* Starts a process with its own contents of `word`. dumpable 0: no process may read its memory. */
static pid_t target(int dumpable)
{
	pid_t pid = fork();

	need(pid >= 0, "fork");
	if (pid) {
		wait_ready();
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!geteuid())
		need(!setresgid(65534, 65534, 65534) && !setresuid(65534, 65534, 65534), "setresuid");
	prctl(PR_SET_DUMPABLE, dumpable);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	strcpy(word, "target");
	say_ready();
	for (;;)
		pause();
}

/* Can another process, of user uid (if this program runs as root), read `word` of process other? */
static bool sibling_reads(pid_t other, uid_t uid)
{
	int status = 0;
	pid_t pid = fork();

	need(pid >= 0, "fork");
	if (!pid) {
		char buf[16] = "";
		struct iovec l = { buf, sizeof(word) }, r = { word, sizeof(word) };

		if (!geteuid())
			need(!setresgid(uid, uid, uid) && !setresuid(uid, uid, uid), "setresuid");
		_exit(process_vm_readv(other, &l, 1, &r, 1, 0) == sizeof(word) &&
		      !strcmp(buf, "target") ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Does the kernel mark the word of a robust mutex when its holder is killed, or calls execve()? */
static bool marked(pthread_mutex_t *m, bool exec)
{
	pthread_mutexattr_t attr;
	double start;
	bool seen;
	pid_t pid;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(m, &attr);
	pid = fork();
	need(pid >= 0, "fork");
	if (!pid) {
		pthread_mutex_lock(m);
		say_ready();
		if (exec)
			execlp("sleep", "sleep", "5", (char *)NULL);
		for (;;)
			pause();
	}
	wait_ready();
	if (!exec)
		kill(pid, SIGKILL);
	start = now_ns();
	do {
		seen = READ_ONCE(*(unsigned int *)m) & FUTEX_OWNER_DIED_BIT;
	} while (!seen && now_ns() - start < PATIENCE_NS);
	printf("     after %.0f us\n", (now_ns() - start) / 1e3);
	end(pid);
	return seen;
}

int main(void)
{
	pthread_mutex_t *m = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	setvbuf(stdout, NULL, _IOLBF, 0);
	need(m != MAP_FAILED && !pipe(ready), "set-up");
	pid = target(1);
	fact(sibling_reads(pid, 65534), "a process reads another's memory, same user, not its parent");
	if (!geteuid())
		fact(!sibling_reads(pid, 65533), "another user may not");
	end(pid);
	pid = target(0);
	fact(!sibling_reads(pid, 65534), "nor any process where the target is not dumpable: use the ring");
	end(pid);
	fact(marked(m, false), "kill -9 marks the robust word, before the process is reaped");
	fact(marked(m, true), "so does execve: same pid, other memory");
	return verdict();
}
