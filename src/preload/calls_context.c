/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* libc's functions that continue elsewhere, where the mask may be another one (core/umem_mask.h). Async-signal-safe. */
#include <setjmp.h>
#include <ucontext.h>
#include "core/umem_mask.h"
#include "preload/preload.h"

HOOK __attribute__((noreturn)) void __longjmp_chk(struct __jmp_buf_tag env[1], int val);

HOOK void longjmp(struct __jmp_buf_tag env[1], int val)
{
	umem_jumped();
	REAL(longjmp)(env, val);
	__builtin_unreachable();
}

/* Programs built with _FORTIFY_SOURCE. */
HOOK void __longjmp_chk(struct __jmp_buf_tag env[1], int val)
{
	umem_jumped();
	REAL(__longjmp_chk)(env, val);
	__builtin_unreachable();
}

HOOK int setcontext(const ucontext_t *to)
{
	umem_jumped();
	return REAL(setcontext)(to);
}

/* Not inline: the address of the thread's data must be taken anew. */
static noinline void context_continued(void)
{
	umem_thread = UMEM_ASK;
}

/* Returns when another context continues this one, perhaps on another thread. */
HOOK int swapcontext(ucontext_t *from, const ucontext_t *to)
{
	int ret;

	umem_jumped();
	ret = REAL(swapcontext)(from, to);
	context_continued();
	return ret;
}

extern __typeof__(longjmp) _longjmp __attribute__((alias("longjmp"), copy(longjmp))) HOOK;
extern __typeof__(longjmp) siglongjmp __attribute__((alias("longjmp"), copy(longjmp))) HOOK;
