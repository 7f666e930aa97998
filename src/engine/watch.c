/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * `ruse run --check=locate`: which store of the program changes eight bytes?
 *
 * A breakpoint event of perf on each thread (perf_event_open(2)) writes a sample to a ring for each store. No signal is used, so
 * nothing of the program is disturbed. Threads that begin later, and stores by system calls, are not seen.
 *
 * The sample has the stack as far as there are frame pointers. Functions of libc that copy have no frame: the address to which
 * they return is on top of the stack, which the sample has, too.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include "base/log.h"
#include "base/sys.h"
#include "engine/engine_internal.h"
#include "engine/watch.h"

#define THREADS 64u
#define RING_SIZE 4096u
#define TOP 16u		/* bytes of the stack in a sample */
#if defined(__x86_64__)
#define REG_SP 7	/* enum perf_event_x86_regs */
#else
#define REG_SP 31	/* enum perf_event_arm_regs */
#endif

static struct watch_thread {
	int fd;
	struct perf_event_mmap_page *page;	/* the ring's data follows */
} watches[THREADS];
static uint32_t nwatches;

/* 0 or -errno. */
static int watch_breakpoint(int tid, uintptr_t addr)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_BREAKPOINT, .size = sizeof(a), .bp_type = HW_BREAKPOINT_W,
		.bp_addr = addr & ~7ull, .bp_len = HW_BREAKPOINT_LEN_8, .sample_period = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
			       PERF_SAMPLE_STACK_USER,
		.sample_regs_user = 1ull << REG_SP, .sample_stack_user = TOP,
		.exclude_kernel = 1, .exclude_hv = 1, .exclude_callchain_kernel = 1,
	};
	struct watch_thread *w = &watches[nwatches];
	void *page;
	int fd, err;

	fd = (int)sys_call(SYS_perf_event_open, &a, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return fd;
	page = mmap(NULL, 2 * RING_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		err = -errno;
		sys_close(fd);
		return err;
	}
	*w = (struct watch_thread){ own_fd(fd), page };
	nwatches++;
	return 0;
}

void watch_fresh(void)
{
	nwatches = 0;
}

static void watch_none(void)
{
	while (nwatches) {
		struct watch_thread *w = &watches[--nwatches];

		munmap(w->page, 2 * RING_SIZE);
		own_close(w->fd);
	}
}

/* The threads of this process. Returns the first error, 0: none. */
static int watch_threads(uintptr_t addr)
{
	int dir = sys_openat(AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	char buf[2048];
	int err = dir < 0 ? dir : 0;
	long n;

	while (dir >= 0 && (n = sys_call(SYS_getdents64, dir, buf, sizeof(buf))) > 0)
		for (long at = 0; at < n && !err && nwatches < THREADS;) {
			/* struct linux_dirent64: two numbers of 8 bytes, the size of the record, a byte, the name */
			const char *name = buf + at + 19;
			uint16_t size;
			int tid = 0;

			memcpy(&size, buf + at + 16, sizeof(size));
			at += size;
			while (*name >= '0' && *name <= '9')
				tid = tid * 10 + (*name++ - '0');
			if (tid)
				err = watch_breakpoint(tid, addr);
			if (err == -ESRCH)	/* it has ended */
				err = 0;
		}
	if (dir >= 0)
		sys_close(dir);
	return err;
}

/* Some virtual machines accept breakpoints that never fire: tries one. 0 or -errno. */
static int watch_probe(void)
{
	static volatile uint64_t probe;
	static bool fires;
	int err;

	if (fires)
		return 0;
	err = watch_breakpoint(0, (uintptr_t)&probe);
	if (err)
		return err;
	probe = 1;
	fires = smp_load_acquire(&watches[0].page->data_head);
	watch_none();
	return fires ? 0 : -EOPNOTSUPP;
}

static const char *watch_remedy(int err)
{
	if (err == -EACCES || err == -EPERM)
		return "; see /proc/sys/kernel/perf_event_paranoid, or the rules of the container";
	return err == -EOPNOTSUPP ? "; breakpoints do not fire on this machine" : "";
}

bool watch_stores(void *addr)
{
	static bool told;
	int err;

	watch_none();
	if (!addr)
		return true;
	err = watch_probe();
	if (!err)
		err = watch_threads((uintptr_t)addr);
	if (!err && nwatches)
		return true;
	watch_none();
	if (!told)
		log_err("--check=locate: the stores that change buffers cannot be located: perf_event_open: %s%s",
			strerror(-err), watch_remedy(err));
	told = true;
	return false;
}

/* Copies n bytes of a ring from a position. */
static void watch_read(const struct watch_thread *w, uint64_t at, void *to, size_t n)
{
	const uint8_t *data = (const uint8_t *)w->page + RING_SIZE;

	for (size_t i = 0; i < n; i++)
		((uint8_t *)to)[i] = data[(at + i) % RING_SIZE];
}

static uint64_t watch_word(const struct watch_thread *w, uint64_t at)
{
	uint64_t v;

	watch_read(w, at, &v, sizeof(v));
	return v;
}

static bool watch_in_libc(uint64_t ip)
{
	Dl_info here, libc;

	/* Not memcpy(), which another library may replace. */
	return dladdr((void *)(uintptr_t)ip, &here) &&
	       dladdr((void *)(uintptr_t)gnu_get_libc_version, &libc) &&
	       here.dli_fbase == libc.dli_fbase;
}

/* The stack of a sample: its words begin at `at`. */
static void watch_stack(const struct watch_thread *w, uint64_t at, struct explain_frames *s)
{
	Dl_info info;
	uint64_t ip = watch_word(w, at), n = min(watch_word(w, at + 8), 128u), top, frame;

	s->n = 0;
	s->frame[s->n++] = (void *)(uintptr_t)ip;
	/* Behind the stack are abi and register, then size and bytes of its top. */
	top = watch_word(w, at + 16 + 8 * n + 24);
	if (watch_in_libc(ip))
		s->frame[s->n++] = (void *)(uintptr_t)top;
	for (uint64_t i = 0; i < n && s->n < EXPLAIN_FRAMES; i++) {
		frame = watch_word(w, at + 16 + 8 * i);
		/* Not the marks of contexts, the first one again, and what is not a frame pointer's. */
		if (frame != ip && frame != top && dladdr((void *)(uintptr_t)frame, &info))
			s->frame[s->n++] = (void *)(uintptr_t)frame;
	}
}

bool watch_stored(struct explain_frames *s)
{
	for (uint32_t i = 0; i < nwatches; i++) {
		const struct watch_thread *w = &watches[i];
		uint64_t head = smp_load_acquire(&w->page->data_head), at = 0;

		while (at < head && head <= RING_SIZE) {
			struct perf_event_header h;

			watch_read(w, at, &h, sizeof(h));
			if (h.type == PERF_RECORD_SAMPLE) {
				watch_stack(w, at + sizeof(h), s);
				if (!explain_own_frame(s->frame[0]))
					return true;
			}
			at += max(h.size, (uint16_t)sizeof(h));
		}
	}
	return false;
}
