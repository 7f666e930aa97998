/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Small helpers that every room uses; the kernel's names where it has them. */
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

/*
 * On the way of every message: such functions lie together. Few pages of code are few misses, and
 * much fewer where the processor is emulated, since what leaves a page there is looked up.
 */
#define HOT __attribute__((hot))
/*
 * A HOT function that has in it all that it calls, but for what says otherwise: a call and its
 * return are two more such look-ups, and so is a jump to its next page. What is rare says
 * otherwise, and lies elsewhere; so does what is called from many places.
 */
#define FLAT __attribute__((hot, flatten, aligned(4096)))
#define APART __attribute__((noinline))
#define RARE __attribute__((noinline, cold))

#define __printf(a, b) __attribute__((format(printf, a, b)))

/* Nanoseconds of CLOCK_MONOTONIC; an argument everywhere, read only by engine/ and daemon/. */
typedef int64_t ns_t;
#define NS_NEVER INT64_MAX
#define NS_US 1000LL
#define NS_MS 1000000LL
#define NS_S 1000000000LL

/* What something takes, after it has taken so long this time: the quick ones count, others were interrupted. */
static inline ns_t ns_learn(ns_t known, ns_t took)
{
	return !known || took < known ? took : known + min(took - known, known) / 16;
}

/* Smallest power of two that is not below v; v from 1 to 2^31. */
static inline uint32_t roundup_pow2(uint32_t v)
{
	return v <= 1 ? 1 : 1u << (32 - __builtin_clz(v - 1));
}

static inline uint32_t ilog2(uint32_t v)
{
	return 31 - __builtin_clz(v);
}

#define ALIGN_UP(v, a) (((v) + (a) - 1) & ~((__typeof__(v))(a) - 1))

#endif
