/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Guarded moves, for umem.c and umem_crc.c. movN() copies N bytes and returns false if one
 * of its instructions faults. A move of up to 8 bytes is a single store.
 *
 * Section umem_ex is the fault table: pairs of an instruction and the address to resume at,
 * each relative to its own position in the table.
 */
#ifndef RUSE_CORE_UMEM_ARCH_H
#define RUSE_CORE_UMEM_ARCH_H

#include "base/util.h"

#define UMEM_EX(from, to)                                                      \
	".pushsection umem_ex, \"a\"\n"                                        \
	".balign 4\n"                                                          \
	".long " from " - .\n"                                                 \
	".long " to " - .\n"                                                   \
	".popsection\n"

/* Defines a move by its load and store; the last arguments are the registers they use. */
#define UMEM_MOV(name, load, store, ...)                                       \
	static inline __attribute__((always_inline)) bool name(void *d, const void *s) \
	{                                                                      \
		__asm__ goto("1: " load "\n"                                   \
			     "2: " store "\n"                                  \
			     UMEM_EX("1b", "%l[fault]")                        \
			     UMEM_EX("2b", "%l[fault]")                        \
			     : : "r"(d), "r"(s) : __VA_ARGS__, "memory" : fault); \
		return true;                                                   \
	fault:                                                                 \
		return false;                                                  \
	}

#if defined(__x86_64__)

#define UMEM_PC(uc) ((uc)->uc_mcontext.gregs[REG_RIP])

UMEM_MOV(mov1, "movzbl (%1), %%eax", "movb %%al, (%0)", "eax")
UMEM_MOV(mov2, "movzwl (%1), %%eax", "movw %%ax, (%0)", "eax")
UMEM_MOV(mov4, "movl (%1), %%eax", "movl %%eax, (%0)", "eax")
UMEM_MOV(mov8, "movq (%1), %%rax", "movq %%rax, (%0)", "rax")
UMEM_MOV(mov16, "movdqu (%1), %%xmm0", "movdqu %%xmm0, (%0)", "xmm0")
UMEM_MOV(mov32,
	 "movdqu (%1), %%xmm0\n3: movdqu 16(%1), %%xmm1",
	 "movdqu %%xmm0, (%0)\n4: movdqu %%xmm1, 16(%0)\n"
	 UMEM_EX("3b", "%l[fault]") UMEM_EX("4b", "%l[fault]"), "xmm0", "xmm1")

/*
 * Returns the number of bytes not copied. The stores of a string instruction are not ordered
 * among themselves, but precede later stores (Intel SDM volume 3, 9.2.4.1).
 */
static inline size_t umem_mov_bulk(void *d, const void *s, size_t n)
{
	__asm__ volatile("1: rep movsb\n2:\n" UMEM_EX("1b", "2b")
			 : "+D"(d), "+S"(s), "+c"(n) : : "memory");
	return n;
}

/* The atomics return 0, or -1 after a fault: execution then resumes behind the instruction that sets err to 0. */
static inline int umem_guarded_cmp_swp(uint64_t *p, uint64_t *old, uint64_t swap)
{
	int err = -1;

	__asm__ volatile("1: lock cmpxchgq %3, (%2)\n"
			 "movl $0, %0\n2:\n" UMEM_EX("1b", "2b")
			 : "+r"(err), "+a"(*old) : "r"(p), "r"(swap) : "memory", "cc");
	return err;
}

static inline int umem_guarded_fetch_add(uint64_t *p, uint64_t *val)
{
	int err = -1;

	__asm__ volatile("1: lock xaddq %1, (%2)\n"
			 "movl $0, %0\n2:\n" UMEM_EX("1b", "2b")
			 : "+r"(err), "+r"(*val) : "r"(p) : "memory", "cc");
	return err;
}

#elif defined(__aarch64__)

#define UMEM_PC(uc) ((uc)->uc_mcontext.pc)
/* The bytes of a store that is not aligned may become visible one by one, in any order. */
#define UMEM_ALIGNED_ONLY 1

UMEM_MOV(mov1, "ldrb w9, [%1]", "strb w9, [%0]", "x9")
UMEM_MOV(mov2, "ldrh w9, [%1]", "strh w9, [%0]", "x9")
UMEM_MOV(mov4, "ldr w9, [%1]", "str w9, [%0]", "x9")
UMEM_MOV(mov8, "ldr x9, [%1]", "str x9, [%0]", "x9")
UMEM_MOV(mov16, "ldr q16, [%1]", "str q16, [%0]", "v16")
UMEM_MOV(mov32, "ldp q16, q17, [%1]", "stp q16, q17, [%0]", "v16", "v17")

static inline size_t umem_mov_bulk(void *dst, const void *src, size_t n)
{
	uint8_t *d = dst;
	const uint8_t *s = src;

	for (; n >= 32; n -= 32, d += 32, s += 32)
		if (!mov32(d, s))
			return n;
	for (; n; n--, d++, s++)
		if (!mov1(d, s))
			return n;
	return 0;
}

static inline int umem_guarded_cmp_swp(uint64_t *p, uint64_t *old, uint64_t swap)
{
	uint64_t was = 0;
	int err = -1, fail;

	__asm__ volatile("1: ldaxr %1, [%3]\n"
			 "cmp %1, %4\n"
			 "b.ne 3f\n"
			 "4: stlxr %w2, %5, [%3]\n"
			 "cbnz %w2, 1b\n"
			 "3: mov %w0, #0\n2:\n" UMEM_EX("1b", "2b") UMEM_EX("4b", "2b")
			 : "+r"(err), "+&r"(was), "=&r"(fail)
			 : "r"(p), "r"(*old), "r"(swap) : "memory", "cc");
	*old = was;
	return err;
}

static inline int umem_guarded_fetch_add(uint64_t *p, uint64_t *val)
{
	uint64_t was = 0, sum;
	int err = -1, fail;

	__asm__ volatile("1: ldaxr %1, [%4]\n"
			 "add %3, %1, %5\n"
			 "4: stlxr %w2, %3, [%4]\n"
			 "cbnz %w2, 1b\n"
			 "mov %w0, #0\n2:\n" UMEM_EX("1b", "2b") UMEM_EX("4b", "2b")
			 : "+r"(err), "+&r"(was), "=&r"(fail), "=&r"(sum)
			 : "r"(p), "r"(*val) : "memory");
	*val = was;
	return err;
}

#else
#define UMEM_PORTABLE 1
#endif

#endif
