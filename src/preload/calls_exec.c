/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libc's functions that start programs. A program starts with the mask of its maker, and SIGSEGV and SIGBUS of it are
 * blocked by record only, so the call is made in a window (signals.h). The functions of libc do not call each other by
 * name, so each one has a hook. An exec is async-signal-safe, also in a vfork child.
 */
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "preload/preload.h"
#include "preload/signals.h"

HOOK FILE *_IO_popen(const char *command, const char *type);

/* The call of a function that returns ret, in a window. */
#define IN_WINDOW(call)                                                        \
	({                                                                     \
		struct signals_window _w;                                      \
		signals_window_begin(&_w);                                     \
		__typeof__(call) _ret = call;                                  \
		signals_window_end(&_w);                                       \
		_ret;                                                          \
	})

HOOK int execve(const char *path, char *const argv[], char *const envp[])
{
	return IN_WINDOW(REAL(execve)(path, argv, envp));
}

HOOK int execv(const char *path, char *const argv[])
{
	return IN_WINDOW(REAL(execv)(path, argv));
}

HOOK int execvp(const char *file, char *const argv[])
{
	return IN_WINDOW(REAL(execvp)(file, argv));
}

HOOK int execvpe(const char *file, char *const argv[], char *const envp[])
{
	return IN_WINDOW(REAL(execvpe)(file, argv, envp));
}

HOOK int fexecve(int fd, char *const argv[], char *const envp[])
{
	return IN_WINDOW(REAL(fexecve)(fd, argv, envp));
}

HOOK int execveat(int dirfd, const char *path, char *const argv[], char *const envp[], int flags)
{
	return IN_WINDOW(REAL(execveat)(dirfd, path, argv, envp, flags));
}

/* The number of arguments from `arg` on, with the NULL that ends them. */
static size_t exec_count(const char *arg, va_list ap)
{
	size_t n = 1;

	for (; arg; arg = va_arg(ap, char *))
		n++;
	return n;
}

/* Fills argv, which ends with NULL. */
static void exec_fill(char **argv, const char *arg, va_list ap)
{
	size_t n = 0;

	argv[n] = (char *)(uintptr_t)arg;
	while (argv[n])
		argv[++n] = va_arg(ap, char *);
}

/* The arguments are in an array on the stack, where libc's own functions have them. */

HOOK int execl(const char *path, const char *arg, ...)
{
	char **argv;
	va_list ap;

	va_start(ap, arg);
	argv = __builtin_alloca(exec_count(arg, ap) * sizeof(*argv));
	va_end(ap);
	va_start(ap, arg);
	exec_fill(argv, arg, ap);
	va_end(ap);
	return IN_WINDOW(REAL(execv)(path, argv));
}

HOOK int execlp(const char *file, const char *arg, ...)
{
	char **argv;
	va_list ap;

	va_start(ap, arg);
	argv = __builtin_alloca(exec_count(arg, ap) * sizeof(*argv));
	va_end(ap);
	va_start(ap, arg);
	exec_fill(argv, arg, ap);
	va_end(ap);
	return IN_WINDOW(REAL(execvp)(file, argv));
}

HOOK int execle(const char *path, const char *arg, ...)
{
	char **argv, **envp;
	va_list ap;

	va_start(ap, arg);
	argv = __builtin_alloca(exec_count(arg, ap) * sizeof(*argv));
	va_end(ap);
	va_start(ap, arg);
	exec_fill(argv, arg, ap);
	envp = va_arg(ap, char **);
	va_end(ap);
	return IN_WINDOW(REAL(execve)(path, argv, envp));
}

HOOK int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		     const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	return IN_WINDOW(REAL(posix_spawn)(pid, path, actions, attr, argv, envp));
}

HOOK int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
		      const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	return IN_WINDOW(REAL(posix_spawnp)(pid, file, actions, attr, argv, envp));
}

HOOK int system(const char *command)
{
	return IN_WINDOW(REAL(system)(command));
}

HOOK FILE *popen(const char *command, const char *type)
{
	return IN_WINDOW(REAL(popen)(command, type));
}

extern __typeof__(popen) _IO_popen __attribute__((alias("popen"), copy(popen))) HOOK;
