/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/cpus.h"
#include "base/sys.h"
#include "base/util.h"

uint32_t cpus_usable(void)
{
	uint64_t mask[128] = { 0 };
	long n = sys_call(SYS_sched_getaffinity, 0, sizeof(mask), mask);
	uint32_t cpus = 0;

	for (long i = 0; i < n / 8; i++)
		cpus += (uint32_t)__builtin_popcountll(mask[i]);
	return max(cpus, 1u);
}
