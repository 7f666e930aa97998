/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A guarded copy survives a fault. The signal handler checks that the fault is at an instruction of
 * the copy and continues at the end of the copy, where a register has the number of bytes not
 * copied. The copy needs no sigsetjmp(), so without a fault it has no extra cost.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "proof.h"

#if defined(__x86_64__)

#define PAGE 4096

extern const char copy_begin[], copy_end[];

/* Returns the bytes that were not copied. */
__attribute__((noinline)) static size_t guarded_copy(void *dst, const void *src, size_t len)
{
	__asm__ __volatile__(".globl copy_begin\ncopy_begin:\n\t"
			     "rep movsb\n"
			     ".globl copy_end\ncopy_end:"
			     : "+D"(dst), "+S"(src), "+c"(len) : : "memory");
	return len;
}

static void handler(int sig, siginfo_t *info, void *context)
{
	greg_t *ip = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

	if (*ip < (greg_t)copy_begin || *ip >= (greg_t)copy_end)
		_exit(3);
	*ip = (greg_t)copy_end;
}

/* Thread: blocks the signals of the set arg, then copies to memory that is not writable. */
static void *copy_in_thread(void *arg)
{
	static char src[64];
	static size_t left;
	void *p = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	pthread_sigmask(SIG_SETMASK, arg, NULL);
	left = guarded_copy(p, src, sizeof(src));
	return &left;
}

static size_t left_in_thread(sigset_t *mask)
{
	pthread_t t;
	void *left;

	pthread_create(&t, NULL, copy_in_thread, mask);
	pthread_join(t, &left);
	return *(size_t *)left;
}

static void cost(void)
{
	static const size_t sizes[] = { 8, 64, 4096, 65536 };
	static char a[65536], b[65536];
	size_t i;
	int k;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		int n = sizes[i] > 1000 ? 20000 : 1000000;
		double t0 = now_ns(), t1, t2;

		for (k = 0; k < n; k++) {
			memcpy(a, b, sizes[i]);
			__asm__ __volatile__("" : : : "memory");
		}
		t1 = now_ns();
		for (k = 0; k < n; k++)
			guarded_copy(a, b, sizes[i]);
		t2 = now_ns();
		printf("     %6zu bytes: memcpy %.1f ns, guarded %.1f ns\n", sizes[i],
		       (t1 - t0) / n, (t2 - t1) / n);
	}
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	static char src[64];
	sigset_t mask;
	char *p;
	pid_t pid;
	int fd, status = 0;

	need(!sigaction(SIGSEGV, &sa, NULL) && !sigaction(SIGBUS, &sa, NULL), "sigaction");

	p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(p + PAGE, PAGE);
	fact(guarded_copy(p + PAGE - 40, src, 64) == 24, "a copy over the end of a mapping stops there (SIGSEGV)");

	fd = memfd_create("proof", 0);
	need(fd >= 0 && !ftruncate(fd, 2 * PAGE), "memfd_create");
	p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	need(!ftruncate(fd, PAGE), "ftruncate");
	fact(guarded_copy(p + PAGE, src, 64) == 64, "so does one into a file that was truncated (SIGBUS)");

	sigfillset(&mask);
	sigdelset(&mask, SIGSEGV);
	sigdelset(&mask, SIGBUS);
	fact(left_in_thread(&mask) == 64, "in a thread that blocks everything else, too");

	sigfillset(&mask);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		left_in_thread(&mask);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	fact(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV,
	     "where SIGSEGV itself is blocked the kernel kills: it must never really be");
	cost();
	return verdict();
}

#else
int main(void)
{
	puts("not written for this architecture; core/umem has its own test");
	return 0;
}
#endif
