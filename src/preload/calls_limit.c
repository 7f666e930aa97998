/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Calls by which a program limits itself. Memory of the arena is not counted as private memory is, and making it takes
 * system calls that malloc() does not make. So after them no new block comes from the arena.
 *
 * A sanitizer calls these functions before its own memory is ready.
 */
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include "arena/arena.h"
#include "preload/preload.h"

/* The limit of address space or data that the process has set for itself. */
static NOT_SANITIZED void limit_set(int resource, uint64_t value)
{
	int e = errno;

	if ((resource == RLIMIT_AS || resource == RLIMIT_DATA) && value != RLIM_INFINITY)
		arena_stop();
	errno = e;
}

HOOK NOT_SANITIZED int setrlimit(__rlimit_resource_t resource, const struct rlimit *rl)
{
	int rc = REAL(setrlimit)(resource, rl);

	if (!rc)
		limit_set((int)resource, rl->rlim_cur);
	return rc;
}

HOOK NOT_SANITIZED int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *rl)
{
	int rc = REAL(setrlimit64)(resource, rl);

	if (!rc)
		limit_set((int)resource, rl->rlim_cur);
	return rc;
}

static NOT_SANITIZED bool limit_own(pid_t pid)
{
	return !pid || pid == getpid();
}

HOOK NOT_SANITIZED int prlimit(pid_t pid, enum __rlimit_resource resource, const struct rlimit *rl,
			       struct rlimit *old)
{
	int rc = REAL(prlimit)(pid, resource, rl, old);

	if (!rc && rl && limit_own(pid))
		limit_set((int)resource, rl->rlim_cur);
	return rc;
}

HOOK NOT_SANITIZED int prlimit64(pid_t pid, enum __rlimit_resource resource,
				 const struct rlimit64 *rl, struct rlimit64 *old)
{
	int rc = REAL(prlimit64)(pid, resource, rl, old);

	if (!rc && rl && limit_own(pid))
		limit_set((int)resource, rl->rlim_cur);
	return rc;
}

/*
 * libseccomp sets its filters by the system call seccomp(), for which libc has no function. Before it, it sets
 * PR_SET_NO_NEW_PRIVS, without which only a privileged process may set a filter.
 */
HOOK NOT_SANITIZED int prctl(int option, ...)
{
	unsigned long a[4];
	va_list ap;

	va_start(ap, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(ap, unsigned long);
	va_end(ap);
	if (option == PR_SET_SECCOMP || (option == PR_SET_NO_NEW_PRIVS && a[0])) {
		int e = errno;

		arena_confine();
		errno = e;
	}
	return REAL(prctl)(option, a[0], a[1], a[2], a[3]);
}
