/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Macros for the method tables: one line per attribute, similar to the kernel's specs. */
#ifndef RUSE_ABI_UVERBS_SPEC_H
#define RUSE_ABI_UVERBS_SPEC_H

#include "abi/uverbs/handlers.h"

#define MANDATORY .mandatory = true
#define SIZED(lo, hi) .min_len = (lo), .max_len = (hi)
#define AT_LEAST(lo) SIZED(lo, UINT16_MAX)
/* A struct that may be longer than t: the rest must be zero (in), or is cleared (out). */
#define STRUCT(t) SIZED(sizeof(t), sizeof(t)), .zero_tail = true
#define IN(attr, ...) { .id = UVERBS_ATTR_##attr, .type = ATTR_PTR_IN, __VA_ARGS__ }
#define OUT(attr, ...) { .id = UVERBS_ATTR_##attr, .type = ATTR_PTR_OUT, __VA_ARGS__ }
#define CONST_IN(attr) IN(attr, SIZED(8, 8), MANDATORY)
#define FLAGS_IN(attr, ...) IN(attr, SIZED(4, 8), __VA_ARGS__)
#define IDR(attr, k, acc, ...) \
	{ .id = UVERBS_ATTR_##attr, .type = ATTR_IDR, .kind = UVERBS_OBJECT_##k, \
	  .access = ACC_##acc, __VA_ARGS__ }
#define FD(attr, k, acc, ...) \
	{ .id = UVERBS_ATTR_##attr, .type = ATTR_FD, .kind = UVERBS_OBJECT_##k, \
	  .access = ACC_##acc, __VA_ARGS__ }
#define UHW IN(UHW_IN, AT_LEAST(0)), OUT(UHW_OUT, AT_LEAST(0))

#define ATTRS(name, ...) static const struct attr_spec name[] = { __VA_ARGS__ }
#define METHOD(obj, m, list, on, fn) \
	{ .name = #m, .object = UVERBS_OBJECT_##obj, .method = UVERBS_METHOD_##m, .enabled = (on), \
	  .nattrs = ARRAY_SIZE(list), .attrs = (list), .handler = (fn) }

extern const struct method_spec spec_verbs[], spec_device[];
extern const uint32_t spec_verbs_count, spec_device_count;

#endif
