/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Copies and computes the CRC in one pass. Each byte of the source is read once, so that the
 * CRC matches the copy even if the program changes the source at the same time.
 *
 * With AVX-512 whole strides (CRC_STRIDE bytes) are copied through registers, from which the CRC is
 * computed too. The rest, or all on other processors, is copied by umem_copy(), and its CRC is
 * computed from the copy.
 */
#include <errno.h>
#include "core/umem.h"
#include "core/umem_mask.h"
#include "wire/crc_wide.h"

#ifndef UMEM_PORTABLE
#include "core/umem_arch.h"
#endif

#if defined(__x86_64__) && !defined(UMEM_PORTABLE)

/* Guarded load of one stride. False after a fault. */
static CRC_WIDE inline bool umem_crc_load(struct crc_wide *v, const uint8_t *s)
{
	int err = -1;

	__asm__ volatile("1: vmovdqu64 (%5), %1\n"
			 "2: vmovdqu64 64(%5), %2\n"
			 "3: vmovdqu64 128(%5), %3\n"
			 "4: vmovdqu64 192(%5), %4\n"
			 "movl $0, %0\n5:\n"
			 UMEM_EX("1b", "5b") UMEM_EX("2b", "5b")
			 UMEM_EX("3b", "5b") UMEM_EX("4b", "5b")
			 : "+r"(err), "=&v"(v->a), "=&v"(v->b), "=&v"(v->c), "=&v"(v->d)
			 : "r"(s) : "memory");
	return likely(!err);
}

static CRC_WIDE inline void umem_crc_store(uint8_t *d, const struct crc_wide *v)
{
	_mm512_storeu_si512(d, v->a);
	_mm512_storeu_si512(d + 64, v->b);
	_mm512_storeu_si512(d + 128, v->c);
	_mm512_storeu_si512(d + 192, v->d);
}

/* Copies n strides, at least one. */
static CRC_WIDE int umem_crc_wide(uint8_t *d, const uint8_t *s, size_t n, uint32_t *crc)
{
	__m512i k = crc_constant(crc_fold_2048);
	struct crc_wide sum, next;

	if (!umem_crc_load(&sum, s))
		return -EFAULT;
	umem_crc_store(d, &sum);
	crc_wide_first(&sum, *crc);
	while (--n) {
		s += CRC_STRIDE;
		d += CRC_STRIDE;
		if (!umem_crc_load(&next, s))
			return -EFAULT;
		umem_crc_store(d, &next);
		crc_wide_next(&sum, k, &next);
	}
	*crc = crc_wide_last(&sum);
	return 0;
}

/* Copies the whole strides of len. Returns the number of bytes copied, or -EFAULT. */
static ssize_t umem_crc_strides(void *dst, const void *src, size_t len, uint32_t *crc)
{
	if (len < CRC_WIDE_MIN || !crc_wide_works())
		return 0;
	if (umem_crc_wide(dst, src, len / CRC_STRIDE, crc))
		return -EFAULT;
	return (ssize_t)(len - len % CRC_STRIDE);
}

#else

static ssize_t umem_crc_strides(void *dst, const void *src, size_t len, uint32_t *crc)
{
	return 0;
}

#endif

int umem_copy_crc(void *dst, const void *src, size_t len, uint32_t *crc)
{
	struct umem_window w;
	uint8_t *d;
	ssize_t n;

	umem_window_begin(&w);
	n = umem_crc_strides(dst, src, len, crc);
	umem_window_end(&w);
	d = (uint8_t *)dst + n;
	if (n < 0 || umem_copy(d, (const uint8_t *)src + n, len - (size_t)n))
		return -EFAULT;
	*crc = crc32_add(*crc, d, len - (size_t)n);
	return 0;
}
