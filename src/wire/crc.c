/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <libdeflate.h>
#include "wire/crc.h"
#include "wire/crc_wide.h"

#ifdef __x86_64__

#if __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#endif

/*
 * libc's loader knows the CPU (glibc 2.34 and later). __builtin_cpu_supports() has a constructor that asks the CPU again: in a
 * virtual machine this takes 200 us at the start of each program.
 */
bool crc_wide_works(void)
{
#ifdef CPU_FEATURE_ACTIVE
	return CPU_FEATURE_ACTIVE(AVX512F) && CPU_FEATURE_ACTIVE(VPCLMULQDQ);
#else
	return false;
#endif
}

static CRC_WIDE inline struct crc_wide crc_load(const uint8_t *p)
{
	return (struct crc_wide){ _mm512_loadu_si512(p), _mm512_loadu_si512(p + 64),
				  _mm512_loadu_si512(p + 128), _mm512_loadu_si512(p + 192) };
}

static CRC_WIDE uint32_t crc_wide_any(uint32_t crc, const uint8_t *p, size_t len)
{
	struct crc_wide s = crc_load(p), next;
	__m512i k = crc_constant(crc_fold_2048);

	crc_wide_first(&s, crc);
	for (p += CRC_STRIDE, len -= CRC_STRIDE; len >= CRC_STRIDE;
	     p += CRC_STRIDE, len -= CRC_STRIDE) {
		next = crc_load(p);
		crc_wide_next(&s, k, &next);
	}
	crc = crc_wide_last(&s);
	return len ? libdeflate_crc32(crc, p, len) : crc;
}

#endif

uint32_t crc32_add(uint32_t crc, const void *buf, size_t len)
{
#ifdef __x86_64__
	if (len >= CRC_WIDE_MIN && crc_wide_works())
		return crc_wide_any(crc, buf, len);
#endif
	return libdeflate_crc32(crc, buf, len);
}
