/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Small helpers for all folders of src/, with the kernel's names where they exist. */
#ifndef RUSE_BASE_UTIL_H
#define RUSE_BASE_UTIL_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

#define min(a, b) \
	({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); _a < _b ? _a : _b; })
#define max(a, b) \
	({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); _a > _b ? _a : _b; })

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* The kernel's words: seldom called, and so placed away from HOT functions; with all callees inlined but noinline ones. */
#define noinline __attribute__((__noinline__))
#define __cold __attribute__((__cold__))
#define __flatten __attribute__((__flatten__))
/*
 * A function on the path of every message. HOT functions are placed together, so that the path
 * touches few pages. The kernel has no word for it.
 */
#define HOT __attribute__((hot))

#define __printf(a, b) __attribute__((format(printf, a, b)))

/* Nanoseconds of CLOCK_MONOTONIC. Only engine/ and loop/ read the clock; others get `now`. */
typedef int64_t ns_t;
#define NS_NEVER INT64_MAX
#define NS_US 1000LL
#define NS_MS 1000000LL
#define NS_S 1000000000LL

/* Smallest power of two that is at least v; v at most 2^31. */
static inline uint32_t roundup_pow2(uint32_t v)
{
	return v <= 1 ? 1 : 1u << (32 - __builtin_clz(v - 1));
}

/* Logarithm to base 2, rounded down; v is not 0. */
static inline uint32_t ilog2(uint32_t v)
{
	return 31 - __builtin_clz(v);
}

/* Bytes of a page of memory. */
#define PAGE 4096ull

/* Smallest multiple of a that is at least v; a is a power of two. */
#define ALIGN_UP(v, a) (((v) + (a) - 1) & ~((__typeof__(v))(a) - 1))

#endif
