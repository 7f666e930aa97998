/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Atomic accesses and barriers. No other file may name a memory order (tools/layers checks this).
 * A word that threads or processes share must be accessed by these macros. There are two exceptions:
 * a thread that is the only writer of a word may read it without a macro, and so may the holder of
 * the lock that protects the word.
 */
#ifndef RUSE_SHARED_BARRIER_H
#define RUSE_SHARED_BARRIER_H

#define READ_ONCE(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v) __atomic_store_n(&(x), (v), __ATOMIC_RELAXED)
#define smp_load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define smp_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
/*
 * A store, after all accesses before it, followed by a full barrier. For two sides that each store a flag of their own
 * and then read the flag of the other: at least one of them sees the other's flag set.
 */
#if defined(__x86_64__)
#define smp_store_mb(p, v) ((void)__atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST))
#else
/* On arm64 a later load may pass the store of an exchange, in spite of its order. */
#define smp_store_mb(p, v)                                                     \
	do {                                                                   \
		__atomic_store_n((p), (v), __ATOMIC_RELEASE);                  \
		__atomic_thread_fence(__ATOMIC_SEQ_CST);                       \
	} while (0)
#endif
#define smp_mb() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define smp_rmb() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define smp_wmb() __atomic_thread_fence(__ATOMIC_RELEASE)
#define atomic_xchg(p, v) __atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST)
/* Adds v to *p, without ordering. Returns the value before. */
#define atomic_add(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
/* Subtracts v from *p, with acquire and release. Returns the value after. */
#define atomic_dec(p, v) __atomic_sub_fetch((p), (v), __ATOMIC_SEQ_CST)
/* True if *p was old and is now v. Acquire and release on success. */
#define atomic_cmpxchg(p, old, v)                                              \
	({                                                                     \
		__typeof__(*(p)) _old = (old);                                 \
		__atomic_compare_exchange_n((p), &_old, (v), 0,                \
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED); \
	})
/*
 * A full barrier behind atomic_xchg(), atomic_dec() or atomic_cmpxchg(), which acquire and release only: on arm64 a
 * later load may pass the store of an atomic operation.
 */
#if defined(__x86_64__)
#define smp_mb_after_atomic() __atomic_signal_fence(__ATOMIC_SEQ_CST)
#else
#define smp_mb_after_atomic() smp_mb()
#endif
/* 1: other processors see the stores of this one in program order. */
#if defined(__x86_64__)
#define CPU_STORES_ORDERED 1
#else
#define CPU_STORES_ORDERED 0
#endif
#if defined(__x86_64__)
#define cpu_relax() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define cpu_relax() __asm__ __volatile__("yield" ::: "memory")
#else
#define cpu_relax() __asm__ __volatile__("" ::: "memory")
#endif

#endif
