/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Cross-memory attach: copies between this process and a peer. process_vm_readv/writev take a pid,
 * which may have been reused. Before every call the peer's robust futex word (shm_pub.alive) is read, which tells whether
 * the program of the handshake still runs, and the peer's pages must be resident (shm_resident.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include "base/sys.h"
#include "link/shm_int.h"

#define XFER_CHUNK (1u << 20)	/* limit per call, so that a death is noticed during a large copy */
#define XFER_IOV 16

void shm_allow_ptrace(void)
{
	char c = '0';
	int fd = sys_openat(AT_FDCWD, "/proc/sys/kernel/yama/ptrace_scope",
			    O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return;
	if (sys_read(fd, &c, 1) == 1 && c == '1')
		sys_call(SYS_prctl, PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0L, 0L, 0L);
	sys_close(fd);
}

static void shm_pos_skip(struct mem_pos *p, uint64_t len)
{
	p->off += len;
	while (p->n && p->off >= p->v->iov_len) {
		p->off -= p->v->iov_len;
		p->v++;
		p->n--;
	}
}

/* Take at most XFER_IOV entries and len bytes from p. Returns the bytes. */
static uint64_t shm_pos_take(const struct mem_pos *p, struct iovec *out, int *n, uint64_t len)
{
	uint64_t off = p->off, sum = 0;

	*n = 0;
	for (int i = 0; i < p->n && *n < XFER_IOV && sum < len; i++) {
		uint64_t have = p->v[i].iov_len - off;

		if (have) {
			out[*n].iov_base = (char *)p->v[i].iov_base + off;
			out[*n].iov_len = min(have, len - sum);
			sum += out[(*n)++].iov_len;
		}
		off = 0;
	}
	return sum;
}

static long shm_vm_call(int pid, bool write, const struct iovec *lv, int nl,
			const struct iovec *rv, int nr)
{
	return sys_call(write ? SYS_process_vm_writev : SYS_process_vm_readv,
			pid, lv, (long)nl, rv, (long)nr, 0L);
}

/*
 * A copy made no progress at this byte: decide which side is bad. Reading one byte has no effect on
 * either.
 */
static enum xfer shm_blame(struct shm_link *l, bool write, const struct iovec *local,
			   const struct iovec *remote)
{
	char c;
	struct iovec lv = { .iov_base = &c, .iov_len = 1 };
	struct iovec rv = { .iov_base = remote->iov_base, .iov_len = 1 };

	if (write)
		return l->l.host->copy(&c, local->iov_base, 1) ? XFER_LOCAL : XFER_REMOTE;
	if (!shm_resident(l, remote->iov_base, 1, false))
		return XFER_REMOTE;
	return shm_vm_call(l->pid, false, &lv, 1, &rv, 1) == 1 ? XFER_LOCAL : XFER_REMOTE;
}

/* Copies len bytes, which may become visible in any order. */
static enum xfer shm_xfer_part(struct shm_link *l, bool write, struct mem_pos local,
			       struct mem_pos remote, uint64_t len)
{
	struct iovec lv[XFER_IOV], rv[XFER_IOV];
	int nl, nr;
	long rc;

	shm_pos_skip(&local, 0);
	shm_pos_skip(&remote, 0);
	while (len) {
		uint64_t want = min(len, (uint64_t)XFER_CHUNK);

		if (unlikely(!shm_held(l->pub)))
			return XFER_GONE;
		want = min(shm_pos_take(&local, lv, &nl, want),
			   shm_pos_take(&remote, rv, &nr, want));
		if (!want)
			return local.n ? XFER_REMOTE : XFER_LOCAL;
		shm_pos_take(&local, lv, &nl, want);
		shm_pos_take(&remote, rv, &nr, want);
		for (int i = 0; i < nr; i++)
			if (unlikely(!shm_resident(l, rv[i].iov_base, rv[i].iov_len, write)))
				return shm_held(l->pub) ? XFER_ABSENT : XFER_GONE;
		rc = shm_vm_call(l->pid, write, lv, nl, rv, nr);
		if (likely(rc > 0)) {
			len -= (uint64_t)rc;
			shm_pos_skip(&local, (uint64_t)rc);
			shm_pos_skip(&remote, (uint64_t)rc);
		} else if (rc == -EFAULT || rc == 0) {
			return shm_held(l->pub) ? shm_blame(l, write, lv, rv) : XFER_GONE;
		} else if (rc == -ESRCH) {
			return XFER_GONE;
		} else if (rc == -EINVAL || rc == -ENOMEM) {
			/* -EINVAL: an address is invalid. -ENOMEM: the kernel has no memory for its list of pages. */
			return shm_blame(l, write, lv, rv);
		} else {
			return XFER_DENIED;
		}
	}
	return XFER_OK;
}

/* Address of the last of len bytes. */
static uintptr_t shm_pos_last(struct mem_pos p, uint64_t len)
{
	shm_pos_skip(&p, len - 1);
	return p.n ? (uintptr_t)p.v->iov_base + p.off : 0;
}

enum xfer shm_xfer(struct shm_link *l, bool write, struct mem_pos local, struct mem_pos remote,
		   uint64_t len)
{
	uint64_t left = len, take;
	enum xfer x = XFER_OK;

	if (CPU_STORES_ORDERED || !len)
		return shm_xfer_part(l, write, local, remote, len);
	/*
	 * The kernel's copy has no order. Programs poll the last byte of a message: copy the bytes before the
	 * aligned word of that byte first, then that word, in pieces of 8, or 4, 2 and 1 bytes.
	 */
	take = len - min(len, (shm_pos_last(write ? remote : local, len) & 7) + 1);
	for (;; take = 1ull << ilog2((uint32_t)left)) {
		if (take)
			x = shm_xfer_part(l, write, local, remote, take);
		left -= take;
		if (x != XFER_OK || !left)
			return x;
		shm_pos_skip(&local, take);
		shm_pos_skip(&remote, take);
		smp_wmb();
	}
}

bool shm_nonce_ok(struct shm_link *l)
{
	uint64_t nonce[2] = { 0, 0 };
	struct iovec lv = { .iov_base = nonce, .iov_len = sizeof(nonce) };
	struct iovec rv = { .iov_base = (void *)(uintptr_t)l->hello.nonce_addr,
			    .iov_len = sizeof(nonce) };

	return l->pid > 0 && shm_resident(l, rv.iov_base, sizeof(nonce), false) &&
	       shm_vm_call(l->pid, false, &lv, 1, &rv, 1) == sizeof(nonce) &&
	       !memcmp(nonce, l->hello.nonce, sizeof(nonce));
}

bool shm_peer_gone(struct shm_link *l)
{
	uint32_t w = READ_ONCE(l->pub->alive);

	/*
	 * The kernel marks the word when the progress thread ends, while other threads may still be
	 * inside a system call that writes to this process. They have all ended when the peer's
	 * address space is gone: then its page map is empty, and its nonce cannot be read.
	 */
	if (!(w & FUTEX_OWNER_DIED))
		return false;
	return l->pagemap >= 0 ? shm_mm_gone(l) : !shm_nonce_ok(l);
}
