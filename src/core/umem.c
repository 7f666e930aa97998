/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Guarded copies and atomics. This is how umem_copy() keeps the placement order:
 *
 * Up to 15 bytes: at most two stores in each cache line; the second one includes the last
 * byte. The two halves of a store that crosses a cache line may become visible in any
 * order, so a short copy that crosses one is made in two parts.
 *
 * From 16 bytes on: let w be the aligned 8-byte word that contains the last byte. First all
 * bytes before w are stored. Then one 8-byte store writes the last 8 bytes of the copy. Unless the
 * last byte is also the last of w, this store repeats some bytes before w, with the same values.
 *
 * UMEM_ALIGNED_ONLY (arm64): only an aligned store is one store. All bytes before w are stored, then those of w by
 * aligned stores in ascending order.
 *
 * UMEM_PORTABLE replaces guarded instructions by process_vm_writev() on this process, for
 * processors that umem_arch.h does not know.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <ucontext.h>
#include "base/sys.h"
#include "core/umem.h"
#include "shared/barrier.h"

#ifndef UMEM_PORTABLE
#include "core/umem_arch.h"
#include "core/umem_mask.h"
#endif

#define LINE 64u
#define ALWAYS_INLINE inline __attribute__((always_inline))

#ifndef UMEM_PORTABLE

/* A copy of this many bytes or more uses the string instruction, which is faster than moves on nearly all processors. */
#define BULK_MIN 1024u

/* An entry of the fault table, see umem_arch.h. */
struct umem_ex {
	int32_t insn, resume;	/* relative to their own addresses */
};

extern const struct umem_ex __start_umem_ex[] __attribute__((visibility("hidden")));
extern const struct umem_ex __stop_umem_ex[] __attribute__((visibility("hidden")));

#ifndef UMEM_ALIGNED_ONLY

/* Copies 1 to 15 bytes within one cache line. */
static ALWAYS_INLINE int umem_copy_in_line(uint8_t *d, const uint8_t *s, size_t n)
{
	bool ok;

	if (n >= 8) {
		ok = mov8(d, s);
		smp_wmb();
		ok = ok && (n == 8 || mov8(d + n - 8, s + n - 8));
	} else if (n >= 4) {
		ok = mov4(d, s);
		smp_wmb();
		ok = ok && (n == 4 || mov4(d + n - 4, s + n - 4));
	} else if (n >= 2) {
		ok = mov2(d, s);
		smp_wmb();
		ok = ok && (n == 2 || mov1(d + 2, s + 2));
	} else {
		ok = mov1(d, s);
	}
	return ok ? 0 : -EFAULT;
}

/* Copies 1 to 15 bytes that may cross a cache line. */
static ALWAYS_INLINE int umem_copy_short(uint8_t *d, const uint8_t *s, size_t n)
{
	size_t head = LINE - ((uintptr_t)d & (LINE - 1));
	int err;

	if (likely(n <= head))
		return umem_copy_in_line(d, s, n);
	err = umem_copy_in_line(d, s, head);
	if (err)
		return err;
	smp_wmb();
	return umem_copy_in_line(d + head, s + head, n - head);
}

#else

/* Copies 1 to 7 bytes in any order. */
static ALWAYS_INLINE bool umem_copy_few(uint8_t *d, const uint8_t *s, size_t n)
{
	if (n >= 4)
		return mov4(d, s) && mov4(d + n - 4, s + n - 4);
	if (n >= 2)
		return mov2(d, s) && mov2(d + n - 2, s + n - 2);
	return mov1(d, s);
}

/* Copies 1 to 8 bytes within one aligned word by aligned stores, in order. */
static ALWAYS_INLINE bool umem_copy_in_word(uint8_t *d, const uint8_t *s, size_t n)
{
	size_t take;
	bool ok;

	for (;; d += take, s += take) {
		uintptr_t at = (uintptr_t)d;

		if (!(at & 7) && n >= 8)
			take = 8, ok = mov8(d, s);
		else if (!(at & 3) && n >= 4)
			take = 4, ok = mov4(d, s);
		else if (!(at & 1) && n >= 2)
			take = 2, ok = mov2(d, s);
		else
			take = 1, ok = mov1(d, s);
		n -= take;
		if (!ok || !n)
			return ok;
		smp_wmb();
	}
}

#endif

/* Copies 8 bytes or more. The last move may overlap the one before. */
static ALWAYS_INLINE bool umem_copy_body(uint8_t *d, const uint8_t *s, size_t n)
{
	uint8_t *end = d + n;

	if (n <= 16)
		return mov8(d, s) && mov8(end - 8, s + n - 8);
	if (n <= 32)
		return mov16(d, s) && mov16(end - 16, s + n - 16);
	if (n >= BULK_MIN)
		return !umem_mov_bulk(d, s, n);
	for (; end - d > 32; d += 32, s += 32)
		if (!mov32(d, s))
			return false;
	return mov32(end - 32, s + (end - d) - 32);
}

#ifndef UMEM_ALIGNED_ONLY

static ALWAYS_INLINE int umem_copy_direct(void *dst, const void *src, size_t len)
{
	uint8_t *d = dst;
	const uint8_t *s = src;
	size_t body;

	if (len < 16) {
		if (likely(len == 8 && !((uintptr_t)d & 7)))
			return mov8(d, s) ? 0 : -EFAULT;
		return len ? umem_copy_short(d, s, len) : 0;
	}
	body = (((uintptr_t)d + len - 1) & ~(uintptr_t)7) - (uintptr_t)d;
	if (unlikely(!umem_copy_body(d, s, body)))
		return -EFAULT;
	smp_wmb();
	return mov8(d + len - 8, s + len - 8) ? 0 : -EFAULT;
}

#else

static ALWAYS_INLINE int umem_copy_direct(void *dst, const void *src, size_t len)
{
	uint8_t *d = dst;
	const uint8_t *s = src;
	uintptr_t word;
	size_t body;

	if (likely(len == 8 && !((uintptr_t)d & 7)))
		return mov8(d, s) ? 0 : -EFAULT;
	if (!len)
		return 0;
	word = ((uintptr_t)d + len - 1) & ~(uintptr_t)7;
	body = word > (uintptr_t)d ? word - (uintptr_t)d : 0;
	if (body) {
		if (unlikely(!(body < 8 ? umem_copy_few(d, s, body) : umem_copy_body(d, s, body))))
			return -EFAULT;
		smp_wmb();
	}
	return umem_copy_in_word(d + body, s + body, len - body) ? 0 : -EFAULT;
}

#endif

/* Bytes of a copy in one window: other signals wait so long. */
#define WINDOW_BYTES (1ul << 20)

static noinline __cold int umem_copy_masked(void *dst, const void *src, size_t len)
{
	struct umem_window w;
	size_t n;
	int err;

	for (size_t at = 0; at < len; at += n) {
		n = min(len - at, WINDOW_BYTES);
		umem_window_begin(&w);
		err = umem_copy_direct((uint8_t *)dst + at, (const uint8_t *)src + at, n);
		umem_window_end(&w);
		if (err)
			return err;
	}
	return 0;
}

HOT int umem_copy(void *dst, const void *src, size_t len)
{
	return umem_is_direct() ? umem_copy_direct(dst, src, len) : umem_copy_masked(dst, src, len);
}

int umem_cmp_swp(uint64_t *p, uint64_t compare, uint64_t swap, uint64_t *orig)
{
	struct umem_window w;
	int err;

	if ((uintptr_t)p & 7)
		return -EFAULT;
	umem_window_begin(&w);
	err = umem_guarded_cmp_swp(p, &compare, swap);
	umem_window_end(&w);
	if (err)
		return -EFAULT;
	*orig = compare;
	return 0;
}

int umem_fetch_add(uint64_t *p, uint64_t add, uint64_t *orig)
{
	struct umem_window w;
	int err;

	if ((uintptr_t)p & 7)
		return -EFAULT;
	umem_window_begin(&w);
	err = umem_guarded_fetch_add(p, &add);
	umem_window_end(&w);
	if (err)
		return -EFAULT;
	*orig = add;
	return 0;
}

int umem_store64(uint64_t *p, uint64_t v)
{
	smp_wmb();
	return umem_copy(p, &v, sizeof(v));
}

bool umem_fix_fault(void *arg)
{
	ucontext_t *uc = arg;
	uintptr_t pc = (uintptr_t)UMEM_PC(uc);
	const struct umem_ex *e;
	uintptr_t resume;

	for (e = __start_umem_ex; e < __stop_umem_ex; e++) {
		if (pc != (uintptr_t)&e->insn + e->insn)
			continue;
		resume = (uintptr_t)&e->resume + e->resume;
		UMEM_PC(uc) = (__typeof__(UMEM_PC(uc)))resume;
		return true;
	}
	return false;
}

#else /* UMEM_PORTABLE */

/*
 * Other processors: the kernel copies within this process, in the same order but slower
 * (0.4 us), and reports faults. Atomics first check that the word is accessible; if another
 * thread unmaps it after that, the program gets SIGSEGV.
 *
 * The constants are long because the seventh argument of syscall() is passed in memory,
 * where the upper half of an int is undefined.
 */
static int umem_copy_self(void *d, const void *s, size_t n)
{
	struct iovec to = { d, n }, from = { (void *)(uintptr_t)s, n };
	ssize_t done;

	while (to.iov_len) {
		done = sys_call(SYS_process_vm_writev, getpid(), &from, 1ul, &to, 1ul, 0ul);
		if (done <= 0)
			return -EFAULT;
		to.iov_base = (char *)to.iov_base + done;
		from.iov_base = (char *)from.iov_base + done;
		to.iov_len -= (size_t)done;
		from.iov_len -= (size_t)done;
	}
	return 0;
}

int umem_copy(void *dst, const void *src, size_t len)
{
	uintptr_t d = (uintptr_t)dst;
	size_t body;
	int err;

	if (!len)
		return 0;
	body = max((d + len - 1) & ~(uintptr_t)7, d) - d;
	err = umem_copy_self(dst, src, body);
	if (err)
		return err;
	smp_wmb();
	return umem_copy_self((char *)dst + body, (const char *)src + body, len - body);
}

/* Checks that an aligned word can be read and written. */
static int umem_probe_word(uint64_t *p)
{
	struct iovec word = { p, sizeof(*p) }, to;
	uint64_t v;

	if ((uintptr_t)p & 7)
		return -EFAULT;
	/* Copying the word to itself checks write access and keeps its value. */
	to = (struct iovec){ &v, sizeof(v) };
	if (sys_call(SYS_process_vm_readv, getpid(), &to, 1ul, &word, 1ul, 0ul) != sizeof(v))
		return -EFAULT;
	return sys_call(SYS_process_vm_writev, getpid(), &word, 1ul, &word, 1ul, 0ul) == sizeof(v) ?
		0 : -EFAULT;
}

int umem_cmp_swp(uint64_t *p, uint64_t compare, uint64_t swap, uint64_t *orig)
{
	if (umem_probe_word(p))
		return -EFAULT;
	*orig = compare;
	__atomic_compare_exchange_n(p, orig, swap, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return 0;
}

int umem_fetch_add(uint64_t *p, uint64_t add, uint64_t *orig)
{
	if (umem_probe_word(p))
		return -EFAULT;
	*orig = __atomic_fetch_add(p, add, __ATOMIC_SEQ_CST);
	return 0;
}

int umem_store64(uint64_t *p, uint64_t v)
{
	smp_wmb();
	return umem_copy_self(p, &v, sizeof(v));
}

bool umem_fix_fault(void *arg)
{
	return false;
}

#endif

/* A position in a list of iovecs. */
struct cursor {
	const struct iovec *iov;
	int left;	/* remaining entries, including the current one */
	uint64_t off;	/* bytes from the start of the current entry; may exceed its length */
};

/* Skips entries before the position. Returns the bytes left in the entry, 0 at the end. */
static inline uint64_t umem_cursor_room(struct cursor *c)
{
	while (c->left && c->off >= c->iov->iov_len) {
		c->off -= c->iov->iov_len;
		c->iov++;
		c->left--;
	}
	return c->left ? c->iov->iov_len - c->off : 0;
}

HOT int umem_copy_iov(const struct iovec *dst, int ndst, uint64_t doff,
		      const struct iovec *src, int nsrc, uint64_t off, uint64_t len)
{
	struct cursor d = { dst, ndst, doff }, s = { src, nsrc, off };
	uint64_t n, droom, sroom;
	int err;

	while (len) {
		droom = umem_cursor_room(&d);
		sroom = umem_cursor_room(&s);
		n = min(len, min(droom, sroom));
		if (!n)
			return -EINVAL;
		err = umem_copy((char *)d.iov->iov_base + d.off,
				(const char *)s.iov->iov_base + s.off, n);
		if (unlikely(err))
			return err;
		d.off += n;
		s.off += n;
		len -= n;
	}
	return 0;
}
